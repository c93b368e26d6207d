//! The search for acts of an account, on a chain where nothing counts its transactions (TRON), that its journal
//! does not know: total functions of what the journal and the nodes tell. The functions read no clock, socket or
//! database.

/// When an account was last used, beside what its journal knows. All Unix ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastUse {
    /// The account's last use in irrevocable blocks, by the time of blocks.
    pub used_ms: i64,
    /// Until when the journal knew everything when this process began; none where it did not know the lane.
    pub known_at_start_ms: Option<i64>,
    /// Until when it knows everything now.
    pub known_ms: i64,
    /// The number of its batches that the chain has not decided.
    pub undecided: usize,
}

/// The ruling that follows from an account's last use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastUseRuling {
    /// The journal knows of everything before this process began.
    Known,
    /// Blocks have to tell whether only what the journal knows has landed since it was left.
    ReadBlocks,
    /// The account did something that the journal does not know.
    Unknown,
}

impl LastUse {
    /// Rules on the account's last use. Transactions that a copy has forgotten may have landed in the same blocks
    /// as those that it knows, or before, where the last use does not show them. So blocks are read as soon as
    /// anything has landed.
    pub fn rule(self) -> LastUseRuling {
        match self.known_at_start_ms {
            Some(known_ms) if self.used_ms < known_ms => LastUseRuling::Known,
            Some(_) if self.undecided > 0 || self.used_ms < self.known_ms => {
                LastUseRuling::ReadBlocks
            }
            None if self.used_ms < self.known_ms => LastUseRuling::Known,
            Some(_) | None => LastUseRuling::Unknown,
        }
    }
}

/// Returns true if irrevocable blocks are read for what was on its way when this process began: until nothing that
/// was signed before can land any more (`over`), unless the journal is new or all of that is learnt anyway.
pub fn reads_arrivals(left_ms: Option<i64>, in_doubt: bool, over: bool) -> bool {
    left_ms.is_some() && !in_doubt && !over
}

/// The use of the account that is not irrevocable yet: calls in new blocks, and in pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YoungUse {
    /// True if any of this use is unknown to the journal.
    pub unknown: bool,
    /// True if something waits in a pool, and its node does not tell what.
    pub untold: bool,
    /// True if the transaction in the pool may be a batch of ours which is in no block yet. That is so only if the
    /// process before this one closed the journal: otherwise this may be a copy of a running one.
    pub explained: bool,
}

/// The ruling that follows from an account's young use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YoungRuling {
    /// The journal knows of all of it.
    Known,
    /// That cannot be told yet.
    Wait,
    /// The account did something that the journal does not know.
    Unknown,
}

impl YoungUse {
    /// Rules.
    pub fn rule(self) -> YoungRuling {
        match self {
            Self { unknown: true, .. } => YoungRuling::Unknown,
            Self { untold: true, explained: false, .. } => YoungRuling::Wait,
            Self { unknown: false, .. } => YoungRuling::Known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_of_the_account_that_no_batch_explains_is_unknown_to_the_journal() {
        let used = |used_ms| LastUse {
            used_ms,
            known_at_start_ms: Some(10_000),
            known_ms: 10_000,
            undecided: 0,
        };
        assert_eq!(used(9_999).rule(), LastUseRuling::Known);
        assert_eq!(used(10_000).rule(), LastUseRuling::Unknown);
        let new = |used_ms| LastUse { known_at_start_ms: None, ..used(used_ms) };
        assert_eq!(new(9_999).rule(), LastUseRuling::Known);
        assert_eq!(new(10_000).rule(), LastUseRuling::Unknown);
    }

    #[test]
    fn what_has_landed_since_the_journal_was_left_is_read_however_it_may_be_explained() {
        let used = LastUse {
            used_ms: 11_000,
            known_at_start_ms: Some(10_000),
            known_ms: 10_000,
            undecided: 1,
        };
        assert_eq!(used.rule(), LastUseRuling::ReadBlocks, "an open batch may have landed");
        let ended = LastUse { undecided: 0, known_ms: 12_000, ..used };
        assert_eq!(ended.rule(), LastUseRuling::ReadBlocks, "one has, and is not alone perhaps");
        assert_eq!(LastUse { used_ms: 9_000, ..used }.rule(), LastUseRuling::Known);
    }

    #[test]
    fn after_a_start_it_is_read_what_arrives_until_nothing_from_before_can_land() {
        assert!(reads_arrivals(Some(1), false, false));
        assert!(!reads_arrivals(Some(1), false, true), "nothing can any more");
        assert!(!reads_arrivals(Some(1), true, false), "it is learnt");
        assert!(!reads_arrivals(None, false, false), "nobody had the journal before");
    }

    #[test]
    fn what_waits_untold_is_explained_by_own_batches_alone_and_only_where_the_journal_was_closed() {
        let young = YoungUse { unknown: false, untold: true, explained: true };
        assert_eq!(young.rule(), YoungRuling::Known);
        assert_eq!(YoungUse { explained: false, ..young }.rule(), YoungRuling::Wait);
        let told = YoungUse { untold: false, explained: false, ..young };
        assert_eq!(told.rule(), YoungRuling::Known, "a crash is no reason to wait");
        assert_eq!(YoungUse { unknown: true, ..told }.rule(), YoungRuling::Unknown);
        assert_eq!(YoungUse { unknown: true, ..young }.rule(), YoungRuling::Unknown);
    }
}
