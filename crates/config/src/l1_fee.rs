//! The fee that a rollup takes beside gas for putting a transaction on the chain below it.

use super::kinds::Expected;

/// The fee for data that a chain takes and that its gas price does not bound, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum L1Fee {
    /// No. Arbitrum neither: it takes that fee as gas, which the estimate holds.
    None,
    /// As the OP Stack does: its `GasPriceOracle` knows how much.
    Op,
}

pub(super) fn l1_fee() -> Expected<L1Fee> {
    Expected::of_text("\"none\" or \"op\"", |text| match text {
        "none" => Ok(L1Fee::None),
        "op" => Ok(L1Fee::Op),
        _ => Err("is neither"),
    })
}
