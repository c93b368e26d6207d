//! The reads of what wallets hold and allow, and of what the contract's lookup says: everything in one call.

use super::EvmChain;
use super::aggregate::{Aggregator, aggregate};
use super::node::View;
use crate::reads::{FundsReads, LookupReads};
use crate::{ChainError, TokenUnits};
use alloy::primitives::Address;
use billing::{Admitted, Charge, Funds};
use contract::Looked;

impl EvmChain {
    /// Asks the profile's lookup for every entry. None where the contract knows none, where its
    /// lookup reverts, and where the entry cannot be asked about.
    pub(super) async fn look_up_at(
        &self,
        view: &View<'_>,
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let profile = &self.account.profile;
        let asked = LookupReads::of(profile, self.account.facts.contract, entries);
        let told =
            if view.known.ways.reader { self.looked_at_once(view, &asked).await? } else { None };
        let answers = match told {
            Some(answers) => answers,
            None => aggregate(view, self.aggregator(view), &asked.reads()).await?,
        };
        Ok(asked.looked(profile, answers))
    }

    /// Reads what every charge's wallet holds and allows the contract. None where the token does not answer as a
    /// token does.
    pub(super) async fn funds(
        &self,
        view: &View<'_>,
        charges: &[Charge],
    ) -> Result<Vec<Option<Funds>>, ChainError> {
        let asked = FundsReads::of(charges, self.account.facts.contract);
        let answers = aggregate(view, self.aggregator(view), &asked.reads()).await?;
        Ok(asked.read(charges, &answers))
    }

    pub(super) async fn units_of(&self, token: Address) -> Result<Option<TokenUnits>, ChainError> {
        let view = self.view().await?;
        let reads = TokenUnits::reads(token);
        Ok(TokenUnits::of(aggregate(&view, self.aggregator(&view), &reads).await?))
    }

    fn aggregator(&self, view: &View<'_>) -> Aggregator {
        if view.known.multicall {
            Aggregator::Deployed(self.parts.config.multicall)
        } else {
            Aggregator::Deployless
        }
    }
}
