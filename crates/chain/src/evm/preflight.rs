//! The chain's verdict on a batch before it is signed: funds, and the billing call run as it would be sent. The
//! verdict takes one round trip, unless the call fails as a whole and the culprits must be named.

use super::EvmChain;
use super::gas::gas_limit;
use super::head::EvmHead;
use super::node::{Call, View};
use super::reader::Seen;
use super::simulate;
use crate::simulation::{
    CallFailure, Fit, Group, Measure, Outcome, Simulated, Simulator, conclude,
    passes_all_who_can_pay,
};
use crate::{ChainError, Estimate, Preflight};
use async_trait::async_trait;
use billing::{BadField, Charge, Funds};
use contract::{Computed, Profile};
use std::sync::Arc;

/// The most groups that are tried at once.
const AT_ONCE: usize = 8;

/// The charges whose funds are asked about beside a run.
#[derive(Clone, Copy)]
enum FundsAsked {
    All,
    Not,
}

impl FundsAsked {
    fn of(self, charges: &[Charge]) -> &[Charge] {
        match self {
            Self::All => charges,
            Self::Not => &[],
        }
    }
}

/// The data that every run of one preflight shares.
pub(super) struct EvmPreflight<'a> {
    pub(super) chain: &'a EvmChain,
    pub(super) view: View<'a>,
    pub(super) head: Arc<EvmHead>,
    pub(super) charges: &'a [Charge],
}

#[async_trait]
impl Simulator for EvmPreflight<'_> {
    fn profile(&self) -> &Profile {
        &self.chain.account.profile
    }

    fn charges(&self) -> &[Charge] {
        self.charges
    }

    fn at_once(&self) -> usize {
        AT_ONCE
    }

    async fn run(&self, places: &Group, measure: Measure) -> Result<Simulated, ChainError> {
        let seen = if measure == Measure::Usage && self.view.known.ways.reader {
            self.chain.one_look(self, places, FundsAsked::Not).await?
        } else {
            None
        };
        match seen.and_then(|seen| seen.passed) {
            Some(passed) => Ok(passed),
            None => self.run_as_sent(places, measure).await,
        }
    }
}

impl EvmPreflight<'_> {
    /// The billing call for the charges at `places`; none for nobody.
    fn calldata(&self, places: &Group) -> Result<Option<Vec<u8>>, ChainError> {
        let charges: Vec<Charge> =
            places.iter().filter_map(|place| self.charges.get(*place)).cloned().collect();
        if charges.is_empty() {
            return Ok(None);
        }
        let data = self.chain.calldata(&self.head, &charges);
        data.map(Some).map_err(|bad| ChainError::CallFails(bad.into()))
    }

    /// Runs the call from the account as it is.
    async fn run_as_sent(&self, places: &Group, measure: Measure) -> Result<Simulated, ChainError> {
        let Some(data) = self.calldata(places)? else {
            return Ok(Simulated::Passed { used: 0, answer: Vec::new().into() });
        };
        let facts = &self.chain.account.facts;
        let (from, to) = (facts.signer, facts.contract);
        let call = Call { from, to, data: &data, gas: self.chain.gas_rules(&self.head).most };
        if measure == Measure::Usage {
            return simulate::run(&self.view, call).await;
        }
        Ok(match simulate::attempt(&self.view, call).await? {
            Ok(answer) => Simulated::Passed { used: 0, answer },
            Err(failure) => Simulated::Failed(failure),
        })
    }
}

impl EvmChain {
    /// Reads all funds and runs the billing call, in parallel.
    pub(super) async fn check_at(
        &self,
        view: View<'_>,
        charges: &[Charge],
    ) -> Result<Preflight, ChainError> {
        let fit = Fit::of(&self.account.profile, charges, self.account.facts.signer);
        let trial = EvmPreflight { chain: self, view, head: self.current().await?, charges };
        let ((funds, ran), ()) = tokio::try_join!(
            self.first_run(&trial, &fit.places),
            self.price_data(&trial.view, charges)
        )?;
        if let Simulated::Failed(failure) = &ran
            && failure.forbids(&self.account.profile)
        {
            self.permitted_at(&trial.view, &trial.head).await?;
        }
        let places = fit.places.clone();
        match conclude(&trial, &funds, fit, ran).await? {
            Outcome::Judged(preflight) => Ok(preflight),
            Outcome::Unexplained(failure) => {
                Err(self.unexplained(&trial, places, &failure).await?)
            }
        }
    }

    /// All funds, and the billing call run for those that it can be made for: in one question where the
    /// node takes it.
    async fn first_run(
        &self,
        trial: &EvmPreflight<'_>,
        places: &Group,
    ) -> Result<(Vec<Option<Funds>>, Simulated), ChainError> {
        let seen = if trial.view.known.ways.reader {
            self.one_look(trial, places, FundsAsked::All).await?
        } else {
            None
        };
        match seen {
            Some(Seen { funds, passed: Some(ran) }) => Ok((funds, ran)),
            Some(Seen { funds, passed: None }) => {
                Ok((funds, trial.run_as_sent(places, Measure::Usage).await?))
            }
            None => tokio::try_join!(
                self.funds(&trial.view, trial.charges),
                trial.run_as_sent(places, Measure::Usage)
            ),
        }
    }

    /// The same by the reader. The run is left out where it would have somebody refused who can pay.
    async fn one_look(
        &self,
        trial: &EvmPreflight<'_>,
        places: &Group,
        asked: FundsAsked,
    ) -> Result<Option<Seen>, ChainError> {
        let EvmPreflight { view, charges, head, .. } = trial;
        let Some(data) = trial.calldata(places)? else { return Ok(None) };
        let (most, wallets) = (self.gas_rules(head).most, asked.of(charges));
        let Some(seen) = self.seen_at_once(view, wallets, &data, most).await? else {
            return Ok(None);
        };
        let profile = &self.account.profile;
        let harmless = |ran: &Simulated| match ran {
            Simulated::Passed { answer, .. } => {
                passes_all_who_can_pay(profile, charges, &seen.funds, places, answer)
            }
            Simulated::Failed(_) => false,
        };
        let passed = seen.passed.filter(harmless);
        Ok(Some(Seen { funds: seen.funds, passed }))
    }

    /// The billing call for `charges`, with the deadline counted from the head's time.
    pub(super) fn calldata(&self, head: &EvmHead, charges: &[Charge]) -> Result<Vec<u8>, BadField> {
        let time = head.pulse.head_time;
        let deadline = time.saturating_add(self.parts.config.billing.deadline.as_secs());
        let computed = Computed { deadline, signer: self.account.facts.signer };
        self.account.profile.encode(charges, &computed)
    }

    /// The batch fails and no entry is to blame. Often it needs more gas than a call may use: then a
    /// part of it says how much.
    pub(super) async fn unexplained(
        &self,
        trial: &EvmPreflight<'_>,
        places: Group,
        failure: &CallFailure,
    ) -> Result<ChainError, ChainError> {
        let mut part = places.clone();
        loop {
            part.truncate(part.len() >> 1);
            if part.is_empty() {
                return Ok(failure.of_all(&self.account.profile));
            }
            if let Simulated::Passed { used, .. } = trial.run(&part, Measure::Usage).await? {
                let estimate = Estimate { used, charges: part.len() };
                return Ok(match gas_limit(&estimate, places.len(), self.gas_rules(&trial.head)) {
                    Ok(_) => failure.of_all(&self.account.profile),
                    Err(too_large) => self.tried(trial, &places, too_large).await,
                });
            }
        }
    }

    /// Tries what is said to fit until it does: part of what a call uses does not grow with the
    /// batch, so that an estimate for many promises too much for fewer.
    pub(super) async fn tried(
        &self,
        trial: &EvmPreflight<'_>,
        places: &Group,
        mut said: ChainError,
    ) -> ChainError {
        while let ChainError::BatchTooLarge { max } = said
            && let Some(fewer) = places.get(..max).map(<[usize]>::to_vec)
            && let Ok(Simulated::Passed { used, .. }) = trial.run(&fewer, Measure::Usage).await
            && let Err(again) =
                gas_limit(&Estimate { used, charges: max }, max, self.gas_rules(&trial.head))
        {
            said = again;
        }
        said
    }
}
