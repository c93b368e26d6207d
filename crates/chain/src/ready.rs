//! Readiness to sign an ordinary batch, as far as the last look at a chain tells: readiness and `check` report it
//! before the first request finds out.

use super::Payer;
use alloy::primitives::U256;
use billing::decimal;
use evm_blocks::Rewritten;
use keys::StoreFault;
use std::fmt;
use std::time::Duration;

/// Decimals of the units that sentences and the configuration use, in wei or sun.
const GWEI: usize = 9;
const ETHER: usize = 18;
const TRX: usize = 6;

/// Why no batch can be signed at present, although the chain can be followed. Every variant means:
/// nothing was signed, nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unready {
    /// The lookup of every entry needs more providers than can be asked.
    #[error("{needed} providers must agree about every entry, and {fit} can be asked now")]
    TooFew {
        /// The number of agreeing answers that is required.
        needed: usize,
        /// Number of providers that can be asked.
        fit: usize,
    },
    /// The signing account cannot pay for an ordinary batch.
    #[error("{0}")]
    GasMoney(Box<Budget>),
    /// The newest block is too far from this machine's clock to sign anything by it.
    #[error("{0}")]
    Clock(ClockGap),
    /// The store that has the key does not sign.
    #[error("the store of the key of {signer} does not sign: {why}")]
    Key {
        /// The account, as its chain writes it.
        signer: String,
        /// The reason.
        why: StoreFault,
    },
    /// The contract does not let the account bill.
    #[error(
        "the contract {contract} does not let {signer} bill: {answer}. Give the account that right, or name the key \
         that has it"
    )]
    Permission {
        /// The contract, as its chain writes it.
        contract: String,
        /// The account, likewise.
        signer: String,
        /// The contract's answer.
        answer: String,
    },
    /// The providers tell different irrevocable blocks of this height (TRON).
    #[error(
        "its providers tell different irrevocable blocks of height {0}: one of them has left the chain of the \
         others, and nothing more is irrevocable until it is back on it or is taken out of `nodes`"
    )]
    Parted(u64),
    /// Nodes hold another block at a height at which one was final before (EVM).
    #[error(transparent)]
    Rewritten(Rewritten),
    /// The newest final block is so far behind the newest that nothing would end (TRON).
    #[error(
        "its newest irrevocable block is {} s behind its newest: check the solidity node",
        .0.as_secs()
    )]
    Stalled(Duration),
}

/// Which ceiling is in the way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooDear {
    /// That of a price for gas, wei (EVM).
    #[error(
        "the {what} is {} gwei per gas, above the ceiling fees.{key} = {} gwei: wait, or raise it",
        decimal(*asked, GWEI),
        decimal(*ceiling, GWEI)
    )]
    PerGas {
        /// Which price.
        what: &'static str,
        /// The key of the ceiling.
        key: &'static str,
        /// The value or operation asked for.
        asked: U256,
        /// The highest value allowed.
        ceiling: U256,
    },
    /// That of a whole transaction, wei (EVM).
    #[error(
        "the transaction may cost {} ether, above the ceiling fees.max_tx_cost = {} ether: post fewer at \
         once, wait, or raise it",
        decimal(*cost, ETHER),
        decimal(*most, ETHER)
    )]
    Transaction {
        /// The possible cost of the transaction.
        cost: U256,
        /// The highest value allowed.
        most: U256,
    },
    /// That of a fee limit, sun (TRON).
    #[error(
        "one charge alone needs a fee limit of {} TRX, above {ceiling} = {} TRX: {advice}",
        decimal(*wanted, TRX),
        decimal(U256::from(*most), TRX)
    )]
    FeeLimit {
        /// The fee limit that one charge needs.
        wanted: U256,
        /// The highest value allowed.
        most: u64,
        /// The source of that ceiling.
        ceiling: &'static str,
        /// The advice to the operator.
        advice: &'static str,
    },
}

/// The amount that the signing account can still pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Holdings of the account, wei or sun: the amount that as many nodes tell as have to agree, or else the least
    /// that any node tells.
    pub holds: U256,
    /// The amount of the holdings that open transactions may still take, in the same unit.
    pub in_flight: U256,
    /// The possible cost of an ordinary batch at present, in the same unit.
    pub ordinary: U256,
    /// The owner.
    pub payer: Payer,
}

impl Budget {
    /// Returns the amount left for new transactions.
    pub fn spendable(&self) -> U256 {
        self.holds.saturating_sub(self.in_flight)
    }

    /// An error where no ordinary batch could be paid.
    pub fn pays(&self) -> Result<(), Unready> {
        if self.spendable() >= self.ordinary {
            Ok(())
        } else {
            Err(Unready::GasMoney(Box::new(*self)))
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { holds, in_flight, ordinary, payer } = self;
        let [holds, in_flight, ordinary] = [holds, in_flight, ordinary].map(|it| payer.coins(*it));
        write!(
            f,
            "the signing account {payer} holds {holds}, of which open transactions may take {in_flight}, and an \
             ordinary batch may cost {ordinary}: top it up: send {} to that address",
            payer.coin()
        )
    }
}

/// The gap between the newest block and this machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockGap {
    /// So far before the clock.
    Behind(Duration),
    /// So far after it.
    Ahead(Duration),
}

impl ClockGap {
    /// Compares the time of the newest block with this machine's (both Unix ms). An error where they
    /// are further apart than `tolerance`.
    pub fn within(head_ms: u64, now_ms: i64, tolerance: Duration) -> Result<(), Unready> {
        let now_ms = u64::try_from(now_ms).unwrap_or_default();
        let gap = Duration::from_millis(head_ms.abs_diff(now_ms));
        if gap <= tolerance {
            return Ok(());
        }
        let gap = if head_ms < now_ms { Self::Behind(gap) } else { Self::Ahead(gap) };
        Err(Unready::Clock(gap))
    }
}

impl fmt::Display for ClockGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gap, side) = match self {
            Self::Behind(gap) => (gap, "behind"),
            Self::Ahead(gap) => (gap, "ahead of"),
        };
        write!(
            f,
            "its newest block is {} s {side} this machine's clock: check the node and the clock",
            gap.as_secs()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use billing::Family;

    #[test]
    fn a_budget_pays_for_an_ordinary_batch_only_with_what_nothing_open_may_take() {
        let budget = |holds: u64, in_flight: u64| Budget {
            holds: U256::from(holds),
            in_flight: U256::from(in_flight),
            ordinary: U256::from(30),
            payer: Payer::nobody(Family::Tvm),
        };
        assert_eq!(budget(100, 70).pays(), Ok(()));
        let short = budget(100, 71);
        assert_eq!(short.pays(), Err(Unready::GasMoney(Box::new(short))));
        assert_eq!(budget(10, 20).spendable(), U256::ZERO);
        let said = short.to_string();
        for part in [
            "0.0001 TRX",
            "0.000071 TRX",
            "0.00003 TRX",
            "send TRX to",
            "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }

    #[test]
    fn a_head_may_be_as_far_from_the_clock_as_is_tolerated_on_either_side() {
        let tolerance = Duration::from_mins(1);
        let within = |head_ms| ClockGap::within(head_ms, 1_000_000, tolerance);
        assert_eq!(within(1_000_000), Ok(()));
        assert_eq!(within(940_000), Ok(()));
        assert_eq!(within(1_060_000), Ok(()));
        let ahead = within(1_061_000).unwrap_err().to_string();
        assert!(ahead.starts_with("its newest block is 61 s ahead of this machine's clock"));
        let behind = within(938_000).unwrap_err().to_string();
        assert!(behind.starts_with("its newest block is 62 s behind this machine's clock"));
    }
}
