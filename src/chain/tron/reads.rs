//! What wallets hold and allow, and what the contract's lookup says: in calls of Multicall3 where
//! there is one, else one by one.

use super::TronChain;
use super::api::{Api, CALLS_AT_ONCE};
use super::constant::{ConstantCallOutcome, TRIES};
use super::observe::Deployed;
use crate::billing::{Admitted, Charge, Funds};
use crate::chain::ChainError;
use crate::chain::reads::{Answers, FundsReads, LookupReads, Read, aggregated, answers};
use crate::contract::Looked;
use alloy::primitives::{Address, Bytes};
use futures_util::{StreamExt, TryStreamExt, stream};

/// How many reads tell the funds of one customer: balance and allowance.
const READS_OF_FUNDS: usize = 2;

impl TronChain {
    /// Asks the profile's lookup for every entry. None where the contract knows none, where its
    /// lookup reverts, and where the entry cannot be asked about.
    pub(super) async fn look_up(
        &self,
        api: Api<'_>,
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let known = self.ready().await?;
        let profile = &self.account.profile;
        let asked = LookupReads::of(profile, self.account.facts.contract, entries);
        let answers = self.read_all(api, known, &asked.reads(), self.parts.config.chunk).await?;
        Ok(asked.looked(profile, answers))
    }

    /// What every charge's wallet holds and allows the contract. None where the token does not
    /// answer as a token does.
    pub(super) async fn funds(
        &self,
        api: Api<'_>,
        known: Deployed,
        charges: &[Charge],
    ) -> Result<Vec<Option<Funds>>, ChainError> {
        let asked = FundsReads::of(charges, self.account.facts.contract);
        let chunk = self.parts.config.chunk.saturating_mul(READS_OF_FUNDS);
        let answers = self.read_all(api, known, &asked.reads(), chunk).await?;
        Ok(asked.read(charges, &answers))
    }

    async fn read_all(
        &self,
        api: Api<'_>,
        known: Deployed,
        reads: &[Read],
        chunk: usize,
    ) -> Result<Answers, ChainError> {
        let Some(at) = self.parts.config.multicall.filter(|_| known.multicall) else {
            let alone: Vec<_> = reads.iter().map(|read| self.read_alone(api, read)).collect();
            return stream::iter(alone).buffered(CALLS_AT_ONCE).try_collect().await;
        };
        let parts = reads.chunks(chunk.max(1));
        let parts: Vec<_> = parts.map(|part| self.read_together(api, at, part)).collect();
        let answers: Vec<Answers> =
            stream::iter(parts).buffered(CALLS_AT_ONCE).try_collect().await?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// Reads through the aggregator; in halves where the node stops the call. What fails among others
    /// is read once more alone: one that burns all energy lets those after it fail, too.
    async fn read_together(
        &self,
        api: Api<'_>,
        at: Address,
        reads: &[Read],
    ) -> Result<Answers, ChainError> {
        let mut all = Answers::with_capacity(reads.len());
        let mut left = vec![reads];
        while let Some(part) = left.pop() {
            let said = match part {
                [alone] => Some(vec![self.read_alone(api, alone).await?]),
                _ => self.aggregate(api, at, part).await?,
            };
            let Some(said) = said else {
                let (first, second) = part.split_at(part.len() >> 1);
                left.extend([second, first]);
                continue;
            };
            for (read, answer) in part.iter().zip(said) {
                all.push(match answer {
                    Some(answer) => Some(answer),
                    None if part.len() > 1 => self.read_alone(api, read).await?,
                    None => None,
                });
            }
        }
        Ok(all)
    }

    /// One call of the aggregator. None where the node stopped it.
    async fn aggregate(
        &self,
        api: Api<'_>,
        at: Address,
        reads: &[Read],
    ) -> Result<Option<Answers>, ChainError> {
        let answer = match self.ask(api, at, &aggregated(reads)).await? {
            ConstantCallOutcome::Said { answer, .. } => answers(&answer, reads.len())
                .map(Some)
                .map_err(|count| format!("{count} answers to {} reads", reads.len())),
            ConstantCallOutcome::Failed(failure) => Err(failure.words),
            ConstantCallOutcome::Stopped(_) => Ok(None),
        };
        answer.map_err(|answer| ChainError::Node { question: "aggregate3", answer })
    }

    /// One read by itself. None where it failed or said nothing. A node that keeps stopping it gives
    /// no answer: it may be busy, and nobody is to blame for that.
    async fn read_alone(&self, api: Api<'_>, read: &Read) -> Result<Option<Bytes>, ChainError> {
        let mut words = String::new();
        for _ in 0..TRIES {
            match self.ask(api, read.target, &read.data).await? {
                ConstantCallOutcome::Said { answer, .. } => {
                    return Ok(Some(answer).filter(|a| !a.is_empty()));
                }
                ConstantCallOutcome::Failed(_) => return Ok(None),
                ConstantCallOutcome::Stopped(why) => words = why,
            }
        }
        Err(ChainError::Unavailable(format!("it keeps stopping a single read: {words}")))
    }
}
