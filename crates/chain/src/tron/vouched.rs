//! Which irrevocable blocks enough elected witnesses stand on, as far as their headers were read. Pure.
//!
//! A node's word that a block is irrevocable is a claim. A block stands when the chain of proven headers that
//! begins with it was signed by as many witnesses as the node's own rule asks for, and the witnesses are known from
//! a list that is followed along the chain ([`tron_primitives::finality`]). Beyond that list nobody is believed.

use alloy::primitives::B256;
use std::collections::BTreeMap;
use tron_primitives::block::ProvenHeader;
use tron_primitives::finality::{Claim, Following, MOST_WITNESSES, Unlinked, Witnesses};

/// Number of blocks that are remembered to stand: about three hours.
const KEPT: usize = 4_096;

/// After so many rounds of all witnesses, enough of them would have been seen on most chains.
pub(super) const ROUNDS: usize = 2;

/// No walk reads more headers: those of a day.
const LONGEST: usize = 28_800;

/// The knowledge of the witnesses, and of the blocks that they stand on.
#[derive(Debug, Default)]
pub(super) struct Vouched {
    list: Option<Witnesses>,
    /// Lowest number of blocks that are read before their makers are called strangers.
    patience: usize,
    /// The number of the block up to which the list was followed.
    until: u64,
    standing: BTreeMap<u64, B256>,
}

impl Vouched {
    /// Begins with this list. None: one has to be learnt first.
    pub(super) fn beginning_with(list: Option<Witnesses>) -> Self {
        let patience = list.as_ref().map_or(0, Witnesses::len).saturating_mul(ROUNDS);
        Self { list, patience, until: 0, standing: BTreeMap::new() }
    }

    /// Returns true if the witnesses are known.
    pub(super) fn is_known(&self) -> bool {
        self.list.is_some()
    }

    /// Returns the witnesses, as far as they are known.
    pub(super) fn list(&self) -> Option<&Witnesses> {
        self.list.as_ref()
    }

    /// Takes the first list, unless there is one by now. It was read from so many blocks: few of them
    /// may not show everybody.
    pub(super) fn learn(&mut self, list: Witnesses, blocks: usize) {
        if self.list.is_none() {
            let everybody = blocks >= MOST_WITNESSES;
            let round = if everybody { list.len() } else { MOST_WITNESSES };
            self.patience = round.saturating_mul(ROUNDS);
            self.list = Some(list);
        }
    }

    /// A walk from the block with this number upwards; none while nobody is known.
    pub(super) fn walk(&self, first: u64) -> Option<HeaderWalk> {
        let following = Following::from(self.list.clone()?);
        Some(HeaderWalk { first, patience: self.patience, following, read: Vec::new() })
    }

    /// The id of the block with this number that stands, if one is known to.
    pub(super) fn at(&self, number: u64) -> Option<B256> {
        self.standing.get(&number).copied()
    }

    /// Takes what a walk has shown. The list only ever moves on.
    pub(super) fn take(&mut self, walk: HeaderWalk) {
        let Some((solid, _)) = walk.following.solid() else { return };
        self.standing.extend(walk.read.into_iter().filter(|(number, _)| *number <= solid));
        if solid > self.until {
            self.until = solid;
            self.list = Some(walk.following.witnesses().clone());
        }
        while self.standing.len() > KEPT {
            self.standing.pop_first();
        }
    }
}

/// A chain of proven headers, read upwards until its first one stands.
#[derive(Debug)]
pub(super) struct HeaderWalk {
    first: u64,
    patience: usize,
    following: Following,
    read: Vec<(u64, B256)>,
}

impl HeaderWalk {
    /// Returns the lowest number of headers needed beyond the first.
    pub(super) fn needed(&self) -> u64 {
        let needed = self.following.witnesses().needed().saturating_sub(1);
        u64::try_from(needed).unwrap_or(u64::MAX)
    }

    /// The number of the first header.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The number of the header to read next.
    pub(super) fn next(&self) -> u64 {
        self.following.next().unwrap_or(self.first)
    }

    /// Reads the next header.
    pub(super) fn read(&mut self, header: &ProvenHeader) -> Result<(), Unlinked> {
        if header.number() != self.next() {
            return Err(Unlinked { number: header.number() });
        }
        self.following.read(header)?;
        self.read.push((header.number(), header.id()));
        Ok(())
    }

    /// Keys that the node which was read shows, and that nothing else speaks for.
    pub(super) fn claims(&self) -> Vec<Claim> {
        self.following.claims().collect()
    }

    /// Takes a claim for true: enough others show the same.
    pub(super) fn bear_out(&mut self, claim: Claim) {
        self.following.bear_out(claim);
    }

    /// Returns true if the first block stands.
    pub(super) fn stands(&self) -> bool {
        self.following.solid().is_some_and(|(number, _)| number >= self.first)
    }

    /// Returns true if reading on may teach who was elected: the first block stands, and above it are blocks of
    /// others than the list has, for no more than two rounds.
    pub(super) fn may_teach(&self) -> bool {
        self.stands() && self.read.len() <= self.patience && self.following.meets_strangers()
    }

    /// Returns true if others than the list's witnesses, or other keys, signed blocks of a chain that does not stand
    /// at its head: had the list made it, it would. Before the head nothing is strange: some witnesses may have made
    /// no block for long, and all of them again since.
    pub(super) fn is_strange(&self, head: u64) -> bool {
        self.is_unproven(head) && self.following.meets_unknown_producers()
    }

    /// Returns true if everything up to the head was read, and so much that the first block would stand, had all
    /// witnesses made their blocks. If the list made them all, the node may be honest: too few witnesses are up, and
    /// the blocks on which the others stood were undone.
    pub(super) fn is_unproven(&self, head: u64) -> bool {
        !self.stands() && self.read.len() > self.patience && self.next() > head
    }

    /// Returns true if the walk goes no further.
    pub(super) fn is_over(&self) -> bool {
        let teaches = !self.stands() || self.may_teach();
        !teaches || self.read.len() >= LONGEST
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
