//! The platform's configuration: chains and currencies.

use super::{ChainId, CurrencyId};
use serde::Deserialize;

/// A chain of the chain list.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Chain {
    /// The platform's id.
    pub chain_id: ChainId,
    /// For people.
    pub chain_name: Option<String>,
}

/// A currency of the currency list.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Currency {
    /// The platform's id.
    pub currency_id: CurrencyId,
    /// The chain that it is on.
    pub chain_id: ChainId,
    /// For people.
    pub name: Option<String>,
    /// Such as `USDT`.
    pub symbol: Option<String>,
    /// The token's contract; empty or missing for the chain's own coin.
    pub address: Option<String>,
    /// 10^decimals base units are one of it. Differs from chain to chain for the same symbol.
    pub decimals: u8,
}
