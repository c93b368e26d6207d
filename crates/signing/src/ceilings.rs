//! The most that a transaction may cost by the configuration.

use billing::AttemptKind;
use config::FeeConfig;

/// Returns a bid that is raised once: an eighth more, rounded up, and one. Nodes want a tenth more and not less than
/// one more. geth: core/txpool/legacypool/list.go, `Add`, with a `PriceBump` of 10.
pub fn raised(bid: u128) -> u128 {
    bid.saturating_add(bid.div_ceil(8)).saturating_add(1)
}

/// Returns the most that a transaction may cost on EVM, wei. A cancel may cost one step more.
pub fn dearest(kind: AttemptKind, config: &FeeConfig) -> u128 {
    match kind {
        AttemptKind::Bill => config.max_tx_cost.0,
        AttemptKind::Cancel => raised(config.max_tx_cost.0),
    }
}
