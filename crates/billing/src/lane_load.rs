//! The number of a lane's transactions that may be under way at once.

use std::fmt;

/// The number of blocks that a transaction may wait to be final, on a chain that counts no transactions (TRON: 19
/// of 27 witnesses, three seconds each). This many times the number that may wait for one block may wait to be
/// final.
const BLOCKS_TO_FINALITY: u64 = 20;

/// The batches of a lane that are in a block, when another batch is about to be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InBlocks {
    /// The batches at positions below this.
    Below(u64),
    /// So many of those that are undecided, as far as was seen: the chain counts no positions.
    Seen(u64),
}

/// The transactions of a lane that the chain has not decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneLoad {
    /// Transactions that are in no block, as far as is known.
    pub unblocked: u64,
    /// Transactions that are in no final block, where their number is bounded apart.
    pub unfinal: Option<u64>,
}

impl LaneLoad {
    /// Returns the load of a lane whose positions are counted, by the next position and the first that is in no
    /// block. None where blocks hold more than was ever signed here.
    pub fn counted(next: u64, mined: u64) -> Option<Self> {
        let unblocked = next.checked_sub(mined)?;
        Some(Self { unblocked, unfinal: None })
    }

    /// Returns the load of a lane whose positions are not counted, by the number of undecided transactions and of
    /// those seen in a block.
    pub fn seen(undecided: u64, in_blocks: u64) -> Self {
        Self { unblocked: undecided.saturating_sub(in_blocks), unfinal: Some(undecided) }
    }

    /// Returns the limit that is reached, where `most` may be in no block; none where there is room for one more.
    pub fn full(self, most: u64) -> Option<Full> {
        let most_unfinal = most.saturating_mul(BLOCKS_TO_FINALITY);
        if self.unblocked >= most {
            Some(Full::NoBlockYet(most))
        } else if self.unfinal.is_some_and(|unfinal| unfinal >= most_unfinal) {
            Some(Full::NotFinalYet(most_unfinal))
        } else {
            None
        }
    }
}

/// The limit that a lane has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// So many are in no block yet.
    NoBlockYet(u64),
    /// So many are in no final block yet.
    NotFinalYet(u64),
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBlockYet(most) => {
                write!(
                    f,
                    "{most} of at most {most} transactions are in no block yet (max_in_flight)"
                )
            }
            Self::NotFinalYet(most) => write!(
                f,
                "{most} of at most {most} transactions are not final yet ({BLOCKS_TO_FINALITY} times \
                 max_in_flight)"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_a_block_is_counted_and_the_rest_is_bounded() {
        let counted = |next, mined| LaneLoad::counted(next, mined).map(|way| way.full(16));
        assert_eq!(counted(23, 8), Some(None), "one more may go");
        assert_eq!(counted(24, 8), Some(Some(Full::NoBlockYet(16))));
        assert_eq!(counted(7, 8), None, "somebody else has signed");
        let seen = |undecided, in_blocks| LaneLoad::seen(undecided, in_blocks).full(50);
        assert_eq!(seen(49, 0), None);
        assert_eq!(seen(50, 0), Some(Full::NoBlockYet(50)));
        assert_eq!(seen(50, 1), None, "what is in a block waits for none");
        assert_eq!(seen(999, 960), None);
        assert_eq!(seen(1000, 960), Some(Full::NotFinalYet(1000)));
        assert_eq!(seen(3, 5), None, "some have ended meanwhile");
    }
}
