//! The chain's word on a batch before it is signed: funds, and the billing call run as it would be sent, on the
//! state of the head. One round trip, unless the call fails as a whole and the culprits must be named.
//!
//! The node's head includes what waits in its own pool, run at time zero. So a run may miss a batch
//! that is under way: against that stand our own claims, not the simulation.
//!
//! Calls run on the newest state of the node that is asked. For a second opinion two nodes are asked at the same time,
//! and may be a block apart.

use super::access::{Access, TRIES};
use super::batch_reads::BatchReads;
use super::head::TronHead;
use super::head_watch::HeadWatch;
use super::throttle::Throttle;
use crate::confirm::{is_verdict, refused, stops, two_alike};
use crate::simulation::{
    CallFailure, Fit, Group, Measure, Outcome, Simulated, Simulator, conclude, note,
};
use crate::{CallFault, ChainError, Estimate, Preflight, TooLong, Unanswered};
use async_trait::async_trait;
use billing::PaceRuling;
use billing::{Charge, Opinion};
use contract::Profile;
use std::sync::Arc;
use tokio::time::Instant;
use tracing::warn;
use tron_node::{Api, CALLS_AT_ONCE, CallRan, out_of_time};

/// Simulates billing calls of the account.
#[derive(Debug)]
pub(super) struct Simulation {
    pub(super) access: Access,
    pub(super) head: Arc<HeadWatch>,
    pub(super) throttle: Arc<Throttle>,
    pub(super) reads: Arc<BatchReads>,
}

impl Simulation {
    /// Returns the preflight of `charges`, any refusal in it confirmed.
    pub(super) async fn check(&self, charges: Vec<Charge>) -> Result<Preflight, ChainError> {
        let fleet = &self.access.fleet;
        let first = self.check_by(self.access.api(), &charges).await;
        // A batch that one node stopped for want of time is not signed, whatever another node says.
        if !stops(&first)
            || fleet.is_alone()
            || matches!(first, Err(ChainError::BatchTooSlow { .. }))
        {
            return first;
        }
        self.head.observe().await?;
        let run = |id| (id, self.check_by(self.access.api_of(id), &charges));
        let runs = self.access.second_opinions()?.into_iter().map(run).collect();
        two_alike(fleet, runs, refused).await
    }

    /// Reads all funds and runs the billing call, in parallel.
    async fn check_by(&self, api: Api<'_>, charges: &[Charge]) -> Result<Preflight, ChainError> {
        let known = self.head.ready().await?;
        let profile = &self.access.account.profile;
        let fit = Fit::of(profile, charges, self.access.signer());
        let (run, count) = (self.begin(api, charges).await?, fit.places.len());
        let (funds, ran) = tokio::try_join!(
            self.reads.funds(api, known, charges),
            run.run(&fit.places, Measure::Usage)
        )?;
        run.note_try(&ran, count)?;
        if let Simulated::Failed(failure) = &ran
            && failure.forbids(profile)
        {
            self.permitted_by(api).await?;
        }
        match conclude(&run, &funds, fit, ran).await? {
            Outcome::Judged(preflight) => Ok(preflight),
            Outcome::Unexplained(failure) => Err(failure.of_all(profile)),
        }
    }

    /// Runs the billing call for exactly these charges, and returns its usage.
    pub(super) async fn measure(&self, good: &[Charge]) -> Result<Estimate, ChainError> {
        self.head.ready().await?;
        let profile = &self.access.account.profile;
        let run = self.begin(self.access.api(), good).await?;
        let all: Group = (0..good.len()).collect();
        let ran = run.run(&all, Measure::Usage).await?;
        run.note_try(&ran, all.len())?;
        let (used, answer) = match ran {
            Simulated::Passed { used, answer } => (used, answer),
            Simulated::Failed(failure) => return Err(failure.of_all(profile)),
        };
        let mut opinions = vec![Opinion::Passes; good.len()];
        note(profile, &mut opinions, &all, &answer)?;
        if opinions.iter().all(|opinion| *opinion == Opinion::Passes) {
            return Ok(Estimate { used, charges: good.len() });
        }
        Err(CallFault::Together.into())
    }

    /// Checks that the contract lets the account bill, and has a refusal confirmed.
    pub(super) async fn ask_permission(&self) -> Result<(), ChainError> {
        let fleet = &self.access.fleet;
        let first = self.permitted_by(self.access.api()).await;
        if !first.as_ref().is_err_and(is_verdict) || fleet.is_alone() {
            return first;
        }
        let run = |id| (id, self.permitted_by(self.access.api_of(id)));
        let runs = self.access.second_opinions()?.into_iter().map(run).collect();
        two_alike(fleet, runs, |()| ()).await
    }

    /// An error if the contract refuses the account itself, whoever is billed.
    async fn permitted_by(&self, api: Api<'_>) -> Result<(), ChainError> {
        let head = self.head.current().await?;
        let Ok(data) = self.access.calldata(head.view.head_time, &[]) else { return Ok(()) };
        match self.access.call(api, self.access.contract(), &data).await? {
            CallRan::Failed(failure) => {
                let (failure, account) = (CallFailure::from(failure), &self.access.account);
                if failure.forbids(&account.profile) {
                    return Err(account.forbidden(&failure));
                }
                Ok(())
            }
            CallRan::Passed { .. } | CallRan::Stopped(_) => Ok(()),
        }
    }

    /// Begins the runs for these charges; refuses if so many were stopped before.
    async fn begin<'a>(
        &'a self,
        api: Api<'a>,
        charges: &'a [Charge],
    ) -> Result<TronRuns<'a>, ChainError> {
        let ruling = self.throttle.admits(charges.len());
        if ruling == PaceRuling::Refuse {
            return Err(self.throttle.too_slow(charges.len()));
        }
        let head = self.head.current().await?;
        let (access, throttle) = (&self.access, &*self.throttle);
        Ok(TronRuns { access, throttle, api, head, charges, ruling })
    }
}

/// The runs of one preflight, and the data that they share.
struct TronRuns<'a> {
    access: &'a Access,
    throttle: &'a Throttle,
    api: Api<'a>,
    head: Arc<TronHead>,
    charges: &'a [Charge],
    /// The ruling on so many charges: if they were stopped lately, they are only tried.
    ruling: PaceRuling,
}

#[async_trait]
impl Simulator for TronRuns<'_> {
    fn profile(&self) -> &Profile {
        &self.access.account.profile
    }

    fn charges(&self) -> &[Charge] {
        self.charges
    }

    fn at_once(&self) -> usize {
        CALLS_AT_ONCE
    }

    /// A run that the node stops is no verdict on anybody: on chain the same would burn the whole fee
    /// limit, so the batch is too large.
    async fn run(&self, places: &Group, _measure: Measure) -> Result<Simulated, ChainError> {
        match self.attempt(places).await? {
            Attempted::Ran(ran) => Ok(ran),
            Attempted::Stopped(stop) => Err(self.too_large(places, stop).await),
        }
    }
}

/// The result of a run.
enum Attempted {
    Ran(Simulated),
    Stopped(Excess),
}

/// The reason why so much must not be asked of a block.
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

impl TronRuns<'_> {
    /// Runs the call as often as it has to pass. One try that is stopped is enough: of a call that a node
    /// stops now and then, a block stops nearly all. A charge alone is tried again, since the node may
    /// only be busy.
    async fn attempt(&self, places: &[usize]) -> Result<Attempted, ChainError> {
        if places.is_empty() {
            let nothing = Simulated::Passed { used: 0, answer: Vec::new().into() };
            return Ok(Attempted::Ran(nothing));
        }
        let charges: Vec<Charge> =
            places.iter().filter_map(|place| self.charges.get(*place)).cloned().collect();
        let data = self.access.calldata(self.head.view.head_time, &charges);
        let data = data.map_err(|bad| ChainError::CallFails(bad.into()))?;
        let mut passes = self.throttle.passes_needed();
        let mut stop = Excess::Time(TooLong::Untried);
        for _ in 0..TRIES.max(passes) {
            let began = Instant::now();
            let ran = match self.access.call(self.api, self.access.contract(), &data).await? {
                CallRan::Passed { energy, answer } => Simulated::Passed { used: energy, answer },
                CallRan::Failed(failure) => {
                    return Ok(Attempted::Ran(Simulated::Failed(failure.into())));
                }
                CallRan::Stopped(words) if charges.len() > 1 => {
                    return Ok(Attempted::Stopped(Excess::of(words)));
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
                return Ok(Attempted::Ran(ran));
            }
        }
        Ok(Attempted::Stopped(stop))
    }

    /// Finds out how many of a group that is stopped would fit: halves the group until a part is not stopped.
    async fn too_large(&self, places: &[usize], stop: Excess) -> ChainError {
        let mut part = places;
        loop {
            part = part.get(..part.len() >> 1).unwrap_or_default();
            let passed = match part {
                [] => false,
                part => match self.attempt(part).await {
                    Ok(Attempted::Ran(_)) => true,
                    Ok(Attempted::Stopped(_)) => continue,
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

    /// The error for so many charges, which take too long, if `max` of them do not. A size that was stopped is not
    /// asked about again for a while.
    fn too_slow(&self, charges: usize, max: usize, why: TooLong) -> ChainError {
        if charges == 1 {
            return ChainError::ChargeTooSlow(why);
        }
        self.throttle.note_stop(max);
        warn!(chain = self.access.chain(), charges, max, %why, "the billing call takes too long");
        self.throttle.too_slow(charges)
    }

    /// Takes down a try that passed. An error if too few tries have: then nothing is signed yet.
    fn note_try(&self, ran: &Simulated, charges: usize) -> Result<(), ChainError> {
        match (ran, self.ruling) {
            (Simulated::Passed { .. }, PaceRuling::Try) => self.throttle.note_try(charges),
            (Simulated::Passed { .. }, PaceRuling::Sign | PaceRuling::Refuse)
            | (Simulated::Failed(_), _) => Ok(()),
        }
    }
}
