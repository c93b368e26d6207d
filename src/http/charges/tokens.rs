//! The names of tokens, and their amounts as people write them.

use alloy::primitives::{Address, U256};
use billing::{PlatformChainId, whole};
use config::{Config, TokenLimits};
use engine::LaneSet;
use std::collections::{BTreeMap, HashMap};

/// The operator's names for tokens and how many decimals they have, by chain and address: `policy.tokens` and
/// `policy.decimals`.
#[derive(Clone, Debug, Default)]
pub struct TokenNames(HashMap<(PlatformChainId, Address), (String, Option<u8>)>);

impl TokenNames {
    /// Those of a configuration.
    pub fn of_config(config: &Config) -> Self {
        let mut names = Self::default();
        for chain in &config.chains {
            names.add(chain.platform_id, &chain.policy.tokens);
        }
        names
    }

    /// Those by which is signed now.
    pub(in crate::http) fn of_lanes(set: &LaneSet) -> Self {
        let mut names = Self::default();
        for policy in set.chains().into_iter().map(|lanes| lanes.any().chain.policy()) {
            names.add(policy.chain, policy.token_limits());
        }
        names
    }

    fn add(&mut self, chain: PlatformChainId, tokens: &BTreeMap<String, TokenLimits>) {
        for (name, token) in tokens {
            self.0.insert((chain, token.address), (name.clone(), token.decimals));
        }
    }

    /// Returns the name of a token, and an amount of it in whole tokens; empty if not configured.
    pub fn told(&self, chain: u32, token: &str, units: U256) -> [String; 2] {
        let (chain, token) = (PlatformChainId(chain), super::address(token));
        [self.symbol(chain, token), self.amount(chain, token, units)].map(Option::unwrap_or_default)
    }

    /// An amount of a token with its symbol; in base units where nobody says how many decimals it has.
    pub fn in_words(&self, chain: u32, token: &str, units: U256) -> String {
        let [symbol, amount] = self.told(chain, token, units);
        if amount.is_empty() { format!("{units} base units") } else { format!("{amount} {symbol}") }
    }

    /// Returns the name of a token.
    pub(super) fn symbol(&self, chain: PlatformChainId, token: Option<Address>) -> Option<String> {
        self.0.get(&(chain, token?)).map(|(name, _)| name.clone())
    }

    /// An amount in whole tokens, exactly; none where nobody says how many decimals the token has.
    pub(super) fn amount(
        &self,
        chain: PlatformChainId,
        token: Option<Address>,
        units: U256,
    ) -> Option<String> {
        let (_, decimals) = self.0.get(&(chain, token?))?;
        whole(units, (*decimals)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_told_in_tokens_where_their_decimals_are_known_and_called_base_units_elsewhere() {
        let (chain, usdt) = (PlatformChainId(7), Address::repeat_byte(9));
        let named = ((chain, usdt), ("USDT".to_owned(), Some(6)));
        let names = TokenNames(HashMap::from([named]));
        let told = |token: Address| names.in_words(7, &token.to_string(), U256::from(9_990_000));
        assert_eq!(told(usdt), "9.99 USDT");
        assert_eq!(told(Address::ZERO), "9990000 base units");
    }
}
