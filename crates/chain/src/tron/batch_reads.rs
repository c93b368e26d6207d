//! The reads of the wallets' balances and allowances, and of the contract's lookup: in one read that deploys
//! nothing. If that read does not tell everything, the rest is read in calls of Multicall3 if there is one, else
//! one by one.

use super::access::{Access, TRIES};
use super::head_watch::HeadWatch;
use super::node_facts::Deployed;
use crate::confirm::two_alike;
use crate::reads::{
    Answers, FundsReads, LookupReads, READER, Read, aggregated, answers, pack, unpack,
};
use crate::{ChainError, OddAnswer, TokenUnits, Unanswered};
use ::node::NodeError;
use alloy::primitives::{Address, Bytes};
use billing::{Admitted, Charge, Funds};
use contract::Looked;
use futures_util::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tron_node::{Api, CALLS_AT_ONCE, CallRan};

/// Number of reads that tell the funds of one customer: balance and allowance.
const READS_OF_FUNDS: usize = 2;

/// Time for which a node that refused to run creation code is asked in other ways.
const ASK_AGAIN: Duration = Duration::from_mins(10);

/// The result of a read of many things at once.
enum BatchRead<A> {
    All(Vec<Option<A>>),
    /// The node stopped it.
    Stopped,
    /// It has to be asked in another way.
    Otherwise,
}

fn answered<Q: Halved>(
    asked: &Q,
    said: Result<CallRan, ChainError>,
) -> Result<BatchRead<Q::Answer>, ChainError> {
    Ok(match said {
        Ok(CallRan::Passed { answer, .. }) => match asked.answers(&answer) {
            Some(answers) if answers.iter().all(Option::is_some) => BatchRead::All(answers),
            Some(_) | None => BatchRead::Otherwise,
        },
        Ok(CallRan::Stopped(_)) => BatchRead::Stopped,
        Ok(CallRan::Failed(_)) | Err(ChainError::Node { .. }) => BatchRead::Otherwise,
        Err(error) => return Err(error),
    })
}

/// Questions to the reader, all of one kind.
trait Halved: Sized {
    /// The type of one answer.
    type Answer;

    fn halves(&self) -> Option<[Self; 2]>;

    /// The creation code that asks them.
    fn code(&self, contract: Address) -> Vec<u8>;

    /// The answers, in order; none where these are not.
    fn answers(&self, output: &[u8]) -> Option<Vec<Option<Self::Answer>>>;
}

impl Halved for LookupReads {
    type Answer = Bytes;

    fn halves(&self) -> Option<[Self; 2]> {
        self.halves()
    }

    fn code(&self, contract: Address) -> Vec<u8> {
        creation_code(pack(contract, None, self, &FundsReads::of(&[], contract)))
    }

    fn answers(&self, output: &[u8]) -> Option<Vec<Option<Bytes>>> {
        let told = unpack(output, None, self, &FundsReads::of(&[], Address::ZERO));
        told.map(|told| told.lookups)
    }
}

impl Halved for FundsReads {
    type Answer = Funds;

    fn halves(&self) -> Option<[Self; 2]> {
        self.halves()
    }

    fn code(&self, contract: Address) -> Vec<u8> {
        creation_code(pack(contract, None, &LookupReads::none(contract), self))
    }

    fn answers(&self, output: &[u8]) -> Option<Vec<Option<Funds>>> {
        let told = unpack(output, None, &LookupReads::none(Address::ZERO), self);
        told.map(|told| told.funds)
    }
}

fn creation_code(input: Vec<u8>) -> Vec<u8> {
    [READER.to_vec(), input].concat()
}

/// Reads many things at once on behalf of the account.
#[derive(Debug)]
pub(super) struct BatchReads {
    access: Access,
    head: Arc<HeadWatch>,
    /// The time when a node last refused to run creation code; none if no node has refused.
    undeployed: Mutex<Option<Instant>>,
}

impl BatchReads {
    /// No node has refused to run creation code yet.
    pub(super) fn of(access: Access, head: Arc<HeadWatch>) -> Self {
        Self { access, head, undeployed: Mutex::default() }
    }

    /// Asks the profile's lookup about every entry. The lookup may supply the period, and with the period what is
    /// claimed, so two providers have to say the same even where nothing is refused.
    pub(super) async fn lookup(
        &self,
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let fleet = &self.access.fleet;
        if fleet.is_alone() {
            return self.look_up(self.access.api(), entries).await;
        }
        self.head.current().await?;
        let run = |id| (id, self.look_up(self.access.api_of(id), entries));
        let runs = self.access.second_opinions()?.into_iter().map(run).collect();
        two_alike(fleet, runs, Clone::clone).await
    }

    /// The same by one node's word. None if the contract knows no such entry, if its lookup reverts, or if the entry
    /// cannot be asked about.
    async fn look_up(
        &self,
        api: Api<'_>,
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let known = self.head.ready().await?;
        let profile = &self.access.account.profile;
        let asked = LookupReads::of(profile, self.access.contract(), entries);
        let answers = match self.read_at_once(api, &asked).await? {
            Some(answers) => answers,
            None => self.read_all(api, known, &asked.reads(), self.access.config.chunk).await?,
        };
        Ok(asked.looked(profile, answers))
    }

    /// Reads what every charge's wallet holds and allows the contract. None where the token does not answer as a
    /// token does.
    pub(super) async fn funds(
        &self,
        api: Api<'_>,
        known: Deployed,
        charges: &[Charge],
    ) -> Result<Vec<Option<Funds>>, ChainError> {
        let asked = FundsReads::of(charges, self.access.contract());
        if let Some(told) = self.read_at_once(api, &asked).await? {
            return Ok(asked.funds(charges, &told));
        }
        let chunk = self.access.config.chunk.saturating_mul(READS_OF_FUNDS);
        let answers = self.read_all(api, known, &asked.reads(), chunk).await?;
        Ok(asked.read(charges, &answers))
    }

    /// Reads the units of a token.
    pub(super) async fn units_of(&self, token: Address) -> Result<Option<TokenUnits>, ChainError> {
        let known = self.head.ready().await?;
        let (api, chunk) = (self.access.api(), self.access.config.chunk);
        let answers = self.read_all(api, known, &TokenUnits::reads(token), chunk).await?;
        Ok(TokenUnits::of(answers))
    }

    /// Asks everything in one read that deploys nothing; in halves where the node stops it. None where
    /// it has to be asked in another way: the node does not run creation code, or an answer is missing,
    /// which nobody is refused for until it was asked by itself.
    async fn read_at_once<Q: Halved + Send + Sync>(
        &self,
        api: Api<'_>,
        asked: &Q,
    ) -> Result<Option<Vec<Option<Q::Answer>>>, ChainError>
    where
        Q::Answer: Send,
    {
        let refused = *self.undeployed.lock();
        if refused.is_some_and(|at| at.elapsed() < ASK_AGAIN) {
            return Ok(None);
        }
        let contract = self.access.contract();
        let first = self.access.read_deployless(api, &asked.code(contract)).await;
        let (mut all, mut left) = (Vec::new(), Vec::new());
        if matches!(first, Ok(CallRan::Failed(_)) | Err(ChainError::Node { .. })) {
            *self.undeployed.lock() = Some(Instant::now());
        }
        match answered(asked, first)? {
            BatchRead::All(answers) => return Ok(Some(answers)),
            BatchRead::Stopped => left.extend(asked.halves().into_iter().flatten().rev()),
            BatchRead::Otherwise => return Ok(None),
        }
        while let Some(part) = left.pop() {
            let said = self.access.read_deployless(api, &part.code(contract)).await;
            match (answered(&part, said)?, part.halves()) {
                (BatchRead::All(answers), _) => all.extend(answers),
                (BatchRead::Stopped, Some([first, second])) => left.extend([second, first]),
                (BatchRead::Stopped, None) | (BatchRead::Otherwise, _) => return Ok(None),
            }
        }
        Ok((!all.is_empty()).then_some(all))
    }

    async fn read_all(
        &self,
        api: Api<'_>,
        known: Deployed,
        reads: &[Read],
        chunk: usize,
    ) -> Result<Answers, ChainError> {
        let Some(at) = self.access.config.multicall.filter(|_| known.multicall) else {
            let alone: Vec<_> = reads.iter().map(|read| self.read_alone(api, read)).collect();
            return stream::iter(alone).buffered(CALLS_AT_ONCE).try_collect().await;
        };
        let parts = reads.chunks(chunk.max(1));
        let parts: Vec<_> = parts.map(|part| self.read_together(api, at, part)).collect();
        let answers: Vec<Answers> =
            stream::iter(parts).buffered(CALLS_AT_ONCE).try_collect().await?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// Reads through the aggregator; in halves if the node stops the call. A read that fails among others is made
    /// once more alone: a read that burns all energy lets those after it fail, too.
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
        let answer = match self.access.ask(api, at, &aggregated(reads)).await? {
            CallRan::Passed { answer, .. } => answers(&answer, reads.len())
                .map(Some)
                .map_err(|answers| OddAnswer::Counted { answers, reads: reads.len() }),
            CallRan::Failed(failure) => Err(NodeError::of(failure.words).into()),
            CallRan::Stopped(_) => Ok(None),
        };
        answer.map_err(|answer| ChainError::Node { question: "aggregate3", answer })
    }

    /// One read by itself. None where it failed or said nothing. A node that keeps stopping it gives
    /// no answer: it may be busy, and nobody is to blame for that.
    async fn read_alone(&self, api: Api<'_>, read: &Read) -> Result<Option<Bytes>, ChainError> {
        let mut words = String::new();
        for _ in 0..TRIES {
            match self.access.ask(api, read.target, &read.data).await? {
                CallRan::Passed { answer, .. } => {
                    return Ok(Some(answer).filter(|a| !a.is_empty()));
                }
                CallRan::Failed(_) => return Ok(None),
                CallRan::Stopped(why) => words = why,
            }
        }
        Err(Unanswered::StopsRead(words).into())
    }
}
