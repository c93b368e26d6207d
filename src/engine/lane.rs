//! Everything that one signing account does on one chain: its gate, its place in line, and the
//! batches that the chain has not decided.

use super::bill::NoVerdict;
use super::reservation::Reservations;
use crate::billing::{Attempt, BatchId, Slot};
use crate::chain::{Chain, Delivery, Pulse};
use crate::clock;
use crate::journal::{Durable, Journal, JournalError};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;
use tracing::{info, warn};

/// Whether a lane takes new work. Its open batches are followed in every case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The chain has not been seen yet.
    Opening,
    /// New work is taken.
    Open,
    /// New work is refused, for this reason.
    Closed(String),
}

/// A committed batch that the chain has not decided.
#[derive(Clone, Debug)]
pub(super) struct Tracked {
    pub(super) slot: Arc<Slot<Durable<Attempt>>>,
    /// When its bytes were last offered; none in this process yet.
    pub(super) offered: Option<Instant>,
    /// Whether a person was called already.
    pub(super) alarmed: bool,
}

/// One signing account on one chain.
#[derive(Debug)]
pub struct Lane {
    /// The chain.
    pub chain: Arc<dyn Chain>,
    /// The journal.
    pub journal: Journal,
    /// How long to leave a batch alone before the same bytes are offered again.
    pub offer_again: Duration,
    /// How long a charge without a period stays claimed after it is final, chain time.
    pub guard: Duration,
    pub(super) reservations: Reservations,
    pub(super) tracked: Mutex<BTreeMap<BatchId, Tracked>>,
    gate: RwLock<Gate>,
    trouble: RwLock<Option<String>>,
    next: AtomicU64,
}

impl Lane {
    /// A lane that has not seen its chain yet.
    pub fn new(
        chain: Arc<dyn Chain>,
        journal: Journal,
        offer_again: Duration,
        guard: Duration,
    ) -> Self {
        Self {
            chain,
            journal,
            offer_again,
            guard,
            reservations: Reservations::default(),
            tracked: Mutex::default(),
            gate: RwLock::new(Gate::Opening),
            trouble: RwLock::new(None),
            next: AtomicU64::new(0),
        }
    }

    /// Whether it takes new work.
    pub fn gate(&self) -> Gate {
        self.gate.read().clone()
    }

    /// How many batches the chain has not decided.
    pub fn undecided(&self) -> usize {
        self.tracked.lock().len()
    }

    /// What keeps the chain from being followed at present, if anything does.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.read().clone()
    }

    /// Remembers what keeps the chain from being followed; says so once, and once when it is over.
    pub(super) fn set_trouble(&self, now: Option<String>) {
        let chain = &self.chain.facts().name;
        let mut before = self.trouble.write();
        match (&*before, &now) {
            (_, Some(why)) if *before != now => warn!(chain, "cannot follow the chain: {why}"),
            (Some(_), None) => info!(chain, "following the chain again"),
            _ => {}
        }
        *before = now;
    }

    /// The last look at the chain.
    pub fn pulse(&self) -> Option<Pulse> {
        *self.chain.pulse().borrow()
    }

    /// Opens the lane when the chain and the journal agree about its account.
    pub(super) async fn open(&self, pulse: Pulse) -> Result<(), NoVerdict> {
        let facts = self.chain.facts();
        let known = self.journal.next_position(facts.id, facts.signer).await?;
        let next = match known {
            Some(next) => next,
            None => self.begin().await?,
        };
        self.next.fetch_max(next, Ordering::Relaxed);
        let gate = if pulse.taken > self.next.load(Ordering::Relaxed) {
            Gate::Closed(format!(
                "the account {} has sent {} transactions but the journal knows {next}: the key is \
                 used elsewhere, or the journal is an old copy",
                facts.signer, pulse.taken
            ))
        } else {
            Gate::Open
        };
        self.set_gate(gate);
        Ok(())
    }

    async fn begin(&self) -> Result<u64, NoVerdict> {
        let facts = self.chain.facts();
        let first = self.chain.first_position().await?;
        Ok(self.journal.open_lane(facts.id, facts.signer, first, clock::unix_ms()).await?)
    }

    fn set_gate(&self, gate: Gate) {
        let mut now = self.gate.write();
        if *now == gate {
            return;
        }
        match &gate {
            Gate::Open => info!(chain = self.chain.facts().name, "the lane is open"),
            Gate::Closed(why) => {
                warn!(chain = self.chain.facts().name, "the lane is closed: {why}");
            }
            Gate::Opening => {}
        }
        *now = gate;
    }

    /// Why the lane has never been open.
    pub fn unopened(&self) -> String {
        self.trouble().unwrap_or_else(|| "its node has not answered yet".to_owned())
    }

    /// Waits until one more transaction may wait for a block.
    pub(super) async fn room(&self) -> Result<Pulse, NoVerdict> {
        let mut pulses = self.chain.pulse();
        loop {
            match self.gate() {
                Gate::Open => {}
                Gate::Opening => return Err(NoVerdict::LaneClosed(self.unopened())),
                Gate::Closed(why) => return Err(NoVerdict::LaneClosed(why)),
            }
            let next = self.next.load(Ordering::Relaxed);
            let pulse = *pulses.borrow_and_update();
            if let Some(pulse) = pulse
                && next.saturating_sub(pulse.taken) < self.chain.facts().max_in_flight
            {
                return Ok(pulse);
            }
            pulses.changed().await.map_err(|_| NoVerdict::ShuttingDown)?;
        }
    }

    /// Follows a committed batch from now on.
    pub(super) fn track(&self, slot: Slot<Durable<Attempt>>) -> Arc<Slot<Durable<Attempt>>> {
        self.next.fetch_max(slot.position.saturating_add(1), Ordering::Relaxed);
        let slot = Arc::new(slot);
        let tracked = Tracked { slot: Arc::clone(&slot), offered: None, alarmed: false };
        self.tracked.lock().insert(slot.batch, tracked);
        slot
    }

    /// Offers the newest attempt of a batch to the chain.
    pub(super) async fn offer(&self, slot: &Slot<Durable<Attempt>>) {
        let newest = slot.attempts.newest();
        if let Some(tracked) = self.tracked.lock().get_mut(&slot.batch) {
            tracked.offered = Some(Instant::now());
        }
        let (hash, nonce) = (newest.get().signed.hash, slot.position);
        match self.chain.deliver(newest).await {
            Delivery::Accepted => info!(tx.hash = %hash, nonce, "offered to the chain"),
            Delivery::Refused(said) => {
                warn!(tx.hash = %hash, nonce, said, "the node did not take it; it will be offered again");
            }
            Delivery::Unknown(said) => {
                warn!(tx.hash = %hash, nonce, said, "nobody knows whether the node took it; it will be offered again");
            }
        }
    }

    /// Takes up every batch that an earlier process left open.
    pub async fn resume(&self) -> Result<(), JournalError> {
        let facts = self.chain.facts();
        for slot in self.journal.open_slots(facts.id, facts.signer).await? {
            self.track(slot);
        }
        Ok(())
    }
}
