//! The Signer in the world: the product's functions decide, and the world carries their decisions out.

use super::broken::BrokenRule;
use super::nodes::{Heads, Nodes, block, block_id};
use super::world::{Batch, Began, LIFE, World, time_ms};
use crate::process::{GateState, Mood, Setting};
use crate::subscriptions::Subscriptions;
use crate::transactions::{Ending, Landing, TxId, slot};
use alloy::primitives::B256;
use billing::{
    Again, AttemptKind, BatchState, BlockRef, Execution, FeeStanding, ItemOutcome, Landed, Memory,
    OwnWaiting, Protection, Rules, Sighting, Slot, Step, Unsettled, Verdict, next_step,
};
use tron_node::{CallResult, ExpiringTx, TxFate, TxScan};
use tron_primitives::transaction::RefBlock;
use tron_testimony::conclude::{BatchFate, Ground, Landing as Told, conclude};

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

    pub(crate) fn heads(&self) -> Heads {
        self.nodes.heads(self.world)
    }

    /// The last block in which something can land that was signed before now. It was signed by no later head than this
    /// one, or the one that is due by the clock.
    pub(crate) fn horizon(&self) -> u8 {
        let by_clock = !self.has_broken(BrokenRule::ClockIsIgnored);
        let newest = if by_clock { self.world.height() } else { self.heads().newest };
        newest.saturating_add(LIFE)
    }

    /// Signs and commits a batch for what is free of `wanted`.
    pub(crate) fn bill(&mut self, wanted: Subscriptions) -> Option<()> {
        let held = self.world.journal.held();
        let ignored = self.has_broken(BrokenRule::ClaimsAreIgnored);
        let charges = if ignored { wanted } else { wanted.without(held) };
        if self.world.process.gate != GateState::Open || charges.is_none() {
            return None;
        }
        let first = self.world.sign(charges)?;
        self.world.journal.batches.push(Batch {
            charges,
            first,
            later: vec![],
            state: BatchState::Open,
            ended_in: None,
            held: charges,
            waiting: Subscriptions::NONE,
            learnt: false,
            is_fresh: true,
        });
        Some(())
    }

    /// Sends the newest attempt of a batch, which this process has just signed.
    pub(crate) fn deliver(&mut self, at: usize) -> Option<()> {
        let frees = self.has_broken(BrokenRule::SendErrorFrees);
        let batch = self.world.journal.batches.get_mut(at)?;
        std::mem::take(&mut batch.is_fresh).then_some(())?;
        if frees {
            batch.held = Subscriptions::NONE;
        }
        self.world.sent.insert(batch.newest());
        Some(())
    }

    /// Looks at the heads, rules the gate, and looks for every open batch.
    pub(crate) fn look(&mut self, mood: Mood) {
        if self.world.process.began.is_none() {
            let (solid, dead_after) = (self.heads().solid, self.horizon());
            self.world.process.began = Some(Began { solid, dead_after });
        }
        let open: Vec<usize> = self.world.journal.open().collect();
        let sightings: Vec<(usize, Sighting)> =
            open.into_iter().filter_map(|at| Some((at, self.sight(at)?))).collect();
        let waits = sightings.iter().any(|(_, sighting)| sighting.in_block() != Some(true));
        self.rule_gate(if waits { OwnWaiting::Some } else { OwnWaiting::Nothing });
        let rules = self.rules();
        let steps: Vec<(usize, Step)> = sightings
            .into_iter()
            .filter_map(|(at, sighting)| Some((at, self.step(at, sighting, mood, rules)?)))
            .collect();
        let sends = steps.iter().any(|(_, step)| step.sends());
        let asks =
            rules.protection == Protection::Free && !self.has_broken(BrokenRule::RenewsInDoubt);
        let may_send = !sends || !asks || self.knows_all_now();
        for (at, step) in steps {
            if may_send || !step.sends() {
                self.carry_out(at, step);
            }
        }
    }

    fn step(&self, at: usize, sighting: Sighting, mood: Mood, rules: Rules) -> Option<Step> {
        Some(next_step(&self.slot(at)?, sighting, self.memory(at, mood), rules))
    }

    fn slot(&self, at: usize) -> Option<Slot> {
        let batch = self.world.journal.batches.get(at)?;
        let position = u8::try_from(at).unwrap_or(u8::MAX);
        let later = batch.later.iter().map(|tx| (*tx, AttemptKind::Bill));
        Some(slot(at, position, batch.charges, (batch.first, AttemptKind::Bill), later))
    }

    fn sight(&self, at: usize) -> Option<Sighting> {
        let batch = self.world.journal.batches.get(at)?;
        let tx = *self.world.tx(batch.newest())?;
        let heads = self.heads();
        let (late, expired) = (heads.newest >= tx.expires, heads.solid >= tx.expires);
        let attempts: Vec<B256> = batch.attempts().map(TxId::hash).collect();
        let said = self.nodes.testify(self.world, batch, expired);
        let concluded = |scan| {
            let ground = Ground { solid: heads.solid.into(), needed: self.nodes.quorum, scan };
            conclude(&attempts, &said, ground).fate
        };
        let told = concluded(None);
        let has_landed = matches!(told, BatchFate::Landed(_));
        let fate =
            if expired && !has_landed { concluded(self.scan(batch, heads.solid)) } else { told };
        let never = |number: u8| Sighting::Never(block_ref(number.into()));
        Some(match fate {
            BatchFate::Absent if self.has_broken(BrokenRule::AbsenceProves) => never(heads.solid),
            _ if late && self.has_broken(BrokenRule::LateIsDead) => never(heads.newest),
            BatchFate::Absent if late => Sighting::Absent(FeeStanding::Late),
            BatchFate::Absent => Sighting::Absent(FeeStanding::Fair),
            BatchFate::Included => Sighting::Included,
            BatchFate::Landed(landing) => ended(batch, &landing),
            BatchFate::Dead(point) => Sighting::Never(block_ref(point.number)),
            BatchFate::Unclear if late => Sighting::Unsettled(Unsettled::Late),
            BatchFate::Unclear => Sighting::Nothing,
        })
    }

    /// Reads the irrevocable blocks for the newest attempt.
    fn scan(&self, batch: &Batch, solid: u8) -> Option<TxFate> {
        let tx = self.world.tx(batch.newest())?;
        let mut scan = TxScan::new(ExpiringTx {
            id: batch.newest().hash(),
            ref_block: RefBlock::to(block_id(self.world, tx.built_on)),
            expiration_ms: time_ms(tx.expires),
        });
        while let Some(next) = scan.next(solid.into()) {
            let number = u8::try_from(next).ok()?;
            scan.read(&block(self.world, number)).ok()?;
        }
        scan.fate()
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
            Setting::SignsAgain => Again::Renew { most: 2, within_ms: 1 },
            Setting::SignsOnce => Again::Never,
        };
        let rules = Rules { offer_again_ms: 1, again, protection: Protection::Free };
        let known = !self.world.journal.in_doubt && self.world.process.past.checks.knew_all();
        let trusts = known || self.has_broken(BrokenRule::RenewsInDoubt);
        if trusts { rules } else { rules.until_all_is_known() }
    }

    fn carry_out(&mut self, at: usize, step: Step) {
        match step {
            Step::Wait | Step::Alarm(_) | Step::SignAgain(_) => {}
            Step::OfferAgain => {
                let newest = self.world.journal.batches.get(at).map(Batch::newest);
                self.world.sent.extend(newest);
            }
            Step::Renew(_) => drop(self.renew(at)),
            Step::Settle(verdict) => self.settle(at, &verdict),
        }
    }

    fn renew(&mut self, at: usize) -> Option<()> {
        let charges = self.world.journal.batches.get(at)?.charges;
        let tx = self.world.sign(charges)?;
        let batch = self.world.journal.batches.get_mut(at)?;
        batch.later.push(tx);
        batch.is_fresh = true;
        Some(())
    }

    /// Writes the end of a batch down, as the journal's commit does.
    fn settle(&mut self, at: usize, verdict: &Verdict) {
        let Some(batch) = self.world.journal.batches.get_mut(at) else { return };
        batch.state = verdict.state();
        let block = match verdict {
            Verdict::Charged(landed, _) => landed.block,
            Verdict::Reverted(landed) | Verdict::Cancelled(landed) => {
                batch.held = Subscriptions::NONE;
                landed.block
            }
            Verdict::Expired(block) | Verdict::UsedUp(block) => {
                batch.held = Subscriptions::NONE;
                *block
            }
            Verdict::Usurped(tx) => tx.landed.block,
        };
        batch.ended_in = u8::try_from(block.number).ok();
        self.pass_on();
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
    pub(crate) fn adopt(&mut self, number: u8, landing: Landing) {
        let Landing { tx, ending } = landing;
        if self.world.journal.knows(tx) || self.has_broken(BrokenRule::ForeignIsNotLearnt) {
            return;
        }
        let charges = self.world.tx(tx).map_or(Subscriptions::NONE, |tx| tx.charges);
        let (state, charged) = match ending {
            Ending::Succeeded => (BatchState::Charged, charges),
            Ending::Reverted => (BatchState::Reverted, Subscriptions::NONE),
        };
        let elsewhere = self.world.journal.held();
        self.world.journal.batches.push(Batch {
            charges,
            first: tx,
            later: vec![],
            state,
            ended_in: Some(number),
            held: charged.without(elsewhere),
            waiting: charged.among(elsewhere),
            learnt: true,
            is_fresh: false,
        });
    }
}

fn block_ref(number: u64) -> BlockRef {
    BlockRef { number, time: number, hash: None }
}

fn ended(batch: &Batch, landing: &Told) -> Sighting {
    let block = block_ref(landing.block);
    let landed = Landed { hash: landing.id, block, record: None };
    let execution = match landing.result {
        CallResult::Failed => Execution::Reverted,
        CallResult::Succeeded => {
            Execution::Succeeded(batch.charges.each().map(|_| ItemOutcome::Charged).collect())
        }
    };
    Sighting::Final(landed, execution)
}
