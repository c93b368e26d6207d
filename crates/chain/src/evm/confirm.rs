//! Second opinions on an EVM chain. The first look may have been at a head that is some seconds old,
//! so a second opinion begins with a new look at the heads, and asks two nodes about the same block.

use super::EvmChain;
use super::head::EvmHead;
use super::known::{EvmNodeFacts, Ways};
use super::node::View;
use crate::confirm::{is_verdict, refused, refuses, stops, too_few, two_alike};
use crate::{ChainError, Preflight};
use ::node::NodeId;
use billing::{Admitted, Charge};
use contract::Looked;
use std::sync::Arc;

impl EvmChain {
    /// The preflight of `charges`, any refusal in it confirmed.
    pub(super) async fn check(&self, charges: Vec<Charge>) -> Result<Preflight, ChainError> {
        let fleet = &self.parts.fleet;
        let first = self.check_at(self.view().await?, &charges).await;
        if !stops(&first) || fleet.is_alone() {
            return first;
        }
        let views = self.fresh_views().await?;
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

    /// Checks that the contract lets the account bill, and has a refusal confirmed.
    pub(super) async fn may_bill_anybody(&self) -> Result<(), ChainError> {
        let (fleet, head) = (&self.parts.fleet, self.current().await?);
        let first = self.permitted_at(&self.view_at(&head).await?, &head).await;
        if !first.as_ref().is_err_and(is_verdict) || fleet.is_alone() {
            return first;
        }
        let run = |(id, view)| (id, self.permitted_in(view, Arc::clone(&head)));
        let runs = self.views_at(&head).await?.into_iter().map(run).collect();
        two_alike(fleet, runs, |()| ()).await
    }

    async fn permitted_in(&self, view: View<'_>, head: Arc<EvmHead>) -> Result<(), ChainError> {
        self.permitted_at(&view, &head).await
    }

    /// Returns what the profile's lookup says of every entry. The lookup may supply the period, and with that what
    /// is claimed, so two nodes have to say the same even where nothing is refused: both are asked at once. An
    /// answer that would refuse an entry is looked at again at a newer block.
    pub(super) async fn looked_up(
        &self,
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let fleet = &self.parts.fleet;
        if fleet.is_alone() {
            return self.look_up_at(&self.view().await?, entries).await;
        }
        let head = self.current().await?;
        if !fleet.is_quorate() {
            return Err(too_few(fleet));
        }
        let first = self.look_up_alike(self.views_at(&head).await?, entries).await;
        let profile = &self.account.profile;
        let stops =
            first.as_ref().map_or_else(is_verdict, |looked| refuses(profile, entries, looked));
        if !stops {
            return first;
        }
        self.look_up_alike(self.fresh_views().await?, entries).await
    }

    async fn look_up_alike(
        &self,
        views: Vec<(NodeId, View<'_>)>,
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let run = |(id, view)| (id, async move { self.look_up_at(&view, entries).await });
        two_alike(&self.parts.fleet, views.into_iter().map(run).collect(), Clone::clone).await
    }
}
