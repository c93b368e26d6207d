//! What the chain says about a batch before it is signed: funds, and the billing call run as it
//! would be sent, on the state of the head. One round trip, unless the call fails as a whole and the
//! culprits must be named.
//!
//! The node's head includes what waits in its own pool, run at time zero. So a run may miss a batch
//! that is under way: against that stand our own claims, not the simulation.

use super::TronChain;
use super::api::{Api, CALLS_AT_ONCE};
use super::constant::{ConstantCallOutcome, TRIES};
use super::head::Head;
use crate::billing::{Charge, Opinion};
use crate::chain::trial::{Fit, Group, Outcome, Ran, Runner, conclude, note};
use crate::chain::{ChainError, Estimate, Preflight};
use crate::contract::Profile;
use async_trait::async_trait;
use std::sync::Arc;

/// What every run of one preflight shares.
struct Trial<'a> {
    chain: &'a TronChain,
    api: Api<'a>,
    head: Arc<Head>,
    charges: &'a [Charge],
}

#[async_trait]
impl Runner for Trial<'_> {
    fn profile(&self) -> &Profile {
        &self.chain.account.profile
    }

    fn charges(&self) -> &[Charge] {
        self.charges
    }

    fn at_once(&self) -> usize {
        CALLS_AT_ONCE
    }

    /// A run that the node keeps stopping is no verdict on anybody: on chain the same would burn the
    /// whole fee limit, so the batch is too large.
    async fn run(&self, places: &Group, _measured: bool) -> Result<Ran, ChainError> {
        match self.attempt(places).await? {
            Tried::Ran(ran) => Ok(ran),
            Tried::Stopped(words) => Err(self.too_large(places, words).await),
        }
    }
}

/// What became of a run.
enum Tried {
    Ran(Ran),
    /// The node stopped it every time.
    Stopped(String),
}

impl Trial<'_> {
    async fn attempt(&self, places: &[usize]) -> Result<Tried, ChainError> {
        if places.is_empty() {
            return Ok(Tried::Ran(Ran::Passed { used: 0, answer: Vec::new().into() }));
        }
        let charges: Vec<Charge> =
            places.iter().filter_map(|place| self.charges.get(*place)).cloned().collect();
        let data = self
            .chain
            .calldata(&self.head, &charges)
            .map_err(|bad| ChainError::CallFails(bad.to_string()))?;
        let mut words = String::new();
        for _ in 0..TRIES {
            match self.chain.call(self.api, self.chain.account.facts.contract, &data).await? {
                ConstantCallOutcome::Said { energy, answer } => {
                    return Ok(Tried::Ran(Ran::Passed { used: energy, answer }));
                }
                ConstantCallOutcome::Failed(failure) => {
                    return Ok(Tried::Ran(Ran::Failed(failure)));
                }
                ConstantCallOutcome::Stopped(why) => words = why,
            }
        }
        Ok(Tried::Stopped(words))
    }

    /// How many of a group that the node stops would fit: halves, until one is not stopped.
    async fn too_large(&self, places: &[usize], words: String) -> ChainError {
        let mut part = places;
        loop {
            part = part.get(..part.len() >> 1).unwrap_or_default();
            if part.is_empty() {
                let words = format!("it keeps stopping the billing call: {words}");
                return ChainError::Unavailable(words);
            }
            match self.attempt(part).await {
                Ok(Tried::Ran(_)) => return ChainError::BatchTooLarge { max: part.len() },
                Ok(Tried::Stopped(_)) => {}
                Err(error) => return error,
            }
        }
    }
}

impl TronChain {
    /// Reads all funds and runs the billing call, in parallel.
    pub(super) async fn check_by(
        &self,
        api: Api<'_>,
        charges: &[Charge],
    ) -> Result<Preflight, ChainError> {
        let known = self.ready().await?;
        let fit = Fit::of(&self.account.profile, charges, self.account.facts.signer);
        let trial = Trial { chain: self, api, head: self.current().await?, charges };
        let (funds, ran) =
            tokio::try_join!(self.funds(api, known, charges), trial.run(&fit.places, true))?;
        match conclude(&trial, &funds, fit, ran).await? {
            Outcome::Judged(preflight) => Ok(preflight),
            Outcome::Unexplained(failure) => Err(failure.of_all(&self.account.profile)),
        }
    }

    /// Runs the billing call for exactly these and says what it used.
    pub(super) async fn measure(&self, good: &[Charge]) -> Result<Estimate, ChainError> {
        self.ready().await?;
        let head = self.current().await?;
        let trial = Trial { chain: self, api: self.api(), head, charges: good };
        let all: Group = (0..good.len()).collect();
        let (used, answer) = match trial.run(&all, true).await? {
            Ran::Passed { used, answer } => (used, answer),
            Ran::Failed(failure) => return Err(failure.of_all(&self.account.profile)),
        };
        let mut opinions = vec![Opinion::Passes; good.len()];
        note(&self.account.profile, &mut opinions, &all, &answer)?;
        if opinions.iter().all(|opinion| *opinion == Opinion::Passes) {
            return Ok(Estimate { used, charges: good.len() });
        }
        Err(ChainError::CallFails("entries that passed alone fail together".to_owned()))
    }
}
