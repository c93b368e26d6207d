//! The irrevocable blocks that enough elected witnesses have built on, as far as their headers were read. Pure.
//!
//! A node's word that a block is irrevocable is a claim. A block is confirmed when the chain of proven headers that
//! begins with it was signed by as many witnesses as the node's own rule asks for, and the witnesses are known from
//! a list that is followed along the chain ([`tron_primitives::finality`]). Beyond that list nobody is believed.

use alloy::primitives::{Address, B256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tron_primitives::block::ProvenHeader;
use tron_primitives::finality::{Claim, Following, MOST_WITNESSES, Unlinked, Witnesses};

/// Number of confirmed blocks that are remembered: about three hours.
const KEPT: usize = 4_096;

/// Number of rounds of all witnesses after which enough of them would have been seen on most chains.
const ROUNDS: usize = 2;

/// Highest number of headers that one scan reads: those of a day.
const LONGEST: usize = 28_800;

/// The witnesses that are known, and the blocks that they have confirmed.
#[derive(Debug, Default)]
pub struct WitnessChain {
    list: Option<Witnesses>,
    /// The witnesses of the configured list, whose keys it alone names: what as many nodes as have to agree show may
    /// elect newcomers, and takes no key from a witness that a person named.
    pinned: Arc<BTreeSet<Address>>,
    /// Lowest number of blocks that are read before their makers are called unknown.
    patience: usize,
    /// The number of the block up to which the list was followed.
    until: u64,
    confirmed: BTreeMap<u64, B256>,
}

impl WitnessChain {
    /// Begins with the configured list; with none, a list has to be learnt first.
    pub fn beginning_with(list: Option<Witnesses>) -> Self {
        let patience = list.as_ref().map_or(0, Witnesses::len).saturating_mul(ROUNDS);
        let named = list.iter().flat_map(Witnesses::producers).map(|producer| producer.witness);
        let pinned = Arc::new(named.collect());
        Self { list, pinned, patience, until: 0, confirmed: BTreeMap::new() }
    }

    /// Returns true if the witnesses are known.
    pub fn is_known(&self) -> bool {
        self.list.is_some()
    }

    /// Returns the witnesses, as far as they are known.
    pub fn list(&self) -> Option<&Witnesses> {
        self.list.as_ref()
    }

    /// Takes the first list, unless there is one by now. The list was read from so many blocks: few blocks may not
    /// show every witness.
    pub fn learn(&mut self, list: Witnesses, blocks: usize) {
        if self.list.is_none() {
            let everybody = blocks >= MOST_WITNESSES;
            let round = if everybody { list.len() } else { MOST_WITNESSES };
            self.patience = round.saturating_mul(ROUNDS);
            self.list = Some(list);
        }
    }

    /// Begins a scan from the block with this number upwards; none while no witness is known.
    pub fn scan(&self, first: u64) -> Option<HeaderScan> {
        let following = Following::from(self.list.clone()?);
        let pinned = Arc::clone(&self.pinned);
        Some(HeaderScan { first, pinned, patience: self.patience, following, read: Vec::new() })
    }

    /// Returns the id of the confirmed block with this number, if it is known.
    pub fn at(&self, number: u64) -> Option<B256> {
        self.confirmed.get(&number).copied()
    }

    /// Takes the findings of a scan. The list only ever moves on.
    pub fn take(&mut self, scan: HeaderScan) {
        let Some((solid, _)) = scan.following.solid() else { return };
        self.confirmed.extend(scan.read.into_iter().filter(|(number, _)| *number <= solid));
        if solid > self.until {
            self.until = solid;
            self.list = Some(scan.following.witnesses().clone());
        }
        while self.confirmed.len() > KEPT {
            self.forget_farthest_from(scan.first);
        }
    }

    /// Forgets the lowest or the highest block: never the one that was asked for.
    fn forget_farthest_from(&mut self, number: u64) {
        let away = |other: Option<&u64>| other.map_or(0, |other| other.abs_diff(number));
        if away(self.confirmed.keys().next()) < away(self.confirmed.keys().next_back()) {
            self.confirmed.pop_last();
        } else {
            self.confirmed.pop_first();
        }
    }
}

/// A chain of proven headers, read upwards until the first of them is confirmed.
#[derive(Debug)]
pub struct HeaderScan {
    first: u64,
    pinned: Arc<BTreeSet<Address>>,
    patience: usize,
    following: Following,
    read: Vec<(u64, B256)>,
}

impl HeaderScan {
    /// Returns the lowest number of headers needed beyond the first.
    pub fn needed(&self) -> u64 {
        let needed = self.following.witnesses().needed().saturating_sub(1);
        u64::try_from(needed).unwrap_or(u64::MAX)
    }

    /// Returns the number of the first header.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number of the header to read next.
    pub fn next(&self) -> u64 {
        self.following.next().unwrap_or(self.first)
    }

    /// Reads the next header. Fails if it does not follow those that were read.
    pub fn read(&mut self, header: &ProvenHeader) -> Result<(), Unlinked> {
        if header.number() != self.next() {
            return Err(Unlinked { number: header.number() });
        }
        self.following.read(header)?;
        self.read.push((header.number(), header.id()));
        Ok(())
    }

    /// Returns the signing keys that the node shows, and that nothing else speaks for: of witnesses that are not pinned.
    pub fn claims(&self) -> Vec<Claim> {
        let open = |claim: &Claim| !self.pinned.contains(&claim.producer.witness);
        self.following.claims().filter(open).collect()
    }

    /// Takes a claim for true: enough others show the same.
    pub fn confirm(&mut self, claim: Claim) {
        self.following.bear_out(claim);
    }

    /// Returns true if enough witnesses have built on the first block.
    pub fn is_confirmed(&self) -> bool {
        self.following.solid().is_some_and(|(number, _)| number >= self.first)
    }

    /// Returns true if reading on may teach who was elected: the first block is confirmed, and what was read is less
    /// than a round, in which not everybody had a turn, or has blocks of others than the list has above it, for no
    /// more than two rounds.
    pub fn may_teach(&self) -> bool {
        let round = self.following.witnesses().len();
        self.is_confirmed()
            && self.read.len() <= self.patience
            && (self.read.len() < round || self.following.meets_strangers())
    }

    /// Returns true if others than the list's witnesses, or other keys, signed blocks of a chain that is read to its
    /// head and not confirmed: had the list made the chain, it would be. Before the head no producer is unknown: some
    /// witnesses may have made no block for long, and all of them again since.
    pub fn unknown_producers(&self, head: u64) -> bool {
        self.is_unproven(head) && self.following.meets_unknown_producers()
    }

    /// Returns true if everything up to the head was read, and so much that the first block would be confirmed, had
    /// all witnesses made their blocks. If the list made all blocks, the node may be honest: too few witnesses are
    /// up, and the blocks that the others had built were undone.
    pub fn is_unproven(&self, head: u64) -> bool {
        !self.is_confirmed() && self.read.len() > self.patience && self.next() > head
    }

    /// Returns true if the scan goes no further.
    pub fn is_over(&self) -> bool {
        let teaches = !self.is_confirmed() || self.may_teach();
        !teaches || self.read.len() >= LONGEST
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
