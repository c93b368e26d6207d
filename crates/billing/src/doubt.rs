//! The doubt about an account's past on a chain where nothing counts its transactions (TRON): whether an old copy of
//! the journal may be in place, or somebody else signs with the key. [`doubt`] is a total function of what the journal
//! knows, what was seen in this look, and the time. It reads no clock, socket or database; the engine carries its
//! rulings out.

/// The interval at which new blocks are read while transactions of the account's own wait for one, ms of this machine.
const READ_EVERY_MS: u64 = 15_000;

/// The journal's knowledge of an account, as this process found it. Times of blocks are Unix ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalPast {
    /// When the process before this one left the journal, by the time of blocks; none if the journal is new.
    pub left_ms: Option<i64>,
    /// True if the process before this one closed the journal. If not, this may be a copy of a running one.
    pub was_closed: bool,
    /// Until when the journal knew everything that the account did, by the time of blocks; none if it did not know
    /// the lane.
    pub known_at_start_ms: Option<i64>,
    /// The most by which this machine's clock may be ahead of the time of blocks, ms.
    pub clocks_ms: i64,
}

/// The checks of an account's past that this process has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PastChecks {
    /// True if it is settled that the journal knows of the account's last use before this process began, or that it
    /// does not.
    pub past: bool,
    /// True if nothing that was signed before this process began can land any more unseen.
    pub in_flight: bool,
    /// When the journal last knew of every transaction that is not irrevocable, Unix ms of this machine; none before.
    pub unconfirmed_ms: Option<i64>,
    /// True if some transaction that is not irrevocable is unknown, as far as the last look told.
    pub unknown: bool,
    /// Until when something can land that was signed elsewhere after this process began, Unix ms of blocks; none if
    /// nothing was.
    pub rival_until_ms: Option<u64>,
}

impl PastChecks {
    /// Returns true if the journal knew of everything that the account did, irrevocable or not, at some time since
    /// this process began.
    pub fn knew_all(&self) -> bool {
        self.past && self.unconfirmed_ms.is_some()
    }

    /// Returns true if nothing that was signed before this process began can land unseen: all of that is over, or
    /// the journal is new.
    pub fn in_flight_is_over(&self, left_ms: Option<i64>) -> bool {
        self.in_flight || left_ms.is_none()
    }
}

/// The calls of the account that were found in irrevocable blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlocksSeen {
    /// The blocks were not read in this look.
    NotRead,
    /// The blocks could not be read.
    Failed,
    /// They were read, for as far as they are there.
    Read {
        /// True if the journal does not know one of the calls.
        unknown: bool,
        /// True if all blocks in question were read.
        complete: bool,
    },
}

/// The account's last use in irrevocable blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastUseSeen {
    /// The nodes were not asked in this look.
    NotAsked,
    /// The account was never used, or the chain counts its transactions.
    Never,
    /// It was used.
    At {
        /// When, by the time of blocks, Unix ms.
        used_ms: i64,
        /// Until when the journal knows everything by now, by the time of blocks, Unix ms.
        known_ms: i64,
    },
}

/// The account's calls in blocks that can still be undone, and in pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnconfirmedSeen {
    /// The nodes were not asked in this look.
    NotAsked,
    /// They were asked.
    Told {
        /// True if the journal does not know one of the calls.
        unknown: bool,
        /// True if something waits in a pool, and its node does not tell what.
        untold: bool,
        /// True if fewer nodes told than have to agree.
        unread: bool,
        /// Until when unknown calls can land that were signed after this process began, Unix ms of blocks.
        rival_until_ms: Option<u64>,
    },
}

/// The account's own batches that are in no block, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnWaiting {
    /// There is none.
    Nothing,
    /// There are some, and they are left alone.
    Some,
    /// Bytes of one are about to leave, and may charge what somebody else has charged just now.
    Leaving,
}

/// Everything that is known of an account's past in one look at the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastView {
    /// The journal's knowledge at the start.
    pub journal: JournalPast,
    /// True if the account ends what it has begun, and begins nothing.
    pub only_follows: bool,
    /// True if the lane is in doubt: everything since is learnt from blocks before it opens.
    pub in_doubt: bool,
    /// The number of its batches that the chain has not decided.
    pub undecided: usize,
    /// Those of them that are in no block.
    pub waiting: OwnWaiting,
    /// The time, Unix ms of this machine.
    pub now_ms: i64,
    /// The checks that were ended before.
    pub checks: PastChecks,
    /// The calls in blocks that became irrevocable since this process began.
    pub in_flight: BlocksSeen,
    /// The account's last use.
    pub last_use: LastUseSeen,
    /// The calls in irrevocable blocks from when everything was known to the last use.
    pub since_known: BlocksSeen,
    /// The calls that are not irrevocable.
    pub unconfirmed: UnconfirmedSeen,
}

/// The places that are asked for calls which are not irrevocable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnconfirmedIn {
    /// New blocks.
    Blocks,
    /// New blocks and pools.
    BlocksAndPools,
}

/// The calls that count as unknown uses of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallsThatCount {
    /// All of them.
    All,
    /// Billings through a contract of ours: long after a start the account may be used for something else as well.
    Billings,
}

/// The next step for an account's past. After everything but [`Doubt::Settled`], [`Doubt::Wait`] and
/// [`Doubt::Unread`] more is known, and the doubt is judged anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Nothing more has to be known: the journal knows of everything, or the lane is in doubt. The gate is ruled.
    Settled,
    /// Read the blocks that became irrevocable since this process began.
    ReadInFlight,
    /// Ask when the account was last used.
    AskLastUse,
    /// Read the irrevocable blocks of this time, Unix ms of blocks.
    ReadBlocks {
        /// The first time.
        from_ms: i64,
        /// The last time.
        until_ms: i64,
    },
    /// Ask for calls that are not irrevocable.
    AskUnconfirmed(UnconfirmedIn, CallsThatCount),
    /// The account did something that the journal does not know: the lane is in doubt, and learns everything since
    /// then from blocks.
    Begin {
        /// Until when the journal knows everything, Unix ms.
        since_ms: i64,
    },
    /// That cannot be told yet: the lane is closed until the next look.
    Wait,
    /// Too few nodes told, and their answers are needed: the look fails.
    Unread,
}

/// The judgement on an account's past: the checks that are ended, and the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastRuling {
    /// The checks, to be kept once the step is done.
    pub checks: PastChecks,
    /// The next step.
    pub next: Doubt,
}

/// Judges the past of an account. Transactions that a copy of the journal has forgotten may have been on their way
/// when this process began, in irrevocable blocks since everything was known, or in blocks and pools that are not
/// irrevocable: the three are checked in this order.
pub fn doubt(view: &PastView) -> PastRuling {
    let mut checks = view.checks;
    let next = in_flight(view, &mut checks)
        .or_else(|| past(view, &mut checks))
        .unwrap_or_else(|| unconfirmed(view, &mut checks));
    PastRuling { checks, next }
}

/// Returns true if a lane that the journal does not know begins in doubt: its account was used after the newest row
/// that another process has left, so the journal may be a copy from before the lane. Earlier use is the account's own
/// history.
pub fn new_lane_is_in_doubt(left_ms: i64, used_ms: Option<i64>) -> bool {
    used_ms.is_some_and(|used_ms| used_ms >= left_ms)
}

/// Judges what was on its way when this process began: blocks are read until nothing that was signed before can land
/// any more, unless the journal is new or all of it is learnt anyway. The lane is open meanwhile, so blocks that
/// cannot be read are no reason to close it.
fn in_flight(view: &PastView, checks: &mut PastChecks) -> Option<Doubt> {
    let since_ms = view.journal.left_ms?;
    if view.in_doubt || checks.in_flight {
        return None;
    }
    match view.in_flight {
        BlocksSeen::NotRead => Some(Doubt::ReadInFlight),
        BlocksSeen::Failed => None,
        BlocksSeen::Read { unknown, complete } => {
            checks.in_flight = complete;
            unknown.then_some(Doubt::Begin { since_ms })
        }
    }
}

/// Judges the account's last use before this process began. Transactions that a copy has forgotten may have landed in
/// the same blocks as those that it knows, or before, where the last use does not show them. So blocks are read as
/// soon as anything has landed since everything was known.
fn past(view: &PastView, checks: &mut PastChecks) -> Option<Doubt> {
    if view.in_doubt || checks.past {
        return None;
    }
    let (used_ms, known_ms) = match view.last_use {
        LastUseSeen::NotAsked => return Some(Doubt::AskLastUse),
        LastUseSeen::Never => {
            checks.past = true;
            return None;
        }
        LastUseSeen::At { used_ms, known_ms } => (used_ms, known_ms),
    };
    let left_ms = view.journal.left_ms.unwrap_or_default();
    // The holder of the key of an account that bills no more may have moved its coins before the journal was left.
    let owners_affair_ms = if view.only_follows { left_ms } else { 0 };
    let known_ms = known_ms.max(owners_affair_ms);
    // The account's acts before the journal was left are its own history where the journal did not know the lane.
    let known_at_start_ms = view.journal.known_at_start_ms.or(view.journal.left_ms);
    let known_at_start_ms = known_at_start_ms.map(|ms| ms.max(owners_affair_ms));
    if used_ms < known_at_start_ms.unwrap_or(known_ms) {
        checks.past = true;
        return None;
    }
    // The process before this one may have ended before it saw that somebody else used the account.
    let from_ms = known_at_start_ms.map_or(left_ms, |known_ms| known_ms.min(left_ms));
    let next = match view.since_known {
        // The journal is new: no process had it before this one.
        _ if view.journal.left_ms.is_none() => Doubt::Begin { since_ms: known_ms },
        BlocksSeen::NotRead => Doubt::ReadBlocks { from_ms, until_ms: used_ms },
        BlocksSeen::Read { unknown: true, .. } => Doubt::Begin { since_ms: from_ms },
        BlocksSeen::Failed | BlocksSeen::Read { complete: false, .. } => Doubt::Wait,
        BlocksSeen::Read { unknown: false, complete: true } => {
            checks.past = true;
            return None;
        }
    };
    checks.past = matches!(next, Doubt::Begin { .. });
    Some(next)
}

/// Judges the calls that are not irrevocable. They are asked for on and on: somebody else may have the key.
fn unconfirmed(view: &PastView, checks: &mut PastChecks) -> Doubt {
    let settled = checks.unconfirmed_ms.is_some();
    let later = settled && checks.in_flight_is_over(view.journal.left_ms) && !view.in_doubt;
    let read_just_now =
        checks.unconfirmed_ms.is_some_and(|ms| view.now_ms.abs_diff(ms) < READ_EVERY_MS);
    let asks = match view.waiting {
        OwnWaiting::Nothing => !view.only_follows,
        OwnWaiting::Some => !view.only_follows && !read_just_now,
        OwnWaiting::Leaving => true,
    };
    if later && !asks {
        return Doubt::Settled;
    }
    let (unknown, untold, unread) = match view.unconfirmed {
        UnconfirmedSeen::NotAsked => return ask_unconfirmed(later, view.waiting),
        UnconfirmedSeen::Told { unknown, untold, unread, rival_until_ms } => {
            checks.rival_until_ms = checks.rival_until_ms.max(rival_until_ms);
            (unknown, untold, unread)
        }
    };
    if unread && !unknown {
        return if settled && !view.in_doubt { Doubt::Settled } else { Doubt::Unread };
    }
    checks.unknown = unknown;
    // The transaction in the pool may be a batch of ours which is in no block yet, but only if the process before
    // this one closed the journal: otherwise the journal may be a copy of a running one. A batch that is about to be
    // sent again needs to be told.
    let explained = view.waiting == OwnWaiting::Some && (settled || view.journal.was_closed);
    if unknown && view.in_doubt {
        Doubt::Settled
    } else if unknown {
        Doubt::Begin { since_ms: all_was_known_ms(view) }
    } else if untold && !explained {
        if settled || view.in_doubt { Doubt::Settled } else { Doubt::Wait }
    } else {
        checks.unconfirmed_ms = Some(view.now_ms);
        Doubt::Settled
    }
}

fn ask_unconfirmed(later: bool, waiting: OwnWaiting) -> Doubt {
    let places = if later && waiting == OwnWaiting::Some {
        UnconfirmedIn::Blocks
    } else {
        UnconfirmedIn::BlocksAndPools
    };
    let calls = if later { CallsThatCount::Billings } else { CallsThatCount::All };
    Doubt::AskUnconfirmed(places, calls)
}

/// Until when nothing was unknown, Unix ms by the time of blocks.
fn all_was_known_ms(view: &PastView) -> i64 {
    let by_blocks = |at_ms: i64| at_ms.saturating_sub(view.journal.clocks_ms);
    match (view.checks.unconfirmed_ms, view.journal.left_ms) {
        (Some(known_ms), _) => by_blocks(known_ms),
        (None, Some(left_ms)) => left_ms,
        (None, None) => by_blocks(view.now_ms),
    }
}

#[cfg(test)]
mod tests;
