//! The questions about blocks: as a node tells them, and as it claims them, to be proven.

use super::api::{Api, garbled};
use super::block::{RawBlock, TronBlock};
use super::endpoints::Side;
use node::{AskError, decode};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::ops::Range;
use tron_primitives::answer::BlockAnswer;

/// The question that blocks are asked for with.
const GET_BLOCK: &str = "getblock";

/// The part of a block that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Its header alone.
    Header,
    /// The block with its transactions.
    Whole,
}

impl Detail {
    /// Returns the value of the question's `detail`.
    fn is_whole(self) -> bool {
        self == Self::Whole
    }
}

/// The newest block of a node.
#[derive(Clone, Debug)]
pub struct NewestBlock {
    /// The block without its transactions.
    pub block: TronBlock,
    /// Its header as the node claims it, to be proven; none if the header cannot be read.
    pub header: Option<BlockAnswer>,
}

#[derive(Deserialize)]
struct RawBlocks {
    #[serde(default)]
    block: Vec<BlockAnswer>,
}

impl Api<'_> {
    /// The newest block of this side, or the one with this number, without its transactions; none if the node has no
    /// such block.
    pub async fn block(
        self,
        side: Side,
        number: Option<u64>,
    ) -> Result<Option<TronBlock>, AskError> {
        let params = match number {
            Some(number) => json!({ "id_or_num": number.to_string(), "detail": false }),
            None => json!({ "detail": false }),
        };
        let raw: Option<RawBlock> = self.ask(side, GET_BLOCK, params).await?;
        raw.map(|raw| raw.check(number).ok_or_else(|| garbled(GET_BLOCK))).transpose()
    }

    /// The newest block of the full side; none if the node has no block.
    pub async fn newest(self) -> Result<Option<NewestBlock>, AskError> {
        let params = json!({ "detail": false });
        let Some(raw): Option<Box<RawValue>> = self.ask(Side::Full, GET_BLOCK, params).await?
        else {
            return Ok(None);
        };
        let block: RawBlock = decode(raw.get().as_bytes()).map_err(|_| garbled(GET_BLOCK))?;
        let block = block.check(None).ok_or_else(|| garbled(GET_BLOCK))?;
        Ok(Some(NewestBlock { block, header: decode(raw.get().as_bytes()).ok() }))
    }

    /// The block with this number as the node claims it, to be proven.
    pub async fn claimed(
        self,
        side: Side,
        number: u64,
        detail: Detail,
    ) -> Result<Option<BlockAnswer>, AskError> {
        let params = json!({ "id_or_num": number.to_string(), "detail": detail.is_whole() });
        self.ask(side, GET_BLOCK, params).await
    }

    /// These blocks with all that is in them as the node claims them, to be proven: those that it has.
    pub async fn claimed_range(
        self,
        side: Side,
        numbers: Range<u64>,
    ) -> Result<Vec<BlockAnswer>, AskError> {
        let params = json!({ "startNum": numbers.start, "endNum": numbers.end });
        let raw: Option<RawBlocks> = self.ask(side, "getblockbylimitnext", params).await?;
        Ok(raw.map(|raw| raw.block).unwrap_or_default())
    }
}
