//! What wallets hold and allow, and what the contract's lookup says: everything in one call.

use super::EvmChain;
use super::aggregate::{Aggregator, aggregate};
use super::head::Known;
use crate::billing::{Charge, Entry, Funds};
use crate::chain::ChainError;
use crate::chain::profile::Looked;
use crate::chain::reads::{FundsReads, LookupReads};

impl EvmChain {
    /// Asks the profile's lookup for every entry. None where the contract knows none, where its
    /// lookup reverts, and where the entry cannot be asked about.
    pub(super) async fn look_up(
        &self,
        entries: &[Entry],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let known = self.ready().await?;
        let profile = &self.parts.profile;
        let asked = LookupReads::of(profile, self.parts.facts.contract, entries);
        let answers = aggregate(&self.parts.rpc, self.aggregator(known), &asked.reads).await?;
        Ok(asked.looked(profile, answers))
    }

    /// What every charge's wallet holds and allows the contract. None where the token does not
    /// answer as a token does.
    pub(super) async fn funds(
        &self,
        known: Known,
        charges: &[Charge],
    ) -> Result<Vec<Option<Funds>>, ChainError> {
        let asked = FundsReads::of(charges, self.parts.facts.contract);
        let answers = aggregate(&self.parts.rpc, self.aggregator(known), &asked.reads).await?;
        Ok(asked.funds(charges, &answers))
    }

    fn aggregator(&self, known: Known) -> Aggregator {
        if known.multicall {
            Aggregator::Deployed(self.parts.config.multicall)
        } else {
            Aggregator::Deployless
        }
    }
}
