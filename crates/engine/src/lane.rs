//! Everything that one signing account does on one chain: its gate, its place in line, and the
//! batches that the chain has not decided.

use super::chain_accounts::{AccountKnown, ChainAccounts};
use super::counts::LaneCounts;
use super::held_up::HeldUp;
use super::lane_error::LaneError;
use super::rest::BetweenLooks;
use super::signing_line::SigningLine;
use super::tracked::{Tracked, Undecided};
use super::verdict::NoVerdict;
use super::young::YoungKnown;
use billing::{
    Again, Attempt, BatchId, Closed, Full, Gate, InBlocks, LaneLoad, OnlyFollows, Rules, Slot,
    spell_address,
};
use chain::{Chain, ChainError, Delivery, Headroom, Pulse, Unready};
use journal::{Durable, Journal, JournalError, LaneId, Origin};
use parking_lot::{Mutex, RwLock};
use policy::Refusal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{info, warn};

/// The age up to which failed batches are told to a chain, ms.
const PAST_MS: i64 = 86_400_000;

/// One signing account on one chain.
#[derive(Debug)]
pub struct Lane {
    /// The chain.
    pub chain: Arc<dyn Chain>,
    /// The journal.
    pub journal: Journal,
    /// The rules by which open batches are treated.
    pub rules: Rules,
    /// The time that a charge without a period stays claimed after it is final, chain time.
    pub guard: Duration,
    /// Why it begins nothing new; none where it may.
    pub follows: Option<OnlyFollows>,
    /// The state that the lane shares with the other accounts of its chain.
    pub(super) siblings: ChainAccounts,
    /// True if the lane's account had nothing left to do when the process began, and is only compared with the
    /// chain: an old copy of the journal has forgotten what the account did since.
    pub only_compared: bool,
    /// Below how many billings left the gas money runs low.
    pub gas_warn_billings: u64,
    /// True if the log says that gas money runs low.
    pub(super) gas_is_low: AtomicBool,
    /// True if the history says that gas money runs low.
    pub(super) gas_noted_low: AtomicBool,
    /// The amounts of the limits of the day that were taken at the last look.
    pub(super) day_limits: RwLock<Vec<Headroom>>,
    pub(super) counts: Mutex<LaneCounts>,
    pub(super) tracked: Undecided,
    /// The known state of the lane's account.
    pub(super) known: Arc<AccountKnown>,
    /// Until when the journal knew what the account did when this process began, Unix ms; none where it
    /// did not know the lane.
    pub(super) known_at_start: RwLock<Option<i64>>,
    /// True if it is known that the journal knows of the account's last use.
    pub(super) compared: AtomicBool,
    /// True if nothing that was signed before this process began can land any more unseen.
    pub(super) watched: AtomicBool,
    /// The known state of the account beyond irrevocable blocks.
    pub(super) young: YoungKnown,
    pub(super) error: RwLock<Option<LaneError>>,
    /// The first position that is not committed, as far as is known.
    pub(super) next: AtomicU64,
    /// The line of those who sign for positions.
    pub(super) line: SigningLine,
    /// Told when there may be room again.
    pub(super) looked: Notify,
    /// Its rest between two looks.
    pub(super) rest: BetweenLooks,
}

impl Lane {
    /// A lane that has not seen its chain yet.
    pub fn new(chain: Arc<dyn Chain>, journal: Journal, rules: Rules, guard: Duration) -> Self {
        let doubt = journal.is_old_copy().then_some(0);
        let tracked = Undecided::default();
        let known = AccountKnown::new(chain.facts().signer, doubt, Arc::clone(&tracked));
        Self {
            chain,
            journal,
            rules,
            guard,
            follows: None,
            siblings: ChainAccounts::default(),
            only_compared: false,
            gas_warn_billings: 0,
            gas_is_low: AtomicBool::new(false),
            gas_noted_low: AtomicBool::new(false),
            day_limits: RwLock::default(),
            counts: Mutex::default(),
            tracked,
            known: Arc::new(known),
            known_at_start: RwLock::new(None),
            compared: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            young: YoungKnown::default(),
            error: RwLock::new(None),
            next: AtomicU64::new(0),
            line: SigningLine::default(),
            looked: Notify::new(),
            rest: BetweenLooks::default(),
        }
    }

    /// A lane that ends what it has begun, and begins nothing.
    #[must_use]
    pub fn following(self, why: OnlyFollows) -> Self {
        let rules = match why {
            OnlyFollows::NoKey => Rules { again: Again::Never, ..self.rules },
            OnlyFollows::RetiredKey | OnlyFollows::RetiredChain => self.rules,
        };
        Self { follows: Some(why), rules, ..self }
    }

    /// A lane that warns when its account can pay for fewer billings than this.
    #[must_use]
    pub fn warning_below(self, gas_warn_billings: u64) -> Self {
        Self { gas_warn_billings, ..self }
    }

    /// Returns the lane's counts since the start.
    pub fn counts(&self) -> LaneCounts {
        self.counts.lock().clone()
    }

    /// When the oldest batch was accepted that the chain has not decided, Unix ms.
    pub fn oldest_open_ms(&self) -> Option<i64> {
        self.tracked.lock().values().map(|tracked| tracked.slot.accepted_ms).min()
    }

    /// Returns the gate: open if the lane takes new work.
    pub fn gate(&self) -> Gate {
        self.known.gate.read().clone()
    }

    /// Returns the number of batches that the chain has not decided.
    pub fn undecided(&self) -> usize {
        self.tracked.lock().len()
    }

    /// The last look at the chain.
    pub fn pulse(&self) -> Option<Pulse> {
        *self.chain.pulse().borrow()
    }

    /// Which lane it is.
    pub fn id(&self) -> LaneId {
        let facts = self.chain.facts();
        LaneId { chain: facts.id, signer: facts.signer }
    }

    /// Its account, as its chain spells it.
    pub fn account(&self) -> String {
        let facts = self.chain.facts();
        spell_address(facts.family, facts.signer)
    }

    /// Returns the origin that the lane's batches have now.
    pub(super) fn origin(&self) -> Origin {
        Origin { lane: self.id(), contract: self.chain.facts().contract }
    }

    /// Returns the hindrances that keep single batches from landing, as far as is known, the oldest first.
    pub fn held_up(&self) -> Vec<(BatchId, HeldUp)> {
        let tracked = self.tracked.lock();
        tracked.values().filter_map(|t| t.held_up.map(|why| (t.slot.batch, why))).collect()
    }

    /// The open batches of which nodes have told different records for too long, and those nodes, by
    /// their labels.
    pub fn disputed(&self) -> Vec<(BatchId, Vec<String>)> {
        let lasting = self.chain.disputes();
        let tracked = self.tracked.lock();
        let batch_at = |position| tracked.values().find(|t| t.slot.position == position);
        let named = lasting
            .into_iter()
            .filter_map(|dispute| Some((batch_at(dispute.position)?.slot.batch, dispute.nodes)));
        named.collect()
    }

    /// Returns the hindrance that keeps this batch from landing, as far as is known.
    pub fn held_up_by(&self, batch: BatchId) -> Option<HeldUp> {
        self.tracked.lock().get(&batch).and_then(|tracked| tracked.held_up)
    }

    /// Brings the gate to `gate`; says so where that is news.
    pub(super) fn set_gate(&self, gate: Gate) {
        let mut now = self.known.gate.write();
        if gate.is_news_after(&now) {
            let (chain, account) = (&self.chain.facts().name, self.account());
            match &gate {
                Gate::Open => info!(chain, account, "the lane is open"),
                // All accounts of a chain are looked at together, and one has to be first.
                Gate::Closed(why @ Closed::OtherAccountUnreconciled { .. })
                    if *now == Gate::Opening =>
                {
                    info!(chain, account, "the lane waits: {why}");
                }
                Gate::Closed(why) => warn!(chain, account, "the lane is closed: {why}"),
                Gate::Opening => {}
            }
        }
        *now = gate;
    }

    /// Why the lane has never been open.
    pub fn unopened(&self) -> LaneError {
        self.error().unwrap_or(LaneError::Unseen)
    }

    /// Returns the reason that nothing new is signed, if the chain is paused. Open batches are followed all the
    /// same.
    pub fn paused(&self) -> Option<String> {
        let policy = self.chain.policy();
        if policy.paused {
            return Some(format!("by the configuration, chains.{}.paused", policy.chain));
        }
        self.journal.paused(policy.chain).map(|pause| pause.to_string())
    }

    /// The same for whoever asks without a signature: not by whom.
    pub fn paused_since(&self) -> Option<String> {
        let policy = self.chain.policy();
        if policy.paused {
            return self.paused();
        }
        self.journal.paused(policy.chain).map(|pause| pause.since())
    }

    /// Refuses new work while the chain is paused.
    pub(super) fn unpaused(&self) -> Result<(), Refusal> {
        let chain = self.chain.policy().chain;
        self.paused().map_or(Ok(()), |why| Err(Refusal::paused(chain, &why)))
    }

    /// Refuses new work while the store that has the key does not sign.
    pub(super) fn key_signs(&self) -> Result<(), ChainError> {
        match self.chain.unready() {
            Some(why @ ChainError::Unready(Unready::Key { .. })) => Err(why),
            Some(_) | None => Ok(()),
        }
    }

    /// Waits until one more transaction may wait for a block.
    pub(super) async fn room(&self) -> Result<Pulse, NoVerdict> {
        self.wakes().await;
        let mut pulses = self.chain.pulse();
        loop {
            let looked = self.looked.notified();
            match self.gate() {
                Gate::Open => {}
                Gate::Opening => return Err(NoVerdict::LaneOpening(self.unopened())),
                Gate::Closed(why) => return Err(NoVerdict::LaneClosed(why)),
            }
            let pulse = *pulses.borrow_and_update();
            if let Some(pulse) = pulse
                && self.full(pulse).is_none()
            {
                return Ok(pulse);
            }
            tokio::select! {
                changed = pulses.changed() => changed.map_err(|_| NoVerdict::ShuttingDown)?,
                () = looked => {}
            }
        }
    }

    /// Returns the limit that is reached, if there is no room for one more batch.
    fn full(&self, pulse: Pulse) -> Option<Full> {
        let signing = self.line.length();
        let load = match self.in_blocks(pulse) {
            InBlocks::Below(mined) => {
                // Positions that were never signed here are the gate's matter.
                let next = self.next.load(Ordering::Relaxed).max(mined);
                LaneLoad::counted(next.saturating_add(count(signing)), mined)?
            }
            InBlocks::Seen(seen) => LaneLoad::seen(self.undecided_with(signing), seen),
        };
        load.full(self.chain.max_in_flight())
    }

    /// Returns the number of batches that the chain has not decided, plus those that are being signed.
    pub(super) fn undecided_with(&self, signing: usize) -> u64 {
        count(self.undecided().saturating_add(signing))
    }

    /// Returns the lane's batches that blocks hold, as far as is known.
    pub(super) fn in_blocks(&self, pulse: Pulse) -> InBlocks {
        let seen = || self.tracked.lock().values().filter(|tracked| tracked.in_block).count();
        pulse.nonces.map_or_else(
            || InBlocks::Seen(u64::try_from(seen()).unwrap_or(0)),
            |nonces| InBlocks::Below(nonces.mined),
        )
    }

    /// Why a request came to nothing before its deadline.
    pub(super) fn late(&self) -> NoVerdict {
        let full = self.pulse().and_then(|pulse| self.full(pulse));
        let again = self.chain.facts().poll_interval.as_millis().div_ceil(1000);
        let again = Duration::from_secs(u64::try_from(again).unwrap_or(1).max(1));
        let account = || self.account();
        full.map_or(NoVerdict::Deadline, |full| NoVerdict::LaneFull {
            account: account(),
            full,
            again,
        })
    }

    /// Follows a committed batch from now on.
    pub(super) fn track(&self, slot: Slot<Durable<Attempt>>) -> Arc<Slot<Durable<Attempt>>> {
        self.next.fetch_max(slot.position.saturating_add(1), Ordering::Relaxed);
        let slot = Arc::new(slot);
        let tracked = Tracked {
            slot: Arc::clone(&slot),
            signed: Instant::now(),
            offered: None,
            rejection: None,
            held_up: None,
            in_block: false,
            unsigned: None,
            alarmed: false,
        };
        self.tracked.lock().insert(slot.batch, tracked);
        self.rest.stir();
        slot
    }

    /// Offers the newest attempt of a batch to the chain.
    pub(super) async fn offer(&self, slot: &Slot<Durable<Attempt>>) {
        let newest = slot.attempts.newest();
        if let Some(tracked) = self.tracked.lock().get_mut(&slot.batch) {
            tracked.offered = Some(Instant::now());
        }
        let (hash, position) = (newest.get().signed.hash, slot.position);
        let chain = &self.chain.facts().name;
        let rejection = match self.chain.deliver(newest).await {
            Delivery::Accepted => {
                info!(chain, tx.hash = %hash, position, "offered to the chain");
                None
            }
            Delivery::Refused { rejection, said } => {
                warn!(chain, tx.hash = %hash, position, said, "not taken; it will be offered again");
                Some(rejection)
            }
            Delivery::Unknown(said) => {
                warn!(chain, tx.hash = %hash, position, said, "nobody knows whether it was taken; it will be offered again");
                None
            }
        };
        if let Some(tracked) = self.tracked.lock().get_mut(&slot.batch) {
            tracked.rejection = rejection;
        }
    }

    /// Takes up every batch that an earlier process left open.
    pub async fn resume(&self) -> Result<(), JournalError> {
        self.journal.bind(self.chain.binding(), self.journal.now_ms()).await?;
        let (doubt, open) = self.journal.take_up(self.id()).await?;
        *self.known.doubt.write() = doubt;
        *self.known_at_start.write() = self.journal.known_until(self.id()).await?;
        let since_ms = self.journal.now_ms().saturating_sub(PAST_MS);
        let past = self.journal.past(self.id(), since_ms).await?;
        self.counts.lock().accepted_ms = past.accepted_ms;
        self.chain.recollect(past, &open);
        for slot in open {
            self.track(slot);
        }
        Ok(())
    }
}

fn count(many: usize) -> u64 {
    u64::try_from(many).unwrap_or(u64::MAX)
}
