//! The chain's word on a batch before it is signed: funds, and the billing call run as it would be sent, on the
//! state of the head. One round trip, unless the call fails as a whole and the culprits must be named.
//!
//! The node's head includes what waits in its own pool, run at time zero. So a run may miss a batch
//! that is under way: against that stand our own claims, not the simulation.

use super::TronChain;
use super::calls::TRIES;
use super::head::TronHead;
use super::pace::PaceRuling;
use crate::trial::{Fit, Group, Outcome, Simulated, Simulator, conclude, note};
use crate::{CallFault, ChainError, Estimate, Preflight, TooLong, Unanswered};
use alloy::primitives::Address;
use async_trait::async_trait;
use billing::{Charge, Opinion};
use contract::Profile;
use std::sync::Arc;
use tokio::time::Instant;
use tracing::warn;
use tron_node::{Api, CALLS_AT_ONCE, CallRan, out_of_time};

/// The data that every run of one preflight shares.
struct TronPreflight<'a> {
    chain: &'a TronChain,
    api: Api<'a>,
    contract: Address,
    head: Arc<TronHead>,
    charges: &'a [Charge],
    /// True if so many charges were stopped lately, and are only tried.
    tries: bool,
}

impl<'a> TronPreflight<'a> {
    /// A trial of the billing call for these; refused where so many were stopped before.
    async fn of(
        chain: &'a TronChain,
        api: Api<'a>,
        charges: &'a [Charge],
    ) -> Result<Self, ChainError> {
        let now_ms = chain.account.clock.unix_ms();
        let admitted = chain.throttle.pace.lock().admits(charges.len(), now_ms);
        if admitted == PaceRuling::Refuse {
            return Err(chain.slow(charges.len()));
        }
        let (head, contract) = (chain.current().await?, chain.account.facts.contract);
        Ok(Self { chain, api, contract, head, charges, tries: admitted == PaceRuling::Try })
    }
}

#[async_trait]
impl Simulator for TronPreflight<'_> {
    fn profile(&self) -> &Profile {
        &self.chain.account.profile
    }

    fn charges(&self) -> &[Charge] {
        self.charges
    }

    fn at_once(&self) -> usize {
        CALLS_AT_ONCE
    }

    /// A run that the node stops is no verdict on anybody: on chain the same would burn the whole fee
    /// limit, so the batch is too large.
    async fn run(&self, places: &Group, _measured: bool) -> Result<Simulated, ChainError> {
        match self.attempt(places).await? {
            Tried::Ran(ran) => Ok(ran),
            Tried::Stopped(stop) => Err(self.too_large(places, stop).await),
        }
    }
}

/// The result of a run.
enum Tried {
    Ran(Simulated),
    Stopped(Excess),
}

/// Why so much must not be asked of a block.
enum Excess {
    /// It took too long, or nearly.
    Time(TooLong),
    /// The node gives a simulation less energy.
    Energy(String),
}

impl Excess {
    fn of(words: String) -> Self {
        if out_of_time(&words) { Self::Time(TooLong::Stopped(words)) } else { Self::Energy(words) }
    }
}

impl TronPreflight<'_> {
    /// Runs the call as often as it has to pass. One try that is stopped is enough: of a call that a node
    /// stops now and then, a block stops nearly all. A charge alone is tried again, since the node may
    /// only be busy.
    async fn attempt(&self, places: &[usize]) -> Result<Tried, ChainError> {
        if places.is_empty() {
            return Ok(Tried::Ran(Simulated::Passed { used: 0, answer: Vec::new().into() }));
        }
        let charges: Vec<Charge> =
            places.iter().filter_map(|place| self.charges.get(*place)).cloned().collect();
        let data = self
            .chain
            .calldata(&self.head, &charges)
            .map_err(|bad| ChainError::CallFails(bad.into()))?;
        let mut passes = self.chain.throttle.pace.lock().passes();
        let mut stop = Excess::Time(TooLong::Untried);
        for _ in 0..TRIES.max(passes) {
            let began = Instant::now();
            let ran = match self.chain.call(self.api, self.contract, &data).await? {
                CallRan::Passed { energy, answer } => Simulated::Passed { used: energy, answer },
                CallRan::Failed(failure) => {
                    return Ok(Tried::Ran(Simulated::Failed(failure.into())));
                }
                CallRan::Stopped(words) if charges.len() > 1 => {
                    return Ok(Tried::Stopped(Excess::of(words)));
                }
                CallRan::Stopped(words) => {
                    stop = Excess::of(words);
                    continue;
                }
            };
            let took = began.elapsed();
            // The way there may have been long this time.
            if self.head.too_long(took, charges.len()) {
                stop = Excess::Time(TooLong::Took(took));
                continue;
            }
            passes = passes.saturating_sub(1);
            if passes == 0 {
                return Ok(Tried::Ran(ran));
            }
        }
        Ok(Tried::Stopped(stop))
    }

    /// Finds out how many of a group that is stopped would fit: halves the group until a part is not stopped.
    async fn too_large(&self, places: &[usize], stop: Excess) -> ChainError {
        let mut part = places;
        loop {
            part = part.get(..part.len() >> 1).unwrap_or_default();
            let passed = match part {
                [] => false,
                part => match self.attempt(part).await {
                    Ok(Tried::Ran(_)) => true,
                    Ok(Tried::Stopped(_)) => continue,
                    Err(error) => return error,
                },
            };
            return match stop {
                Excess::Time(why) => self.too_slow(places.len(), part.len(), why),
                Excess::Energy(_) if passed => ChainError::BatchTooLarge { max: part.len() },
                Excess::Energy(words) => Unanswered::StopsCall(words).into(),
            };
        }
    }

    /// So many take too long, and so many of them do not. A size that was stopped is not asked about
    /// again for a while.
    fn too_slow(&self, charges: usize, max: usize, why: TooLong) -> ChainError {
        if charges == 1 {
            return ChainError::ChargeTooSlow(why);
        }
        let chain = self.chain;
        chain.throttle.pace.lock().stopped(max, chain.account.clock.unix_ms());
        warn!(chain = chain.account.facts.name, charges, max, %why, "the billing call takes too long");
        chain.slow(charges)
    }

    /// A try that passed is signed once enough have.
    fn tried(&self, ran: &Simulated, charges: usize) -> Result<(), ChainError> {
        match ran {
            Simulated::Passed { .. } if self.tries => {
                let enough = self.chain.throttle.pace.lock().passed(charges);
                if enough { Ok(()) } else { Err(self.chain.slow(charges)) }
            }
            Simulated::Passed { .. } | Simulated::Failed(_) => Ok(()),
        }
    }
}

impl TronChain {
    /// So many are refused, since they were stopped before.
    fn slow(&self, charges: usize) -> ChainError {
        let now_ms = self.account.clock.unix_ms();
        let pace = self.throttle.pace.lock();
        let (max, again_s) = (pace.most(now_ms).max(1), pace.again_s(now_ms));
        ChainError::BatchTooSlow { charges, max, again_s }
    }

    /// Reads all funds and runs the billing call, in parallel.
    pub(super) async fn check_by(
        &self,
        api: Api<'_>,
        charges: &[Charge],
    ) -> Result<Preflight, ChainError> {
        let known = self.ready().await?;
        let fit = Fit::of(&self.account.profile, charges, self.account.facts.signer);
        let (trial, tried) = (TronPreflight::of(self, api, charges).await?, fit.places.len());
        let (funds, ran) =
            tokio::try_join!(self.funds(api, known, charges), trial.run(&fit.places, true))?;
        trial.tried(&ran, tried)?;
        if let Simulated::Failed(failure) = &ran
            && failure.forbids(&self.account.profile)
        {
            self.permitted_by(api).await?;
        }
        match conclude(&trial, &funds, fit, ran).await? {
            Outcome::Judged(preflight) => Ok(preflight),
            Outcome::Unexplained(failure) => Err(failure.of_all(&self.account.profile)),
        }
    }

    /// Runs the billing call for exactly these and says what it used.
    pub(super) async fn measure(&self, good: &[Charge]) -> Result<Estimate, ChainError> {
        self.ready().await?;
        let trial = TronPreflight::of(self, self.api(), good).await?;
        let all: Group = (0..good.len()).collect();
        let ran = trial.run(&all, true).await?;
        trial.tried(&ran, all.len())?;
        let (used, answer) = match ran {
            Simulated::Passed { used, answer } => (used, answer),
            Simulated::Failed(failure) => return Err(failure.of_all(&self.account.profile)),
        };
        let mut opinions = vec![Opinion::Passes; good.len()];
        note(&self.account.profile, &mut opinions, &all, &answer)?;
        if opinions.iter().all(|opinion| *opinion == Opinion::Passes) {
            return Ok(Estimate { used, charges: good.len() });
        }
        Err(CallFault::Together.into())
    }
}
