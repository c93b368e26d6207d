//! The amounts that a batch adds to the sums of a day.

use super::Refusal;
use alloy::primitives::{Address, U256};
use billing::Denomination;

/// The unit that is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A token, base units.
    Token(Address),
    /// The possible costs of transactions, wei or sun.
    Fee,
}

impl Unit {
    /// The word for it in the journal.
    pub fn word(self) -> String {
        match self {
            Self::Token(address) => format!("{address:#x}"),
            Self::Fee => "fee".to_owned(),
        }
    }
}

/// One addition to one sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The unit that is summed up.
    pub unit: Unit,
    /// The charges that it is made of, by their place in the batch; none for fees.
    pub items: Vec<usize>,
    /// The amount. Base units, wei or sun.
    pub amount: U256,
    /// The most that the day may come to; none where nothing is limited.
    pub most: Option<U256>,
    /// The rule that limits it.
    pub rule: String,
    /// The denomination in which a person is told the amount.
    pub units: Denomination,
}

impl Count {
    /// The sum of the day after `amount` more, if that is allowed.
    pub fn after(&self, before: U256, amount: U256) -> Result<U256, Refusal> {
        let after = before.checked_add(amount);
        match (self.most, after) {
            (Some(most), after) if after.is_none_or(|after| after > most) => Err(Refusal::of(
                self.rule.clone(),
                format!(
                    "{} of {} is used up today (UTC), and this needs {} more; post less, wait until tomorrow, or \
                     raise the limit",
                    self.units.tell(before),
                    self.units.tell(most),
                    self.units.tell(amount)
                ),
            )),
            (_, after) => Ok(after.unwrap_or(U256::MAX)),
        }
    }
}
