//! The sources that tell what an account did on a chain: its count of transactions (EVM), or blocks (TRON).

use crate::ChainError;
use alloy::primitives::B256;
use async_trait::async_trait;
use billing::{Foreign, PlaceTakers};
use journal::LearntUpTo;
use std::collections::BTreeSet;
use std::fmt;

/// The source that tells of an account's transactions.
#[derive(Clone, Copy, Debug)]
pub enum AccountHistory<'a> {
    /// The chain counts them: every transaction has a nonce (EVM).
    Nonces(&'a dyn NonceHistory),
    /// Nothing counts them: blocks and pools are read (TRON).
    Blocks(&'a dyn BlockHistory),
}

/// The most transactions that nodes know our account to have sent, what waits in their pools
/// included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MostSent {
    /// Number of transactions: every position below it may be taken.
    pub count: u64,
    /// The nodes that know of so many, by their labels.
    pub told_by: Vec<String>,
}

/// The account's transactions on a chain that counts them.
#[async_trait]
pub trait NonceHistory: Send + Sync + fmt::Debug {
    /// The most transactions that a node knows the account to have sent, what waits in its pool included,
    /// unless as many others deny it as have to agree. Fails where fewer than that tell: their silence is
    /// no word that nothing waits.
    async fn undenied_sent(&self) -> Result<MostSent, ChainError>;

    /// The most transactions that any single node knows the account to have sent. One is enough: what
    /// its pool holds can land, whatever the others say. Fails while a node that is fit to be asked
    /// does not tell.
    async fn most_sent(&self) -> Result<MostSent, ChainError>;

    /// Returns the number of transactions that the account had sent by the newest final block that is not later
    /// than `at_ms` (Unix ms of this machine), however wrong this machine's clock may be while something is signed,
    /// as far as the required number of nodes knows.
    async fn sent_before(&self, at_ms: i64) -> Result<u64, ChainError>;

    /// Returns the transactions that took the positions from `from` up to, not including, `to`, all of them in
    /// final blocks.
    async fn foreign_transactions(&self, from: u64, to: u64) -> Result<PlaceTakers, ChainError>;
}

/// The account's transactions on a chain that counts none.
#[async_trait]
pub trait BlockHistory: Send + Sync + fmt::Debug {
    /// Returns the time of the account's last use in irrevocable blocks, Unix ms of its blocks: the latest that any
    /// node tells, and before the time of the newest of these blocks. None if there was no use. Fails while fewer
    /// nodes tell than have to agree.
    async fn last_used(&self) -> Result<Option<u64>, ChainError>;

    /// Reads on in the irrevocable blocks for transactions of our account, and returns all that was found so far.
    /// Each call reads a bounded number of blocks.
    async fn scan_blocks(&self, range: ScanRange) -> Result<BlockScan, ChainError>;

    /// Ends a scan of [`ScanRange::Forgotten`], of which everything is learnt by now.
    async fn end_scan(&self);

    /// Returns the calls of our account that are in blocks which are not irrevocable yet, or wait in pools, as any
    /// node tells. A transaction among `ours` waits by right, and no pool is asked about it; if `ours` is none, no
    /// pool is asked at all. Fails while nothing is known of the head.
    async fn revocable_calls(
        &self,
        ours: Option<&BTreeSet<B256>>,
    ) -> Result<RevocableCalls, ChainError>;
}

/// The blocks to scan, and the transactions to look for in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanRange {
    /// Every call of the account, whatever it did, from `since_ms` up to the account's last use at `used_ms` (Unix
    /// ms of blocks).
    Uses {
        /// The time at which the scan begins.
        since_ms: i64,
        /// The time of the last use.
        used_ms: i64,
    },
    /// Every call that has landed since the first scan or question of this process. Complete when nothing signed
    /// before can land any more.
    Arrivals,
    /// Calls that may have charged somebody, from where the journal's knowledge ends until nothing signed before
    /// now can land any more.
    Forgotten(ReadFrom),
}

/// The point from which blocks are read for what the journal may have forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadFrom {
    /// The time until which the journal knows everything, Unix ms of this machine.
    pub since_ms: i64,
    /// The last block of which everything is learnt; none before the first.
    pub read: Option<LearntUpTo>,
    /// The time until which something can land that was signed elsewhere and is in no irrevocable block yet, Unix
    /// ms of blocks: reading goes on until then. None if nothing like that is known.
    pub rival_until_ms: Option<u64>,
}

/// The findings of a scan so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockScan {
    /// Transactions of our account, in the order of the chain. Their positions mean nothing: no chain knows them.
    pub found: Vec<Foreign>,
    /// The share of the time to be read that has been read, percent.
    pub percent: u64,
    /// True if nothing that was signed before can land any more without being found.
    pub complete: bool,
    /// True if any of them was signed after this process began: somebody signs with the key now.
    pub rival: bool,
    /// The last block that was read.
    pub read: LearntUpTo,
}

/// The calls of the account that nodes tell of and that are not irrevocable yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevocableCalls {
    /// Its calls of contracts, each as often as nodes tell of it.
    pub calls: Vec<RevocableCall>,
    /// True if something of the account waits in a pool, and the pool's node does not tell what.
    pub untold: bool,
    /// The reason why fewer nodes told of all their new blocks than have to agree; none if enough did. Other calls
    /// than these may be there then.
    pub unread: Option<ChainError>,
}

/// A call of a contract that is in a block that can still be undone, or in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevocableCall {
    /// Its hash.
    pub hash: B256,
    /// True if the call is to a contract that is billed through.
    pub bills: bool,
    /// The time until which it can land, Unix ms of blocks, if it was signed after this process began; none if
    /// before. At most a day after the head by which the call was seen first.
    pub rival_until_ms: Option<u64>,
}
