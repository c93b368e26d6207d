//! The memory of which blocks nodes have proven, and which they have not. Pure.
//!
//! A block whose header proves itself and whose transactions do not is a lie of the node, or a block with something new
//! in it that no node can prove. It is a lie where another answer proves the same block, whichever comes first.

use alloy::primitives::B256;
use node::NodeId;
use std::collections::{BTreeSet, VecDeque};
use tron_primitives::block::number_in;

/// Number of blocks that are remembered, those that were judged last.
const KEPT: usize = 512;

/// The blocks that were judged, by their ids, the newest judgement last.
#[derive(Debug, Default)]
pub(crate) struct Judgements(VecDeque<(B256, Standing)>);

#[derive(Debug)]
enum Standing {
    /// An answer has proven it.
    Proven,
    /// No answer has, and these nodes have failed to.
    Unproven(BTreeSet<NodeId>),
}

/// The meaning of an answer that fails to prove its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failing {
    /// The answer is false: another one has proven the block.
    Lie,
    /// Nothing follows so far. No other block of this height has failed.
    New,
    /// The same, of a height that is known for it.
    Known,
}

impl Judgements {
    /// Takes a block that an answer has proven. Returns the nodes whose answers about the block were false.
    pub(crate) fn proven(&mut self, id: B256) -> BTreeSet<NodeId> {
        let Some(standing) = self.standing(id) else {
            self.keep(id, Standing::Proven);
            return BTreeSet::new();
        };
        match std::mem::replace(standing, Standing::Proven) {
            Standing::Proven => BTreeSet::new(),
            Standing::Unproven(failed) => failed,
        }
    }

    /// Takes a block that this node's answer has not proven.
    pub(crate) fn unproven(&mut self, id: B256, node: NodeId) -> Failing {
        let is_known = self.0.iter().any(|(other, standing)| {
            number_in(*other) == number_in(id) && matches!(standing, Standing::Unproven(_))
        });
        match self.standing(id) {
            Some(Standing::Proven) => return Failing::Lie,
            Some(Standing::Unproven(failed)) => drop(failed.insert(node)),
            None => self.keep(id, Standing::Unproven(BTreeSet::from([node]))),
        }
        if is_known { Failing::Known } else { Failing::New }
    }

    fn standing(&mut self, id: B256) -> Option<&mut Standing> {
        self.0.iter_mut().find(|(other, _)| *other == id).map(|(_, standing)| standing)
    }

    fn keep(&mut self, id: B256, standing: Standing) {
        self.0.push_back((id, standing));
        while self.0.len() > KEPT {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeId = NodeId(0);
    const B: NodeId = NodeId(1);

    fn id(number: u64, salt: u8) -> B256 {
        tron_primitives::block::block_id(number, B256::repeat_byte(salt))
    }

    #[test]
    fn whoever_fails_lies_only_where_the_same_block_is_proven_before_or_after() {
        let mut all = Judgements::default();
        assert_eq!(all.unproven(id(7, 1), A), Failing::New);
        assert_eq!(all.unproven(id(7, 1), B), Failing::Known);
        assert_eq!(all.unproven(id(7, 2), B), Failing::Known, "another of the height");
        assert_eq!(all.unproven(id(8, 1), A), Failing::New);
        assert_eq!(all.proven(id(7, 3)), BTreeSet::new(), "another block");
        assert_eq!(all.proven(id(7, 1)), BTreeSet::from([A, B]));
        assert_eq!(all.proven(id(7, 1)), BTreeSet::new(), "they were told of once");
        assert_eq!(all.unproven(id(7, 1), A), Failing::Lie);
        assert_eq!(all.unproven(id(7, 2), A), Failing::Known, "nobody has proven that one");
    }

    #[test]
    fn ever_new_blocks_do_not_fill_the_memory() {
        let mut all = Judgements::default();
        for number in 0..2_000 {
            all.unproven(id(number, 1), A);
            all.proven(id(number, 2));
            assert!(all.0.len() <= KEPT);
        }
        assert_eq!(all.unproven(id(1_999, 2), A), Failing::Lie);
        assert_eq!(all.proven(id(1_999, 1)), BTreeSet::from([A]));
        assert_eq!(all.unproven(id(1, 2), A), Failing::New, "it is forgotten");
    }
}
