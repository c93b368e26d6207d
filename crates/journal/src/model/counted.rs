//! The amounts that batches add to the sums of days, as the history has them. Fields are in the order of their names.

use serde::{Deserialize, Serialize};

/// The amount that a batch added to one sum, for the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Added {
    /// Decimal.
    pub(crate) amount: String,
    /// As in [`DayCount::items`].
    pub(crate) items: String,
    pub(crate) unit: String,
}

/// A batch's part in one sum of a day, as its row holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DayCount {
    /// Decimal.
    pub(crate) amount: String,
    /// Days since 1970, UTC.
    pub(crate) day: i64,
    /// The amount that was given back when the batch ended, decimal.
    pub(crate) given_back: String,
    /// The places of the charges that the amount is made of, with commas between them; empty for fees.
    pub(crate) items: String,
    /// A token's address, or `fee`.
    pub(crate) unit: String,
}

impl DayCount {
    /// The count of a batch that has given nothing back.
    pub(crate) fn of(day: i64, Added { unit, items, amount }: Added) -> Self {
        Self { day, unit, items, amount, given_back: "0".to_owned() }
    }
}

/// The changes that the end of a batch made in the sums of days, for the history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Corrected {
    /// Amounts that were counted, and not charged, or charged otherwise.
    pub(crate) given_back: Vec<DayAmount>,
    /// Amounts that were charged otherwise than counted.
    pub(crate) counted: Vec<DayAmount>,
}

/// An amount in the sum of a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DayAmount {
    pub(crate) day: i64,
    pub(crate) unit: String,
    /// Decimal.
    pub(crate) amount: String,
}
