//! The look for the transactions of undecided batches: every node that counts is asked for its testimony, the fate of
//! each batch is found, and told as a sighting.

use super::access::Access;
use super::case::{Case, case};
use super::fates::Fates;
use super::head::{TronHead, seconds};
use super::head_watch::HeadWatch;
use super::solid_due::SolidDue;
use super::spending::Spending;
use super::testimony::Testimonies;
use super::throttle::Throttle;
use billing::{
    Attempt, AttemptKind, BlockRef, CallEnding, Execution, FeeStanding, ItemOutcome, Landed,
    Sighting, Slot, Unsettled,
};
use futures_util::{StreamExt, stream};
use std::sync::Arc;
use tracing::warn;
use tron_node::CallResult;
use tron_primitives::result::{ContractResult, Ending};
use tron_testimony::conclude::{BatchFate, Landing};

/// Number of batches that are asked about at once.
const AT_ONCE: usize = 8;

/// Highest number of blocks read in one look. The next look reads on.
const BLOCKS_AT_MOST: usize = 240;

/// Follows the account's undecided batches.
#[derive(Debug)]
pub(super) struct Tracker {
    pub(super) access: Access,
    pub(super) head: Arc<HeadWatch>,
    pub(super) fates: Fates,
    pub(super) spending: Arc<Spending>,
    pub(super) throttle: Arc<Throttle>,
}

impl Tracker {
    /// Looks for every slot, in order.
    pub(super) async fn sightings<A>(&self, slots: &[&Slot<A>]) -> Vec<Sighting>
    where
        A: AsRef<Attempt> + Sync,
    {
        let Ok(head) = self.head.current().await else {
            return slots.iter().map(|_| Sighting::Nothing).collect();
        };
        if !slots.is_empty() {
            self.fates.finality.load_witnesses(head.heights()).await;
        }
        self.keep(slots);
        let cases: Vec<Option<Case>> = slots.iter().map(|slot| case(slot, &head)).collect();
        let asked: Vec<_> =
            cases.iter().map(|case| self.fates.testimonies.collect(case.as_ref(), &head)).collect();
        let told: Vec<Testimonies> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        self.set_solid_due(&cases, &told);
        let mut budget = BLOCKS_AT_MOST;
        let mut sightings = Vec::with_capacity(slots.len());
        for ((slot, case), told) in slots.iter().zip(&cases).zip(told) {
            sightings.push(match case {
                Some(case) => {
                    let fate = self.fates.fate(case, told, &head, &mut budget).await;
                    self.note_spend(slot, case, &fate, &head);
                    let sighting = self.sighting(slot, fate, case.late);
                    self.note_end(slot, &sighting);
                    sighting
                }
                None => Sighting::Nothing,
            });
        }
        sightings
    }

    /// Forgets all that is known of other slots than these.
    fn keep<A: AsRef<Attempt>>(&self, slots: &[&Slot<A>]) {
        let newest = slots.iter().map(|slot| slot.attempts.newest().as_ref().signed.hash);
        self.fates.tracks.keep(&newest.collect());
        self.spending.keep(slots);
        self.fates.disputes.keep(slots.iter().map(|slot| slot.position));
    }

    /// Sets the moment from which the irrevocable block may tell something of these batches: the block that holds a
    /// transaction is confirmed when there are as many more as that takes.
    fn set_solid_due(&self, cases: &[Option<Case>], told: &[Testimonies]) {
        let on_top = self.fates.finality.needed_on_top();
        let each = cases.iter().zip(told).filter_map(|(case, told)| Some((case.as_ref()?, told)));
        let due = each.fold(SolidDue::NEVER, |due, (case, told)| {
            let lowest = told.iter().filter_map(|(_, testimony)| testimony.shown.block()).min();
            let number = lowest.map_or(u64::MAX, |block| block.saturating_add(on_top));
            due.or(number, case.tx.expiration_ms)
        });
        self.head.set_solid_due(due);
    }

    fn note_spend<A: AsRef<Attempt>>(
        &self,
        slot: &Slot<A>,
        case: &Case,
        fate: &BatchFate,
        head: &TronHead,
    ) {
        let included = matches!(fate, BatchFate::Included | BatchFate::Landed(_));
        let block = self.fates.tracks.seen(case.tx.id, head).filter(|_| included);
        self.spending.note(slot, block);
    }

    /// Takes down how a batch ended, if it did.
    fn note_end<A: AsRef<Attempt>>(&self, slot: &Slot<A>, sighting: &Sighting) {
        if let Sighting::Final(landed, execution) = sighting {
            self.throttle.note_end(slot, landed, execution, self.ending_in_block(landed));
        }
    }

    /// Returns the ending of a transaction that ran out of time, in the word of its block.
    fn ending_in_block(&self, landed: &Landed) -> Option<CallEnding> {
        let block = self.fates.solid.kept(landed.block.number)?;
        match block.ending(landed.hash)? {
            Ending::Failed(ContractResult::OutOfTime) => Some(CallEnding::OutOfTime),
            Ending::Failed(_) | Ending::Succeeded | Ending::Untold => None,
        }
    }

    /// Returns the sighting that a fate means for a slot; `late` is true if the newest block is past the slot's
    /// time.
    fn sighting<A: AsRef<Attempt>>(&self, slot: &Slot<A>, fate: BatchFate, late: bool) -> Sighting {
        match fate {
            BatchFate::Absent if late => Sighting::Absent(FeeStanding::Late),
            BatchFate::Absent => Sighting::Absent(FeeStanding::Fair),
            BatchFate::Included => Sighting::Included,
            BatchFate::Landed(landing) => self.ended(slot, landing),
            BatchFate::Dead(place) => Sighting::Never(block(place.number, place.time_ms)),
            BatchFate::Unclear if late => Sighting::Unsettled(Unsettled::Late),
            BatchFate::Unclear => Sighting::Nothing,
        }
    }

    fn ended<A: AsRef<Attempt>>(&self, slot: &Slot<A>, landing: Landing) -> Sighting {
        let Landing { id, block: number, block_time_ms, result, logs, record } = landing;
        let landed = Landed { hash: id, block: block(number, block_time_ms), record };
        let mut attempts = slot.attempts.iter().map(AsRef::as_ref);
        let bills =
            attempts.any(|one: &Attempt| one.signed.hash == id && one.kind == AttemptKind::Bill);
        let execution = match (result, logs) {
            (CallResult::Failed, _) => Execution::Reverted,
            (CallResult::Succeeded, _) if !bills => Execution::Succeeded(Vec::new()),
            (CallResult::Succeeded, Some(logs)) => {
                Execution::Succeeded(self.access.account.profiles.outcomes(slot, &logs))
            }
            (CallResult::Succeeded, None) => {
                warn!(tx.hash = %id, block = number, "too few nodes keep logs: nobody can tell which items were charged");
                Execution::Succeeded(slot.items.iter().map(|_| ItemOutcome::Unproven).collect())
            }
        };
        Sighting::Final(landed, execution)
    }
}

fn block(number: u64, time_ms: u64) -> BlockRef {
    BlockRef { number, time: seconds(time_ms), hash: None }
}
