//! The Signer in the world: the product's functions decide, and the world carries their decisions out.

use super::broken::BrokenRule;
use super::testimony::Nodes;
use super::world::{Batch, Kind, Tx, World};
use crate::process::{GateState, Mood, QUORUM, Setting};
use crate::subscriptions::Subscriptions;
use crate::transactions::{self, TxId};
use alloy::primitives::{Address, B256};
use billing::{
    Again, AttemptKind, BatchState, BlockRef, Execution, FeeStanding, Foreign, ForeignEffect,
    ItemOutcome, Memory, PlaceTaker, Protection, Rules, Sighting, Slot, Step, Unsettled, Verdict,
    next_step,
};
use evm_testimony::conclude::{NonceFate, Taker, conclude};

/// The Signer, as far as one step needs it.
pub(crate) struct Signer<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) nodes: Nodes,
    pub(crate) broken: Option<BrokenRule>,
}

impl Signer<'_> {
    pub(crate) fn has_broken(&self, rule: BrokenRule) -> bool {
        self.broken == Some(rule)
    }

    pub(crate) fn quorum(&self) -> usize {
        if self.has_broken(BrokenRule::OneNodeQuorum) { 1 } else { QUORUM }
    }

    /// Signs and commits a batch for what is free of `wanted`.
    pub(crate) fn bill(&mut self, wanted: Subscriptions) -> Option<()> {
        let held = self.world.journal.held();
        let ignored = self.has_broken(BrokenRule::ClaimsAreIgnored);
        let charges = if ignored { wanted } else { wanted.without(held) };
        if self.world.gate != GateState::Open || charges.is_none() {
            return None;
        }
        let position = self.world.journal.next;
        let tx = self.world.sign(Tx { nonce: position, kind: Kind::Bill, charges })?;
        self.world.journal.next = position.saturating_add(1);
        self.world.journal.batches.push(Batch {
            position,
            charges,
            first: tx,
            later: vec![],
            state: BatchState::Open,
            held: charges,
            waiting: Subscriptions::NONE,
            learnt: false,
            taker: PlaceTaker::default(),
        });
        Some(())
    }

    /// Offers the newest attempt of a batch to the chain.
    pub(crate) fn deliver(&mut self, at: usize) -> Option<()> {
        let batch = self.world.journal.batches.get_mut(at)?;
        let newest = batch.newest();
        if self.broken == Some(BrokenRule::SendErrorFrees) {
            batch.held = Subscriptions::NONE;
        }
        self.world.sent.insert(newest).then_some(())
    }

    /// Looks at the chain for every open batch, and then for the lane.
    pub(crate) fn look(&mut self, mood: Mood) {
        let mut unnamed_taker = None;
        for at in self.world.journal.open().collect::<Vec<_>>() {
            let Some(batch) = self.world.journal.batches.get(at).cloned() else { continue };
            let sighting = self.sight(&batch);
            let taker = batch.taker.after(&sighting);
            let hides = match taker {
                PlaceTaker::Known => false,
                PlaceTaker::Untold => mood != Mood::Calm,
                PlaceTaker::Hidden => true,
            };
            if hides && unnamed_taker.is_none() {
                unnamed_taker = Some(u64::from(batch.position));
            }
            let step = next_step(
                &slot(at, &batch, &self.world.txs),
                sighting,
                self.memory(at, mood),
                self.rules(),
            );
            self.carry_out(at, step);
            if let Some(batch) = self.world.journal.batches.get_mut(at) {
                let is_open = batch.state == BatchState::Open;
                batch.taker = if is_open { taker } else { PlaceTaker::Known };
            }
        }
        self.rule_gate(unnamed_taker);
    }

    fn sight(&self, batch: &Batch) -> Sighting {
        let attempts: Vec<TxId> = batch.attempts().collect();
        let hashes: Vec<B256> = attempts.iter().map(|tx| tx.hash()).collect();
        let said = self.nodes.testify(self.world, batch.position, &attempts);
        let fate = conclude(u64::from(batch.position), &hashes, &said, self.quorum()).fate;
        match fate {
            NonceFate::Absent if self.has_broken(BrokenRule::AbsenceProves) => {
                Sighting::Never(BlockRef { number: 0, time: 0, hash: None })
            }
            NonceFate::Absent => Sighting::Absent(FeeStanding::Underpriced),
            NonceFate::Included if self.has_broken(BrokenRule::IncludedIsFinal) => {
                self.included(batch)
            }
            NonceFate::Included => Sighting::Included,
            NonceFate::Shown => Sighting::Absent(FeeStanding::Shown),
            NonceFate::Ours(taker) => {
                Sighting::Final(taker.landed(), self.execution(batch, &taker))
            }
            NonceFate::Foreign(taker) => Sighting::Usurped(Foreign::new(
                u64::from(batch.position),
                taker.landed(),
                Ok(self.effect(&taker)),
            )),
            NonceFate::UsedUp(block) => {
                Sighting::UsedUp(BlockRef { number: block.number, time: block.time, hash: None })
            }
            NonceFate::Unwitnessed => Sighting::Unsettled(Unsettled::NoState),
            NonceFate::Unrecorded => Sighting::Unsettled(Unsettled::NoRecord),
            NonceFate::Unclear => Sighting::Nothing,
            NonceFate::Disputed => Sighting::Unsettled(Unsettled::Disputed),
        }
    }

    /// Takes an attempt in a block that can still be undone for the end.
    fn included(&self, batch: &Batch) -> Sighting {
        let nodes = Nodes { newest_is_final: true, ..self.nodes };
        let early = Signer { world: &mut self.world.clone(), nodes, broken: None }.sight(batch);
        if matches!(early, Sighting::Final(..)) { early } else { Sighting::Included }
    }

    fn execution(&self, batch: &Batch, taker: &Taker) -> Execution {
        let bills = self.world.tx(TxId::of(taker.hash)).is_some_and(|tx| tx.kind == Kind::Bill);
        match (taker.succeeded, bills) {
            (false, _) => Execution::Reverted,
            (true, false) => Execution::Succeeded(vec![]),
            (true, true) => {
                let charged = batch.charges.each().map(|_| ItemOutcome::Charged);
                Execution::Succeeded(charged.collect())
            }
        }
    }

    /// The effect of a transaction that is not in the journal: its input tells which it is.
    pub(crate) fn effect(&self, taker: &Taker) -> ForeignEffect {
        let input = taker.call.as_ref().and_then(|call| call.input.first().copied());
        let tx = input.and_then(|id| self.world.tx(TxId(id)));
        match tx.filter(|tx| tx.kind == Kind::Bill) {
            None => ForeignEffect::Other,
            Some(tx) => {
                let charged = tx.charges.each().map(|_| ItemOutcome::Charged).collect();
                let execution = if taker.succeeded {
                    Execution::Succeeded(charged)
                } else {
                    Execution::Reverted
                };
                ForeignEffect::Billed {
                    contract: Address::ZERO,
                    items: tx.charges.items(),
                    execution,
                }
            }
        }
    }

    fn memory(&self, at: usize, mood: Mood) -> Memory {
        let long = |when: bool| if when { u64::MAX } else { 0 };
        let charges = self.world.journal.batches.get(at).map_or(Subscriptions::NONE, |b| b.charges);
        let waits = |batch: &Batch| !batch.waiting.among(charges).is_none();
        Memory {
            since_offer_ms: long(mood == Mood::Due),
            since_attempt_ms: long(mood == Mood::Due),
            since_accepted_ms: long(mood == Mood::Late),
            rejection: None,
            charged_elsewhere: self.world.journal.batches.iter().any(waits),
        }
    }

    fn rules(&self) -> Rules {
        let again = match self.world.setting {
            Setting::SignsAgain => {
                Again::Replace { after_ms: 1, most: 2, cancel_after_ms: Some(1) }
            }
            Setting::SignsOnce => Again::OnlyCancel,
        };
        Rules { offer_again_ms: 1, again, protection: Protection::Nonce }
    }

    fn carry_out(&mut self, at: usize, step: Step) {
        match step {
            Step::Wait | Step::Alarm(_) => {}
            Step::OfferAgain => drop(self.deliver(at)),
            Step::SignAgain(kind) => drop(self.sign_again(at, kind)),
            Step::Settle(verdict) | Step::Renew(verdict) => self.settle(at, &verdict),
        }
    }

    fn sign_again(&mut self, at: usize, kind: AttemptKind) -> Option<()> {
        let batch = self.world.journal.batches.get(at)?.clone();
        let (kind, charges) = match kind {
            AttemptKind::Bill => (Kind::Bill, batch.charges),
            AttemptKind::Cancel => (Kind::Cancel, Subscriptions::NONE),
        };
        let new_nonce = self.has_broken(BrokenRule::AttemptTakesNewNonce);
        let nonce = if new_nonce { self.world.journal.next } else { batch.position };
        let tx = self.world.sign(Tx { nonce, kind, charges })?;
        let frees = kind == Kind::Cancel && self.has_broken(BrokenRule::CancelFreesAtOnce);
        let batch = self.world.journal.batches.get_mut(at)?;
        if frees {
            batch.held = Subscriptions::NONE;
        }
        batch.later.push(tx);
        Some(())
    }

    /// Writes the end of a batch down, as the journal's commit does.
    fn settle(&mut self, at: usize, verdict: &Verdict) {
        let Some(batch) = self.world.journal.batches.get_mut(at) else { return };
        batch.state = verdict.state();
        let position = batch.position;
        match verdict {
            Verdict::Charged(..) => {}
            Verdict::UsedUp(_) => {
                self.world.journal.used_up = Some(position);
            }
            Verdict::Reverted(_)
            | Verdict::Cancelled(_)
            | Verdict::Usurped(_)
            | Verdict::Expired(_) => batch.held = Subscriptions::NONE,
        }
        self.pass_on();
        if let Verdict::Usurped(tx) = verdict {
            self.adopt(position, tx.landed.hash, &tx.effect);
        }
    }

    /// Claims that wait are held as soon as no other batch holds them.
    fn pass_on(&mut self) {
        let held = self.world.journal.held();
        for batch in &mut self.world.journal.batches {
            let free = batch.waiting.without(held);
            batch.waiting = batch.waiting.without(free);
            batch.held = batch.held.and(free);
        }
    }

    /// Takes in what a transaction did that the journal does not know.
    pub(crate) fn adopt(&mut self, position: u8, hash: B256, effect: &ForeignEffect) {
        let tx = TxId::of(hash);
        let known = self.world.journal.batches.iter().any(|batch| batch.has(tx));
        let ForeignEffect::Billed { execution, .. } = effect else { return };
        if known || self.has_broken(BrokenRule::ForeignIsNotLearnt) {
            return;
        }
        let charges = self.world.tx(tx).map_or(Subscriptions::NONE, |tx| tx.charges);
        let (state, charged) = match execution {
            Execution::Succeeded(_) => (BatchState::Charged, charges),
            Execution::Reverted => (BatchState::Reverted, Subscriptions::NONE),
        };
        let elsewhere = self.world.journal.held();
        self.world.journal.batches.push(Batch {
            position,
            charges,
            first: tx,
            later: vec![],
            state,
            held: charged.without(elsewhere),
            waiting: charged.among(elsewhere),
            learnt: true,
            taker: PlaceTaker::default(),
        });
    }
}

fn slot(at: usize, batch: &Batch, txs: &[Tx]) -> Slot {
    let attempt = |tx: TxId| {
        let kind = txs.get(usize::from(tx.0)).map_or(Kind::Bill, |tx| tx.kind);
        (tx, kind.into())
    };
    let later = batch.later.iter().copied().map(attempt);
    transactions::slot(at, batch.position, batch.charges, attempt(batch.first), later)
}
