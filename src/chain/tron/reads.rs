//! What wallets hold and allow, and what the contract's lookup says: in calls of Multicall3 where
//! there is one, else one by one.

use super::TronChain;
use super::constant::{AT_ONCE, Heard, TRIES};
use super::head::Known;
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
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let known = self.ready().await?;
        let profile = &self.parts.profile;
        let asked = LookupReads::of(profile, self.parts.facts.contract, entries);
        let answers = self.read_all(known, &asked.reads, self.parts.settings.chunk).await?;
        Ok(asked.looked(profile, answers))
    }

    /// What every charge's wallet holds and allows the contract. None where the token does not
    /// answer as a token does.
    pub(super) async fn funds(
        &self,
        known: Known,
        charges: &[Charge],
    ) -> Result<Vec<Option<Funds>>, ChainError> {
        let asked = FundsReads::of(charges, self.parts.facts.contract);
        let chunk = self.parts.settings.chunk.saturating_mul(READS_OF_FUNDS);
        let answers = self.read_all(known, &asked.reads, chunk).await?;
        Ok(asked.funds(charges, &answers))
    }

    async fn read_all(
        &self,
        known: Known,
        reads: &[Read],
        chunk: usize,
    ) -> Result<Answers, ChainError> {
        let Some(at) = self.parts.settings.multicall.filter(|_| known.multicall) else {
            let alone: Vec<_> = reads.iter().map(|read| self.read_alone(read)).collect();
            return stream::iter(alone).buffered(AT_ONCE).try_collect().await;
        };
        let parts = reads.chunks(chunk.max(1));
        let parts: Vec<_> = parts.map(|part| self.read_together(at, part)).collect();
        let answers: Vec<Answers> = stream::iter(parts).buffered(AT_ONCE).try_collect().await?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// Reads through the aggregator; in halves where the node stops the call. What fails among others
    /// is read once more alone: one that burns all energy lets those after it fail, too.
    async fn read_together(&self, at: Address, reads: &[Read]) -> Result<Answers, ChainError> {
        let mut all = Answers::with_capacity(reads.len());
        let mut left = vec![reads];
        while let Some(part) = left.pop() {
            let said = match part {
                [alone] => Some(vec![self.read_alone(alone).await?]),
                _ => self.aggregate(at, part).await?,
            };
            let Some(said) = said else {
                let (first, second) = part.split_at(part.len() >> 1);
                left.extend([second, first]);
                continue;
            };
            for (read, answer) in part.iter().zip(said) {
                all.push(match answer {
                    Some(answer) => Some(answer),
                    None if part.len() > 1 => self.read_alone(read).await?,
                    None => None,
                });
            }
        }
        Ok(all)
    }

    /// One call of the aggregator. None where the node stopped it.
    async fn aggregate(&self, at: Address, reads: &[Read]) -> Result<Option<Answers>, ChainError> {
        let answer = match self.ask(at, &aggregated(reads)).await? {
            Heard::Said { answer, .. } => answers(&answer, reads.len())
                .map(Some)
                .map_err(|count| format!("{count} answers to {} reads", reads.len())),
            Heard::Failed(failure) => Err(failure.words),
            Heard::Stopped(_) => Ok(None),
        };
        answer.map_err(|answer| ChainError::Node { question: "aggregate3", answer })
    }

    /// One read by itself. None where it failed or said nothing. A node that keeps stopping it gives
    /// no answer: it may be busy, and nobody is to blame for that.
    async fn read_alone(&self, read: &Read) -> Result<Option<Bytes>, ChainError> {
        let mut words = String::new();
        for _ in 0..TRIES {
            match self.ask(read.target, &read.data).await? {
                Heard::Said { answer, .. } => return Ok(Some(answer).filter(|a| !a.is_empty())),
                Heard::Failed(_) => return Ok(None),
                Heard::Stopped(why) => words = why,
            }
        }
        Err(ChainError::Unavailable(format!("it keeps stopping a single read: {words}")))
    }
}
