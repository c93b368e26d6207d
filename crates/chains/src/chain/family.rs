//! The interface that a family of chains implements so that [`Chain`](super::Chain) can be one of them.

use super::{Block, Header, Included, Pending};
use crate::state::{Hashes, State};
use revm::primitives::B256;
use std::fmt::Debug;
use std::sync::Arc;

/// The rules of a family of chains: what a transaction is, whether it may be in a block, and what it does.
///
/// The rules are stateless in the sense that everything a reorganisation must take back is in the [`State`].
pub trait Family: Debug + Sized + Send + Sync + 'static {
    /// A transaction as it waits in the pool: decoded and checked.
    type Tx: Clone + Debug + Send + Sync + 'static;
    /// The receipt of an included transaction.
    type Receipt: Clone + Debug + Send + Sync + 'static;
    /// The family's data per state beside accounts, code and storage.
    type Ledger: Clone + Debug + Default + Send + Sync + 'static;

    /// The transaction's id (hash).
    fn id(tx: &Self::Tx) -> B256;

    /// The header of the block after `parent` at `time_ms`; `fork` counts the reorganisations so far.
    fn open(&self, parent: &Block<Self>, time_ms: u64, fork: u64) -> Header;

    /// Which of the waiting transactions goes next into the block, by index; None closes the block.
    fn pick(&self, state: &State<Self::Ledger>, waiting: &[Pending<Self::Tx>]) -> Option<usize>;

    /// Runs `tx` in the block `at`, on `state`. A transaction that is not included leaves `state` as it was.
    fn include(
        &self,
        at: Site<'_, Self>,
        state: &mut State<Self::Ledger>,
        tx: &Self::Tx,
    ) -> Verdict<Self::Receipt>;

    /// After the last transaction: what the block itself does to the state; false if nothing.
    fn close(&self, _header: &Header, _state: &mut State<Self::Ledger>) -> bool {
        false
    }

    /// The newest of these blocks, oldest first, that the family's own rule lets nobody undo any more; no rule of its
    /// own by default. The chain's lag applies besides.
    fn solidified(&self, blocks: &[Arc<Block<Self>>]) -> u64 {
        blocks.last().map_or(0, |head| head.header.number)
    }

    /// Gives a block its id: fills what the header says of the body, and gives the id.
    fn seal(&self, header: &mut Header, body: &[Included<Self>]) -> B256;
}

/// The context in which a transaction is run.
#[derive(Debug)]
pub struct Site<'a, F: Family> {
    /// The block that is being made.
    pub header: &'a Header,
    /// The block before it.
    pub parent: &'a Block<F>,
    /// Transactions already in the block.
    pub body: &'a [Included<F>],
    /// The ids of past blocks.
    pub hashes: &'a dyn Hashes,
}

impl<F: Family> Clone for Site<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Family> Copy for Site<'_, F> {}

/// The producer's decision on a transaction.
#[derive(Debug)]
pub enum Verdict<R> {
    /// It is in the block.
    Included(R),
    /// It stays in the pool for another block.
    Wait,
    /// It leaves the pool without a trace.
    Dropped,
}
