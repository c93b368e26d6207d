//! A block as a node tells it, checked to be the one that was asked for; and the rule by which one block follows
//! another.

use alloy::primitives::B256;
use node::decode;
use serde::Deserialize;
use serde_json::value::RawValue;
use tron_primitives::block::{ProvenBlock, ProvenHeader, ProvenTransaction};

/// A block, checked to be the one that was asked for. Its id begins with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TronBlock {
    /// Its id.
    pub id: B256,
    /// Its number.
    pub number: u64,
    /// The id of the block before it.
    pub parent: B256,
    /// Its time, Unix ms.
    pub time_ms: u64,
    /// The ids of its transactions; empty when they were not asked for.
    pub transactions: Vec<B256>,
}

/// A block by its number, id and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPoint {
    /// Its number.
    pub number: u64,
    /// Its id.
    pub id: B256,
    /// Its time, Unix ms.
    pub time_ms: u64,
}

/// A block that does not fit those before it: somebody is on another chain, or lies. Blocks that were read of such
/// a chain prove nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// It is not the block that comes next, or its id holds another number.
    #[error("it is not the block that was asked for")]
    Other,
    /// It does not follow the block before it.
    #[error("it does not follow the block before it")]
    Link,
}

impl BlockPoint {
    /// Returns the point of the next block, if `block` is that.
    pub fn followed_by(self, block: &TronBlock) -> Result<Self, Misfit> {
        if self.number.checked_add(1) != Some(block.number) {
            return Err(Misfit::Other);
        }
        if block.parent != self.id || block.time_ms <= self.time_ms {
            return Err(Misfit::Link);
        }
        Ok(block.into())
    }
}

impl From<&TronBlock> for BlockPoint {
    fn from(block: &TronBlock) -> Self {
        Self { number: block.number, id: block.id, time_ms: block.time_ms }
    }
}

impl From<&ProvenHeader> for TronBlock {
    fn from(header: &ProvenHeader) -> Self {
        Self {
            id: header.id(),
            number: header.number(),
            parent: header.parent(),
            time_ms: header.time_ms(),
            transactions: Vec::new(),
        }
    }
}

impl From<&ProvenBlock> for TronBlock {
    fn from(block: &ProvenBlock) -> Self {
        let transactions = block.transactions().iter().map(ProvenTransaction::id).collect();
        Self { transactions, ..block.header().into() }
    }
}

/// The wire form of a block without its transactions.
#[derive(Deserialize)]
pub(crate) struct RawBlock {
    #[serde(rename = "blockID")]
    block_id: B256,
    #[serde(rename = "block_header")]
    header: RawHeader,
}

#[derive(Deserialize)]
struct RawHeader {
    raw_data: RawHeaderData,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawHeaderData {
    #[serde(default)]
    number: u64,
    #[serde(default)]
    timestamp: u64,
    parent_hash: B256,
}

impl RawBlock {
    /// Returns the block, if it does not contradict itself and has the number that was asked for.
    pub(crate) fn check(self, asked: Option<u64>) -> Option<TronBlock> {
        let header = self.header.raw_data;
        let right = number_in(self.block_id) == header.number
            && asked.is_none_or(|asked| asked == header.number)
            && (header.timestamp > 0 || header.number == 0);
        let block = TronBlock {
            id: self.block_id,
            number: header.number,
            parent: header.parent_hash,
            time_ms: header.timestamp,
            transactions: Vec::new(),
        };
        right.then_some(block)
    }
}

/// Returns the number that an id begins with.
pub(crate) fn number_in(id: B256) -> u64 {
    let [n0, n1, n2, n3, n4, n5, n6, n7, ..] = id.0;
    u64::from_be_bytes([n0, n1, n2, n3, n4, n5, n6, n7])
}

/// Returns the id of block 0 in an answer.
pub(crate) fn genesis(raw: &RawValue) -> Option<B256> {
    let raw: RawBlock = decode(raw.get().as_bytes()).ok()?;
    raw.check(Some(0)).map(|block| block.id)
}
