//! The limits and the possible cost of a transaction: pure arithmetic over the use of a simulated call, the chain's
//! prices and the account's means. Amounts in sun, sizes in bytes.
//!
//! A call that runs out of energy burns its whole fee limit and charges nobody, and a node takes it
//! all the same. So a limit is either high enough or refused here.

use crate::{ChainError, Estimate, TooDear};
use alloy::primitives::U256;
use tron_node::Resources;

/// Energy that billing one subscription uses with the reference contract: an ordinary batch is taken to use as much
/// before the first one was drafted.
pub(super) const ONE_CHARGE: Estimate = Estimate { used: 100_000, charges: 1 };

/// Size of such a transaction, bytes.
pub(super) const ONE_CHARGE_BYTES: usize = 700;

/// Size that the chain counts per transaction on top of its size without `ret`, bytes. java-tron:
/// chainbase/.../db/BandwidthProcessor.java, `MAX_RESULT_SIZE_IN_TX`.
const RESULT_SIZE: u64 = 64;

/// The prices that the chain asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prices {
    /// Per unit of energy, sun.
    pub(super) energy: u64,
    /// Per byte of bandwidth, sun.
    pub(super) bandwidth: u64,
    /// The highest fee limit that a transaction may carry, sun.
    pub(super) max_fee_limit: u64,
}

/// The margins on top of a simulation, and the ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EnergyRules {
    /// For a step of the contract's energy factor at the next maintenance, percent.
    pub(super) energy_margin_percent: u64,
    /// For a state that differs from the simulated one, percent.
    pub(super) drift_margin_percent: u64,
    /// Energy added on top of both margins. A contract that isolates failures needs this reserve in hand to tell a
    /// charge that failed from one that it could not afford to try.
    pub(super) energy_reserve: u64,
    /// The highest fee limit that is signed, sun.
    pub(super) max_fee_limit: u64,
}

/// The limits on a transaction's use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallLimits {
    /// Energy, margins included.
    pub(super) energy: u64,
    /// Highest cost of that energy, sun. Caps staked energy too.
    pub(super) fee_limit: u64,
}

/// The possible cost of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spend {
    /// Its fee limit, sun.
    pub(super) fee_limit: u64,
    /// Its size without `ret`, bytes.
    pub(super) size: usize,
}

/// The energy and fee limit for billing `charges`. For fewer than were simulated the estimate of all
/// is used; for more it is scaled up.
pub(super) fn budget(
    estimate: &Estimate,
    charges: usize,
    prices: &Prices,
    rules: EnergyRules,
) -> Result<CallLimits, ChainError> {
    let charges = wide(charges).max(1);
    let energy = energy_for(estimate, charges, rules);
    let wanted = energy.saturating_mul(prices.energy.into());
    let most = most(prices, rules);
    if let (Ok(energy), Ok(fee_limit)) = (u64::try_from(energy), u64::try_from(wanted))
        && fee_limit <= most
    {
        return Ok(CallLimits { energy, fee_limit });
    }
    if charges > 1 {
        let reserve = u128::from(rules.energy_reserve).saturating_mul(prices.energy.into());
        let per_charge = wanted.saturating_sub(reserve).div_ceil(charges).max(1);
        // A tenth is left for what a batch costs however many charges are in it.
        let room = u128::from(most).saturating_sub(reserve).saturating_mul(9).div_euclid(10);
        let fits = room.checked_div(per_charge).unwrap_or(1);
        let fewer = fits.clamp(1, charges.saturating_sub(1));
        return Err(ChainError::BatchTooLarge { max: usize::try_from(fewer).unwrap_or(1) });
    }
    let (ceiling, advice) = if most == rules.max_fee_limit {
        ("the ceiling fees.max_fee_limit", "wait, or raise it")
    } else {
        ("the chain's maximum", "wait until energy costs less")
    };
    Err(TooDear::FeeLimit { wanted: U256::from(wanted), most, ceiling, advice }.into())
}

/// Returns the number of charges, each of so much energy, that have room under the ceilings.
pub(super) fn charges_within(each: u64, prices: &Prices, rules: EnergyRules) -> u64 {
    let bought = most(prices, rules).checked_div(prices.energy).unwrap_or_default();
    let room = u128::from(bought.saturating_sub(rules.energy_reserve));
    let estimate = Estimate { used: each, charges: 1 };
    let of_one = energy_for(&estimate, 1, EnergyRules { energy_reserve: 0, ..rules });
    u64::try_from(room.checked_div(of_one).unwrap_or_default()).unwrap_or(u64::MAX)
}

/// An error where not even one charge of such a batch can be billed.
pub(super) fn affordable(
    estimate: &Estimate,
    prices: &Prices,
    rules: EnergyRules,
) -> Result<(), ChainError> {
    budget(&estimate.alone(&ONE_CHARGE), 1, prices, rules).map(drop)
}

/// Returns the fee limit of another such batch, sun. If prices have risen above the ceilings since, returns the
/// highest fee limit that is allowed: the batch waits until that is enough.
pub(super) fn fee_limit(estimate: &Estimate, prices: &Prices, rules: EnergyRules) -> u64 {
    let energy = energy_for(estimate, wide(estimate.charges).max(1), rules);
    let wanted = u64::try_from(energy.saturating_mul(prices.energy.into()));
    wanted.unwrap_or(u64::MAX).min(most(prices, rules))
}

/// The energy for so many charges, margins included.
fn energy_for(estimate: &Estimate, charges: u128, rules: EnergyRules) -> u128 {
    let simulated = wide(estimate.charges).max(1);
    let used = u128::from(estimate.used).saturating_mul(charges.max(simulated)).div_ceil(simulated);
    let percent = |more: u64| u128::from(more).saturating_add(100);
    used.saturating_mul(percent(rules.energy_margin_percent))
        .saturating_mul(percent(rules.drift_margin_percent))
        .div_ceil(10_000)
        .saturating_add(rules.energy_reserve.into())
}

/// The highest fee limit that may be signed, sun.
fn most(prices: &Prices, rules: EnergyRules) -> u64 {
    prices.max_fee_limit.min(rules.max_fee_limit)
}

/// Returns the highest cost of these transactions together, beside the resources that the account can use without
/// paying, sun.
pub(super) fn to_pay(
    spends: impl IntoIterator<Item = Spend>,
    prices: &Prices,
    free: &Resources,
) -> u128 {
    let (mut left, mut energy, mut bytes) = (*free, 0_u64, 0_u64);
    for spend in spends {
        let bought = spend.fee_limit.div_ceil(prices.energy.max(1));
        energy = energy.saturating_add(bought);
        bytes = bytes.saturating_add(paid_bytes(spend.size, &mut left));
    }
    let burnt = energy.saturating_sub(free.energy);
    let cost = |amount: u64, price: u64| u128::from(amount).saturating_mul(price.into());
    cost(burnt, prices.energy).saturating_add(cost(bytes, prices.bandwidth))
}

/// Returns the bytes that the chain counts for a transaction of `size` bytes.
pub(super) fn bandwidth(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX).saturating_add(RESULT_SIZE)
}

/// Returns the number of bytes of a transaction that are paid for. Each kind of bandwidth pays for all of a
/// transaction or for none of it.
fn paid_bytes(size: usize, left: &mut Resources) -> u64 {
    let bytes = bandwidth(size);
    if bytes <= left.staked_bandwidth {
        left.staked_bandwidth = left.staked_bandwidth.saturating_sub(bytes);
        0
    } else if bytes <= left.free_bandwidth {
        left.free_bandwidth = left.free_bandwidth.saturating_sub(bytes);
        0
    } else {
        bytes
    }
}

fn wide(count: usize) -> u128 {
    u128::try_from(count).unwrap_or(u128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRICES: Prices = Prices { energy: 100, bandwidth: 10, max_fee_limit: 1_000_000_000 };
    const RULES: EnergyRules = EnergyRules {
        energy_margin_percent: 20,
        drift_margin_percent: 10,
        energy_reserve: 0,
        max_fee_limit: 500_000_000,
    };
    const NOTHING: Resources = Resources { free_bandwidth: 0, staked_bandwidth: 0, energy: 0 };

    fn limit(used: u64, simulated: usize, charges: usize) -> Result<u64, ChainError> {
        let estimate = Estimate { used, charges: simulated };
        budget(&estimate, charges, &PRICES, RULES).map(|budget| budget.fee_limit)
    }

    #[test]
    fn the_fee_limit_is_the_energy_with_its_margins_at_the_chains_price() {
        assert_eq!(limit(27_859, 1, 1), Ok(3_677_400), "27859 * 1.2 * 1.1, rounded up, times 100");
        assert_eq!(limit(100_000, 10, 10), Ok(13_200_000));
        assert_eq!(limit(100_000, 10, 3), Ok(13_200_000), "fewer: the estimate of all");
        assert_eq!(limit(100_000, 10, 20), Ok(26_400_000), "more: scaled up");
    }

    #[test]
    fn a_limit_that_would_be_cut_is_refused() {
        assert_eq!(limit(5_000_000, 100, 100), Err(ChainError::BatchTooLarge { max: 68 }));
        let dear = limit(5_000_000, 1, 1).unwrap_err();
        assert!(
            matches!(&dear, ChainError::FeeTooHigh(why) if why.to_string().contains("max_fee_limit"))
        );
        let cheap = Prices { max_fee_limit: 1_000, ..PRICES };
        let dear = budget(&Estimate { used: 1_000, charges: 1 }, 1, &cheap, RULES).unwrap_err();
        assert!(
            matches!(&dear, ChainError::FeeTooHigh(why) if why.to_string().contains("chain's maximum"))
        );
    }

    #[test]
    fn a_batch_that_is_above_a_ceiling_is_no_reason_to_bill_nobody_and_a_charge_is() {
        let at = |energy| Prices { energy, ..PRICES };
        // 100 charges used 4 million: one of them alone between 40,000 and that, so as the reference's.
        let last = Estimate { used: 4_000_000, charges: 100 };
        for (price, all, one) in [
            (94, 496_320_000, true),
            (95, 500_000_000, true),
            (3_787, 500_000_000, true),
            (3_788, 500_000_000, false),
        ] {
            assert_eq!(fee_limit(&last, &at(price), RULES), all, "{price}");
            assert_eq!(affordable(&last, &at(price), RULES).is_ok(), one, "{price}");
        }
        let single = Estimate { used: 50_000, charges: 1 };
        assert!(affordable(&single, &at(7_575), RULES).is_ok(), "as it was measured");
        let dear = affordable(&single, &at(7_576), RULES).unwrap_err();
        let asked = budget(&single, 1, &at(7_576), RULES).unwrap_err();
        assert_eq!(dear, asked, "as a request hears it");
        assert!(dear.to_string().contains("above the ceiling fees.max_fee_limit"), "{dear}");
    }

    #[test]
    fn the_reserve_is_added_once_and_leaves_less_room_for_charges() {
        let rules = EnergyRules { energy_reserve: 450_000, ..RULES };
        let estimate = Estimate { used: 100_000, charges: 10 };
        let told = budget(&estimate, 10, &PRICES, rules);
        assert_eq!(told, Ok(CallLimits { energy: 582_000, fee_limit: 58_200_000 }));
        let estimate = Estimate { used: 5_000_000, charges: 100 };
        let told = budget(&estimate, 100, &PRICES, rules);
        assert_eq!(told, Err(ChainError::BatchTooLarge { max: 62 }));
    }

    #[test]
    fn as_many_charges_have_room_as_a_budget_allows() {
        let rules = EnergyRules { energy_reserve: 450_000, ..RULES };
        for (each, fit) in [(28_710, 120), (80_526, 42)] {
            assert_eq!(charges_within(each, &PRICES, rules), fit);
            let estimate = |charges: u64| Estimate {
                used: each * charges,
                charges: usize::try_from(charges).unwrap(),
            };
            let of =
                |charges| budget(&estimate(charges), estimate(charges).charges, &PRICES, rules);
            assert!(of(fit).is_ok() && of(fit + 1).is_err(), "{each}");
        }
    }

    fn need(spends: usize, resources: Resources) -> u128 {
        to_pay(vec![Spend { fee_limit: 100_000, size: 281 }; spends], &PRICES, &resources)
    }

    #[test]
    fn staked_energy_and_whole_bandwidth_need_no_balance() {
        assert_eq!(bandwidth(281), 345, "recorded: vectors.json");
        assert_eq!(need(1, NOTHING), 103_450);
        assert_eq!(need(1, Resources { energy: 400, ..NOTHING }), 63_450);
        assert_eq!(need(1, Resources { free_bandwidth: 345, ..NOTHING }), 100_000);
        assert_eq!(need(1, Resources { staked_bandwidth: 345, ..NOTHING }), 100_000);
        let split = Resources { free_bandwidth: 344, staked_bandwidth: 344, energy: 1_000 };
        assert_eq!(need(1, split), 3450, "two halves of bandwidth are none");
        let all = Resources { free_bandwidth: 345, staked_bandwidth: 0, energy: 1_000 };
        assert_eq!(need(1, all), 0);
    }

    #[test]
    fn what_is_free_is_free_once() {
        assert_eq!(need(0, NOTHING), 0);
        assert_eq!(need(3, NOTHING), 310_350);
        let each = Resources { free_bandwidth: 345, staked_bandwidth: 700, energy: 1_500 };
        assert_eq!(need(3, each), 150_000, "all bytes are free, half of the energy is");
        assert_eq!(need(4, each), 253_450);
    }

    proptest! {
        #[test]
        fn no_limit_is_above_a_ceiling_or_below_its_estimate(
            used in 0..u64::MAX >> 8, simulated in 0..2_000_usize, charges in 0..2_000_usize,
            price: u64, max: u64, ceiling: u64, factor in 0..500_u64, drift in 0..500_u64,
            reserve in 0..1_000_000_u64,
        ) {
            let prices = Prices { energy: price, bandwidth: 10, max_fee_limit: max };
            let rules = EnergyRules { energy_margin_percent: factor, drift_margin_percent: drift, energy_reserve: reserve, max_fee_limit: ceiling };
            let estimate = Estimate { used, charges: simulated };
            match budget(&estimate, charges, &prices, rules) {
                Ok(budget) => {
                    prop_assert!(budget.fee_limit <= max.min(ceiling));
                    prop_assert!(budget.energy >= used);
                    prop_assert!(budget.fee_limit >= used.saturating_mul(price));
                }
                Err(ChainError::BatchTooLarge { max }) => {
                    prop_assert!(max >= 1 && max < charges);
                }
                Err(ChainError::FeeTooHigh(_)) => prop_assert!(charges <= 1),
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }
}
