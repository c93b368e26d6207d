//! Rules broken on purpose: laws that notice none of it prove nothing.

use strum::{EnumIter, IntoStaticStr};

/// A broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, IntoStaticStr)]
pub enum BrokenRule {
    /// One node's word is enough.
    OneNodeQuorum,
    /// The newest block counts as irrevocable.
    NewestIsSolid,
    /// A batch that no node shows is dead.
    AbsenceProves,
    /// A batch whose time is over by the newest block is dead.
    LateIsDead,
    /// A send that nobody confirmed frees the claims.
    SendErrorFrees,
    /// A claim that is held is charged again.
    ClaimsAreIgnored,
    /// A transaction that is found in blocks is not learnt.
    ForeignIsNotLearnt,
    /// A copy that was put back is taken for the newest journal.
    OldCopyIsTrusted,
    /// A lane opens before all blocks are read that can hold something forgotten.
    HalfIsRead,
    /// Something that was signed before can land no later than a life after the newest block that nodes agree on.
    ClockIsIgnored,
    /// Attempts of open batches are sent and renewed while the lane may have forgotten something.
    RenewsInDoubt,
    /// The account's last use is not compared with the journal.
    PastIsNotAsked,
    /// Calls that can be undone, or wait in pools, are not asked for.
    UnconfirmedAreNotAsked,
}
