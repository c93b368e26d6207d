//! Where the transactions of undecided batches stand.
//!
//! A batch is decided by presence: one of its transactions is in an irrevocable block. Or by the
//! rule of the dead: its newest has expired and is in none, and the earlier ones were dead before
//! that was signed. Nothing else is ever concluded from an absence or an error.

use super::TronChain;
use super::api::{ApiError, Side, TxInfo};
use super::death::{Fate, Mortal, Place, Scan};
use super::head::Head;
use super::transaction::SignedBytes;
use crate::billing::{
    Attempt, AttemptKind, BlockRef, Execution, ItemOutcome, Landed, Sighting, Slot, Standing,
};
use alloy::primitives::B256;
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use tracing::{debug, error, warn};

/// How many questions of one look are asked at once.
const AT_ONCE: usize = 8;

/// How many blocks are read at most in one look. The next look reads on.
const BLOCKS_AT_MOST: usize = 240;

/// A transaction that was seen in a block is asked about again when so many more are on top.
const SEEN_FOR: u64 = 5;

/// How many irrevocable blocks on top of a transaction its logs are waited for: a node that lags has
/// them by then, and one that keeps no history never will.
pub(super) const LOGS_WITHIN: u64 = 40;

/// The result of a call that did what it was meant to do.
pub(super) const SUCCESS: &str = "SUCCESS";

/// What is remembered of each transaction from one look to the next.
#[derive(Debug, Default)]
pub(super) struct Tracks(Mutex<HashMap<B256, Track>>);

#[derive(Debug, Default)]
struct Track {
    seen: Option<Seen>,
    scan: Option<Scan>,
}

/// A transaction in a block that can still be undone.
#[derive(Clone, Copy, Debug)]
struct Seen {
    block: u64,
    /// The newest block when it was seen.
    head: u64,
}

impl Tracks {
    /// The block that the transaction was seen in, if that was not long ago, or if the block is
    /// irrevocable by now.
    fn seen(&self, id: B256, head: &Head) -> Option<u64> {
        let seen = self.0.lock().get(&id)?.seen?;
        let young = head.newest.number < seen.head.saturating_add(SEEN_FOR);
        (young || seen.block <= head.solid.number).then_some(seen.block)
    }

    fn set_seen(&self, id: B256, seen: Option<Seen>) {
        self.0.lock().entry(id).or_default().seen = seen;
    }

    fn scan(&self, tx: Mortal) -> Scan {
        let scan = self.0.lock().get(&tx.id).and_then(|track| track.scan.clone());
        scan.unwrap_or_else(|| Scan::new(tx))
    }

    fn set_scan(&self, id: B256, scan: Scan) {
        self.0.lock().entry(id).or_default().scan = Some(scan);
    }

    /// Forgets all transactions but these.
    fn keep(&self, ids: &BTreeSet<B256>) {
        self.0.lock().retain(|id, _| ids.contains(id));
    }
}

/// What questions about single transactions tell of a slot.
enum Found {
    Seen(Sighting),
    /// It is too late for the newest attempt, and no attempt is known to have landed.
    Expired(Mortal),
}

impl TronChain {
    /// Looks for every slot, in order.
    pub(super) async fn sightings<A>(&self, slots: &[&Slot<A>]) -> Vec<Sighting>
    where
        A: AsRef<Attempt> + Sync,
    {
        let Ok(head) = self.current().await else {
            return slots.iter().map(|_| Sighting::Nothing).collect();
        };
        let newest = slots.iter().map(|slot| slot.attempts.newest().as_ref().signed.hash);
        self.tracks.keep(&newest.collect());
        let asked: Vec<_> = slots.iter().map(|slot| self.find(slot, &head)).collect();
        let found: Vec<Found> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        let mut budget = BLOCKS_AT_MOST;
        let mut sightings = Vec::with_capacity(slots.len());
        for (slot, found) in slots.iter().zip(found) {
            sightings.push(match found {
                Found::Seen(sighting) => sighting,
                Found::Expired(tx) => self.after_expiry(slot, tx, &head, &mut budget).await,
            });
        }
        sightings
    }

    async fn find<A: AsRef<Attempt>>(&self, slot: &Slot<A>, head: &Head) -> Found {
        let newest = slot.attempts.newest().as_ref();
        let Some(tx) = mortal(newest) else { return Found::Seen(Sighting::Nothing) };
        if head.solid.time_ms < tx.expiration_ms {
            return Found::Seen(self.find_alive(slot, newest, head).await);
        }
        for attempt in slot.attempts.iter().rev() {
            match self.irrevocable(slot, attempt.as_ref(), head).await {
                Some(Sighting::Absent(_)) => {}
                Some(sighting) => return Found::Seen(sighting),
                None => return Found::Seen(Sighting::Nothing),
            }
        }
        Found::Expired(tx)
    }

    /// Looks for a transaction that can still land.
    async fn find_alive<A>(&self, slot: &Slot<A>, attempt: &Attempt, head: &Head) -> Sighting {
        let id = attempt.signed.hash;
        let block = match self.tracks.seen(id, head) {
            Some(block) => block,
            None => match self.parts.api.info(Side::Full, id).await.map_err(untold(id)) {
                Err(()) => return Sighting::Nothing,
                Ok(None) => {
                    self.tracks.set_seen(id, None);
                    return Sighting::Absent(Standing::Fair);
                }
                Ok(Some(info)) => {
                    let seen = Seen { block: info.block, head: head.newest.number };
                    self.tracks.set_seen(id, Some(seen));
                    info.block
                }
            },
        };
        if block > head.solid.number {
            return Sighting::Included;
        }
        match self.irrevocable(slot, attempt, head).await {
            Some(Sighting::Absent(_)) | None => {
                // Another transaction list than this node's has become irrevocable, or it lags.
                self.tracks.set_seen(id, None);
                Sighting::Nothing
            }
            Some(sighting) => sighting,
        }
    }

    /// What the irrevocable chain says of one attempt; absent where it knows nothing of it, which
    /// proves nothing. None where it gave no answer.
    async fn irrevocable<A>(
        &self,
        slot: &Slot<A>,
        attempt: &Attempt,
        head: &Head,
    ) -> Option<Sighting> {
        let id = attempt.signed.hash;
        let info = self.parts.api.info(Side::Solidity, id).await.map_err(untold(id)).ok()?;
        Some(match info {
            None => Sighting::Absent(Standing::Fair),
            // What we know to be irrevocable lags behind the node's answer.
            Some(info) if info.block > head.solid.number => Sighting::Included,
            Some(info) => self.ended(slot, attempt, &info),
        })
    }

    /// Reads the irrevocable blocks that decide about a transaction.
    async fn after_expiry<A: AsRef<Attempt>>(
        &self,
        slot: &Slot<A>,
        tx: Mortal,
        head: &Head,
        budget: &mut usize,
    ) -> Sighting {
        let mut scan = self.tracks.scan(tx);
        let (api, solid) = (&self.parts.api, head.solid.number);
        while let Some(number) = scan.next(solid) {
            let Some(block) = self.solid.get(api, number, solid, budget).await else { break };
            if let Err(misfit) = scan.read(&block) {
                warn!(tx.hash = %tx.id, block = number, %misfit, "this irrevocable block does not fit; beginning anew");
                self.solid.forget();
                scan = Scan::new(tx);
                break;
            }
        }
        let fate = scan.fate();
        self.tracks.set_scan(tx.id, scan);
        match fate {
            None => Sighting::Nothing,
            Some(Fate::Dead(place)) => {
                Sighting::Never(BlockRef { number: place.number, time: seconds(place.time_ms) })
            }
            Some(Fate::Landed(place)) => self.without_info(slot, place, head).await,
        }
    }

    /// The newest attempt is in this irrevocable block, but the solidity side has not told what it
    /// did. The full side may have: it is another server, perhaps. When neither has after a while,
    /// what became of the single items stays unproven.
    async fn without_info<A: AsRef<Attempt>>(
        &self,
        slot: &Slot<A>,
        place: Place,
        head: &Head,
    ) -> Sighting {
        let attempt = slot.attempts.newest().as_ref();
        let id = attempt.signed.hash;
        let info = self.parts.api.info(Side::Full, id).await.map_err(untold(id));
        if let Ok(Some(info)) = info
            && info.block == place.number
        {
            return self.ended(slot, attempt, &info);
        }
        if head.solid.number < place.number.saturating_add(LOGS_WITHIN) {
            return Sighting::Nothing;
        }
        let result = self.parts.api.call_result(Side::Solidity, id).await.map_err(untold(id));
        let Ok(Some(result)) = result else { return Sighting::Nothing };
        warn!(tx.hash = %id, block = place.number, result, "the node keeps no logs: nobody can tell which items were charged");
        let execution = if result != SUCCESS {
            Execution::Reverted
        } else if attempt.kind == AttemptKind::Bill {
            Execution::Succeeded(slot.items.iter().map(|_| ItemOutcome::Unproven).collect())
        } else {
            Execution::Succeeded(Vec::new())
        };
        let block = BlockRef { number: place.number, time: seconds(place.time_ms) };
        Sighting::Final(Landed { hash: id, block }, execution)
    }

    fn ended<A>(&self, slot: &Slot<A>, attempt: &Attempt, info: &TxInfo) -> Sighting {
        let execution = if !info.succeeded {
            Execution::Reverted
        } else if attempt.kind == AttemptKind::Bill {
            let contract = self.parts.facts.contract;
            Execution::Succeeded(self.parts.profile.outcomes(contract, &info.logs, &slot.items))
        } else {
            Execution::Succeeded(Vec::new())
        };
        let block = BlockRef { number: info.block, time: seconds(info.block_time_ms) };
        Sighting::Final(Landed { hash: attempt.signed.hash, block }, execution)
    }
}

/// What the stored bytes of an attempt say of its life.
fn mortal(attempt: &Attempt) -> Option<Mortal> {
    let id = attempt.signed.hash;
    match SignedBytes::read(&attempt.signed.raw) {
        Ok(read) if read.txid == id => Some(Mortal {
            id,
            ref_block: read.unsigned.ref_block,
            expiration_ms: read.unsigned.expiration_ms,
        }),
        Ok(_) | Err(_) => {
            error!(tx.hash = %id, "the journal's bytes are not this transaction's; it is not followed");
            None
        }
    }
}

fn untold(id: B256) -> impl FnOnce(ApiError) {
    move |error| debug!(tx.hash = %id, %error, "no answer")
}

pub(super) fn seconds(ms: u64) -> u64 {
    ms.div_euclid(1000)
}
