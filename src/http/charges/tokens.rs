//! What tokens are called, and their amounts as people write them.

use crate::billing::PlatformChainId;
use crate::config::{Config, TokenLimits};
use crate::engine::LaneSet;
use alloy::primitives::utils::format_units;
use alloy::primitives::{Address, U256};
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

    /// What a token is called, and an amount of it in whole ones; empty where nobody says so.
    pub fn told(&self, chain: u32, token: &str, units: U256) -> [String; 2] {
        let (chain, token) = (PlatformChainId(chain), super::address(token));
        [self.symbol(chain, token), self.amount(chain, token, units)].map(Option::unwrap_or_default)
    }

    /// What a token is called.
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

/// Base units in whole ones: every digit that counts, and none behind it.
pub fn whole(units: U256, decimals: u8) -> Option<String> {
    let text = format_units(units, decimals).ok()?;
    if !text.contains('.') {
        return Some(text);
    }
    Some(text.trim_end_matches('0').trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_digit_is_lost_and_none_is_added() {
        for (units, decimals, told) in [
            ("0", 6, "0"),
            ("10000000", 6, "10"),
            ("9990000", 6, "9.99"),
            ("1", 18, "0.000000000000000001"),
            ("500", 0, "500"),
            ("123456789012345678901", 18, "123.456789012345678901"),
        ] {
            assert_eq!(whole(units.parse().unwrap(), decimals).as_deref(), Some(told), "{units}");
        }
        let all = whole(U256::MAX, 77).unwrap();
        assert_eq!(all.replace('.', ""), U256::MAX.to_string());
    }
}
