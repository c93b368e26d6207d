//! The look for the transactions of undecided batches: every fit node is asked for its testimony, the fate of each
//! place is concluded, and told as a sighting.
//!
//! While a place is free, or its block is not final, nothing is asked that the look at the head has
//! not answered.

use super::access::Access;
use super::fates::{Fates, WatchedNonce};
use super::fees::Market;
use super::head::EvmHead;
use super::head_watch::HeadWatch;
use super::outcomes::OutcomeReader;
use super::spending::Spending;
use alloy::primitives::U256;
use billing::{Attempt, FeeStanding, Sighting, Slot};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Follows the account's undecided batches.
#[derive(Debug)]
pub(super) struct Tracker {
    pub(super) access: Access,
    pub(super) head: Arc<HeadWatch>,
    pub(super) fates: Arc<Fates>,
    pub(super) spending: Arc<Spending>,
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
        self.spending.forget_below(head.nonces.finalized);
        self.fates.keep(&slots.iter().map(|slot| slot.position).collect());
        let unpaid = self.unpaid(slots, &head);
        let places: Vec<WatchedNonce> = slots.iter().map(|slot| WatchedNonce::of(slot)).collect();
        let fates = self.fates.find(&head, &places).await;
        let each = slots.iter().zip(fates);
        each.map(|(slot, fate)| {
            let starved = unpaid.is_some_and(|from| slot.position >= from);
            let standing =
                if starved { FeeStanding::Starved } else { self.price(slot, &head.market) };
            let reader =
                OutcomeReader { profiles: &self.access.account.profiles, slot: Some(*slot) };
            reader.sighting(fate, slot.position, standing)
        })
        .collect()
    }

    /// The first place of the line from which on the account cannot pay for what waits.
    fn unpaid<A: AsRef<Attempt>>(&self, slots: &[&Slot<A>], head: &EvmHead) -> Option<u64> {
        // Every place is read, so that what all of them may cost is known when the next is drafted.
        let costs =
            slots.iter().filter_map(|slot| Some((slot.position, self.spending.place(slot)?)));
        let costs: BTreeMap<u64, U256> = costs.map(|(at, place)| (at, place.cost)).collect();
        let mut left = head.balance(self.access.needed());
        costs.range(head.nonces.mined..).find_map(|(position, cost)| {
            match left.checked_sub(*cost) {
                Some(rest) => {
                    left = rest;
                    None
                }
                None => Some(*position),
            }
        })
    }

    fn price<A: AsRef<Attempt>>(&self, slot: &Slot<A>, market: &Market) -> FeeStanding {
        match self.spending.place(slot) {
            Some(standing) if market.is_above(standing.bid) => FeeStanding::Underpriced,
            Some(_) | None => FeeStanding::Fair,
        }
    }
}
