//! The state of the transactions of undecided batches: every fit node is asked for its testimony, and what they say
//! together is concluded elsewhere.
//!
//! While a place is free, or its block is not final, nothing is asked that the look at the head has
//! not answered.

use super::EvmChain;
use super::conclude::{
    Block, EvmConclusion, EvmTestimony, Identified, NonceFate, Receipt, conclude,
};
use super::fees::Market;
use super::head::EvmHead;
use super::identify::Archive;
use super::node;
use super::node::EvmAsker;
use super::observe::EvmLook;
use super::outcomes::OutcomeReader;
use crate::{ChainError, Unanswered};
use ::node::NodeId;
use alloy::primitives::{B256, U256};
use billing::{Attempt, FeeStanding, Foreign, PlaceTakers, Sighting, Slot};
use config::Finality;
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::ops::Range;
use std::time::Duration;
use tokio::time::Instant;

/// The most questions of one look that are asked of one node at once.
const AT_ONCE: usize = 8;

/// For how many places of one look those who took them are searched.
const SEARCHES: usize = 4;

/// The most places that are learnt at once.
const LEARNT_AT_ONCE: u64 = 32;

/// The time for which the result of a search, found or not, is taken for granted.
const SEARCH_AGAIN: Duration = Duration::from_mins(1);

/// The findings of earlier searches. A final finding does not change.
pub(super) type Searched = BTreeMap<(NodeId, u64), (Instant, Identified)>;

/// The blocks in which nodes showed an attempt for a place, the lowest each.
pub(super) type LandedIn = BTreeMap<u64, u64>;

/// A place in the line, and the attempts that were signed for it.
#[derive(Clone, Debug)]
struct WatchedNonce {
    position: u64,
    attempts: Vec<B256>,
    /// The gas that each attempt may use.
    limits: BTreeMap<B256, u64>,
}

impl EvmChain {
    /// Looks for every slot, in order.
    pub(super) async fn sightings<A>(&self, slots: &[&Slot<A>]) -> Vec<Sighting>
    where
        A: AsRef<Attempt> + Sync,
    {
        let Ok(head) = self.current().await else {
            return slots.iter().map(|_| Sighting::Nothing).collect();
        };
        self.in_flight.forget_below(head.nonces.finalized);
        self.base.disputes.keep(slots.iter().map(|slot| slot.position));
        let open: BTreeSet<u64> = slots.iter().map(|slot| slot.position).collect();
        self.landed.lock().retain(|position, _| open.contains(position));
        let unpaid = self.unpaid(slots, &head);
        let places: Vec<WatchedNonce> = slots.iter().map(|slot| place(slot)).collect();
        let fates = self.fates(&head, &places).await;
        let each = slots.iter().zip(fates);
        each.map(|(slot, fate)| {
            let starved = unpaid.is_some_and(|from| slot.position >= from);
            let standing =
                if starved { FeeStanding::Starved } else { self.price(slot, &head.market) };
            let reader = OutcomeReader { chain: self, slot: Some(*slot) };
            reader.sighting(fate, slot.position, standing)
        })
        .collect()
    }

    /// The first place of the line from which on the account cannot pay for what waits.
    fn unpaid<A: AsRef<Attempt>>(&self, slots: &[&Slot<A>], head: &EvmHead) -> Option<u64> {
        // Every place is read, so that what all of them may cost is known when the next is drafted.
        let costs = slots.iter().filter_map(|slot| Some((slot.position, self.in_flight.of(slot)?)));
        let costs: BTreeMap<u64, U256> = costs.map(|(at, place)| (at, place.cost)).collect();
        let mut left = head.balance(self.parts.fleet.needed());
        costs.range(head.nonces.mined..).find_map(|(position, cost)| {
            match left.checked_sub(*cost) {
                Some(rest) => {
                    left = rest;
                    None
                }
                None => Some(*position),
            }
        })
    }

    fn price<A: AsRef<Attempt>>(&self, slot: &Slot<A>, market: &Market) -> FeeStanding {
        match self.in_flight.of(slot) {
            Some(standing) if market.is_above(standing.bid) => FeeStanding::Underpriced,
            Some(_) | None => FeeStanding::Fair,
        }
    }

    /// Returns the fate of each place. More is asked only about places that are taken for good, and about places in
    /// any block where the nodes have forgotten the state that would tell which are taken for good.
    async fn fates(&self, head: &EvmHead, places: &[WatchedNonce]) -> Vec<NonceFate> {
        let finalized = head.nonces.finalized;
        let mut said = testimonies(head, self.parts.config.finality);
        let blind = !head.knows_final_nonce();
        let worth_asking = |place: &&WatchedNonce| {
            let mined = blind && place.position < head.nonces.mined;
            let early =
                || self.landed.lock().get(&place.position).copied() > Some(head.final_block);
            place.position < finalized || (mined && !early())
        };
        let asked: Vec<&WatchedNonce> = places.iter().filter(worth_asking).collect();
        let attempts: BTreeSet<B256> =
            asked.iter().flat_map(|place| place.attempts.iter().copied()).collect();
        self.gather(&mut said, |_| attempts.clone()).await;
        self.remember_landed(&asked, &said);
        let unclear = |place: &&WatchedNonce| {
            let fate = self.concluded(place, &said).fate;
            place.position < finalized
                && matches!(fate, NonceFate::Unrecorded | NonceFate::Disputed)
        };
        let lost: Vec<u64> =
            places.iter().filter(unclear).map(|place| place.position).take(SEARCHES).collect();
        if !lost.is_empty() {
            self.search(&mut said, lost.into_iter().map(|at| at..at.saturating_add(1))).await;
        }
        let fate = |place: &WatchedNonce| {
            let unseen = || !self.landed.lock().contains_key(&place.position);
            let fate = self.judged(place, &said);
            if fate == NonceFate::Included && blind && unseen() {
                NonceFate::Unwitnessed
            } else {
                fate
            }
        };
        places.iter().map(fate).collect()
    }

    /// Remembers in which block nodes show an attempt: until that block is final they are not asked
    /// again.
    fn remember_landed(&self, asked: &[&WatchedNonce], said: &[(NodeId, EvmTestimony)]) {
        let mut landed = self.landed.lock();
        for place in asked {
            let shown = said.iter().flat_map(|(_, testimony)| {
                place.attempts.iter().filter_map(|hash| testimony.receipts.get(hash))
            });
            match shown.map(|receipt| receipt.block).min() {
                Some(block) => landed.insert(place.position, block),
                None => landed.remove(&place.position),
            };
        }
    }

    /// Asks every node for the receipts of `wanted`, and then for the blocks that these name.
    async fn gather(
        &self,
        said: &mut [(NodeId, EvmTestimony)],
        wanted: impl Fn(&EvmTestimony) -> BTreeSet<B256>,
    ) {
        let asked = said.iter_mut().map(|(id, testimony)| {
            let hashes = wanted(testimony);
            async move {
                let rpc = self.parts.fleet.only(*id);
                for (hash, receipt, cost) in receipts(rpc, hashes).await {
                    testimony.receipts.insert(hash, receipt);
                    testimony.costs.extend(cost.map(|cost| (hash, cost)));
                }
                let named: BTreeSet<u64> =
                    testimony.receipts.values().map(|receipt| receipt.block).collect();
                let known = &testimony.canonical;
                let missing = named.into_iter().filter(|number| !known.contains_key(number));
                let blocks = blocks(rpc, missing.collect()).await;
                testimony.canonical.extend(blocks);
            }
        });
        join_all(asked).await;
    }

    /// Has every node search its final blocks for whoever took these places.
    async fn search(
        &self,
        said: &mut [(NodeId, EvmTestimony)],
        ranges: impl Iterator<Item = Range<u64>> + Clone,
    ) {
        let asked = said.iter_mut().map(|(id, testimony)| {
            let ranges = ranges.clone();
            async move {
                for range in ranges {
                    let found = self.searched(*id, testimony.final_block, range).await;
                    testimony.identified.extend(found);
                }
            }
        });
        join_all(asked).await;
        self.gather(said, |testimony| {
            let identified = testimony.identified.values().filter_map(|who| match who {
                Identified::Transaction { hash, .. } => Some(*hash),
                Identified::Nobody(_) => None,
            });
            identified.filter(|hash| !testimony.receipts.contains_key(hash)).collect()
        })
        .await;
    }

    async fn searched(
        &self,
        id: NodeId,
        final_block: u64,
        range: Range<u64>,
    ) -> BTreeMap<u64, Identified> {
        let remembered: BTreeMap<u64, Identified> = {
            let mut memory = self.searched.lock();
            memory.retain(|_, (at, _)| at.elapsed() < SEARCH_AGAIN);
            let found = range.clone().map_while(|place| {
                memory.get(&(id, place)).map(|(_, identified)| (place, identified.clone()))
            });
            found.collect()
        };
        if remembered.contains_key(&range.end.saturating_sub(1)) {
            return remembered;
        }
        let (rpc, account) = (self.parts.fleet.only(id), self.account.facts.signer);
        let found = Archive { rpc, account, final_block }.identify(range).await;
        let now = Instant::now();
        let fresh = found.iter().map(|(place, who)| ((id, *place), (now, who.clone())));
        self.searched.lock().extend(fresh);
        found
    }

    fn concluded(&self, place: &WatchedNonce, said: &[(NodeId, EvmTestimony)]) -> EvmConclusion {
        let testimonies: Vec<&EvmTestimony> = said.iter().map(|(_, testimony)| testimony).collect();
        conclude(place.position, &place.attempts, &testimonies, self.parts.fleet.needed())
    }

    /// Concludes, and remembers who lied.
    fn judged(&self, place: &WatchedNonce, said: &[(NodeId, EvmTestimony)]) -> NonceFate {
        let EvmConclusion { mut fate, liars, disputing } = self.concluded(place, said);
        if let NonceFate::Ours(taker) | NonceFate::Foreign(taker) = &mut fate {
            let told: Vec<&EvmTestimony> = said.iter().map(|(_, testimony)| testimony).collect();
            let limit = place.limits.get(&taker.hash).copied();
            taker.look_up(&told, self.parts.fleet.needed(), limit);
        }
        for (id, _) in liars.iter().filter_map(|at| said.get(*at)) {
            self.parts.fleet.caught_lying(*id, "about who took a nonce in a final block");
        }
        if fate == NonceFate::Disputed {
            let disputing: Vec<NodeId> =
                disputing.iter().filter_map(|at| said.get(*at)).map(|(id, _)| *id).collect();
            self.dispute(place.position, &disputing);
        } else {
            self.base.disputes.ended(place.position);
        }
        fate
    }

    fn dispute(&self, position: u64, disputing: &[NodeId]) {
        let fleet = &self.parts.fleet;
        let nodes: Vec<String> = disputing.iter().map(|id| fleet.label(*id).to_owned()).collect();
        if self.base.disputes.goes_on(&self.account.facts.name, position, &nodes) {
            for id in disputing {
                fleet.dissented(*id, "about the record of a final block");
            }
        }
    }

    /// Finds what took the places from `from` on: up to `to`, or to the first of which that cannot be told, or as
    /// many as are learnt at once.
    pub(super) async fn learn(&self, from: u64, to: u64) -> Result<PlaceTakers, ChainError> {
        let head = self.current().await?;
        let to = to.min(head.nonces.finalized).min(from.saturating_add(LEARNT_AT_ONCE));
        let mut said = testimonies(&head, self.parts.config.finality);
        self.search(&mut said, std::iter::once(from..to)).await;
        let mut strangers = PlaceTakers::default();
        for position in from..to {
            match self.judged(
                &WatchedNonce { position, attempts: vec![], limits: BTreeMap::new() },
                &said,
            ) {
                NonceFate::Foreign(taker) => {
                    let effect = OutcomeReader { chain: self, slot: None::<&Slot> }.effect(&taker);
                    strangers.found.push(Foreign::new(position, taker.landed(), effect));
                }
                NonceFate::UsedUp(_) => {
                    strangers.then_used_up = true;
                    break;
                }
                NonceFate::Absent
                | NonceFate::Included
                | NonceFate::Shown
                | NonceFate::Ours(_)
                | NonceFate::Unrecorded
                | NonceFate::Unwitnessed
                | NonceFate::Disputed
                | NonceFate::Unclear => break,
            }
        }
        if strangers == PlaceTakers::default() && from < to {
            let needed = self.parts.fleet.needed();
            return Err(Unanswered::Unnamed { needed, nonce: from }.into());
        }
        Ok(strangers)
    }
}

fn place<A: AsRef<Attempt>>(slot: &Slot<A>) -> WatchedNonce {
    let signed = || slot.attempts.iter().map(|attempt| &attempt.as_ref().signed);
    WatchedNonce {
        position: slot.position,
        attempts: signed().map(|signed| signed.hash).collect(),
        limits: signed().map(|signed| (signed.hash, signed.gas_required)).collect(),
    }
}

/// Returns the testimony that each node gave in the last look at the head. The number of settled places is what as
/// many nodes as have to agree bore out already.
fn testimonies(head: &EvmHead, finality: Finality) -> Vec<(NodeId, EvmTestimony)> {
    let testimony = |look: &EvmLook| EvmTestimony {
        head: look.latest.number(),
        taken: Some(look.nonce),
        final_block: match finality {
            Finality::FinalizedTag => look.finalized.map_or(0, |header| header.number()),
            Finality::Depth(depth) => look.latest.number().saturating_sub(depth.saturating_sub(1)),
        },
        settled: Some(head.nonces.finalized),
        ..EvmTestimony::default()
    };
    head.nodes.iter().map(|(id, look)| (*id, testimony(look))).collect()
}

/// Asks a node for the receipt of each transaction, and for its cost. Transactions of which the node says nothing
/// are left out.
async fn receipts(
    rpc: EvmAsker<'_>,
    hashes: BTreeSet<B256>,
) -> Vec<(B256, Receipt, Option<(u64, U256)>)> {
    let asked = hashes.into_iter().map(async |hash| {
        let found = node::receipt(rpc, hash).await.ok()??;
        let cost = found.cost();
        let receipt = Receipt {
            block: found.block_number(),
            block_hash: found.block_hash,
            succeeded: found.succeeded(),
            logs: found.logs,
        };
        (found.transaction_hash == hash).then_some((hash, receipt, cost))
    });
    stream::iter(asked).buffered(AT_ONCE).filter_map(ready).collect().await
}

/// The blocks that a node holds at these numbers.
async fn blocks(rpc: EvmAsker<'_>, numbers: BTreeSet<u64>) -> Vec<(u64, Block)> {
    let asked = numbers.into_iter().map(async |number| {
        let header = node::header(rpc, &node::quantity(number)).await.ok()??;
        let block = Block { number: header.number(), hash: header.hash, time: header.time() };
        (block.number == number).then_some((number, block))
    });
    stream::iter(asked).buffered(AT_ONCE).filter_map(ready).collect().await
}
