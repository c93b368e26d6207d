#![doc = include_str!("../README.md")]

mod audit;
mod by_people;
mod commit;
pub mod copies;
mod error;
mod figures;
mod found_at_start;
mod free_space;
mod history;
mod job;
mod lane_journal;
mod model;
mod open_error;
mod opened;
mod pauses;
mod queue;
mod reading;
mod server_link;
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
pub use error::{AcceptError, JournalError, NotWritten};
pub use figures::Figures;
pub use found_at_start::FoundAtStart;
pub use free_space::FreeSpace;
pub use job::Served;
pub use lane_journal::{LaneJournal, LaneState};
pub use model::{
    Addition, Billing, Binding, Durable, FailedBilling, HistoryEvent, HistoryHead, Instance,
    LaneId, LeftJournal, Line, LineOutcome, Misbound, Network, NoHead, Origin, OtherPause, Past,
    Pause, PersonsWord, Proposal, Recorded, Resolution, Resolved, Sealed, Settlement, Setup,
    Switch, Unresolved,
};
pub use open_error::OpenError;
pub use pauses::Pauses;
pub use reading::Reading;
pub use sharing::instances::Instances;
pub use sharing::standby::{Standby, StandbySight, Turn};
pub use sqlite::disk::Disk;
pub use sqlite::disks::{backups_share_the_disk, mark_shares_the_disk};
pub use sqlite::writer::Writer;
pub use tables::doubts::LearntUpTo;
pub use tables::gas_notes::GasMoney;
pub use tables::known_lanes::KnownLane;
pub use tables::renames::{NotRenamed, Renames, Renaming};

use alloy::primitives::B256;
use billing::{Attempt, BatchId, Claim, ForeignTx, PlatformChainId, Slot, Subject};
use by_people::resolution;
use commit::{acceptance, day_sums, endings, rows, waiting_claims};
use host::clock::Clock;
use policy::Count;
use queue::WorkQueue;
use sql::Database;
use std::sync::Arc;
use std::time::Duration;
use tables::networks::Renamed;
use tables::{doubts, networks};

/// The most subjects whose claims are looked up on the thread that asks, which other requests need too.
const SHORT: usize = 32;

/// The handle. Cheap to clone; the threads end when the last handle is dropped.
#[derive(Clone, Debug)]
pub struct Journal {
    queue: WorkQueue,
    figures: Arc<Figures>,
    found: FoundAtStart,
    space: Arc<FreeSpace>,
    pauses: Pauses,
    instances: Instances,
    clock: Clock,
    /// The contracts whose periods were named otherwise before.
    renamed: Arc<Renamed>,
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
        if !self.found.begun().is_written() {
            return Err(JournalError::NoRoom);
        }
        self.queue.ready()
    }

    /// Every lane is taken up: from now on this process may close a journal that was found unclosed, and an old copy
    /// puts no further lanes in doubt.
    pub async fn set_all_taken_up(&self) -> Result<(), JournalError> {
        let begun = self.found.begun();
        begun.set_all_taken_up();
        let lacks = self.queue.read(doubts::unknown_lanes).await?.is_some();
        if !lacks || !begun.is_written() {
            return Ok(());
        }
        let at_ms = self.now_ms();
        self.queue.write(move |conn| doubts::all_taken_up(conn, at_ms)).await
    }

    /// The findings of this process's start.
    pub fn found(&self) -> &FoundAtStart {
        &self.found
    }

    /// The same journal, whose rows may be dated by a clock that was so far ahead of the chains': two minutes at least,
    /// ten at most.
    #[must_use]
    pub fn dated_within(self, clocks: Duration) -> Self {
        Self { found: self.found.dated_within(clocks), ..self }
    }

    /// The room on the disk of a file.
    pub fn space(&self) -> &FreeSpace {
        &self.space
    }

    /// The pauses of chains.
    pub fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    /// The processes that share the journal.
    pub fn instances(&self) -> &Instances {
        &self.instances
    }

    /// The journal of one lane.
    pub fn lane(&self, lane: LaneId) -> LaneJournal<'_> {
        LaneJournal::new(self, lane)
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
        let short = subjects.len() <= SHORT;
        let look_up = move |conn: &dyn Database| rows::claims(conn, scope, since, &subjects);
        if short { self.queue.look_up(look_up).await } else { self.queue.read(look_up).await }
    }

    /// [`Self::hand_in`], and waits for what became of it.
    pub async fn accept(&self, proposal: Proposal) -> Result<Slot<Durable<Attempt>>, AcceptError> {
        self.hand_in(proposal).await?.await
    }

    /// THE COMMIT: position, claims, signed bytes and history in one transaction. Ends when the proposal has its place
    /// in the journal's queue; the returned future ends when it is known what became of it. Proposals are judged in the
    /// order of the queue.
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

    /// Which of these transactions the journal does not know, in the same order.
    pub async fn unknown(&self, hashes: Vec<B256>) -> Result<Vec<B256>, JournalError> {
        self.queue.read(move |conn| doubts::unknown(conn, hashes)).await
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

    /// Writes down what a person found out about a charge that the chain does not tell of.
    pub async fn resolve(&self, finding: PersonsWord) -> Result<Resolved, NotWritten<Unresolved>> {
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
