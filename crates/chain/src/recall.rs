//! The knowledge from blocks and pools about an account whose transactions nothing counts (TRON).

use crate::ChainError;
use alloy::primitives::B256;
use billing::Foreign;
use journal::LearntUpTo;

/// From where the final blocks are read for what the journal may have forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadFrom {
    /// Until when the journal knows everything, Unix ms of this machine.
    pub since_ms: i64,
    /// The last block of which everything is learnt; none where none is.
    pub read: Option<LearntUpTo>,
    /// Until when something can land that was signed elsewhere and is in no irrevocable block yet, Unix ms of blocks:
    /// reading goes on until then. None where nothing like that is known.
    pub rival_until_ms: Option<u64>,
}

/// The findings so far about transactions that an old copy of the journal may not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recall {
    /// Those of our account that may have charged somebody, in the order of the chain. Their
    /// positions mean nothing: no chain knows them.
    pub found: Vec<Foreign>,
    /// The share of the time to be read that has been read, percent.
    pub percent: u64,
    /// True if nothing that was signed before can land any more without being found.
    pub complete: bool,
    /// True if any of them was signed after this process began: somebody signs with the key now.
    pub rival: bool,
    /// The last block that was read; none where nothing has to be.
    pub read: Option<LearntUpTo>,
}

impl Recall {
    /// There is nothing to read.
    pub const NOTHING: Self =
        Self { found: Vec::new(), percent: 100, complete: true, rival: false, read: None };
}

/// The calls of the account that nodes tell of and that are not irrevocable yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Young {
    /// Its calls of contracts, each as often as nodes tell of it.
    pub calls: Vec<YoungCall>,
    /// True if something of the account waits in a pool, and the pool's node does not tell what.
    pub untold: bool,
    /// Why a node that should tell told nothing; none where every one did.
    pub unread: Option<ChainError>,
}

/// A call of a contract that is in a block that can still be undone, or in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YoungCall {
    /// Its hash.
    pub hash: B256,
    /// True if the call is to a contract that is billed through.
    pub bills: bool,
    /// Until when it can land, Unix ms of blocks, where it was signed after this process began; none where it was
    /// signed before.
    pub rival_until_ms: Option<u64>,
}
