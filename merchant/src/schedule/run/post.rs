//! Posting: durable batches go to the Signer until each has a verdict.

use super::super::ScheduleError;
use super::super::answer::{Answer, read};
use super::super::book::Batch;
use super::super::plan::{Limits, drafts};
use super::super::standing::Heard;
use super::Scheduler;
use super::report::{RunReport, progress, progress_ends};
use crate::error::CallError;
use crate::signer::{Family, SignerClient, Verdict};
use futures_util::{StreamExt as _, stream};
use std::collections::BTreeSet;
use tracing::{error, warn};

impl Scheduler {
    /// Posts every batch that is due, in rounds of a few for each chain. A chain whose whole round
    /// heard no verdict is left alone until the next run or tick.
    pub(in crate::schedule) async fn post_all(
        &mut self,
        report: &mut RunReport,
    ) -> Result<(), ScheduleError> {
        let (mut deaf, mut renamed) = (BTreeSet::new(), BTreeSet::new());
        loop {
            let round = self.round(&deaf)?;
            if round.is_empty() {
                progress_ends();
                return Ok(());
            }
            let mut heard = BTreeSet::new();
            let chains: BTreeSet<i64> = round.iter().map(|(_, batch)| batch.chain).collect();
            let signer = self.peers.signer.clone();
            let posts = round.into_iter().map(|(family, batch)| post(&signer, family, batch));
            let mut answers = stream::iter(posts).buffer_unordered(64);
            while let Some((batch, answer)) = answers.next().await {
                report.posts = report.posts.saturating_add(1);
                let mut answer = read(&batch.ids, answer);
                if let Answer::NameTaken { why } = &answer
                    && !renamed.insert((batch.chain, batch.ids.clone()))
                {
                    // A Signer that refuses two names for the same subscriptions in one pass would refuse a third.
                    answer = Answer::Silence { why: why.clone(), pause_ms: 0, alarm: true };
                }
                if self.take(&batch, answer, report)? {
                    heard.insert(batch.chain);
                }
                progress(|| format!("{} posts, {} accepted", report.posts, report.accepted));
            }
            deaf.extend(chains.difference(&heard));
        }
    }

    fn round(&self, deaf: &BTreeSet<i64>) -> Result<Vec<(Family, Batch)>, ScheduleError> {
        let (now_ms, rules) = (self.clock.now_ms(), &self.setup.rules);
        let mut round = vec![];
        for chain in self.book.chains_to_post(now_ms, rules)? {
            // A chain that was taken out of the configuration keeps its batches until it is back.
            let Some(family) = self.setup.families.get(&chain) else { continue };
            if !deaf.contains(&chain) {
                let batches = self.book.unanswered(chain, now_ms, self.setup.at_once, rules)?;
                round.extend(batches.into_iter().map(|batch| (*family, batch)));
            }
        }
        Ok(round)
    }

    /// Writes down what a batch heard. Answers whether anything was heard.
    fn take(
        &mut self,
        batch: &Batch,
        answer: Answer,
        report: &mut RunReport,
    ) -> Result<bool, ScheduleError> {
        let now_ms = self.clock.now_ms();
        self.metrics.answered(&answer);
        match answer {
            Answer::Verdict(heard) => {
                let is_accepted =
                    |(_, heard): &&(i64, Heard)| matches!(heard, Heard::Accepted { .. });
                let accepted = heard.iter().filter(is_accepted).count();
                let declined = heard.len().saturating_sub(accepted);
                report.accepted = report.accepted.saturating_add(count(accepted));
                report.declined = report.declined.saturating_add(count(declined));
                self.book.answered(batch, heard, now_ms, &self.setup.rules)?;
                Ok(true)
            }
            Answer::Split { entries, too_large } => {
                self.split(batch, entries, too_large.then_some(entries), now_ms)?;
                Ok(true)
            }
            Answer::NameTaken { why } => {
                let request = batch.request_id.as_str();
                warn!(request, why, "the plan is given up, and made anew under another request id");
                self.split(batch, batch.ids.len(), None, now_ms)?;
                Ok(true)
            }
            Answer::Silence { why, pause_ms, alarm } => {
                let request = batch.request_id.as_str();
                if alarm {
                    error!(request, why, "no verdict, and waiting will not help: see to it");
                } else {
                    warn!(request, why, "no verdict: the same bytes are posted again");
                }
                report.silent = report.silent.saturating_add(1);
                self.book.unheard(batch, &why, now_ms, pause_ms, &self.setup.rules)?;
                Ok(false)
            }
        }
    }

    /// Has other batches, of so many entries at most, take the place of this one; later ones keep to the ceiling.
    fn split(
        &mut self,
        batch: &Batch,
        entries: usize,
        ceiling: Option<usize>,
        now_ms: i64,
    ) -> Result<(), ScheduleError> {
        let limits = Limits { entries, bytes: self.setup.limits.bytes };
        let (identity, members) = (self.book.identity()?, self.book.members(batch)?);
        let parts = drafts(identity, batch.chain, members, limits);
        Ok(self.book.split(batch, &parts, ceiling, now_ms, &self.setup.rules)?)
    }
}

async fn post(
    signer: &SignerClient,
    family: Family,
    batch: Batch,
) -> (Batch, Result<Verdict, CallError>) {
    let answer = signer.bill(family, &batch.body).await;
    (batch, answer)
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
