//! The amounts that batches add to the sums of days, as the history has them.

use serde::{Deserialize, Serialize};

/// The amount that a batch added to one sum, for the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Added {
    pub(crate) unit: String,
    /// As in the column `counted.items`.
    pub(crate) items: String,
    /// Decimal.
    pub(crate) amount: String,
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
