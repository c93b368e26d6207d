//! Follows every undecided batch of one lane until the chain has decided. The tick is the program;
//! the loop only sleeps.

use super::bill::NoVerdict;
use super::lane::{Lane, Tracked};
use crate::billing::{Attempt, Rules, Slot, Step, next_step};
use crate::chain::Pulse;
use crate::clock;
use crate::journal::{Durable, Settlement};
use futures_util::{StreamExt as _, stream};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

/// How many batches are offered to a node at the same time.
const OFFERS_AT_ONCE: usize = 8;

/// Follows the batches of one lane.
#[derive(Debug)]
pub struct Watcher {
    /// The lane.
    pub lane: Arc<Lane>,
    /// How often to look.
    pub every: Duration,
}

impl Watcher {
    /// Looks until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(self.every)).await.is_some() {
            self.look().await;
        }
    }

    /// A tick whose failure is remembered, and is no reason to stop.
    pub async fn look(&self) {
        let trouble = self.tick().await.err().map(|error| error.to_string());
        self.lane.set_trouble(trouble);
    }

    /// One look at the chain, and what follows from it.
    async fn tick(&self) -> Result<(), NoVerdict> {
        let pulse = self.lane.chain.beat().await?;
        self.lane.open(pulse).await?;
        let tracked: Vec<Tracked> = self.lane.tracked.lock().values().cloned().collect();
        if tracked.is_empty() {
            return Ok(());
        }
        let slots: Vec<&Slot<Durable<Attempt>>> = tracked.iter().map(|t| t.slot.as_ref()).collect();
        let sightings = self.lane.chain.look(&slots).await;
        let (mut ends, mut offers) = (Vec::new(), Vec::new());
        for (tracked, sighting) in tracked.iter().zip(sightings) {
            match next_step(&tracked.slot, sighting, since_offer(tracked), self.rules()) {
                Step::Wait => {}
                Step::OfferAgain => offers.push(Arc::clone(&tracked.slot)),
                Step::Settle(verdict) => {
                    let guard = self.lane.guard.as_secs();
                    let guard_chain_s = verdict.winner.block_time.saturating_add(guard);
                    ends.push(Settlement { batch: tracked.slot.batch, verdict, guard_chain_s });
                }
                Step::Alarm => self.alarm(&tracked.slot, pulse),
            }
        }
        self.settle(ends).await?;
        stream::iter(offers)
            .for_each_concurrent(OFFERS_AT_ONCE, |slot| async move { self.lane.offer(&slot).await })
            .await;
        Ok(())
    }

    async fn settle(&self, ends: Vec<Settlement>) -> Result<(), NoVerdict> {
        if ends.is_empty() {
            return Ok(());
        }
        self.lane.journal.settle(ends.clone(), clock::unix_ms()).await?;
        for end in &ends {
            let state = end.verdict.state.word();
            let (hash, block) = (end.verdict.winner.hash, end.verdict.winner.block);
            info!(batch = end.batch.0, tx.hash = %hash, block, "batch {state}");
            self.lane.tracked.lock().remove(&end.batch);
        }
        Ok(())
    }

    /// Calls a person, once.
    fn alarm(&self, slot: &Slot<Durable<Attempt>>, pulse: Pulse) {
        let mut tracked = self.lane.tracked.lock();
        let Some(tracked) = tracked.get_mut(&slot.batch).filter(|t| !t.alarmed) else { return };
        tracked.alarmed = true;
        error!(
            chain = self.lane.chain.facts().name,
            batch = slot.batch.0,
            position = slot.position,
            settled = pulse.settled,
            "a transaction that could not be identified took the place of a batch; its claims stay"
        );
    }

    fn rules(&self) -> Rules {
        let offer_again_ms = u64::try_from(self.lane.offer_again.as_millis()).unwrap_or(u64::MAX);
        Rules { offer_again_ms }
    }
}

/// A batch that this process has not offered yet is due at once.
fn since_offer(tracked: &Tracked) -> u64 {
    tracked
        .offered
        .map_or(u64::MAX, |at| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX))
}
