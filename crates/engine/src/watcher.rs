//! Follows every undecided batch of one lane until the chain has decided. The tick is the program;
//! the loop only sleeps.

use super::charge_spans::SPAN_TARGET;
use super::counts::SignedAgain;
use super::end_log;
use super::held_up::{HeldUp, SigningFailure};
use super::lane::Lane;
use super::lane_error::LaneError;
use super::look_times::LookTime;
use super::not_ready::NotReady;
use super::open_batches::OpenBatch;
use super::opening::open;
use super::reconcile::knows_all_now;
use super::verdict::NoVerdict;
use billing::{
    Attempt, AttemptKind, Gate, Landed, Memory, Protection, Rules, Sighting, Slot, Step, Verdict,
    next_step,
};
use chain::{ChainError, HeadExtent};
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use journal::{Addition, Durable, Settlement};
use policy::Intent;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::field::{Empty, display};
use tracing::{Instrument as _, Span, error, info, info_span, warn};

/// An open batch with the bytes that are on disk for it.
type Open = Slot<Durable<Attempt>>;

/// The outcome of renewing a batch whose attempts are all dead.
enum Renewed {
    Signed(Arc<Open>),
    /// The call no longer passes.
    Pointless,
    NotNow,
}

/// The most batches offered to a node at the same time.
const OFFERS_AT_ONCE: usize = 8;

/// The interval at which a contract is asked whether it lets the account bill. A request finds that out as well.
const PERMISSION: Duration = Duration::from_mins(15);

/// The same where the contract does not, and at the start.
const PERMISSION_UNKNOWN: Duration = Duration::from_secs(10);

/// Follows the batches of one lane.
#[derive(Debug)]
pub struct Watcher {
    /// The lane.
    pub lane: Arc<Lane>,
    /// The interval between looks while the lane is at work.
    pub every: Duration,
}

impl Watcher {
    /// Looks until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let looks = async {
            while stop.run_until_cancelled(self.rest()).await.is_some() {
                self.look().await;
            }
        };
        // A store that does not answer keeps nothing from being followed.
        let key = async {
            let once = async || {
                sleep(self.every).await;
                self.lane.chain.check_key().await;
            };
            while stop.run_until_cancelled(once()).await.is_some() {}
        };
        let permission =
            async { while stop.run_until_cancelled(self.permission()).await.is_some() {} };
        tokio::join!(looks, key, permission);
    }

    /// Waits until the lane is to be looked at again.
    async fn rest(&self) {
        let (intervals, work) = (|| self.lane.intervals(), || self.lane.work());
        self.lane.looks.wait(self.every, intervals, work).await;
    }

    /// Looks whether the contract lets the account bill, and waits until that is due again.
    async fn permission(&self) {
        if self.lane.settings.role.signs() {
            self.lane.chain.check_permission().await;
        }
        let unknown =
            matches!(self.lane.not_ready(), Some((NotReady::Unseen | NotReady::Permission, _)));
        sleep(if unknown { PERMISSION_UNKNOWN } else { PERMISSION }).await;
    }

    /// A tick whose failure is remembered, and is no reason to stop.
    pub async fn look(&self) {
        let extent = self.lane.extent();
        let began = LookTime::now(self.lane.journal.now_ms());
        let error = self.tick(extent).await.err();
        if error.is_none() {
            self.lane.account.was_seen(began);
        }
        // A look that failed has ruled nothing, and the other accounts of the chain ask this one's own gate.
        if let Gate::Closed(why) = self.lane.gate() {
            self.lane.account.close_meanwhile(why);
        }
        self.lane.last_error.set(error, &self.lane.account.name);
        self.lane.looks.ended(extent, self.lane.journal.now_ms());
        self.lane.runway.watch_gas().await;
        self.lane.runway.watch_limits().await;
    }

    /// One look at the chain, and what follows from it.
    async fn tick(&self, extent: HeadExtent) -> Result<(), LaneError> {
        let head = self.lane.chain.poll_head(extent).await?;
        // A lane that cannot be opened takes nothing new; what is open is followed all the same.
        let unnamed = || self.lane.unnamed_taker(head.nonces);
        let ruled_for = unnamed();
        // A start has not looked yet at what it took up: only after that look is there anything to say of it.
        let is_new = ruled_for.is_some() && matches!(self.lane.gate(), Gate::Opening);
        let mut opened = if is_new { Ok(()) } else { open(&self.lane, head).await };
        let followed = self.follow().await;
        // A lane that takes new work does so no longer than this look, and a start waits for no second one.
        if is_new || unnamed() != ruled_for {
            opened = open(&self.lane, head).await;
        }
        self.lane.looked.notify_waiters();
        followed?;
        opened
    }

    async fn follow(&self) -> Result<(), LaneError> {
        let batches = self.lane.batches.all();
        if batches.is_empty() {
            return Ok(());
        }
        let slots: Vec<&Open> = batches.iter().map(|one| one.slot.as_ref()).collect();
        let sightings = self.lane.chain.look(&slots).await;
        let rules = self.lane.rules_for_now();
        let (mut ends, mut offers) = (Vec::new(), Vec::new());
        let (mut drafts, mut dead, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        for (batch, sighting) in batches.iter().zip(sightings) {
            self.remark(batch, &sighting);
            match self.next_step(batch, sighting, rules).await? {
                Step::Wait => {}
                Step::OfferAgain => offers.push(Arc::clone(&batch.slot)),
                Step::SignAgain(kind) => drafts.push((batch, kind)),
                Step::Renew(verdict) => dead.push((batch, self.end(batch, verdict))),
                Step::Settle(verdict) => ends.push(self.end(batch, verdict)),
                Step::Alarm(taker) => lost.push((Arc::clone(&batch.slot), taker)),
            }
        }
        // Somebody else may have charged the same since the last look, and no nonce keeps both from landing.
        let sends = !(offers.is_empty() && dead.is_empty());
        if sends
            && rules.protection == Protection::Free
            && !knows_all_now(&self.lane).await.unwrap_or(false)
        {
            offers.clear();
            dead.clear();
        }
        // Attempts on disk go out first: an attempt that cannot be written does not keep them back.
        self.offer_all(offers).await;
        let mut renewed = Vec::new();
        for (batch, end) in dead {
            match self.renew(batch).await {
                Renewed::Signed(slot) => renewed.push(slot),
                Renewed::Pointless => ends.push(end),
                Renewed::NotNow => {}
            }
        }
        let settled = self.settle(ends).await;
        for (batch, kind) in drafts {
            renewed.extend(self.sign_again(batch, kind).await);
        }
        self.offer_all(renewed).await;
        for (slot, taker) in lost {
            self.alarm(&slot, taker).await?;
        }
        settled
    }

    /// Decides. Before bytes that charge leave the process, the journal is asked whether another transaction has made
    /// one of the charges.
    async fn next_step(
        &self,
        batch: &OpenBatch,
        sighting: Sighting,
        rules: Rules,
    ) -> Result<Step, LaneError> {
        let known = memory(batch, self.lane.journal.now_ms());
        let step = next_step(&batch.slot, sighting.clone(), known, rules);
        if !step.sends() || !self.lane.journal.is_charged_elsewhere(batch.slot.batch).await? {
            return Ok(step);
        }
        let known = Memory { charged_elsewhere: true, ..known };
        Ok(next_step(&batch.slot, sighting, known, rules))
    }

    async fn offer_all(&self, slots: Vec<Arc<Open>>) {
        stream::iter(slots)
            .for_each_concurrent(OFFERS_AT_ONCE, |slot| async move { self.lane.offer(&slot).await })
            .await;
    }

    fn end(&self, batch: &OpenBatch, verdict: Verdict) -> Settlement {
        let guard_s = self.lane.settings.guard.as_secs();
        Settlement { batch: batch.slot.batch, verdict, guard_s }
    }

    /// Commits another attempt, to be offered. Without one the bytes that there are go out again when
    /// that is due, unless they charge and were to be cancelled.
    async fn sign_again(&self, batch: &OpenBatch, kind: AttemptKind) -> Option<Arc<Open>> {
        match self.attempt(batch, kind).await {
            Ok(Some(slot)) => {
                self.lane.counts.lock().signed_again(SignedAgain::of(kind));
                return Some(slot);
            }
            Ok(None) => self.remember_unsigned(batch, None),
            Err(why) => self.remember_unsigned(batch, Some(&why)),
        }
        let due = memory(batch, self.lane.journal.now_ms()).since_offer_ms
            >= self.lane.settings.rules.offer_again_ms;
        let same = kind == batch.slot.attempts.newest().get().kind;
        (due && same).then(|| Arc::clone(&batch.slot))
    }

    /// Commits another attempt for a batch whose attempts are all dead. Their bytes go nowhere any more.
    async fn renew(&self, batch: &OpenBatch) -> Renewed {
        match self.attempt(batch, AttemptKind::Bill).await {
            Ok(Some(slot)) => {
                self.lane.counts.lock().signed_again(SignedAgain::Renewal);
                return Renewed::Signed(slot);
            }
            Ok(None) => self.remember_unsigned(batch, None),
            Err(NoVerdict::Chain(ChainError::CallFails(why))) => {
                info!(chain = self.chain(), batch = batch.slot.batch.0, %why, "nothing is signed for it any more");
                return Renewed::Pointless;
            }
            Err(why) => self.remember_unsigned(batch, Some(&why)),
        }
        Renewed::NotNow
    }

    /// Remembers why no other attempt can be signed; says so once.
    fn remember_unsigned(&self, seen: &OpenBatch, unsigned: Option<&NoVerdict>) {
        if let Some(why) = unsigned.filter(|_| seen.unsigned.is_none()) {
            let why = why.to_string();
            warn!(
                chain = self.chain(),
                batch = seen.slot.batch.0,
                why,
                "no other attempt can be signed now"
            );
        }
        let why = unsigned.map(SigningFailure::of);
        self.lane.batches.note(seen.slot.batch, |batch| batch.unsigned = why);
    }

    /// Drafts, signs and commits another attempt. None when the batch has come further meanwhile.
    async fn attempt(
        &self,
        batch: &OpenBatch,
        kind: AttemptKind,
    ) -> Result<Option<Arc<Open>>, NoVerdict> {
        let span = info_span!(target: SPAN_TARGET, parent: &batch.settlement, "sign again", tx.hash = Empty);
        self.add_attempt(&batch.slot, kind).instrument(span).await
    }

    async fn add_attempt(
        &self,
        slot: &Open,
        kind: AttemptKind,
    ) -> Result<Option<Arc<Open>>, NoVerdict> {
        let drafting = info_span!(target: SPAN_TARGET, "draft");
        let draft = self.lane.chain.redraft(slot, kind).instrument(drafting).await?;
        let (contract, function) = (slot.contract, self.lane.chain.function(slot));
        let (items, cost) = (slot.items.as_slice(), draft.cost());
        // A process that holds the key apart lets a cancel bid a step above the billing that it is shown.
        let earlier = match kind {
            AttemptKind::Bill => slot.attempts.first(),
            AttemptKind::Cancel => slot.attempts.newest_billing(),
        };
        let earlier = Some(earlier.get().signed.raw.as_slice());
        let intent = Intent { kind, contract, function, items, tokens: None, earlier, cost };
        let signing = info_span!(target: SPAN_TARGET, "sign");
        let sealed = draft.seal(slot.position, &intent).instrument(signing).await?;
        let addition = Addition {
            batch: slot.batch,
            seq: slot.attempts.newest().get().seq.saturating_add(1),
            kind,
            fee: self.lane.chain.policy().fee(kind, cost),
            at_ms: self.lane.journal.now_ms(),
            sealed,
        };
        let committing = info_span!(target: SPAN_TARGET, "commit");
        let committed = self.lane.journal.add_attempt(addition).instrument(committing).await?;
        let Some(attempt) = committed else { return Ok(None) };
        draft.committed(slot.position, &attempt);
        let hash = attempt.get().signed.hash;
        Span::current().record("tx.hash", display(hash));
        info!(chain = self.chain(), batch = slot.batch.0, tx.hash = %hash, ?kind, "signed another attempt");
        let attempts = slot.attempts.followed_by(attempt);
        Ok(Some(self.lane.follow(Slot { attempts, ..Slot::clone(slot) })))
    }

    /// Remembers what keeps a batch from landing; says so once.
    fn remark(&self, seen: &OpenBatch, sighting: &Sighting) {
        let why = HeldUp::of(sighting, seen.rejection, seen.unsigned);
        if let Some(why) = why.filter(|_| why != seen.held_up) {
            warn!(chain = self.chain(), batch = seen.slot.batch.0, "held up: {why}");
        }
        self.lane.batches.note(seen.slot.batch, |batch| {
            batch.held_up = why;
            batch.in_block = sighting.in_block().unwrap_or(batch.in_block);
            batch.see(sighting);
        });
    }

    /// Writes all ends down in one write, or every end by itself if that fails: one that cannot be written keeps no
    /// other from it, and is tried again after the next look.
    async fn settle(&self, ends: Vec<Settlement>) -> Result<(), LaneError> {
        if ends.len() > 1 && self.settle_together(ends.clone()).await.is_ok() {
            return Ok(());
        }
        let settled = join_all(ends.into_iter().map(|end| self.settle_together(vec![end]))).await;
        settled.into_iter().collect()
    }

    async fn settle_together(&self, ends: Vec<Settlement>) -> Result<(), LaneError> {
        self.lane.journal.settle(ends.clone(), self.lane.journal.now_ms()).await?;
        for end in &ends {
            let hash = end.verdict.hash().map(|hash| hash.to_string());
            end_log::tell_end(self.chain(), end, hash.as_deref());
            let ended = self.lane.batches.end(end.batch);
            if let Some(ended) = ended {
                end_log::tell_what_was_taken(self.chain(), end, &ended.slot.items, hash.as_deref());
                self.lane.counts.lock().ended(&end.verdict, &ended.slot.items);
                end_log::tell_span(&ended.settlement, end, hash.as_deref());
            }
        }
        Ok(())
    }

    /// Calls a person, once. The transaction that took the batch's place is written down, so that they can say whom
    /// it charged.
    async fn alarm(&self, slot: &Open, taker: Option<Landed>) -> Result<(), LaneError> {
        if !self.lane.batches.calls_for_alarm(slot.batch) {
            return Ok(());
        }
        if let Some(landed) = taker {
            let journal = &self.lane.journal;
            journal.note_taker(slot.batch, landed, journal.now_ms()).await?;
        }
        self.lane.batches.note(slot.batch, |batch| batch.alarmed = true);
        error!(
            chain = self.chain(),
            batch = slot.batch.0,
            position = slot.position,
            "it is not known whom the transaction that took the place of a batch charged; its claims \
             stay"
        );
        Ok(())
    }

    /// Returns the name of the watcher's chain in log lines.
    fn chain(&self) -> &str {
        &self.lane.chain.facts().name
    }
}

/// A batch that this process has not offered yet is due at once.
fn memory(batch: &OpenBatch, now_ms: i64) -> Memory {
    let accepted = now_ms.saturating_sub(batch.slot.accepted_ms);
    Memory {
        since_offer_ms: batch.offered.map_or(u64::MAX, since),
        since_attempt_ms: since(batch.signed),
        since_accepted_ms: u64::try_from(accepted).unwrap_or(0),
        rejection: batch.rejection,
        charged_elsewhere: false,
    }
}

fn since(then: Instant) -> u64 {
    u64::try_from(then.elapsed().as_millis()).unwrap_or(u64::MAX)
}
