//! The journal of one lane: its positions, its past, and what it has forgotten.

use crate::commit::{acceptance, place_takers, rows};
use crate::found_at_start::FoundAtStart;
use crate::model::{Durable, LaneId, LeftJournal, Past};
use crate::queue::WorkQueue;
use crate::sql::Database;
use crate::tables::doubts::LearntUpTo;
use crate::tables::gas_notes::GasMoney;
use crate::tables::{doubts, gas_notes, gate_notes, lane_past, unreconciled};
use crate::{Journal, JournalError};
use billing::{Attempt, Slot};

/// The journal of a lane.
#[derive(Clone, Copy, Debug)]
pub struct LaneJournal<'j> {
    journal: &'j Journal,
    lane: LaneId,
}

/// The state of a lane that an earlier process left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneState {
    /// Until when the journal knows the lane's acts, Unix ms of this machine. None: it knows all.
    pub known_until_ms: Option<i64>,
    /// The journal as it was left, its time in Unix ms by the time of blocks.
    pub left: LeftJournal,
    /// Every undecided batch, in the order of positions.
    pub open: Vec<Slot<Durable<Attempt>>>,
}

impl<'j> LaneJournal<'j> {
    pub(crate) fn new(journal: &'j Journal, lane: LaneId) -> Self {
        Self { journal, lane }
    }

    fn queue(self) -> &'j WorkQueue {
        &self.journal.queue
    }

    fn found(self) -> &'j FoundAtStart {
        &self.journal.found
    }

    /// Opens the lane at position `first`, or behind what was imported there, unless it is open; tells the next
    /// position. Its chain must be bound.
    pub async fn open(self, first: u64, at_ms: i64) -> Result<u64, JournalError> {
        let lane = self.lane;
        let open = move |conn: &dyn Database| {
            acceptance::open_lane(conn, lane, place_takers::first_free(conn, lane, first)?, at_ms)
        };
        self.queue().write(open).await
    }

    /// The next position; none when the lane was never opened.
    pub async fn next_position(self) -> Result<Option<u64>, JournalError> {
        let lane = self.lane;
        self.queue().read(move |conn| acceptance::next_position(conn, lane)).await
    }

    /// Takes up the lane as an earlier process left it.
    pub async fn take_up(self) -> Result<LaneState, JournalError> {
        let (lane, found) = (self.lane, self.found().clone());
        let left = {
            let found = found.clone();
            let left = self.queue().read(move |conn| unreconciled::left(conn, lane, &found));
            left.await?
        };
        let (old_copy, unwritten) = (found.is_old_copy(), !found.begun().is_written());
        if unwritten {
            found.begun().take_up(lane, left);
        } else {
            let at_ms = self.journal.now_ms();
            let take_up = move |conn: &dyn Database| {
                doubts::include(conn, lane)?;
                unreconciled::take_up(conn, lane, left, at_ms)
            };
            let taken_up: Result<(), JournalError> = self.queue().write(take_up).await;
            taken_up?;
        }
        let state = move |conn: &dyn Database| {
            let left = LeftJournal { left_ms: left.left_ms.map(|ms| found.by_blocks(ms)), ..left };
            let mut known_until_ms = doubts::since(conn, lane)?;
            if known_until_ms.is_none() && unwritten {
                known_until_ms = doubts::unknown_lanes(conn)?;
            }
            if known_until_ms.is_none() && unwritten && old_copy {
                known_until_ms = Some(doubts::known_until_ms(conn)?);
            }
            Ok(LaneState { known_until_ms, left, open: rows::open_slots(conn, lane)? })
        };
        self.queue().read(state).await
    }

    /// Writes down that the journal knows everything that the lane's account did.
    pub async fn reconciled(self) -> Result<(), JournalError> {
        let (lane, at_ms) = (self.lane, self.journal.now_ms());
        self.queue().write(move |conn| unreconciled::reconciled(conn, lane, at_ms)).await
    }

    /// Until when the journal knows for sure what the lane's account did, Unix ms; none before the lane is opened.
    pub async fn known_until(self) -> Result<Option<i64>, JournalError> {
        let (lane, found) = (self.lane, self.found().clone());
        self.queue().read(move |conn| lane_past::known_until(conn, lane, &found)).await
    }

    /// Returns the ends of the newest batches, as far back as `since_ms` (Unix ms of this machine).
    pub async fn past(self, since_ms: i64) -> Result<Past, JournalError> {
        let lane = self.lane;
        self.queue().read(move |conn| lane_past::past(conn, lane, since_ms)).await
    }

    /// Writes down that the lane's account did something after `known_until_ms` (Unix ms) that is not in the journal.
    pub async fn begin_doubt(self, known_until_ms: i64, at_ms: i64) -> Result<(), JournalError> {
        let lane = self.lane;
        let begin = move |conn: &dyn Database| doubts::begin_for(conn, lane, known_until_ms, at_ms);
        self.queue().write(begin).await
    }

    /// Writes down up to which final block everything is learnt that the lane has forgotten.
    pub async fn has_read(self, read: LearntUpTo, at_ms: i64) -> Result<(), JournalError> {
        let lane = self.lane;
        self.queue().write(move |conn| doubts::has_read(conn, lane, read, at_ms)).await
    }

    /// Up to which final block that is; none where it was not written down.
    pub async fn read_until(self) -> Result<Option<LearntUpTo>, JournalError> {
        let lane = self.lane;
        self.queue().read(move |conn| doubts::read_until(conn, lane)).await
    }

    /// Writes down that what the lane had forgotten is learnt.
    pub async fn end_doubt(self, at_ms: i64) -> Result<(), JournalError> {
        let lane = self.lane;
        self.queue().write(move |conn| doubts::end(conn, lane, at_ms)).await
    }

    /// The first place of the lane that was used up by no transaction, and of whose batch no person has said yet whom
    /// that let charge.
    pub async fn used_up(self) -> Result<Option<u64>, JournalError> {
        let lane = self.lane;
        self.queue().read(move |conn| place_takers::used_up(conn, lane)).await
    }

    /// Writes down whether the lane takes new work: the reason that it takes none, or none if it does.
    pub async fn note_gate(self, closed: Option<String>) -> Result<(), JournalError> {
        let (lane, at_ms) = (self.lane, self.journal.now_ms());
        self.queue().write(move |conn| gate_notes::note(conn, lane, closed.as_deref(), at_ms)).await
    }

    /// Writes down whether the gas money of the lane runs low. `why` says for how long it lasts.
    pub async fn note_gas(self, money: GasMoney, why: String) -> Result<(), JournalError> {
        let (lane, at_ms) = (self.lane, self.journal.now_ms());
        self.queue().write(move |conn| gas_notes::note(conn, lane, money, &why, at_ms)).await
    }
}
