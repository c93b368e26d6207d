//! The fates of places in the account's line, concluded from the nodes' testimonies.

use super::access::Access;
use super::head::EvmHead;
use super::outcomes::OutcomeReader;
use super::proven_nonce::ProvenNonces;
use super::testimony::{TestimonyReader, testimonies};
use crate::disputes::Disputes;
use crate::{ChainError, ProofMode, Unanswered};
use ::node::NodeId;
use alloy::primitives::B256;
use billing::{Attempt, Foreign, PlaceTakers, Slot};
use evm_testimony::conclude::{EvmConclusion, EvmTestimony, NonceFate, conclude};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// For how many places of one look the takers are searched.
const SEARCHES: usize = 4;

/// The most places that are learnt at once.
const LEARNT_AT_ONCE: u64 = 32;

/// The blocks in which nodes showed an attempt for a place, the lowest each.
type LandedIn = BTreeMap<u64, u64>;

/// A place in the line, and the attempts that were signed for it.
#[derive(Clone, Debug)]
pub(super) struct WatchedNonce {
    position: u64,
    attempts: Vec<B256>,
    /// The gas that each attempt may use.
    limits: BTreeMap<B256, u64>,
}

impl WatchedNonce {
    /// The place of a slot.
    pub(super) fn of<A: AsRef<Attempt>>(slot: &Slot<A>) -> Self {
        let signed = || slot.attempts.iter().map(|attempt| &attempt.as_ref().signed);
        Self {
            position: slot.position,
            attempts: signed().map(|signed| signed.hash).collect(),
            limits: signed().map(|signed| (signed.hash, signed.gas_required)).collect(),
        }
    }

    /// A place for which nothing of ours is known.
    fn unknown(position: u64) -> Self {
        Self { position, attempts: vec![], limits: BTreeMap::new() }
    }
}

/// Finds the fates of places.
#[derive(Debug)]
pub(super) struct Fates {
    access: Access,
    testimonies: TestimonyReader,
    landed: Mutex<LandedIn>,
    disputes: Arc<Disputes>,
    nonces: Arc<ProvenNonces>,
}

impl Fates {
    /// Nothing was asked yet.
    pub(super) fn of(access: Access, disputes: Arc<Disputes>, nonces: Arc<ProvenNonces>) -> Self {
        let testimonies = TestimonyReader::of(access.clone());
        Self { access, testimonies, landed: Mutex::default(), disputes, nonces }
    }

    /// Returns how the last record that decided something was judged.
    pub(super) fn proof_mode(&self) -> ProofMode {
        let objection = self.access.final_chain.objection().map(ProofMode::Unwitnessed);
        objection.unwrap_or_else(|| self.testimonies.evidence.mode())
    }

    /// Forgets all that is known of other places than these.
    pub(super) fn keep(&self, open: &BTreeSet<u64>) {
        self.disputes.keep(open.iter().copied());
        self.landed.lock().retain(|position, _| open.contains(position));
    }

    /// Returns the fate of each place. More is asked only about places that are taken for good, and about places in
    /// any block where the nodes have forgotten the state that would tell which are taken for good.
    pub(super) async fn find(&self, head: &EvmHead, places: &[WatchedNonce]) -> Vec<NonceFate> {
        let finalized = head.nonces.finalized;
        let mut said = testimonies(head, &self.access);
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
        self.testimonies.gather(&mut said, |_| attempts.clone()).await;
        self.remember_landed(&asked, &said);
        let unclear = |place: &&WatchedNonce| {
            let fate = self.concluded(place, &said).fate;
            place.position < finalized
                && matches!(fate, NonceFate::Unrecorded | NonceFate::Disputed)
        };
        let lost: Vec<u64> =
            places.iter().filter(unclear).map(|place| place.position).take(SEARCHES).collect();
        if !lost.is_empty() {
            self.testimonies
                .search(&mut said, lost.into_iter().map(|at| at..at.saturating_add(1)))
                .await;
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

    /// Remembers the block in which nodes show an attempt: until that block is final they are not asked again.
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

    fn concluded(&self, place: &WatchedNonce, said: &[(NodeId, EvmTestimony)]) -> EvmConclusion {
        let testimonies: Vec<&EvmTestimony> = said.iter().map(|(_, testimony)| testimony).collect();
        conclude(place.position, &place.attempts, &testimonies, self.access.fleet.needed())
    }

    /// Concludes, and remembers the nodes that lied.
    fn judged(&self, place: &WatchedNonce, said: &[(NodeId, EvmTestimony)]) -> NonceFate {
        let EvmConclusion { mut fate, liars, disputing } = self.concluded(place, said);
        if matches!(fate, NonceFate::UsedUp(_)) && !self.may_be_used_up(place.position) {
            fate = NonceFate::Unrecorded;
        }
        if let NonceFate::Ours(taker) | NonceFate::Foreign(taker) = &mut fate {
            let told: Vec<&EvmTestimony> = said.iter().map(|(_, testimony)| testimony).collect();
            let limit = place.limits.get(&taker.hash).copied();
            taker.look_up(&told, self.access.fleet.needed(), limit);
        }
        for (id, _) in liars.iter().filter_map(|at| said.get(*at)) {
            self.access.fleet.caught_lying(*id, "about who took a nonce in a final block");
        }
        if fate == NonceFate::Disputed {
            let disputing: Vec<NodeId> =
                disputing.iter().filter_map(|at| said.get(*at)).map(|(id, _)| *id).collect();
            self.dispute(place.position, &disputing);
        } else {
            self.disputes.ended(place.position);
        }
        fate
    }

    /// Returns true if the word of nodes, or a proof, shows that the nonce is used for good. Nodes together could name a
    /// true block and hold back a transaction whose nonce is free: only the account's own proof counts where others
    /// bear out final blocks.
    fn may_be_used_up(&self, nonce: u64) -> bool {
        !self.access.final_chain.has_others() || self.nonces.used(nonce)
    }

    fn dispute(&self, position: u64, disputing: &[NodeId]) {
        let fleet = &self.access.fleet;
        let nodes: Vec<String> = disputing.iter().map(|id| fleet.label(*id).to_owned()).collect();
        if self.disputes.goes_on(self.access.chain(), position, &nodes) {
            for id in disputing {
                fleet.dissented(*id, "about the record of a final block");
            }
        }
    }

    /// Finds the takers of the places from `from` on: up to `to`, or to the first of which that cannot be told, or as
    /// many as are learnt at once.
    pub(super) async fn takers(
        &self,
        from: u64,
        to: u64,
        head: &EvmHead,
    ) -> Result<PlaceTakers, ChainError> {
        let to = to.min(head.nonces.finalized).min(from.saturating_add(LEARNT_AT_ONCE));
        let mut said = testimonies(head, &self.access);
        self.testimonies.search(&mut said, std::iter::once(from..to)).await;
        let mut takers = PlaceTakers::default();
        for position in from..to {
            match self.judged(&WatchedNonce::unknown(position), &said) {
                NonceFate::Foreign(taker) => {
                    let profiles = &self.access.account.profiles;
                    let effect = OutcomeReader { profiles, slot: None::<&Slot> }.effect(&taker);
                    takers.found.push(Foreign::new(position, taker.landed(), effect));
                }
                NonceFate::UsedUp(_) => {
                    takers.then_used_up = true;
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
        if takers == PlaceTakers::default() && from < to {
            let needed = self.access.fleet.needed();
            return Err(Unanswered::Unnamed { needed, nonce: from }.into());
        }
        Ok(takers)
    }
}
