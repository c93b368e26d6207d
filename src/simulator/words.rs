//! A draft and its signature, and what the contract's logs mean: what the EVM adapter does with bytes,
//! done with the values of the simulated world.

use super::adapter::Shared;
use super::chain::{Tx, View};
use super::faults::Fault;
use super::mutants::Mutant;
use super::nodes::{NODES, World, short};
use super::testimony::Place;
use crate::billing::{
    Attempt, AttemptKind, Execution, FailCode, ForeignEffect, Item, ItemOutcome, Opaque, Sighting,
    Signed, Slot,
};
use crate::chain::evm::conclude::{Reader, Taker, Testimony};
use crate::chain::evm::seam::Offer;
use crate::chain::{Draft, SealError};
use crate::journal::Durable;
use crate::policy::Meant;
use alloy::primitives::{B256, U256, keccak256};

/// A transaction that lacks its nonce and its signature.
#[derive(Debug)]
pub(super) struct SimDraft {
    pub(super) world: Shared,
    pub(super) kind: AttemptKind,
    pub(super) bid: Offer,
    pub(super) items: Vec<Item>,
    pub(super) request: u64,
}

impl Draft for SimDraft {
    fn gas_required(&self) -> u64 {
        super::chain::GAS
    }

    fn cost(&self) -> U256 {
        U256::from(super::chain::GAS).saturating_mul(U256::from(self.bid.0))
    }

    fn seal(&self, position: u64, _meant: &Meant<'_>) -> Result<Signed, SealError> {
        let mut world = self.world.lock();
        if world.fault(Fault::SigningFails) {
            return Err("the key store does not answer".into());
        }
        let mut nonce = position;
        if world.breaks(Mutant::NonceFromPending) {
            let at = world.dice.pick(&[0, 1, 2]);
            nonce = world.pending(at).unwrap_or(position);
        }
        let (max_fee, tip) = self.bid;
        let items = self.items.clone();
        let (kind, request) = (self.kind, self.request);
        let mut tx = Tx { hash: B256::ZERO, nonce, kind, max_fee, tip, items, request, ours: true };
        let raw = tx.encode();
        tx.hash = keccak256(&raw);
        let hash = tx.hash;
        world.txs.insert(hash, tx);
        world.signed.push(hash);
        world.note("signed", short(hash), position);
        if world.breaks(Mutant::BroadcastBeforePersist) {
            for at in 0..NODES {
                drop(world.send(at, hash));
            }
        }
        drop(world);
        Ok(Signed { hash, raw, gas_required: super::chain::GAS })
    }
}

/// Puts what the simulated contract tells into words, as a profile does.
#[derive(Debug)]
pub(super) struct Words<'a> {
    pub(super) world: &'a Shared,
    pub(super) slot: Option<&'a Slot<Durable<Attempt>>>,
}

impl Reader for Words<'_> {
    fn outcomes(&self, ours: &Taker) -> Vec<ItemOutcome> {
        let mut attempts = self.slot.into_iter().flat_map(|slot| slot.attempts.iter());
        let kind = attempts.find(|attempt| attempt.get().signed.hash == ours.hash);
        let bills = kind.is_some_and(|attempt| attempt.get().kind == AttemptKind::Bill);
        let items = self.slot.map_or(0, |slot| slot.items.len());
        if bills { outcomes(ours, items) } else { vec![] }
    }

    fn effect(&self, foreign: &Taker) -> Result<ForeignEffect, Opaque> {
        let tx = self.world.lock().txs.get(&foreign.hash).cloned();
        let Some(tx) = tx.filter(|tx| tx.kind == AttemptKind::Bill) else {
            return Ok(ForeignEffect::Other);
        };
        let execution = if foreign.succeeded {
            Execution::Succeeded(outcomes(foreign, tx.items.len()))
        } else {
            Execution::Reverted
        };
        Ok(ForeignEffect::Billed { items: tx.items, execution })
    }
}

fn outcomes(taker: &Taker, items: usize) -> Vec<ItemOutcome> {
    let data = taker.logs.first().map(|log| log.data.data.clone()).unwrap_or_default();
    let outcome = |place: usize| match data.get(place) {
        Some(1) => ItemOutcome::Charged,
        Some(_) => ItemOutcome::Failed { code: FailCode::BalanceInsufficient, detail: None },
        None => ItemOutcome::Unproven,
    };
    (0..items).map(outcome).collect()
}

impl World {
    /// Notes what the engine is told of a slot.
    pub(super) fn see(&mut self, slot: &Slot<Durable<Attempt>>, sighting: &Sighting) {
        let (what, hash) = match sighting {
            Sighting::Absent(_) => ("seen absent", B256::ZERO),
            Sighting::Included => ("seen included", B256::ZERO),
            Sighting::Final(landed, _) => ("seen final", landed.hash),
            Sighting::Usurped(foreign) => ("seen usurped", foreign.landed().hash),
            Sighting::Never(_) => ("seen dead", B256::ZERO),
            Sighting::Unidentified => ("seen unidentified", B256::ZERO),
            Sighting::Unsettled(_) => ("seen and not told", B256::ZERO),
            Sighting::Nothing => ("seen nothing", B256::ZERO),
        };
        self.note(what, slot.position, short(hash));
        let newest = slot.attempts.newest().get();
        if let Sighting::Final(winner, _) = sighting {
            if winner.hash != newest.signed.hash {
                self.note("the winner was not the newest attempt", slot.position, short(hash));
            }
            let won = slot.attempts.iter().find(|one| one.get().signed.hash == winner.hash);
            if newest.kind == AttemptKind::Cancel
                && won.is_some_and(|one| one.get().kind == AttemptKind::Bill)
            {
                self.note("a bill won against its cancel", slot.position, short(hash));
            }
        }
    }

    /// What all nodes would testify if their newest block were final.
    pub(super) fn testify_early(&mut self, places: &[Place]) -> Vec<Testimony> {
        let view: View = self.chain.view(0, false);
        let final_block = view.head;
        let mut said = Vec::with_capacity(NODES);
        for at in 0..NODES {
            let taken = Some(self.chain.nonce());
            let mut told = Testimony {
                head: view.head,
                taken,
                final_block,
                settled: taken,
                ..Testimony::default()
            };
            for (position, _) in places {
                self.search(at, *position, &mut told);
            }
            said.push(told);
        }
        said
    }
}
