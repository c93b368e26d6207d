//! A batch that has passed every check, and lacks its position, its signature and its claims.

use billing::{Charge, Refused, Satisfied};
use chain::{Draft, HeadView};
use policy::Count;

/// A batch that has passed every check.
pub(super) struct ReadyBatch {
    /// The charges of the batch.
    pub(super) good: Vec<Charge>,
    /// The part of its request that the batch does not charge.
    pub(super) rest: Uncharged,
    pub(super) draft: Box<dyn Draft>,
    /// The amounts that the batch adds to the sums of the day.
    pub(super) counts: Vec<Count>,
    /// The chain, as it was seen when there was room.
    pub(super) head: HeadView,
}

/// The part of a request that its transaction does not charge.
pub(super) struct Uncharged {
    pub(super) refused: Vec<Refused>,
    pub(super) earlier: Vec<Satisfied>,
}
