//! The loop: it carries out what the pure modules decide, and decides nothing itself.
//!
//! Every step ends in one durable transaction of the [`Book`]. Killed anywhere, the next process
//! begins with the batches that have no verdict, and posts the same bytes again.

mod post;
mod report;
mod tend;

pub use report::RunReport;

use super::ScheduleError;
use super::book::{Admitted, Book, Inbox, Listed};
use super::entry::Due;
use super::feed::Feed;
use super::metrics::Metrics;
use super::plan::{Draft, Limits, drafts};
use super::rules::Rules;
use crate::Client;
use crate::error::CallError;
use crate::pause_clock::PauseClock;
use crate::signer::{Family, SignerClient};
use futures_util::{StreamExt as _, pin_mut};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tracing::{debug, warn};

/// Time that Signer and inbox get to take in their news after the time of a sandbox was moved.
const SETTLING: Duration = Duration::from_secs(3);

/// The peers of the scheduler.
#[derive(Debug)]
pub(crate) struct Peers {
    pub(crate) platform: Client,
    pub(crate) signer: SignerClient,
    pub(crate) feed: Option<Feed>,
}

impl Peers {
    pub(crate) fn inbox(&self) -> Inbox {
        if self.feed.is_some() { Inbox::Read } else { Inbox::None }
    }
}

/// The setup of the scheduler.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The family of each chain, by the platform's chain id.
    pub(crate) families: BTreeMap<i64, Family>,
    pub(crate) limits: Limits,
    /// Number of batches of one chain that are posted at once.
    pub(crate) at_once: usize,
    pub(crate) rules: Rules,
}

/// The scheduler.
#[derive(Debug)]
pub(crate) struct Scheduler {
    pub(crate) book: Book,
    pub(crate) peers: Peers,
    pub(crate) setup: Setup,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: PauseClock,
}

impl Scheduler {
    /// Makes one whole run. Faults of the run are in the report; only a state that cannot be used is an error.
    pub(crate) async fn run(&mut self) -> Result<RunReport, ScheduleError> {
        self.clock.follow().await;
        if self.clock.is_followed() {
            // Time may have been moved on just now, by more than anybody is waited for.
            tokio::time::sleep(SETTLING).await;
        }
        let mut report = RunReport { run: self.book.begin_run()?, ..RunReport::default() };
        // Batches that an earlier run planned and that heard no verdict come first, with the same bytes.
        self.post_all(&mut report).await?;
        // A subscription whose transaction has ended since the last run is free for the next period.
        self.look_now(&mut report).await?;
        match self.read_list(&mut report).await {
            Ok(listed) => {
                report.listed = listed.due.len();
                let (now_ms, rules) = (self.clock.now_ms(), &self.setup.rules);
                let admitted = self.book.list(listed, now_ms, rules)?;
                self.plan(admitted, &mut report)?;
                self.post_all(&mut report).await?;
            }
            Err(error) => report.faults.push(format!("the list could not be read: {error}")),
        }
        for (batches, why) in self.book.unheard_of()? {
            let batches =
                if batches == 1 { "1 batch".to_owned() } else { format!("{batches} batches") };
            report.faults.push(format!("{batches} without a verdict: {why}"));
        }
        self.tend(&mut report).await?;
        let dropped =
            self.book.prune(self.peers.inbox(), self.clock.now_ms(), &self.setup.rules)?;
        if dropped > 0 {
            debug!(rows = dropped, "what is settled has left the state");
        }
        self.metrics.ran(&report, self.clock.now_ms());
        Ok(report)
    }

    /// Reads the whole list. An entry that cannot be read is left out, and nobody is concluded to
    /// be off the list then.
    async fn read_list(&self, report: &mut RunReport) -> Result<Listed, CallError> {
        let mut listed = Listed { due: vec![], whole: true };
        let entries = self.peers.platform.chargeable();
        pin_mut!(entries);
        while let Some(entry) = entries.next().await {
            let due = match entry {
                Ok(entry) => Due::read(entry.raw()).map_err(|error| error.to_string()),
                Err(error @ CallError::Entry { .. }) => Err(error.to_string()),
                Err(error) => return Err(error),
            };
            match due {
                Ok(due) => listed.due.push(due),
                Err(why) => {
                    listed.whole = false;
                    report.unreadable = report.unreadable.saturating_add(1);
                    warn!(why, "an entry of the chargeable list is left out");
                }
            }
            report::progress(|| format!("{} due subscriptions read", listed.due.len()));
        }
        Ok(listed)
    }

    fn plan(&mut self, admitted: Admitted, report: &mut RunReport) -> Result<(), ScheduleError> {
        let now_ms = self.clock.now_ms();
        report.held = admitted.held.values().copied().fold(0, u64::saturating_add);
        let (mut plan, identity): (Vec<Draft>, i64) = (vec![], self.book.identity()?);
        for (chain, due) in admitted.post {
            if !self.setup.families.contains_key(&chain) {
                report.faults.push(not_told(chain, due.len()));
                continue;
            }
            let mut limits = self.setup.limits;
            if let Some(ceiling) = self.book.ceiling(chain, now_ms, &self.setup.rules)? {
                limits.entries = limits.entries.min(ceiling);
            }
            report.planned = report.planned.saturating_add(due.len());
            plan.extend(drafts(identity, chain, due, limits));
        }
        Ok(self.book.plan(&plan, now_ms)?)
    }
}

/// The fault of a chain with entries, of whose family nothing is said.
fn not_told(chain: i64, due: usize) -> String {
    format!(
        "{due} due on chain {chain}, of which nobody said whether it is EVM or TVM: write chains = \
         [\"{chain}=TVM\"] (or EVM) in [schedule], or --chain {chain}=TVM"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_without_a_family_is_told_with_what_to_write() {
        let told = not_told(136, 2);
        assert!(told.starts_with("2 due on chain 136, "), "{told}");
        for to_write in ["chains = [\"136=TVM\"] (or EVM) in [schedule]", "--chain 136=TVM"] {
            assert!(told.contains(to_write), "{told}");
        }
    }
}
