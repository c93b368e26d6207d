//! Blocks as a node claims them, to be proven.

use super::{Api, RawBlock, RawId, Side, TronBlock, garbled};
use ::node::{AskError, decode};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::ops::Range;
use tron_primitives::answer::BlockAnswer;

#[derive(Deserialize)]
struct RawBlocks {
    #[serde(default)]
    block: Vec<BlockAnswer>,
}

impl Api<'_> {
    /// The newest block without its transactions, and its header as the node claims it, to be proven; no header
    /// where that cannot be read.
    pub(in crate::tron) async fn newest(
        self,
    ) -> Result<Option<(TronBlock, Option<BlockAnswer>)>, AskError> {
        const QUESTION: &str = "getblock";
        let params = json!({ "detail": false });
        let Some(raw): Option<Box<RawValue>> = self.ask(Side::Full, QUESTION, params).await? else {
            return Ok(None);
        };
        let block: RawBlock<RawId> = decode(raw.get().as_bytes()).map_err(|_| garbled(QUESTION))?;
        let (block, _) = block.check(None, false).ok_or_else(|| garbled(QUESTION))?;
        Ok(Some((block, decode(raw.get().as_bytes()).ok())))
    }

    /// The block with this number as the node claims it, to be proven.
    pub(in crate::tron) async fn claimed(
        self,
        side: Side,
        number: u64,
        detail: bool,
    ) -> Result<Option<BlockAnswer>, AskError> {
        let params = json!({ "id_or_num": number.to_string(), "detail": detail });
        self.ask(side, "getblock", params).await
    }

    /// These blocks with all that is in them as the node claims them, to be proven: those that it has.
    pub(in crate::tron) async fn claimed_range(
        self,
        side: Side,
        numbers: Range<u64>,
    ) -> Result<Vec<BlockAnswer>, AskError> {
        let params = json!({ "startNum": numbers.start, "endNum": numbers.end });
        let raw: Option<RawBlocks> = self.ask(side, "getblockbylimitnext", params).await?;
        Ok(raw.map(|raw| raw.block).unwrap_or_default())
    }
}
