//! A batch that has passed every check, and lacks its position, its signature and its claims.

use billing::{Charge, Refused, Satisfied};
use chain::{Draft, Pulse};
use policy::Count;

/// A batch that has passed every check.
pub(super) struct Ready {
    /// What it charges.
    pub(super) good: Vec<Charge>,
    /// What of its request it does not charge.
    pub(super) rest: Rest,
    pub(super) draft: Box<dyn Draft>,
    /// What it adds to the sums of the day.
    pub(super) counts: Vec<Count>,
    /// The chain, as it was seen when there was room.
    pub(super) pulse: Pulse,
}

/// What of a request is not charged by its transaction.
pub(super) struct Rest {
    pub(super) refused: Vec<Refused>,
    pub(super) earlier: Vec<Satisfied>,
}
