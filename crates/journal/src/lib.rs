#![doc = include_str!("../README.md")]

mod audit;
mod by_people;
mod commit;
mod copies;
mod error;
mod figures;
mod found_at_start;
mod free_space;
mod history;
mod job;
mod model;
mod open_error;
mod opened;
mod queue;
mod reading;
mod sharing;
pub mod sql;
mod sqlite;
pub mod store;
mod tables;
#[cfg(feature = "testing")]
pub mod testing;

pub use audit::{Audit, AuditWatch};
pub use by_people::config_change::{Accepting, NotAccepted};
pub use by_people::interchange::{Exported, Imported, NotImported};
pub use commit::day_sums::Spent;
pub use commit::requests::RequestStanding;
pub use commit::rows::ClaimScope;
pub use copies::copy_contents::{CopyContents, SeenCopy};
pub use copies::not_copied::NotCopied;
pub use copies::regular_backups::RegularBackups;
pub use error::{AcceptError, JournalError};
pub use figures::Figures;
pub use job::Served;
pub use model::{
    Addition, Billing, Binding, Durable, FailedBilling, HistoryHead, Instance, LaneId, Line,
    LineOutcome, Misbound, Network, NoHead, Origin, OtherPause, Past, Pause, PersonsWord, Proposal,
    Recorded, Resolution, Resolved, Sealed, Settlement, Setup, Switch, Unresolved,
};
pub use open_error::OpenError;
pub use reading::Reading;
pub use sharing::standby::{Standby, StandbySight, Turn};
pub use sqlite::disk::Disk;
pub use sqlite::disks::{backups_share_the_disk, mark_shares_the_disk};
pub use sqlite::writer::Writer;
pub use tables::doubts::LearntUpTo;
pub use tables::gas_notes::GasNote;
pub use tables::gate_notes::GateNote;
pub use tables::known_lanes::KnownLane;
pub use tables::renames::{NotRenamed, Renames, Renaming};

use alloy::primitives::B256;
use billing::{Attempt, BatchId, Claim, ForeignTx, PlatformChainId, Slot, Subject};
use by_people::resolution;
use commit::{acceptance, day_sums, endings, place_takers, rows, waiting_claims};
use found_at_start::FoundAtStart;
use free_space::FreeSpace;
use host::clock::Clock;
use job::{Job, RanWrite};
use parking_lot::RwLock;
use policy::Count;
use queue::{WorkQueue, tell_if_heard};
use sharing::instances::ServingInstance;
use sql::Database;
use std::collections::BTreeMap;
use std::sync::Arc;
use tables::networks::Renamed;
use tables::{doubts, lane_past, networks, pauses};
use tokio::sync::oneshot;

/// The handle. Cheap to clone; the threads end when the last handle is dropped.
#[derive(Clone, Debug)]
pub struct Journal {
    queue: WorkQueue,
    figures: Arc<Figures>,
    found: FoundAtStart,
    space: FreeSpace,
    /// This process among those that share the journal. None: it is a file.
    instance: Option<Arc<ServingInstance>>,
    /// The most by which this machine's clock may have been ahead of the chains' when rows were written, ms.
    clocks_ms: i64,
    clock: Clock,
    /// The contracts whose periods were named otherwise before.
    renamed: Arc<Renamed>,
    /// As the last commit left it: written by the journal's thread alone.
    pauses: Arc<RwLock<BTreeMap<PlatformChainId, Pause>>>,
}

impl Journal {
    /// Finishes pending work and closes the file: then all of it is in that one file. A later use of a handle fails
    /// because the journal is lost.
    pub async fn close(&self) {
        self.queue.close().await;
    }

    /// Now by this machine's clock, Unix ms: the time that rows are dated by.
    pub fn now_ms(&self) -> i64 {
        self.clock.unix_ms()
    }

    /// Makes sure that a commit would be taken; called before anything is signed.
    pub fn ready(&self) -> Result<(), JournalError> {
        self.space.ready()?;
        if !self.found.begun.is_written() {
            return Err(JournalError::NoRoom);
        }
        self.queue.ready()
    }

    /// Returns the free room on the file's disk, bytes: 0 if nothing can be written. None if the room cannot be
    /// told.
    pub fn free_bytes(&self) -> Option<u64> {
        self.space.free_bytes()
    }

    /// The number of free bytes below which nothing new is taken.
    pub fn min_free_bytes(&self) -> u64 {
        self.space.min_free_bytes()
    }

    /// Returns true if the mark beside the file that was opened contradicts it, or is missing: a restored copy may
    /// have forgotten claims.
    pub fn is_old_copy(&self) -> bool {
        self.found.old_copy
    }

    /// Returns true if the process before this one closed the journal. If not, that process was killed, or the
    /// opened file is a copy that was made while it ran.
    pub fn was_closed(&self) -> bool {
        self.found.was_closed
    }

    /// Counters since the start.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// The live claims on each subject, in order.
    pub async fn claims(
        &self,
        scope: ClaimScope,
        subjects: Vec<Subject>,
    ) -> Result<Vec<Vec<Claim>>, JournalError> {
        let since = self.renamed.since(scope.chain, scope.contract);
        self.queue.read(move |conn| rows::claims(conn, scope, since, &subjects)).await
    }

    /// THE COMMIT: position, claims, signed bytes and history in one transaction.
    pub async fn accept(&self, proposal: Proposal) -> Result<Slot<Durable<Attempt>>, AcceptError> {
        self.hand_in(proposal).await?.await
    }

    /// The same in two steps: the first ends when the proposal has its place in the queue of the journal,
    /// the second when it is known what became of it. Proposals are looked at in the order of the queue.
    pub async fn hand_in(
        &self,
        proposal: Proposal,
    ) -> Result<impl Future<Output = Result<Slot<Durable<Attempt>>, AcceptError>>, AcceptError>
    {
        self.ready()?;
        let told = self.queue.begin_write(move |conn| acceptance::accept(conn, proposal)).await?;
        Ok(async { told.await.map_err(|_| self.queue.lost())? })
    }

    /// Commits another attempt for a batch. None when the batch has come further meanwhile.
    pub async fn add_attempt(
        &self,
        addition: Addition,
    ) -> Result<Option<Durable<Attempt>>, AcceptError> {
        self.queue.write(move |conn| acceptance::add_attempt(conn, addition)).await
    }

    /// Writes down transactions of the lane's account that the journal does not know, with the
    /// claims that go with them. `guard_s` as in [`Settlement`].
    pub async fn adopt(
        &self,
        origin: Origin,
        found: Vec<ForeignTx>,
        guard_s: u64,
        at_ms: i64,
    ) -> Result<(), JournalError> {
        let all = move |conn: &dyn Database| {
            found.iter().try_for_each(|tx| endings::adopt(conn, &origin, tx, guard_s, at_ms))
        };
        self.queue.write(all).await
    }

    /// Returns true if a transaction that was learnt from the chain has made a charge that this open batch holds.
    pub async fn is_charged_elsewhere(&self, batch: BatchId) -> Result<bool, JournalError> {
        let now_s = self.now_ms().div_euclid(1000);
        self.queue.read(move |conn| waiting_claims::is_charged_elsewhere(conn, batch, now_s)).await
    }

    /// Writes down how batches ended.
    pub async fn settle(&self, ends: Vec<Settlement>, at_ms: i64) -> Result<(), JournalError> {
        let all = move |conn: &dyn Database| endings::settle_all(conn, &ends, at_ms);
        self.queue.write(all).await
    }

    /// Has the journal know a chain as the configuration has it. Refused where it knows the chain otherwise.
    pub async fn bind(&self, binding: Binding, at_ms: i64) -> Result<(), JournalError> {
        let wanted = binding.clone();
        if self.queue.read(move |conn| networks::is_bound(conn, &wanted)).await? {
            return Ok(());
        }
        self.queue.write(move |conn| networks::bind(conn, &binding, at_ms)).await
    }

    /// Opens the lane at position `first`, or behind what was imported there, unless it is open; tells the next
    /// position. Its chain must be bound.
    pub async fn open_lane(
        &self,
        lane: LaneId,
        first: u64,
        at_ms: i64,
    ) -> Result<u64, JournalError> {
        let open = move |conn: &dyn Database| {
            acceptance::open_lane(conn, lane, place_takers::first_free(conn, lane, first)?, at_ms)
        };
        self.queue.write(open).await
    }

    /// The next position of a lane; none when it was never opened.
    pub async fn next_position(&self, lane: LaneId) -> Result<Option<u64>, JournalError> {
        self.queue.read(move |conn| acceptance::next_position(conn, lane)).await
    }

    /// Writes down that what a lane had forgotten is learnt.
    pub async fn end_doubt(&self, lane: LaneId, at_ms: i64) -> Result<(), JournalError> {
        self.queue.write(move |conn| doubts::end(conn, lane, at_ms)).await
    }

    /// Which of these transactions the journal does not know, in the same order.
    pub async fn unknown(&self, hashes: Vec<B256>) -> Result<Vec<B256>, JournalError> {
        self.queue.read(move |conn| doubts::unknown(conn, hashes)).await
    }

    /// Returns the state of a lane that an earlier process left: the time until which the journal knows the lane's
    /// acts, Unix ms of this machine, or none if it knows all; and every undecided batch, in the order of
    /// positions.
    pub async fn take_up(
        &self,
        lane: LaneId,
    ) -> Result<(Option<i64>, Vec<Slot<Durable<Attempt>>>), JournalError> {
        let unwritten = self.found.old_copy && !self.found.begun.is_written();
        if unwritten {
            self.found.begun.doubt(lane);
        } else if self.found.old_copy {
            let include = move |conn: &dyn Database| doubts::include(conn, lane);
            let included: Result<(), JournalError> = self.queue.write(include).await;
            included?;
        }
        let left = move |conn: &dyn Database| {
            let known = doubts::since(conn, lane)?;
            let newest = || if unwritten { doubts::newest_row(conn).map(Some) } else { Ok(None) };
            let since = known.map_or_else(newest, |since| Ok(Some(since)))?;
            Ok((since, rows::open_slots(conn, lane)?))
        };
        self.queue.read(left).await
    }

    /// Until when the journal knows for sure what the lane's account did, Unix ms; none before the lane is
    /// opened.
    pub async fn known_until(&self, lane: LaneId) -> Result<Option<i64>, JournalError> {
        let clocks_ms = self.clocks_ms;
        self.queue.read(move |conn| lane_past::known_until(conn, lane, clocks_ms)).await
    }

    /// Writes down that the lane's account did something after `known_until_ms` (Unix ms) that is not in
    /// the journal.
    pub async fn begin_doubt(
        &self,
        lane: LaneId,
        known_until_ms: i64,
        at_ms: i64,
    ) -> Result<(), JournalError> {
        let begin = move |conn: &dyn Database| doubts::begin_for(conn, lane, known_until_ms, at_ms);
        self.queue.write(begin).await
    }

    /// Returns the ends of the newest batches of a lane, as far back as `since_ms` (Unix ms of this machine).
    pub async fn past(&self, lane: LaneId, since_ms: i64) -> Result<Past, JournalError> {
        self.queue.read(move |conn| lane_past::past(conn, lane, since_ms)).await
    }

    /// Checks that the sums of the day have room for this much more. Takes nothing.
    pub async fn room(
        &self,
        chain: PlatformChainId,
        counts: Vec<Count>,
        at_ms: i64,
    ) -> Result<(), AcceptError> {
        self.queue.read(move |conn| Ok(day_sums::room(conn, chain, &counts, at_ms))).await?
    }

    /// The sums of all accounts of a chain on the day of `at_ms`.
    pub async fn spent(
        &self,
        chain: PlatformChainId,
        at_ms: i64,
    ) -> Result<Vec<Spent>, JournalError> {
        self.queue.read(move |conn| day_sums::spent(conn, chain, at_ms)).await
    }

    /// Returns the pause of a chain, if somebody paused it.
    pub fn paused(&self, chain: PlatformChainId) -> Option<Pause> {
        self.pauses.read().get(&chain).cloned()
    }

    /// Pauses or resumes chains. Once it is told, nothing new is signed on a paused one.
    /// `by` is who does it, and when.
    pub async fn set_paused(
        &self,
        switch: Switch,
        by: Pause,
    ) -> Result<Result<(), OtherPause>, JournalError> {
        let (tell, told) = oneshot::channel();
        let known = Arc::clone(&self.pauses);
        let job = Job::Write(Box::new(move |conn| {
            let result = pauses::set(conn, &switch, &by);
            let keep = matches!(result, Ok(Ok(_)));
            let reply = Box::new(move || {
                let now_known = |now| *known.write() = now;
                tell_if_heard(tell, result.map(|set| set.map(now_known)));
            });
            RanWrite { keep, reply }
        }));
        self.queue.put(job).await?;
        Ok(told.await.map_err(|_| self.queue.lost())??)
    }

    /// Writes down what a person found out about a charge that the chain does not tell of.
    pub async fn resolve(
        &self,
        finding: PersonsWord,
    ) -> Result<Result<Resolved, Unresolved>, JournalError> {
        self.queue.write(move |conn| resolution::resolve(conn, &finding)).await
    }

    /// A batch with everything that is known of it.
    pub async fn billing(&self, batch: BatchId) -> Result<Option<Billing>, JournalError> {
        self.queue.read(move |conn| rows::billing(conn, batch)).await
    }

    /// The batch that any of its hashes names.
    pub async fn billing_by_hash(&self, hash: B256) -> Result<Option<Billing>, JournalError> {
        self.queue.read(move |conn| rows::billing_by_hash(conn, hash)).await
    }

    /// The last row of the history; it is in the figures from then on, too.
    pub async fn head(&self) -> Result<HistoryHead, JournalError> {
        let head = self.queue.read(history::head).await?;
        *self.figures.head.lock() = Some(head.clone());
        Ok(head)
    }
}
