//! The taker of a place in the line, where none of our attempts took it: found in a node's final blocks.
//!
//! The account's nonce at a block, asked by number, says whether the place was taken up to there; a
//! node that does not know that block errs. The first block that has it holds the transaction.

use super::block::{Identified, TxCall};
use super::questions::{self, EvmAsker, Transaction};
use alloy::primitives::Address;
use node::AskError;
use std::collections::BTreeMap;
use std::ops::Range;

/// One node, the account, and how far that node's blocks are final.
#[derive(Clone, Copy, Debug)]
pub struct Archive<'a> {
    /// The node.
    pub rpc: EvmAsker<'a>,
    /// The account.
    pub account: Address,
    /// The newest block that is final for the node.
    pub final_block: u64,
}

impl Archive<'_> {
    /// Finds the takers of these places, as far as the node can tell: in order, up to the first that it cannot.
    pub async fn identify(&self, places: Range<u64>) -> BTreeMap<u64, Identified> {
        let mut found = BTreeMap::new();
        let mut walk = NonceSearch::default();
        for place in places {
            match self.next(&mut walk, place).await {
                Ok(Some(who)) => found.insert(place, who),
                Ok(None) | Err(_) => break,
            };
        }
        found
    }

    /// None where this node does not see the place as taken for good.
    async fn next(
        &self,
        walk: &mut NonceSearch,
        place: u64,
    ) -> Result<Option<Identified>, AskError> {
        if let Some(transaction) = walk.holds(self.account, place) {
            return Ok(Some(transaction));
        }
        if !walk.searches {
            match self.shortcut(place).await {
                Some(transaction) => return Ok(Some(transaction)),
                None => walk.searches = true,
            }
        }
        let nonce_at = |block: u64| questions::nonce_at(self.rpc, self.account, block);
        let Some(block) = first_above(place, walk.below, self.final_block, nonce_at).await? else {
            return Ok(None);
        };
        let Some(full) = questions::full_block(self.rpc, block).await? else { return Ok(None) };
        let nobody = full.is_whole().then(|| full.block());
        (walk.below, walk.block) = (block.checked_sub(1), full.transactions);
        let found = walk.holds(self.account, place);
        Ok(found.or(nobody.filter(|at| at.number == block).map(Identified::Nobody)))
    }

    /// Some nodes keep an index. One that has none errs.
    async fn shortcut(&self, place: u64) -> Option<Identified> {
        let found = questions::by_nonce(self.rpc, self.account, place).await.ok()??;
        let is_final = found.block_number().is_some_and(|block| block <= self.final_block);
        (is_final && found.is(self.account, place)).then(|| identified(found))
    }
}

/// The state of a search: the places of a range follow one another in the chain.
#[derive(Debug, Default)]
struct NonceSearch {
    /// A block in which the next place was not taken yet.
    below: Option<u64>,
    /// The transactions of the block that was read last.
    block: Vec<Transaction>,
    /// True if the node keeps no index that knows better.
    searches: bool,
}

impl NonceSearch {
    fn holds(&self, account: Address, place: u64) -> Option<Identified> {
        let found = self.block.iter().find(|transaction| transaction.is(account, place))?;
        Some(identified(found.clone()))
    }
}

fn identified(found: Transaction) -> Identified {
    let call = TxCall { to: found.to, input: found.input.unwrap_or_default() };
    Identified::Transaction { hash: found.hash, call }
}

/// The first block, up to `last`, at which a value that never falls is above `most`; none where it is
/// not above even then. Goes back from `last` in ever longer steps, since what is looked for mostly
/// happened lately and nodes forget old states, and then halves what is left. `below` is a block
/// where it is not above yet, if one is known.
pub async fn first_above<E, F: Future<Output = Result<u64, E>>>(
    most: u64,
    below: Option<u64>,
    last: u64,
    value_at: impl Fn(u64) -> F,
) -> Result<Option<u64>, E> {
    if value_at(last).await? <= most {
        return Ok(None);
    }
    let (mut low, mut high, mut step) = (below, last, 1_u64);
    while low.is_none() && high > 0 {
        let probe = high.saturating_sub(step);
        if value_at(probe).await? > most {
            (high, step) = (probe, step.saturating_mul(2));
        } else {
            low = Some(probe);
        }
    }
    let Some(mut low) = low else { return Ok(Some(high)) };
    while high.saturating_sub(low) > 1 {
        let middle = low.midpoint(high);
        if value_at(middle).await? > most { high = middle } else { low = middle }
    }
    Ok(Some(high))
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::convert::Infallible;
    use std::future::ready;

    proptest! {
        #[test]
        fn the_block_that_took_a_place_is_found_in_few_questions(
            mut blocks in prop::collection::vec(0..100_000_u64, 1..40),
            last in 0..100_000_u64, place in 0..40_u64, below in any::<bool>(),
        ) {
            blocks.sort_unstable();
            let asked = Cell::new(0);
            let count = |block: u64| {
                asked.set(asked.get() + 1);
                let taken = blocks.iter().filter(|at| **at <= block).count();
                ready(Ok::<_, Infallible>(u64::try_from(taken).unwrap()))
            };
            let taken_at = blocks.get(usize::try_from(place).unwrap()).copied();
            let below = taken_at.filter(|_| below).and_then(|at| at.checked_sub(1));
            let below = below.filter(|block| *block < last);
            let found = first_above(place, below, last, count).now_or_never().unwrap().unwrap();
            prop_assert_eq!(found, taken_at.filter(|at| *at <= last));
            prop_assert!(asked.get() <= 40, "{}", asked.get());
        }
    }
}
