//! Asks nodes for what proves a block: the headers on top of it, signed by the witnesses.

use super::TronChain;
use super::api::{Api, Endpoints, Side};
use super::case::Case;
use super::conclude::TronTestimony;
use super::head::TronHead;
use super::signers::Signers;
use super::solid_due::SolidDue;
use super::vouched::HeaderWalk;
use ::node::{Fleet, NodeId};
use alloy::primitives::B256;
use futures_util::{StreamExt, stream};
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use tracing::{debug, info};
use tron_primitives::answer::BlockAnswer;
use tron_primitives::block::{Producer, ProvenBlock, ProvenHeader};
use tron_primitives::finality::{MOST_WITNESSES, Witnesses};

/// Number of headers that are asked for at once.
const AT_ONCE: usize = 6;

/// The first list of witnesses is read from so many blocks: two rounds of 27.
const FIRST_BLOCKS: u64 = 54;

/// The reliability of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Support {
    /// Enough witnesses stand on it.
    Stands,
    /// They stand on another block of this height.
    Refuted,
    /// Too few are seen on it so far.
    NotYet,
}

/// The block with this number on one side of this node, as it proves it; never block 0, which nobody signed. A
/// node whose block does not prove itself lied, and is caught.
pub(super) async fn proven(
    (fleet, signers): (&Fleet<Endpoints>, &Signers),
    id: NodeId,
    (side, number): (Side, u64),
) -> Option<ProvenBlock> {
    if number == 0 {
        return None;
    }
    let claimed = Api::of(fleet, id).claimed(side, number, true).await;
    let claimed = claimed.inspect_err(|error| debug!(block = number, %error, "no answer"));
    prove((fleet, signers), id, (claimed.ok()??, number))
}

/// The blocks with these numbers, asked for together: each that the node gives so.
pub(super) async fn proven_range(
    (fleet, signers): (&Fleet<Endpoints>, &Signers),
    id: NodeId,
    (side, numbers): (Side, Range<u64>),
) -> Vec<ProvenBlock> {
    let claimed = Api::of(fleet, id).claimed_range(side, numbers.clone()).await;
    let claimed = claimed.inspect_err(|error| debug!(block = numbers.start, %error, "no answer"));
    let each = numbers.zip(claimed.unwrap_or_default());
    let next = each.take_while(|(number, claimed)| claimed.block_header.raw_data.number == *number);
    next.map_while(|(number, claimed)| prove((fleet, signers), id, (claimed, number))).collect()
}

fn prove(
    (fleet, signers): (&Fleet<Endpoints>, &Signers),
    id: NodeId,
    (claimed, number): (BlockAnswer, u64),
) -> Option<ProvenBlock> {
    match claimed.prove_by(|digest, signature| signers.signer_of(digest, signature)) {
        Ok(block) if block.header().number() == number => Some(block),
        Ok(_) => {
            fleet.caught_lying(id, &format!("about block {number}: it is another block"));
            None
        }
        Err(why) => {
            fleet.caught_lying(id, &format!("about block {number}: {why}"));
            None
        }
    }
}

impl TronChain {
    /// Notes from when on it may tell something of these batches what is irrevocable.
    pub(super) fn note_solid_due(
        &self,
        cases: &[Option<Case>],
        said: &[Vec<(NodeId, TronTestimony)>],
    ) {
        let on_top = self.vouched.lock().walk(0).map_or(0, |walk| walk.needed());
        let each = cases.iter().zip(said).filter_map(|(case, said)| Some((case.as_ref()?, said)));
        let due = each.fold(SolidDue::NEVER, |due, (case, said)| due.or_of(case, said, on_top));
        *self.solid_due.lock() = due;
    }

    /// Finds out whether enough witnesses stand on the block with this number and id.
    pub(super) async fn support(&self, number: u64, id: B256, head: &TronHead) -> Support {
        if self.vouched.lock().at(number).is_none() {
            self.vouch(number, head).await;
        }
        match self.vouched.lock().at(number) {
            Some(standing) if standing == id => Support::Stands,
            Some(_) => Support::Refuted,
            None => Support::NotYet,
        }
    }

    /// Finds out which block of this height stands.
    async fn vouch(&self, number: u64, head: &TronHead) {
        self.meet_witnesses(head).await;
        let mut unproven = vec![];
        for node in self.parts.fleet.fit() {
            let Some(walk) = self.vouched.lock().walk(number) else { return };
            let has_shown = self.shown.lock().has(node);
            let mut walk = self.walk(node, walk, head).await;
            if !walk.stands() && has_shown && !self.shown.lock().has(node) {
                let Some(again) = self.vouched.lock().walk(number) else { return };
                walk = self.walk(node, again, head).await;
            }
            if walk.stands() {
                self.bear_out_keys(&mut walk, node).await;
                self.vouched.lock().take(walk);
                // One chain stands, so theirs is another.
                for node in unproven {
                    self.parts.fleet.caught_lying(node, "too few witnesses made its blocks");
                }
                return;
            }
            if walk.is_unproven(head.newest.number) {
                unproven.push(node);
            }
        }
    }

    /// A signature is no part of a block's id: a node can put another one under a true header. So a key
    /// that is not its witness's own is learnt where as many providers as have to agree show it, and
    /// never from one that answers alone.
    async fn bear_out_keys(&self, walk: &mut HeaderWalk, shown_by: NodeId) {
        let fleet = &self.parts.fleet;
        if fleet.is_alone() {
            return;
        }
        for claim in walk.claims() {
            for other in fleet.fit().into_iter().filter(|node| *node != shown_by) {
                let header = self.header(other, Side::Full, claim.number).await;
                let alike =
                    |it: ProvenHeader| it.id() == claim.id && it.producer() == claim.producer;
                if header.is_some_and(alike) {
                    walk.bear_out(claim);
                    break;
                }
            }
        }
    }

    /// Walks up one node's headers, and on over those of the witnesses that were elected since, until the first
    /// block stands or the headers end.
    async fn walk(&self, node: NodeId, mut walk: HeaderWalk, head: &TronHead) -> HeaderWalk {
        let fleet = &self.parts.fleet;
        while !walk.is_over() {
            let first = walk.next();
            let last = head.newest.number.min(first.saturating_add(walk.needed()));
            let headers = self.headers_above(node, first..=last, walk.first()).await;
            if headers.is_empty() {
                break;
            }
            for header in headers {
                if walk.is_over() {
                    break;
                }
                if walk.read(&header).is_err() {
                    // The headers that the node has shown may be of a fork that it has left: then the node is asked
                    // anew.
                    self.shown.lock().forget(node);
                    // Above the irrevocable blocks the chain may just have changed, and a node that
                    // was on a fork may just have left it.
                    if header.number() <= head.solid.number {
                        fleet.dissented(node, "its irrevocable blocks do not follow one another");
                    }
                    return walk;
                }
            }
        }
        if walk.is_strange(head.newest.number) {
            fleet.caught_lying(node, "its blocks are not made by the witnesses");
        }
        walk
    }

    /// The next few headers of one node, up to the first that it does not give.
    async fn headers(&self, node: NodeId, side: Side, first: u64, last: u64) -> Vec<ProvenHeader> {
        let asked: Vec<_> =
            (first..=last).take(AT_ONCE).map(|number| self.header(node, side, number)).collect();
        let told: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        told.into_iter().map_while(|header| header).collect()
    }

    /// The same on the full side: what the node has shown above block `base` is not asked again. On fewer witnesses a
    /// block that it has left would stand by itself, so that one is asked.
    async fn headers_above(
        &self,
        node: NodeId,
        numbers: RangeInclusive<u64>,
        base: u64,
    ) -> Vec<ProvenHeader> {
        let asked = numbers.take(AT_ONCE).map(async |number| {
            let shown = self.shown.lock().of(node, number).filter(|_| number > base);
            let prove = |shown: BlockAnswer| {
                shown.prove_header_by(|digest, by| self.signers.signer_of(digest, by)).ok()
            };
            match shown.and_then(prove) {
                Some(header) => Some(header),
                None => self.header(node, Side::Full, number).await,
            }
        });
        let told: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        told.into_iter().map_while(|header| header).collect()
    }

    /// The header of this number, as this node proves it.
    pub(super) async fn header(
        &self,
        node: NodeId,
        side: Side,
        number: u64,
    ) -> Option<ProvenHeader> {
        let claimed = self.api_of(node).claimed(side, number, false).await;
        let claimed = claimed.inspect_err(|error| debug!(block = number, %error, "no answer"));
        match claimed.ok()??.prove_header_by(|digest, by| self.signers.signer_of(digest, by)) {
            Ok(header) => Some(header),
            Err(why) => {
                let lie = format!("about the header of block {number}: {why}");
                self.parts.fleet.caught_lying(node, &lie);
                None
            }
        }
    }

    /// Sees to it that the witnesses are known. If no list is configured, the first list is read from the blocks
    /// below the newest that as many providers as have to agree call irrevocable, and as many providers have to
    /// show the same list: the content of a header's signature is not in the block's id.
    pub(super) async fn meet_witnesses(&self, head: &TronHead) {
        if self.vouched.lock().is_known() {
            return;
        }
        let fleet = &self.parts.fleet;
        let told = |node: NodeId| self.first_witnesses(node, head);
        match fleet.agreed("who the witnesses are", told).await {
            Ok((list, blocks)) => {
                let (chain, count) = (&self.account.facts.name, list.len());
                info!(
                    chain,
                    count, "who the witnesses are is the nodes' word; pin them with `witnesses`"
                );
                self.vouched.lock().learn(list, blocks);
            }
            Err(error) => debug!(%error, "the witnesses are not known yet"),
        }
    }

    /// Reads who made the last rounds of irrevocable blocks, as one node proves them. The rounds end in the block
    /// that the providers agree on.
    async fn first_witnesses(&self, node: NodeId, head: &TronHead) -> Option<(Witnesses, usize)> {
        let last = head.solid.number;
        let first = last.saturating_sub(FIRST_BLOCKS).max(1);
        let (mut next, mut blocks, mut before) = (first, 0_usize, None::<ProvenHeader>);
        let mut makers: BTreeMap<_, (u64, Producer)> = BTreeMap::new();
        while next <= last {
            let headers = self.headers(node, Side::Solidity, next, last).await;
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
        let ends_right = before.is_some_and(|it| it.id() == head.solid.id);
        let mut newest: Vec<(u64, Producer)> = makers.into_values().collect();
        newest.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
        let producers = newest.into_iter().take(MOST_WITNESSES).map(|(_, producer)| producer);
        Witnesses::new(producers).ok().filter(|_| ends_right).map(|list| (list, blocks))
    }
}
