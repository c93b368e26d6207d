//! The work between runs: outcomes are followed, callbacks read, books compared, letters sent.

use super::super::ScheduleError;
use super::super::answer::look;
use super::super::book::{Flight, Look};
use super::super::feed::Heard;
use super::super::reconcile::Change;
use super::Scheduler;
use super::report::{RunReport, progress, progress_ends};
use crate::error::CallError;
use crate::signer::SignerClient;
use futures_util::{StreamExt as _, stream};
use tracing::{info, warn};

/// Number of transactions that are asked about at once.
const LOOKS_AT_ONCE: usize = 16;
/// Number of letters that go to the inbox in one request.
const LETTERS: u32 = 200;

impl Scheduler {
    /// Follows, reads, compares and tells. A question that a peer did not answer waits for the next time.
    pub(in crate::schedule) async fn tend(
        &mut self,
        report: &mut RunReport,
    ) -> Result<(), ScheduleError> {
        self.look_all(report).await?;
        self.read_callbacks(report).await?;
        self.compare(report)?;
        self.send_letters(report).await?;
        report.open = self.book.open_flights()?.0;
        self.metrics.stands(&self.book.census()?, report.open, self.book.waiting_letters()?);
        Ok(())
    }

    /// Looks at every open transaction, due for it or not: a run wants to know who is free again.
    pub(super) async fn look_now(&mut self, report: &mut RunReport) -> Result<(), ScheduleError> {
        let open = self.book.flights(i64::MAX, u32::MAX)?;
        self.look_at(open, report).await.map(drop)
    }

    async fn look_all(&mut self, report: &mut RunReport) -> Result<(), ScheduleError> {
        loop {
            let due = self.book.flights(self.clock.now_ms(), 256)?;
            if due.is_empty() || !self.look_at(due, report).await? {
                progress_ends();
                return Ok(());
            }
        }
    }

    /// Asks the Signer about transactions. False if it did not answer on one of them.
    async fn look_at(
        &mut self,
        flights: Vec<Flight>,
        report: &mut RunReport,
    ) -> Result<bool, ScheduleError> {
        let signer = self.peers.signer.clone();
        let mut looks = stream::iter(flights.into_iter().map(|flight| ask(&signer, flight)))
            .buffer_unordered(LOOKS_AT_ONCE);
        let mut deaf = None;
        while let Some((flight, look)) = looks.next().await {
            let now_ms = self.clock.now_ms();
            match look {
                Ok(Some(look)) => {
                    self.book.looked(&flight, look, now_ms, &self.setup.rules)?;
                }
                Ok(None) => self.book.not_looked(&flight, now_ms, &self.setup.rules)?,
                Err(error) => {
                    deaf = Some(error.to_string());
                    self.book.not_looked(&flight, now_ms, &self.setup.rules)?;
                }
            }
            progress(|| format!("looked at {}", flight.tx_hash));
        }
        let heard = deaf.is_none();
        if let Some(why) = deaf {
            report.faults.push(format!("outcomes could not be read: {why}"));
        }
        Ok(heard)
    }

    async fn read_callbacks(&mut self, report: &mut RunReport) -> Result<(), ScheduleError> {
        let Some(feed) = self.peers.feed.clone() else { return Ok(()) };
        loop {
            let cursor = self.book.cursor()?;
            let (callbacks, next) = match feed.after(&cursor).await {
                Ok(Heard::Callbacks { callbacks, next }) => (callbacks, next),
                Ok(Heard::OtherFeed) if cursor.is_empty() => {
                    report.faults.push("the inbox has no beginning to be read from".to_owned());
                    return Ok(());
                }
                Ok(Heard::OtherFeed) => {
                    warn!(
                        "the inbox's file is another one, or an older copy: it is read from its beginning"
                    );
                    self.book.take_callbacks(&[], "", self.clock.now_ms())?;
                    continue;
                }
                Err(error) => {
                    report.faults.push(format!("the inbox could not be read: {error}"));
                    return Ok(());
                }
            };
            if callbacks.is_empty() && (next == cursor || next == "0") {
                return Ok(());
            }
            self.book.take_callbacks(&callbacks, &next, self.clock.now_ms())?;
        }
    }

    fn compare(&mut self, report: &mut RunReport) -> Result<(), ScheduleError> {
        let now_ms = self.clock.now_ms();
        let (changes, named) =
            self.book.reconcile(self.peers.inbox(), now_ms, &self.setup.rules)?;
        for change in changes {
            match change {
                Change::Named { difference, .. } => {
                    let (kind, subject) = (difference.kind.word(), difference.subject);
                    warn!(kind, subject, "the books differ, and have for too long");
                }
                Change::Agreed { difference } => {
                    let (kind, subject) = (difference.kind.word(), difference.subject);
                    info!(kind, subject, "the books agree again");
                }
            }
        }
        report.differences = named.values().copied().fold(0, u64::saturating_add);
        self.metrics.differ(&named);
        Ok(())
    }

    async fn send_letters(&mut self, report: &mut RunReport) -> Result<(), ScheduleError> {
        let Some(feed) = self.peers.feed.clone() else { return Ok(()) };
        let of = format!("schedule/{}", self.book.identity()?);
        loop {
            let letters = self.book.letters(LETTERS)?;
            let Some(last) = letters.last() else { return Ok(()) };
            if let Err(error) = feed.tell(&of, &letters).await {
                report.faults.push(format!("the inbox took no letters: {error}"));
                return Ok(());
            }
            self.book.sent(last.id)?;
        }
    }
}

async fn ask(signer: &SignerClient, flight: Flight) -> (Flight, Result<Option<Look>, CallError>) {
    let answer = signer.billings(&flight.tx_hash).await;
    (flight, answer.map(|statuses| look(&statuses)))
}
