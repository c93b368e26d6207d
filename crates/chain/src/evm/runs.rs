//! The runs of one preflight: the billing call for parts of the batch, at one state of the chain.

use super::access::Access;
use super::gas::gas_limit;
use super::head::EvmHead;
use super::reader::{ReaderAsk, Seen};
use super::reads::Reads;
use super::simulate;
use crate::simulation::{
    CallFailure, Group, Measure, Simulated, Simulator, passes_all_who_can_pay,
};
use crate::{ChainError, Estimate};
use async_trait::async_trait;
use billing::{Charge, Funds};
use contract::Profile;
use evm_node::{Call, View};
use std::sync::Arc;

/// The most groups that are tried at once.
const AT_ONCE: usize = 8;

/// The funds of every charge, and the ending of the run for all that a call can be made for.
pub(super) type FirstRun = (Vec<Option<Funds>>, Simulated);

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
pub(super) struct EvmRuns<'a> {
    pub(super) access: &'a Access,
    pub(super) reads: &'a Reads,
    pub(super) view: View<'a>,
    pub(super) head: Arc<EvmHead>,
    pub(super) charges: &'a [Charge],
}

#[async_trait]
impl Simulator for EvmRuns<'_> {
    fn profile(&self) -> &Profile {
        &self.access.account.profile
    }

    fn charges(&self) -> &[Charge] {
        self.charges
    }

    fn at_once(&self) -> usize {
        AT_ONCE
    }

    async fn run(&self, places: &Group, measure: Measure) -> Result<Simulated, ChainError> {
        let seen = if measure == Measure::Usage && self.view.known.ways.reader {
            self.one_look(places, FundsAsked::Not).await?
        } else {
            None
        };
        match seen.and_then(|seen| seen.passed) {
            Some(passed) => Ok(passed),
            None => self.run_as_sent(places, measure).await,
        }
    }
}

impl EvmRuns<'_> {
    /// Returns the most gas that a transaction may use.
    fn most_gas(&self) -> u64 {
        self.access.gas_rules(self.head.block_gas).most
    }

    /// Returns the billing call for the charges at `places`; none for nobody.
    fn calldata(&self, places: &Group) -> Result<Option<Vec<u8>>, ChainError> {
        let charges: Vec<Charge> =
            places.iter().filter_map(|place| self.charges.get(*place)).cloned().collect();
        if charges.is_empty() {
            return Ok(None);
        }
        let data = self.access.calldata(self.head.view.head_time, &charges);
        data.map(Some).map_err(|bad| ChainError::CallFails(bad.into()))
    }

    /// Runs the call from the account as it is.
    async fn run_as_sent(&self, places: &Group, measure: Measure) -> Result<Simulated, ChainError> {
        let Some(data) = self.calldata(places)? else {
            return Ok(Simulated::Passed { used: 0, answer: Vec::new().into() });
        };
        let (from, to) = (self.access.signer(), self.access.contract());
        let call = Call { from, to, data: &data, gas: self.most_gas() };
        match measure {
            Measure::Usage => simulate::run(&self.view, call).await,
            Measure::Answer => simulate::attempt(&self.view, call).await,
        }
    }

    /// Reads all funds, and runs the billing call for those that it can be made for: in one question where the
    /// node takes it.
    pub(super) async fn first(&self, places: &Group) -> Result<FirstRun, ChainError> {
        let seen = if self.view.known.ways.reader {
            self.one_look(places, FundsAsked::All).await?
        } else {
            None
        };
        match seen {
            Some(Seen { funds, passed: Some(ran) }) => Ok((funds, ran)),
            Some(Seen { funds, passed: None }) => {
                Ok((funds, self.run_as_sent(places, Measure::Usage).await?))
            }
            None => tokio::try_join!(
                self.reads.funds(&self.view, self.charges),
                self.run_as_sent(places, Measure::Usage)
            ),
        }
    }

    /// The same by the reader. The run is left out where it would have somebody refused who can pay.
    async fn one_look(
        &self,
        places: &Group,
        asked: FundsAsked,
    ) -> Result<Option<Seen>, ChainError> {
        let Some(data) = self.calldata(places)? else { return Ok(None) };
        let wallets = asked.of(self.charges);
        let reader = ReaderAsk { access: self.access, view: &self.view };
        let Some(seen) = reader.funds_and_call(wallets, &data, self.most_gas()).await? else {
            return Ok(None);
        };
        let profile = &self.access.account.profile;
        let harmless = |ran: &Simulated| match ran {
            Simulated::Passed { answer, .. } => {
                passes_all_who_can_pay(profile, self.charges, &seen.funds, places, answer)
            }
            Simulated::Failed(_) => false,
        };
        let passed = seen.passed.filter(harmless);
        Ok(Some(Seen { funds: seen.funds, passed }))
    }

    /// Returns the error for a batch that fails while no entry is to blame. Often it needs more gas than a call may
    /// use: then a part of it tells how much.
    pub(super) async fn unexplained(
        &self,
        places: Group,
        failure: &CallFailure,
    ) -> Result<ChainError, ChainError> {
        let profile = &self.access.account.profile;
        let mut part = places.clone();
        loop {
            part.truncate(part.len() >> 1);
            if part.is_empty() {
                return Ok(failure.of_all(profile));
            }
            if let Simulated::Passed { used, .. } = self.run(&part, Measure::Usage).await? {
                let estimate = Estimate { used, charges: part.len() };
                let rules = self.access.gas_rules(self.head.block_gas);
                return Ok(match gas_limit(&estimate, places.len(), rules) {
                    Ok(_) => failure.of_all(profile),
                    Err(too_large) => self.fitting(&places, too_large).await,
                });
            }
        }
    }

    /// Tries the number that is said to fit until it does: part of what a call uses does not grow with the
    /// batch, so that an estimate for many promises too much for fewer.
    pub(super) async fn fitting(&self, places: &Group, mut error: ChainError) -> ChainError {
        let rules = self.access.gas_rules(self.head.block_gas);
        while let ChainError::BatchTooLarge { max } = error
            && let Some(fewer) = places.get(..max).map(<[usize]>::to_vec)
            && let Ok(Simulated::Passed { used, .. }) = self.run(&fewer, Measure::Usage).await
            && let Err(again) = gas_limit(&Estimate { used, charges: max }, max, rules)
        {
            error = again;
        }
        error
    }
}
