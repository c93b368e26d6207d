//! The account's past, checked by the product's rulings: whether the journal knows all that the account did.

use super::broken::BrokenRule;
use super::signer::Signer;
use super::world::{Began, EndBefore, Journal, block_from};
use crate::process::GateState;
use crate::transactions::TxId;
use billing::{
    BlocksSeen, Doubt, JournalPast, LastUseSeen, OwnWaiting, PastChecks, PastRuling, PastView,
    UnconfirmedIn, UnconfirmedSeen, doubt,
};

/// A time before all blocks, Unix ms.
const LONG_AGO_MS: i64 = i64::MIN;

/// The past that a process found, and how far the process has checked that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Past {
    /// When the last process that had checked all left the journal, Unix ms; none if the journal is new.
    pub(crate) left_ms: Option<i64>,
    was_closed: bool,
    known_ms: i64,
    pub(crate) checks: PastChecks,
}

impl Past {
    /// The past that a process finds in a journal of which all was checked.
    pub(crate) fn found(journal: &Journal, before: EndBefore, left_ms: i64) -> Self {
        Self {
            left_ms: Some(left_ms),
            was_closed: before == EndBefore::Closed,
            known_ms: journal.known_ms(),
            checks: PastChecks::default(),
        }
    }

    /// The same past, which the process before this one has not checked to the end.
    pub(crate) fn found_again(self, before: EndBefore) -> Self {
        let was_closed = self.was_closed && before == EndBefore::Closed;
        Self { was_closed, checks: PastChecks::default(), ..self }
    }

    /// A block has come, so all that was asked was asked long ago.
    pub(crate) fn forget_when(&mut self) {
        self.checks.unconfirmed_ms = self.checks.unconfirmed_ms.map(|_| LONG_AGO_MS);
    }
}

impl Signer<'_> {
    /// Checks that the journal knows of everything that the account did, and returns true if that is settled, or the
    /// lane is in doubt.
    pub(crate) fn reconciles(&mut self, waiting: OwnWaiting) -> bool {
        let mut view = self.past_view(waiting);
        loop {
            let PastRuling { checks, next } = doubt(&view);
            view.checks = checks;
            self.world.process.past.checks = checks;
            match next {
                Doubt::ReadInFlight => view.in_flight = self.arrivals(),
                Doubt::AskLastUse => view.last_use = self.last_use(),
                Doubt::ReadBlocks { from_ms, until_ms } => {
                    view.since_known = self.uses(from_ms, until_ms);
                }
                Doubt::AskUnconfirmed(places, _) => view.unconfirmed = self.unconfirmed(places),
                Doubt::Begin { .. } => {
                    self.world.journal.in_doubt = true;
                    self.world.process.gate = GateState::Closed;
                    view.in_doubt = true;
                }
                Doubt::Settled => {
                    self.note_reconciled();
                    return true;
                }
                Doubt::Wait | Doubt::Unread => return false,
            }
        }
    }

    /// Returns true if the journal knows everything that any node tells of now.
    pub(crate) fn knows_all_now(&mut self) -> bool {
        let asked_ms = self.world.now_ms();
        self.reconciles(OwnWaiting::Leaving);
        let known_ms = self.world.process.past.checks.unconfirmed_ms;
        !self.world.journal.in_doubt && known_ms.is_some_and(|ms| ms >= asked_ms)
    }

    fn past_view(&self, waiting: OwnWaiting) -> PastView {
        let Past { left_ms, was_closed, known_ms, checks } = self.world.process.past;
        let known_at_start_ms = Some(known_ms);
        PastView {
            journal: JournalPast { left_ms, was_closed, known_at_start_ms, clocks_ms: 0 },
            only_follows: false,
            in_doubt: self.world.journal.in_doubt,
            undecided: self.world.journal.open().count(),
            waiting,
            now_ms: self.world.now_ms(),
            checks,
            in_flight: BlocksSeen::NotRead,
            last_use: LastUseSeen::NotAsked,
            since_known: BlocksSeen::NotRead,
            unconfirmed: UnconfirmedSeen::NotAsked,
        }
    }

    /// The next process finds no older past than this one's, which is of no more use.
    fn note_reconciled(&mut self) {
        let Past { left_ms, checks, .. } = self.world.process.past;
        if !self.world.journal.in_doubt && checks.knew_all() && checks.in_flight_is_over(left_ms) {
            self.world.journal.unreconciled = None;
            self.world.process.began = Some(Began::default());
            let left_ms = left_ms.map(|_| 0);
            self.world.process.past = Past { left_ms, checks, ..Past::default() };
        }
    }

    /// Reads the blocks that became irrevocable since this process began.
    fn arrivals(&self) -> BlocksSeen {
        let Some(Began { solid, dead_after }) = self.world.process.began else {
            return BlocksSeen::Failed;
        };
        let agreed = self.heads().solid;
        let unknown = self.is_unknown_in(solid.saturating_add(1), agreed.min(dead_after));
        BlocksSeen::Read { unknown, complete: agreed >= dead_after }
    }

    fn last_use(&self) -> LastUseSeen {
        if self.has_broken(BrokenRule::PastIsNotAsked) {
            return LastUseSeen::Never;
        }
        let known_ms = self.world.journal.known_ms();
        self.nodes
            .last_used_ms(self.world)
            .map_or(LastUseSeen::Never, |used_ms| LastUseSeen::At { used_ms, known_ms })
    }

    /// Reads the blocks from this time to the one after a use at that.
    fn uses(&self, from_ms: i64, used_ms: i64) -> BlocksSeen {
        let time = |ms: i64| u64::try_from(ms).unwrap_or_default();
        let first = block_from(time(from_ms));
        let last = block_from(time(used_ms).saturating_add(1));
        let agreed = self.heads().solid;
        let unknown = self.is_unknown_in(first, agreed.min(last));
        BlocksSeen::Read { unknown, complete: agreed >= last }
    }

    fn is_unknown_in(&self, first: u8, last: u8) -> bool {
        let mut landed = self.world.landed(first..=last);
        landed.any(|(_, landing)| !self.world.journal.knows(landing.tx))
    }

    /// Asks for the calls that can be undone.
    fn unconfirmed(&self, places: UnconfirmedIn) -> UnconfirmedSeen {
        let pools = places == UnconfirmedIn::BlocksAndPools;
        let calls = self.nodes.calls(self.world, self.heads().solid, pools);
        let unknown = |tx: &TxId| !self.world.journal.knows(*tx);
        let asked = !self.has_broken(BrokenRule::UnconfirmedAreNotAsked);
        UnconfirmedSeen::Told {
            unknown: asked && calls.iter().any(unknown),
            untold: false,
            // Two of three always tell.
            unread: false,
            rival_until_ms: None,
        }
    }
}
