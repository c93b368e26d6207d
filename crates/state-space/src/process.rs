//! The process and its journal, as far as both worlds know them.

use strum::EnumIter;

/// The number of nodes that have to agree.
pub(crate) const QUORUM: usize = 2;

/// The gate of the lane, as far as rulings depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum GateState {
    #[default]
    Opening,
    Open,
    Closed,
}

/// The time that has passed for a batch, and the fees that the chain asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter)]
pub(crate) enum Mood {
    /// Nothing is due.
    Calm,
    /// It is time to offer the bytes again, and to replace what bids too little.
    Due,
    /// It is time to give the batch up.
    Late,
}

/// The setting that changes between two starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Setting {
    /// Attempts that bid too little are replaced, and dead ones renewed; a batch may be given up.
    SignsAgain,
    /// One batch, one transaction.
    SignsOnce,
}

/// The mark beside the journal when a copy is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// The mark tells that the journal is an old one.
    Stays,
    /// It was put back as well.
    PutBackToo,
}

/// Takes one from what is left of an event.
pub(crate) fn spend(left: &mut u8) -> Option<()> {
    *left = left.checked_sub(1)?;
    Some(())
}
