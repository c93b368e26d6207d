//! The gas that a billing may use: pure arithmetic over what a simulated call used.

use crate::{CallFault, ChainError, Estimate};
use alloy::primitives::U256;

/// The gas that billing one subscription uses with the reference contract. An ordinary batch is taken to use as
/// much before the first one was drafted.
pub(super) const ONE_CHARGE: Estimate = Estimate { used: 150_000, charges: 1 };

/// The rules for one chain at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GasRules {
    /// The margin added to the estimate, percent.
    pub(super) margin_percent: u64,
    /// The reserve added on top of the margin, gas.
    pub(super) reserve: u64,
    /// The most that one transaction may use, gas: the smaller of the configured cap and a block.
    pub(super) most: u64,
}

/// The gas limit for billing `charges`. For fewer than were simulated the estimate of all is used;
/// for more it is scaled up.
pub(super) fn gas_limit(
    estimate: &Estimate,
    charges: usize,
    rules: GasRules,
) -> Result<u64, ChainError> {
    let GasRules { margin_percent, reserve, most } = rules;
    let (simulated, charges) = (wide(estimate.charges).max(1), wide(charges).max(1));
    let used = u128::from(estimate.used).saturating_mul(charges.max(simulated)).div_ceil(simulated);
    let percent = u128::from(margin_percent).saturating_add(100);
    let needed = used.saturating_mul(percent).div_ceil(100).saturating_add(reserve.into());
    match u64::try_from(needed) {
        Ok(limit) if limit <= most => return Ok(limit),
        _ if charges == 1 => {}
        _ => {
            let room = u128::from(most.saturating_sub(reserve)).saturating_mul(100);
            let fits = room
                .saturating_mul(simulated)
                .checked_div(percent.saturating_mul(u128::from(estimate.used)))
                .unwrap_or(1);
            let fewer = fits.clamp(1, charges.saturating_sub(1));
            return Err(ChainError::BatchTooLarge { max: usize::try_from(fewer).unwrap_or(1) });
        }
    }
    Err(CallFault::Gas { needed: U256::from(needed), most }.into())
}

fn wide(count: usize) -> u128 {
    u128::try_from(count).unwrap_or(u128::MAX)
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULES: GasRules = GasRules { margin_percent: 40, reserve: 50_000, most: 16_777_216 };

    #[test]
    fn the_limit_is_the_estimate_with_its_margin_scaled_up_and_never_down() {
        let estimate = Estimate { used: 1_000_000, charges: 10 };
        assert_eq!(gas_limit(&estimate, 10, RULES), Ok(1_450_000));
        assert_eq!(gas_limit(&estimate, 3, RULES), Ok(1_450_000));
        assert_eq!(gas_limit(&estimate, 20, RULES), Ok(2_850_000));
    }

    #[test]
    fn a_batch_that_does_not_fit_is_told_how_many_would() {
        let estimate = Estimate { used: 20_000_000, charges: 1000 };
        assert_eq!(gas_limit(&estimate, 1000, RULES), Err(ChainError::BatchTooLarge { max: 597 }));
        let estimate = Estimate { used: 20_000_000, charges: 1 };
        assert!(matches!(gas_limit(&estimate, 1, RULES), Err(ChainError::CallFails(_))));
    }

    proptest! {
        #[test]
        fn as_many_as_are_said_to_fit_do_fit(per: u32, charges in 2..2000_usize, margin in 0..200_u64) {
            let used = u64::from(per) * u64::try_from(charges).unwrap();
            let rules = GasRules { margin_percent: margin, ..RULES };
            match gas_limit(&Estimate { used, charges }, charges, rules) {
                Ok(limit) => prop_assert!(limit >= used && limit <= rules.most),
                Err(ChainError::BatchTooLarge { max }) => {
                    prop_assert!(max >= 1 && max < charges);
                    let used = u64::from(per) * u64::try_from(max).unwrap();
                    let again = gas_limit(&Estimate { used, charges: max }, max, rules);
                    prop_assert!(again.is_ok() || max == 1);
                }
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
    }
}
