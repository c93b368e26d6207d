//! The lanes of a chain that take new work: which of them a request falls to, and how they stand together.

use super::lane::Lane;
use super::not_ready::NotReady;
use alloy::primitives::U256;
use billing::{Entry, Order, account_of};
use chain::Headroom;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The lanes of a chain that may take new work: one for each account that signs, never none.
#[derive(Clone, Debug)]
pub struct SigningLanes {
    first: Arc<Lane>,
    more: Vec<Arc<Lane>>,
}

impl From<Arc<Lane>> for SigningLanes {
    fn from(lane: Arc<Lane>) -> Self {
        Self::new(lane, Vec::new())
    }
}

impl SigningLanes {
    /// The lanes of `first` and of `more`, in the order of the configuration.
    pub fn new(first: Arc<Lane>, more: Vec<Arc<Lane>>) -> Self {
        Self { first, more }
    }

    /// One of them, for what is the same of all: the chain, its contract, its limits.
    pub fn any(&self) -> &Arc<Lane> {
        &self.first
    }

    /// All of them, in the order of the configuration.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Lane>> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// The one that an order falls to.
    pub(super) fn of(&self, order: &Order) -> &Arc<Lane> {
        let accounts = self.all().map(|lane| lane.id().signer);
        let account = account_of(accounts, order.entries.iter().map(Entry::subscription));
        let of_account = |lane: &&Arc<Lane>| Some(lane.id().signer) == account;
        self.all().find(of_account).unwrap_or(&self.first)
    }

    /// Why any of them does not do what it is there for.
    pub fn not_ready(&self) -> Vec<(NotReady, String)> {
        let of = |lane: &Arc<Lane>| {
            let (obstacle, why) = lane.not_ready()?;
            Some((obstacle, self.said_of(lane, why)))
        };
        self.all().filter_map(of).collect()
    }

    /// Returns warnings: things to do soon, although all is well now.
    pub fn warnings(&self) -> Vec<String> {
        let of_each = self.all().flat_map(|lane| {
            let warnings = lane.runway.warnings().into_iter();
            warnings.map(move |warning| self.said_of(lane, warning))
        });
        of_each.collect()
    }

    /// Returns the number of further ordinary batches that the chain takes before the first account cannot pay for
    /// one: batches fall to all accounts alike, so the number is what the poorest can pay for, times the number of
    /// accounts. None if it is unknown for one of them.
    pub fn billings_left(&self) -> Option<u64> {
        let left: Option<Vec<u64>> = self.all().map(|lane| lane.runway.billings_left()).collect();
        let left = left?;
        let accounts = u64::try_from(left.len()).unwrap_or(u64::MAX);
        Some(left.into_iter().min()?.saturating_mul(accounts))
    }

    /// Returns the headroom below every limit: for each limit, the account with the least left.
    pub fn headrooms(&self) -> Vec<Headroom> {
        let left = |room: &Headroom| -> U256 { room.most.saturating_sub(room.taken) };
        let mut least = BTreeMap::<String, Headroom>::new();
        for room in self.all().flat_map(|lane| lane.runway.headrooms()) {
            match least.get(&room.limit) {
                Some(known) if left(known) <= left(&room) => {}
                Some(_) | None => drop(least.insert(room.limit.clone(), room)),
            }
        }
        least.into_values().collect()
    }

    /// Says of which account something is told, where there are several.
    fn said_of(&self, lane: &Lane, said: String) -> String {
        if self.more.is_empty() { said } else { format!("account {}: {said}", lane.account()) }
    }
}
