//! Rules broken on purpose: laws that notice none of it prove nothing.

use strum::{EnumIter, IntoStaticStr};

/// A broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, IntoStaticStr)]
pub enum BrokenRule {
    /// One node's word is enough.
    OneNodeQuorum,
    /// The newest block counts as final.
    NewestIsFinal,
    /// A batch that no node shows has expired.
    AbsenceProves,
    /// A transaction that takes a place before its block is final ends the batch.
    IncludedIsFinal,
    /// A send that nobody confirmed frees the claims.
    SendErrorFrees,
    /// Claims are free as soon as a cancel is sent.
    CancelFreesAtOnce,
    /// A claim that is held is charged again.
    ClaimsAreIgnored,
    /// Another attempt takes the next nonce, not the batch's own.
    AttemptTakesNewNonce,
    /// A foreign transaction in the place of a batch is not read for whom it charged.
    ForeignIsNotLearnt,
    /// A copy that was put back is taken for the newest journal, at the position where the chain is.
    OldCopyIsTrusted,
    /// The pools are not asked.
    PoolsAreNotAsked,
    /// Positions that the journal does not know are skipped.
    UnknownPositionsAreSkipped,
}
