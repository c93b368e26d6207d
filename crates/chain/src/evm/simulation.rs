//! The chain's verdict on a batch before it is signed: funds, and the billing call run as it would be sent. The
//! verdict takes one round trip, unless the call fails as a whole and the culprits must be named.
//!
//! The first look may have been at a head that is some seconds old, so a second opinion begins with a new look at the
//! heads, and asks two nodes about the same block.

use super::access::Access;
use super::head::EvmHead;
use super::head_watch::HeadWatch;
use super::reads::Reads;
use super::runs::EvmRuns;
use super::simulate;
use super::spending::Spending;
use crate::confirm::{is_verdict, refused, stops, too_few, two_alike};
use crate::simulation::{
    CallFailure, Fit, Measure, Outcome, Simulated, Simulator as _, conclude, note,
};
use crate::{CallFault, ChainError, Estimate, Preflight};
use billing::{Charge, Opinion};
use evm_node::{Call, View};
use evm_node::{EvmNodeFacts, Ways};
use std::sync::Arc;

/// The billing call for nobody.
pub(super) enum BilledNobody {
    /// There is no such call.
    NotAsked,
    /// The contract takes it.
    Passed,
    /// It failed.
    Failed(CallFailure),
}

/// Simulates billing calls of the account.
#[derive(Debug)]
pub(super) struct Simulation {
    pub(super) access: Access,
    pub(super) head: Arc<HeadWatch>,
    pub(super) spending: Arc<Spending>,
    pub(super) reads: Arc<Reads>,
}

impl Simulation {
    /// Returns the preflight of `charges`, any refusal in it confirmed.
    pub(super) async fn check(&self, charges: Vec<Charge>) -> Result<Preflight, ChainError> {
        let fleet = &self.access.fleet;
        let first = self.check_at(self.head.view().await?, &charges).await;
        if !stops(&first) || fleet.is_alone() {
            return first;
        }
        let views = self.head.fresh_views().await?;
        if !fleet.is_quorate() {
            return Err(too_few(fleet));
        }
        // An entry is refused only by the call as it would be sent.
        let runs = views.into_iter().map(|(id, view)| {
            let ways = Ways { reader: false, ..view.known.ways };
            let view = View { known: EvmNodeFacts { ways, ..view.known }, ..view };
            (id, self.check_at(view, &charges))
        });
        two_alike(fleet, runs.collect(), refused).await
    }

    /// Reads all funds and runs the billing call, in parallel.
    async fn check_at(&self, view: View<'_>, charges: &[Charge]) -> Result<Preflight, ChainError> {
        let profile = &self.access.account.profile;
        let fit = Fit::of(profile, charges, self.access.signer());
        let runs = self.runs(view, self.head.current().await?, charges);
        let (first, ()) = tokio::try_join!(
            runs.first(&fit.places),
            self.spending.price_data(&runs.view, &runs.head, charges)
        )?;
        let (funds, ran) = first;
        if let Simulated::Failed(failure) = &ran
            && failure.forbids(profile)
        {
            self.permitted_at(&runs.view, &runs.head).await?;
        }
        let places = fit.places.clone();
        match conclude(&runs, &funds, fit, ran).await? {
            Outcome::Judged(preflight) => Ok(preflight),
            Outcome::Unexplained(failure) => Err(runs.unexplained(places, &failure).await?),
        }
    }

    fn runs<'a>(
        &'a self,
        view: View<'a>,
        head: Arc<EvmHead>,
        charges: &'a [Charge],
    ) -> EvmRuns<'a> {
        EvmRuns { access: &self.access, reads: &self.reads, view, head, charges }
    }

    /// Runs the billing call for exactly these charges, and returns its usage.
    pub(super) async fn measure(
        &self,
        head: Arc<EvmHead>,
        good: &[Charge],
    ) -> Result<Estimate, ChainError> {
        let profile = &self.access.account.profile;
        let runs = self.runs(self.head.view_at(&head).await?, head, good);
        let all = (0..good.len()).collect();
        let (used, answer) = match runs.run(&all, Measure::Usage).await? {
            Simulated::Passed { used, answer } => (used, answer),
            Simulated::Failed(failure) => return Err(runs.unexplained(all, &failure).await?),
        };
        let mut opinions = vec![Opinion::Passes; good.len()];
        note(profile, &mut opinions, &all, &answer)?;
        if opinions.iter().all(|opinion| *opinion == Opinion::Passes) {
            return Ok(Estimate { used, charges: good.len() });
        }
        Err(CallFault::Together.into())
    }

    /// Returns the refusal of a batch that is too large, with a number of charges that was seen to fit.
    pub(super) async fn fitting(
        &self,
        head: Arc<EvmHead>,
        good: &[Charge],
        too_large: ChainError,
    ) -> ChainError {
        match self.head.view_at(&head).await {
            Ok(view) => {
                let runs = self.runs(view, head, good);
                runs.fitting(&(0..good.len()).collect(), too_large).await
            }
            Err(error) => error,
        }
    }

    /// Checks that the contract lets the account bill, and has a refusal confirmed.
    pub(super) async fn ask_permission(&self) -> Result<(), ChainError> {
        let (fleet, head) = (&self.access.fleet, self.head.current().await?);
        let first = self.permitted_at(&self.head.view_at(&head).await?, &head).await;
        if !first.as_ref().is_err_and(is_verdict) || fleet.is_alone() {
            return first;
        }
        let run = |(id, view)| (id, self.permitted_in(view, Arc::clone(&head)));
        let runs = self.head.views_at(&head).await?.into_iter().map(run).collect();
        two_alike(fleet, runs, |()| ()).await
    }

    async fn permitted_in(&self, view: View<'_>, head: Arc<EvmHead>) -> Result<(), ChainError> {
        self.permitted_at(&view, &head).await
    }

    /// An error if the contract refuses the account itself, whoever is billed.
    async fn permitted_at(&self, view: &View<'_>, head: &EvmHead) -> Result<(), ChainError> {
        let account = &self.access.account;
        match self.bill_nobody(view, head).await? {
            BilledNobody::Failed(failure) if failure.forbids(&account.profile) => {
                Err(account.forbidden(&failure))
            }
            BilledNobody::Failed(_) | BilledNobody::Passed | BilledNobody::NotAsked => Ok(()),
        }
    }

    /// Runs the billing call for nobody.
    pub(super) async fn bill_nobody(
        &self,
        view: &View<'_>,
        head: &EvmHead,
    ) -> Result<BilledNobody, ChainError> {
        let Ok(data) = self.access.calldata(head.view.head_time, &[]) else {
            return Ok(BilledNobody::NotAsked);
        };
        let (from, to) = (self.access.signer(), self.access.contract());
        let gas = self.access.gas_rules(head.block_gas).most;
        Ok(match simulate::attempt(view, Call { from, to, data: &data, gas }).await? {
            Simulated::Passed { .. } => BilledNobody::Passed,
            Simulated::Failed(failure) => BilledNobody::Failed(failure),
        })
    }
}
