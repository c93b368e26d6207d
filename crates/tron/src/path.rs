//! The way from one transaction of a block up to the root in its header: the proof of one without the others.

use crate::answer::{BlockAnswer, TransactionAnswer};
use crate::block::{Unproven, join};
use crate::leaf::NODE;
use alloy::primitives::B256;
use sha2::{Digest as _, Sha256};

/// The neighbour of a node on its way up: the digest that stands beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// It stands on the left.
    Left(B256),
    /// It stands on the right.
    Right(B256),
}

/// A transaction with its way up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionPath {
    /// The bytes of the whole message, result included.
    pub message: Vec<u8>,
    /// Its neighbours, from the transaction up. On a level where it is an odd last one it has none.
    pub neighbours: Vec<Neighbour>,
}

impl TransactionPath {
    /// The root at which the way ends; none if the message is as long as a node of the tree, and may be one.
    pub fn root(&self) -> Option<B256> {
        let leaf = B256::from_slice(&Sha256::digest(&self.message));
        let up = |below: B256, neighbour: &Neighbour| match neighbour {
            Neighbour::Left(left) => join(&[*left, below]),
            Neighbour::Right(right) => join(&[below, *right]),
        };
        (self.message.len() != NODE).then(|| self.neighbours.iter().fold(leaf, up))
    }
}

impl BlockAnswer {
    /// The way up of the transaction with this id; none if it is not in the block.
    ///
    /// # Errors
    /// [`Unproven::Word`]: a result of the block is not on the list of words. [`Unproven::Root`]: a transaction is as
    /// long as a node of the tree.
    pub fn path(&self, id: B256) -> Result<Option<TransactionPath>, Unproven> {
        let Some(place) = self.transactions.iter().position(|one| one.tx_id == id) else {
            return Ok(None);
        };
        let leaves = self.transactions.iter().map(TransactionAnswer::leaf);
        let level: Vec<B256> = leaves.collect::<Result<_, _>>()?;
        let Some(transaction) = self.transactions.get(place) else { return Ok(None) };
        let message = transaction.message()?;
        Ok(Some(TransactionPath { message, neighbours: neighbours(level, place) }))
    }
}

/// The neighbours of the leaf at `place`, from the leaves up.
fn neighbours(mut level: Vec<B256>, mut place: usize) -> Vec<Neighbour> {
    let mut found = vec![];
    while level.len() > 1 {
        let left = place.is_multiple_of(2);
        let beside = if left { place.checked_add(1) } else { place.checked_sub(1) };
        let beside = beside.and_then(|at| level.get(at)).copied();
        found.extend(beside.map(if left { Neighbour::Right } else { Neighbour::Left }));
        level = level.chunks(2).map(join).collect();
        place = place.div_euclid(2);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::merkle_root;

    fn message(seed: u8) -> Vec<u8> {
        vec![seed; 70]
    }

    #[test]
    fn every_transaction_has_a_way_up_and_no_other() {
        for many in 1..20_u8 {
            let leaves: Vec<B256> =
                (0..many).map(|seed| B256::from_slice(&Sha256::digest(message(seed)))).collect();
            let root = merkle_root(leaves.clone());
            for seed in 0..many {
                let neighbours = neighbours(leaves.clone(), usize::from(seed));
                let path = TransactionPath { message: message(seed), neighbours };
                assert_eq!(path.root(), Some(root), "{seed} of {many}");
                let other = TransactionPath { message: message(seed + 1), ..path };
                assert_ne!(other.root(), Some(root));
            }
        }
    }

    #[test]
    fn a_node_is_no_transaction() {
        let leaves: Vec<B256> = (1..=4).map(B256::repeat_byte).collect();
        let pair = [leaves[0].0, leaves[1].0].concat();
        let right = join(&leaves[2..]);
        let path = TransactionPath { message: pair, neighbours: vec![Neighbour::Right(right)] };
        assert_eq!(path.root(), None);
    }
}
