//! The finality of blocks: asked of nodes, and proven by the headers on top of a block, which the witnesses have
//! signed.

use super::block::TronBlock;
use super::block_reader::BlockReader;
use super::endpoints::Side;
use super::witness_chain::{HeaderScan, WitnessChain};
use alloy::primitives::B256;
use node::NodeId;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::{debug, info};
use tron_primitives::block::{Producer, ProvenHeader};
use tron_primitives::finality::{MOST_WITNESSES, Witnesses};

/// Number of blocks that the first list of witnesses is read from: two rounds of 27.
const FIRST_BLOCKS: u64 = 54;

/// The witnesses' word on a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Enough witnesses have built on it.
    Confirmed,
    /// They have built on another block of this height.
    Refuted,
    /// Too few have been seen to build on it so far.
    NotYet,
}

/// The newest block and the newest irrevocable one, as the last look at the head has them.
#[derive(Clone, Copy, Debug)]
pub struct Heights<'a> {
    /// The number of the newest block.
    pub newest: u64,
    /// The newest block that as many providers as have to agree call irrevocable.
    pub solid: &'a TronBlock,
}

/// The proof of blocks by their witnesses.
#[derive(Debug)]
pub struct Finality {
    /// The chain's name in logs.
    chain: String,
    reader: Arc<BlockReader>,
    witnesses: Mutex<WitnessChain>,
}

impl Finality {
    /// Begins with the configured list of witnesses. Without one, the first list is read from blocks.
    pub fn of(chain: String, reader: Arc<BlockReader>, list: Option<Witnesses>) -> Self {
        let witnesses = Mutex::new(WitnessChain::beginning_with(list));
        Self { chain, reader, witnesses }
    }

    /// Returns the witnesses, as far as they are known.
    pub fn witnesses(&self) -> Option<Witnesses> {
        self.witnesses.lock().list().cloned()
    }

    /// Returns the lowest number of blocks on top of a block that confirm it; 0 while no witness is known.
    pub fn needed_on_top(&self) -> u64 {
        self.witnesses.lock().scan(0).map_or(0, |scan| scan.needed())
    }

    /// Finds out whether enough witnesses have built on the block with this number and id.
    pub async fn support(&self, number: u64, id: B256, head: Heights<'_>) -> Support {
        if self.confirmed(number).is_none() {
            self.confirm(number, head).await;
        }
        match self.confirmed(number) {
            Some(confirmed) if confirmed == id => Support::Confirmed,
            Some(_) => Support::Refuted,
            None => Support::NotYet,
        }
    }

    fn confirmed(&self, number: u64) -> Option<B256> {
        self.witnesses.lock().at(number)
    }

    fn begin_scan(&self, number: u64) -> Option<HeaderScan> {
        self.witnesses.lock().scan(number)
    }

    /// Finds out which block of this height is confirmed.
    async fn confirm(&self, number: u64, head: Heights<'_>) {
        self.load_witnesses(head).await;
        let fleet = self.reader.fleet();
        let mut unproven = vec![];
        for node in fleet.fit() {
            let Some(scan) = self.begin_scan(number) else { return };
            let has_shown = self.reader.has_shown(node);
            let mut scan = self.scanned(node, scan, head).await;
            if !scan.is_confirmed() && has_shown && !self.reader.has_shown(node) {
                let Some(again) = self.begin_scan(number) else { return };
                scan = self.scanned(node, again, head).await;
            }
            if scan.is_confirmed() {
                self.confirm_keys(&mut scan, node).await;
                self.witnesses.lock().take(scan);
                // One chain is confirmed, so theirs is another.
                for node in unproven {
                    fleet.caught_lying(node, "too few witnesses made its blocks");
                }
                return;
            }
            if scan.is_unproven(head.newest) {
                unproven.push(node);
            }
        }
    }

    /// Confirms the signing keys that other providers show as well. A signature is no part of a block's id: a node can
    /// put another one under a true header. So a key that is not its witness's own is learnt only if as many providers
    /// as have to agree show it, and never from one that answers alone.
    async fn confirm_keys(&self, scan: &mut HeaderScan, shown_by: NodeId) {
        let fleet = self.reader.fleet();
        if fleet.is_alone() {
            return;
        }
        for claim in scan.claims() {
            for other in fleet.fit().into_iter().filter(|node| *node != shown_by) {
                let header = self.reader.header(other, Side::Full, claim.number).await;
                let alike =
                    |it: ProvenHeader| it.id() == claim.id && it.producer() == claim.producer;
                if header.is_some_and(alike) {
                    scan.confirm(claim);
                    break;
                }
            }
        }
    }

    /// Reads up one node's headers, and on over those of the witnesses that were elected since, until the first block
    /// is confirmed or the headers end.
    async fn scanned(&self, node: NodeId, mut scan: HeaderScan, head: Heights<'_>) -> HeaderScan {
        let fleet = self.reader.fleet();
        while !scan.is_over() {
            let first = scan.next();
            let last = head.newest.min(first.saturating_add(scan.needed()));
            let headers = self.reader.headers_above(node, first..=last, scan.first()).await;
            if headers.is_empty() {
                break;
            }
            for header in headers {
                if scan.is_over() {
                    break;
                }
                if scan.read(&header).is_err() {
                    // The headers that the node has shown may be of a fork that it has left: then the node is asked
                    // anew.
                    self.reader.forget_shown(node);
                    // Above the irrevocable blocks the chain may just have changed, and a node that
                    // was on a fork may just have left it.
                    if header.number() <= head.solid.number {
                        fleet.dissented(node, "its irrevocable blocks do not follow one another");
                    }
                    return scan;
                }
            }
        }
        if scan.unknown_producers(head.newest) {
            fleet.caught_lying(node, "its blocks are not made by the witnesses");
        }
        scan
    }

    /// Sees to it that the witnesses are known. If no list is configured, the first list is read from the blocks
    /// below the newest that as many providers as have to agree call irrevocable, and as many providers have to
    /// show the same list: the content of a header's signature is not in the block's id.
    pub async fn load_witnesses(&self, head: Heights<'_>) {
        if self.witnesses.lock().is_known() {
            return;
        }
        let told = |node: NodeId| self.first_witnesses(node, head.solid);
        match self.reader.fleet().agreed("who the witnesses are", told).await {
            Ok(FirstWitnesses { list, blocks }) => {
                let (chain, count) = (&self.chain, list.len());
                info!(
                    chain,
                    count, "who the witnesses are is the nodes' word; pin them with `witnesses`"
                );
                self.witnesses.lock().learn(list, blocks);
            }
            Err(error) => debug!(%error, "the witnesses are not known yet"),
        }
    }

    /// Reads who made the last rounds of irrevocable blocks, as one node proves them. The rounds end in the block
    /// that the providers agree on.
    async fn first_witnesses(&self, node: NodeId, solid: &TronBlock) -> Option<FirstWitnesses> {
        let last = solid.number;
        let first = last.saturating_sub(FIRST_BLOCKS).max(1);
        let (mut next, mut blocks, mut before) = (first, 0_usize, None::<ProvenHeader>);
        let mut makers: BTreeMap<_, (u64, Producer)> = BTreeMap::new();
        while next <= last {
            let headers = self.reader.headers(node, Side::Solidity, next..=last).await;
            if headers.is_empty() {
                return None;
            }
            for header in headers {
                let fits = before.as_ref().is_none_or(|it| header.follows(it.id(), it.time_ms()));
                if !fits || header.number() != next {
                    return None;
                }
                let producer = header.producer();
                makers.insert(producer.witness, (next, producer));
                next = next.saturating_add(1);
                blocks = blocks.saturating_add(1);
                before = Some(header);
            }
        }
        let ends_right = before.is_some_and(|it| it.id() == solid.id);
        let mut newest: Vec<(u64, Producer)> = makers.into_values().collect();
        newest.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
        let producers = newest.into_iter().take(MOST_WITNESSES).map(|(_, producer)| producer);
        let list = Witnesses::new(producers).ok().filter(|_| ends_right)?;
        Some(FirstWitnesses { list, blocks })
    }
}

/// The first list of witnesses, and the number of blocks that it was read from.
#[derive(PartialEq)]
struct FirstWitnesses {
    list: Witnesses,
    blocks: usize,
}
