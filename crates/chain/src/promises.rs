//! The possible cost of transactions that no block holds yet: signed ones, by their place in the lane, and those
//! that are being drafted. Together they never promise more than the account holds.
//!
//! The ledger is the same for both families. They differ in what pays for a transaction, and in how it
//! is known that one is paid: that is [`Means`].

use super::{ChainError, Payer, Purse, Unanswered};
use alloy::primitives::U256;
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

/// The account's means at one moment, as one node tells them.
pub(super) trait Means {
    /// The possible cost of one transaction.
    type Cost: Copy + fmt::Debug;

    /// Returns the account's holdings.
    fn holds(&self) -> U256;

    /// Returns the amount still to be paid out of the holdings, if all transactions land that this state has not
    /// seen: signed transactions by their place in the lane, and drafts.
    fn owes(&self, signed: &BTreeMap<u64, Self::Cost>, drafts: &[Self::Cost]) -> U256;
}

/// The ledger of all that is open.
#[derive(Debug)]
pub(super) struct Promises<C> {
    payer: Payer,
    open: Mutex<Ledger<C>>,
}

#[derive(Debug)]
struct Ledger<C> {
    signed: BTreeMap<u64, C>,
    drafts: BTreeMap<u64, C>,
    /// The number of the next draft.
    next_draft: u64,
}

impl<C> Promises<C> {
    /// Nothing yet, of an account.
    pub(super) fn of_account(payer: Payer) -> Self {
        let (signed, drafts) = (BTreeMap::new(), BTreeMap::new());
        Self { payer, open: Mutex::new(Ledger { signed, drafts, next_draft: 0 }) }
    }
}

impl<C: Copy> Promises<C> {
    /// Returns the cost noted for a place.
    pub(super) fn at(&self, position: u64) -> Option<C> {
        self.open.lock().signed.get(&position).copied()
    }

    /// Takes down what a place may cost, from what was known of it before.
    pub(super) fn note(&self, position: u64, cost: impl FnOnce(Option<C>) -> C) -> C {
        let mut open = self.open.lock();
        let cost = cost(open.signed.get(&position).copied());
        open.signed.insert(position, cost);
        cost
    }

    /// Returns the costs noted for these places.
    pub(super) fn between(&self, places: impl RangeBounds<u64>) -> Vec<C> {
        self.open.lock().signed.range(places).map(|(_, cost)| *cost).collect()
    }

    /// Forgets all places but these.
    pub(super) fn keep(&self, mut keep: impl FnMut(u64, &C) -> bool) {
        self.open.lock().signed.retain(|position, cost| keep(*position, cost));
    }

    /// Returns the amount that the account can pay beside all that is open and drafted, and the cost of `ordinary`
    /// to it: as `needed` of the holdings bear out, or else by the poorest holding. None without holdings.
    pub(super) fn purse<H>(&self, ordinary: C, holdings: &[H], needed: usize) -> Option<Purse>
    where
        H: Means<Cost = C>,
    {
        self.open.lock().purse(self.payer, (ordinary, None), holdings, needed)
    }

    /// Sets money aside for a transaction that is drafted, if the account can pay for it beside all
    /// that is open and drafted; but for what the place may cost so far that it is drafted for, if it
    /// is another attempt whose earlier ones cost nothing any more.
    pub(super) fn reserve<H>(
        self: &Arc<Self>,
        (cost, instead): (C, Option<u64>),
        holdings: &[H],
        needed: usize,
    ) -> Result<SetAside<C>, ChainError>
    where
        H: Means<Cost = C>,
    {
        let mut open = self.open.lock();
        let purse = open.purse(self.payer, (cost, instead), holdings, needed);
        let purse = purse.ok_or(Unanswered::NoBalance)?;
        if purse.pays().is_err() {
            let Purse { holds, in_flight, ordinary, payer } = purse;
            let need = in_flight.saturating_add(ordinary);
            return Err(ChainError::GasFunds { have: holds, need, payer });
        }
        let draft = open.next_draft;
        open.next_draft = draft.wrapping_add(1);
        open.drafts.insert(draft, cost);
        Ok(SetAside { promises: Arc::clone(self), draft })
    }
}

impl<C: Copy> Ledger<C> {
    fn purse<H>(
        &self,
        payer: Payer,
        (cost, instead): (C, Option<u64>),
        holdings: &[H],
        needed: usize,
    ) -> Option<Purse>
    where
        H: Means<Cost = C>,
    {
        let mut signed = self.signed.clone();
        signed.retain(|position, _| Some(*position) != instead);
        let mut drafts: Vec<C> = self.drafts.values().copied().collect();
        let before: Vec<U256> = holdings.iter().map(|one| one.owes(&signed, &drafts)).collect();
        drafts.push(cost);
        let mut purses: Vec<Purse> = holdings
            .iter()
            .zip(before)
            .map(|(one, in_flight)| Purse {
                holds: one.holds(),
                in_flight,
                ordinary: one.owes(&signed, &drafts).saturating_sub(in_flight),
                payer,
            })
            .collect();
        purses.sort_by_key(|purse| {
            let owes = purse.in_flight.saturating_add(purse.ordinary);
            Reverse((purse.holds.saturating_sub(owes), Reverse(owes.saturating_sub(purse.holds))))
        });
        purses.get(needed.saturating_sub(1)).or(purses.last()).copied()
    }
}

/// Money that is set aside for a draft, until the draft is dropped or has become a signed transaction.
#[derive(Debug)]
pub(super) struct SetAside<C> {
    promises: Arc<Promises<C>>,
    draft: u64,
}

impl<C: Copy> SetAside<C> {
    /// The draft is signed: from now on its place in the lane is what it may cost.
    pub(super) fn signed(&self, position: u64, cost: impl FnOnce(Option<C>) -> C) {
        let mut open = self.promises.open.lock();
        let cost = cost(open.signed.get(&position).copied());
        open.signed.insert(position, cost);
        open.drafts.remove(&self.draft);
    }
}

impl<C> Drop for SetAside<C> {
    fn drop(&mut self) {
        self.promises.open.lock().drafts.remove(&self.draft);
    }
}
