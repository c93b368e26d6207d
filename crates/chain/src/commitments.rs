//! The possible cost of transactions that no block holds yet: signed ones, by their place in the lane, and those
//! that are being drafted. Together they never commit more than the account holds.
//!
//! The ledger is the same for both families. They differ in what pays for a transaction, and in how it
//! is known that one is paid: that is [`Funds`].

use super::{Budget, ChainError, Payer, Unanswered};
use alloy::primitives::U256;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

/// The account's funds at one moment, as one node tells them.
pub(super) trait Funds {
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
pub(super) struct Commitments<C> {
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

impl<C> Commitments<C> {
    /// Nothing yet, of an account.
    pub(super) fn of_account(payer: Payer) -> Self {
        let (signed, drafts) = (BTreeMap::new(), BTreeMap::new());
        Self { payer, open: Mutex::new(Ledger { signed, drafts, next_draft: 0 }) }
    }
}

impl<C: Copy> Commitments<C> {
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
    pub(super) fn budget<H>(&self, ordinary: C, holdings: &[H], needed: usize) -> Option<Budget>
    where
        H: Funds<Cost = C>,
    {
        self.open.lock().budget(self.payer, ordinary, None, holdings, needed)
    }

    /// Sets money aside for a transaction that is drafted, if the account can pay for it beside all that is open and
    /// drafted. If the transaction is another attempt for the place `instead`, whose earlier attempts cost nothing any
    /// more, the cost noted for that place does not count.
    pub(super) fn reserve<H>(
        self: &Arc<Self>,
        cost: C,
        instead: Option<u64>,
        holdings: &[H],
        needed: usize,
    ) -> Result<Reservation<C>, ChainError>
    where
        H: Funds<Cost = C>,
    {
        let mut open = self.open.lock();
        let budget = open.budget(self.payer, cost, instead, holdings, needed);
        let budget = budget.ok_or(Unanswered::NoBalance)?;
        if budget.pays().is_err() {
            let Budget { holds, in_flight, ordinary, payer } = budget;
            let need = in_flight.saturating_add(ordinary);
            return Err(ChainError::GasFunds { have: holds, need, payer });
        }
        let draft = open.next_draft;
        open.next_draft = draft.wrapping_add(1);
        open.drafts.insert(draft, cost);
        Ok(Reservation { commitments: Arc::clone(self), draft })
    }
}

impl<C: Copy> Ledger<C> {
    fn budget<H>(
        &self,
        payer: Payer,
        cost: C,
        instead: Option<u64>,
        holdings: &[H],
        needed: usize,
    ) -> Option<Budget>
    where
        H: Funds<Cost = C>,
    {
        let mut signed = Cow::Borrowed(&self.signed);
        if let Some(position) = instead {
            signed.to_mut().remove(&position);
        }
        let mut drafts: Vec<C> = self.drafts.values().copied().collect();
        let before: Vec<U256> = holdings.iter().map(|one| one.owes(&signed, &drafts)).collect();
        drafts.push(cost);
        let mut budgets: Vec<Budget> = holdings
            .iter()
            .zip(before)
            .map(|(one, in_flight)| Budget {
                holds: one.holds(),
                in_flight,
                ordinary: one.owes(&signed, &drafts).saturating_sub(in_flight),
                payer,
            })
            .collect();
        budgets.sort_by_key(|budget| {
            let owes = budget.in_flight.saturating_add(budget.ordinary);
            Reverse((budget.holds.saturating_sub(owes), Reverse(owes.saturating_sub(budget.holds))))
        });
        budgets.get(needed.saturating_sub(1)).or(budgets.last()).copied()
    }
}

/// Money that is set aside for a draft, until the draft is dropped or has become a signed transaction.
#[derive(Debug)]
pub(super) struct Reservation<C> {
    commitments: Arc<Commitments<C>>,
    draft: u64,
}

impl<C: Copy> Reservation<C> {
    /// The draft is signed: from now on its place in the lane is what it may cost.
    pub(super) fn signed(&self, position: u64, cost: impl FnOnce(Option<C>) -> C) {
        let mut open = self.commitments.open.lock();
        let cost = cost(open.signed.get(&position).copied());
        open.signed.insert(position, cost);
        open.drafts.remove(&self.draft);
    }
}

impl<C> Drop for Reservation<C> {
    fn drop(&mut self) {
        self.commitments.open.lock().drafts.remove(&self.draft);
    }
}
