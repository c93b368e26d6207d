//! Second opinions on TRON. Calls run on the newest state of whoever is asked, so two nodes are asked
//! at the same time, and may be a block apart.

use super::TronChain;
use crate::confirm::{OPINIONS, is_verdict, refused, stops, too_few, two_alike};
use crate::{ChainError, Preflight};
use ::node::NodeId;
use billing::{Admitted, Charge};
use contract::Looked;

impl TronChain {
    /// The preflight of `charges`, any refusal in it confirmed.
    pub(super) async fn check(&self, charges: Vec<Charge>) -> Result<Preflight, ChainError> {
        let fleet = &self.parts.fleet;
        let first = self.check_by(self.api(), &charges).await;
        // A batch that one node stopped for want of time is not signed, whatever another node says.
        if !stops(&first)
            || fleet.is_alone()
            || matches!(first, Err(ChainError::BatchTooSlow { .. }))
        {
            return first;
        }
        self.observe().await?;
        let run = |id| (id, self.check_by(self.api_of(id), &charges));
        let runs = self.second_opinions()?.into_iter().map(run).collect();
        two_alike(fleet, runs, refused).await
    }

    /// Checks that the contract lets the account bill, and has a refusal confirmed.
    pub(super) async fn may_bill_anybody(&self) -> Result<(), ChainError> {
        let fleet = &self.parts.fleet;
        let first = self.permitted_by(self.api()).await;
        if !first.as_ref().is_err_and(is_verdict) || fleet.is_alone() {
            return first;
        }
        let run = |id| (id, self.permitted_by(self.api_of(id)));
        let runs = self.second_opinions()?.into_iter().map(run).collect();
        two_alike(fleet, runs, |()| ()).await
    }

    /// Asks the profile's lookup about every entry. The lookup may supply the period, and with the period what is
    /// claimed, so two providers have to say the same even where nothing is refused.
    pub(super) async fn looked_up(
        &self,
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let fleet = &self.parts.fleet;
        if fleet.is_alone() {
            return self.look_up(self.api(), entries).await;
        }
        self.current().await?;
        let run = |id| (id, self.look_up(self.api_of(id), entries));
        let runs = self.second_opinions()?.into_iter().map(run).collect();
        two_alike(fleet, runs, Clone::clone).await
    }

    /// Returns the nodes to ask for opinions: one node of each of up to three providers.
    fn second_opinions(&self) -> Result<Vec<NodeId>, ChainError> {
        let fleet = &self.parts.fleet;
        if !fleet.is_quorate() {
            return Err(too_few(fleet));
        }
        Ok(fleet.fit().into_iter().take(OPINIONS).collect())
    }
}
