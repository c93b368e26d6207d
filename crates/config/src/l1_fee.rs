//! The fee that a rollup takes beside gas for putting a transaction on the chain below it.

use super::kinds::{Expected, word};
use strum::{EnumIter, EnumString, IntoStaticStr};

/// The fee for data that a chain takes and that its gas price does not bound, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum L1Fee {
    /// No. Arbitrum neither: it takes that fee as gas, which the estimate holds.
    None,
    /// As the OP Stack does: its `GasPriceOracle` knows how much.
    Op,
}

pub(super) fn l1_fee() -> Expected<L1Fee> {
    word("is neither")
}
