//! The reads of the wallets' balances and allowances, and of the contract's lookup: everything in one call.

use super::access::Access;
use super::aggregate::{Aggregator, aggregate};
use super::head_watch::HeadWatch;
use super::reader::ReaderAsk;
use crate::confirm::{is_verdict, refuses, too_few, two_alike};
use crate::reads::{FundsReads, LookupReads};
use crate::{ChainError, TokenUnits};
use ::node::NodeId;
use alloy::primitives::Address;
use billing::{Admitted, Charge, Funds};
use contract::Looked;
use evm_node::View;
use std::sync::Arc;

/// Reads many things at once on behalf of the account.
#[derive(Debug)]
pub(super) struct Reads {
    pub(super) access: Access,
    pub(super) head: Arc<HeadWatch>,
}

impl Reads {
    /// Asks the profile's lookup about every entry. The lookup may supply the period, and with the period what is
    /// claimed, so two nodes have to say the same even where nothing is refused: both are asked at once. An answer that
    /// would refuse an entry is looked at again at a newer block.
    pub(super) async fn lookup(
        &self,
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let fleet = &self.access.fleet;
        if fleet.is_alone() {
            return self.look_up_at(&self.head.view().await?, entries).await;
        }
        let head = self.head.current().await?;
        if !fleet.is_quorate() {
            return Err(too_few(fleet));
        }
        let first = self.look_up_alike(self.head.views_at(&head).await?, entries).await;
        let profile = &self.access.account.profile;
        let stops =
            first.as_ref().map_or_else(is_verdict, |looked| refuses(profile, entries, looked));
        if !stops {
            return first;
        }
        self.look_up_alike(self.head.fresh_views().await?, entries).await
    }

    async fn look_up_alike(
        &self,
        views: Vec<(NodeId, View<'_>)>,
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let run = |(id, view)| (id, async move { self.look_up_at(&view, entries).await });
        two_alike(&self.access.fleet, views.into_iter().map(run).collect(), Clone::clone).await
    }

    /// The same by one view's word. None if the contract knows no such entry, if its lookup reverts, or if the entry
    /// cannot be asked about.
    async fn look_up_at(
        &self,
        view: &View<'_>,
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let profile = &self.access.account.profile;
        let asked = LookupReads::of(profile, self.access.contract(), entries);
        let told = if view.known.ways.reader {
            ReaderAsk { access: &self.access, view }.lookups(&asked).await?
        } else {
            None
        };
        let answers = match told {
            Some(answers) => answers,
            None => aggregate(view, self.aggregator(view), &asked.reads()).await?,
        };
        Ok(asked.looked(profile, answers))
    }

    /// Reads the balance and the allowance of every charge's wallet. None if the token does not answer as a token
    /// does.
    pub(super) async fn funds(
        &self,
        view: &View<'_>,
        charges: &[Charge],
    ) -> Result<Vec<Option<Funds>>, ChainError> {
        let asked = FundsReads::of(charges, self.access.contract());
        let answers = aggregate(view, self.aggregator(view), &asked.reads()).await?;
        Ok(asked.read(charges, &answers))
    }

    /// Reads the units of a token.
    pub(super) async fn units_of(&self, token: Address) -> Result<Option<TokenUnits>, ChainError> {
        let view = self.head.view().await?;
        let reads = TokenUnits::reads(token);
        Ok(TokenUnits::of(aggregate(&view, self.aggregator(&view), &reads).await?))
    }

    fn aggregator(&self, view: &View<'_>) -> Aggregator {
        if view.known.multicall {
            Aggregator::Deployed(self.access.config.multicall)
        } else {
            Aggregator::Deployless
        }
    }
}
