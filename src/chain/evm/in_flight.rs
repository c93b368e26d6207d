//! What transactions that no block holds yet may still cost: those that are signed, by their place in
//! the line, and those that are being drafted. Together they never promise more than the account holds.

use super::fees::{Bid, affordable};
use super::wire::Wire;
use crate::billing::{Attempt, Slot};
use crate::chain::ChainError;
use alloy::primitives::{B256, U256};
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a node says that the account holds, and how far its line is used up in the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holding {
    /// How many transactions of the account the state has seen: places below this are paid.
    pub(super) nonce: u64,
    /// What the account holds in it, wei.
    pub(super) balance: U256,
}

/// The account's money, all wei.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Solvency {
    /// What it holds.
    pub(super) holds: U256,
    /// What open and drafted transactions may still take of that.
    pub(super) in_flight: U256,
}

/// What is remembered of a place in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaceCost {
    /// The hash of its newest attempt.
    newest: B256,
    /// What that one bids.
    pub(super) bid: Bid,
    /// What that one may cost, wei.
    pub(super) cost: U256,
    /// What its dearest attempt may cost, wei: any of them may land.
    dearest: U256,
}

/// What is open. Bytes are read once, since open places are looked at every few seconds.
#[derive(Debug, Default)]
pub(super) struct InFlight(Mutex<OpenCosts>);

#[derive(Debug, Default)]
struct OpenCosts {
    places: BTreeMap<u64, PlaceCost>,
    /// What transactions may cost that are drafted and have no place yet, wei.
    drafts: BTreeMap<u64, U256>,
    /// The number of the next draft.
    next_draft: u64,
}

impl OpenCosts {
    /// What the places from `nonce` on, and before `end`, may still cost, wei.
    fn outstanding(&self, nonce: u64, end: u64) -> U256 {
        let open = self.places.range(nonce..).take_while(|(position, _)| **position < end);
        open.fold(U256::ZERO, |sum, (_, place)| sum.saturating_add(place.dearest))
    }

    fn account(&self, holdings: &[Holding], needed: usize) -> Option<Solvency> {
        let drafted = self.drafted();
        let account = |holding: &Holding| {
            let in_flight = self.outstanding(holding.nonce, u64::MAX).saturating_add(drafted);
            Solvency { holds: holding.balance, in_flight }
        };
        let mut accounts: Vec<Solvency> = holdings.iter().map(account).collect();
        accounts.sort_by_key(|account| Reverse(account.holds.saturating_sub(account.in_flight)));
        accounts.get(needed.saturating_sub(1)).or(accounts.last()).copied()
    }

    fn drafted(&self) -> U256 {
        self.drafts.values().fold(U256::ZERO, |sum, cost| sum.saturating_add(*cost))
    }

    fn note(&mut self, position: u64, newest: B256, wires: &[Wire]) -> Option<PlaceCost> {
        let last = wires.last()?;
        let known = self.places.get(&position).map_or(U256::ZERO, |known| known.dearest);
        let dearest = wires.iter().map(Wire::cost).fold(known, Ord::max);
        let place = PlaceCost { newest, bid: last.bid, cost: last.cost(), dearest };
        self.places.insert(position, place);
        Some(place)
    }
}

impl InFlight {
    /// Takes down a transaction that is offered.
    pub(super) fn offered(&self, hash: B256, raw: &[u8]) {
        if let Some(wire) = Wire::read(raw) {
            self.0.lock().note(wire.nonce, hash, &[wire]);
        }
    }

    /// What is known of a slot's place. None where its newest bytes cannot be read.
    pub(super) fn of<A: AsRef<Attempt>>(&self, slot: &Slot<A>) -> Option<PlaceCost> {
        let newest = slot.attempts.newest().as_ref().signed.hash;
        let known = self.0.lock().places.get(&slot.position).copied();
        if let Some(known) = known.filter(|known| known.newest == newest) {
            return Some(known);
        }
        let wires: Option<Vec<Wire>> =
            slot.attempts.iter().map(|attempt| Wire::read(&attempt.as_ref().signed.raw)).collect();
        self.0.lock().note(slot.position, newest, &wires?)
    }

    /// What the places from `nonce` on, and before `end`, may still cost, wei.
    pub(super) fn outstanding(&self, nonce: u64, end: u64) -> U256 {
        self.0.lock().outstanding(nonce, end)
    }

    /// What the account holds, and what all that is open and drafted may still take of it, by what
    /// `needed` of the holdings bear out, or else by the poorest. None without holdings.
    pub(super) fn account(&self, holdings: &[Holding], needed: usize) -> Option<Solvency> {
        self.0.lock().account(holdings, needed)
    }

    /// Sets money aside for a transaction that is drafted, if the account can pay for it beside all
    /// that is open and drafted.
    pub(super) fn reserve(
        self: &Arc<Self>,
        cost: U256,
        holdings: &[Holding],
        needed: usize,
    ) -> Result<Reserved, ChainError> {
        let mut open = self.0.lock();
        let Solvency { holds, in_flight } = open
            .account(holdings, needed)
            .ok_or_else(|| ChainError::Unavailable("no node tells the balance".to_owned()))?;
        affordable(cost, in_flight, holds)?;
        let draft = open.next_draft;
        open.next_draft = draft.wrapping_add(1);
        open.drafts.insert(draft, cost);
        Ok(Reserved { in_flight: Arc::clone(self), draft })
    }

    /// Forgets the places that are taken for good.
    pub(super) fn forget_below(&self, finalized: u64) {
        let mut open = self.0.lock();
        open.places = open.places.split_off(&finalized);
    }
}

/// Money that is set aside for a draft, until the draft is dropped or has become a signed transaction.
#[derive(Debug)]
pub(super) struct Reserved {
    in_flight: Arc<InFlight>,
    draft: u64,
}

impl Reserved {
    /// The draft is signed: from now on its place in the line is what it may cost.
    pub(super) fn signed(&self, hash: B256, raw: &[u8]) {
        let mut open = self.in_flight.0.lock();
        if let Some(wire) = Wire::read(raw) {
            open.note(wire.nonce, hash, &[wire]);
            open.drafts.remove(&self.draft);
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.in_flight.0.lock().drafts.remove(&self.draft);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::consensus::{SignableTransaction as _, TxEnvelope, TxLegacy};
    use alloy::eips::Encodable2718 as _;
    use alloy::primitives::{Address, Signature, TxKind};

    fn raw(nonce: u64, gas_limit: u64, gas_price: u128) -> Vec<u8> {
        let to = TxKind::Call(Address::ZERO);
        let tx =
            TxLegacy { chain_id: Some(1), nonce, gas_limit, gas_price, to, ..TxLegacy::default() };
        TxEnvelope::from(tx.into_signed(Signature::test_signature())).encoded_2718()
    }

    fn holding(nonce: u64, balance: u64) -> Holding {
        Holding { nonce, balance: U256::from(balance) }
    }

    #[test]
    fn what_waits_for_a_block_is_what_the_dearest_attempt_of_each_place_may_cost() {
        let in_flight = InFlight::default();
        let hash = B256::repeat_byte;
        in_flight.offered(hash(1), &raw(7, 100, 10));
        in_flight.offered(hash(2), &raw(8, 100, 20));
        in_flight.offered(hash(3), &raw(7, 21, 30));
        in_flight.offered(hash(4), b"no transaction");
        let outstanding = |nonce, end| in_flight.outstanding(nonce, end);
        assert_eq!(outstanding(0, u64::MAX), U256::from(3000), "1000, 2000: no cancel of 630");
        assert_eq!(outstanding(8, u64::MAX), U256::from(2000), "a block has the first");
        assert_eq!(outstanding(7, 8), U256::from(1000));
        in_flight.forget_below(8);
        assert_eq!(outstanding(0, u64::MAX), U256::from(2000));
    }

    #[test]
    fn drafts_that_are_made_at_the_same_time_share_the_money() {
        let in_flight = Arc::new(InFlight::default());
        let holdings = [holding(7, 2500)];
        let draft = || in_flight.reserve(U256::from(1000), &holdings, 1);
        let (first, second) = (draft().unwrap(), draft().unwrap());
        assert!(matches!(draft(), Err(ChainError::GasFunds { .. })), "2000 of 2500 are set aside");
        drop(second);
        let second = draft().expect("what is dropped costs nothing");
        first.signed(B256::repeat_byte(1), &raw(7, 100, 10));
        drop(first);
        assert!(draft().is_err(), "what is signed is not paid yet");
        second.signed(B256::repeat_byte(2), &raw(8, 100, 10));
        drop(second);
        assert!(draft().is_err());
        let paid = [holding(8, 2500)];
        assert!(in_flight.reserve(U256::from(1000), &paid, 1).is_ok(), "a block has the first");
    }

    #[test]
    fn of_what_nodes_say_the_account_holds_two_have_to_be_enough_or_else_the_least() {
        let in_flight = Arc::new(InFlight::default());
        in_flight.offered(B256::repeat_byte(1), &raw(7, 100, 10));
        let cost = U256::from(500);
        // The second node has seen the block that holds the first transaction, and what it cost.
        let both = [holding(7, 1500), holding(8, 600)];
        assert!(in_flight.reserve(cost, &both, 2).is_ok());
        let poorer = [holding(7, 1500), holding(8, 400)];
        assert!(in_flight.reserve(cost, &poorer, 2).is_err());
        assert!(in_flight.reserve(cost, &poorer[1..], 2).is_err(), "one of two is down");
        let liar = [holding(7, 1500), holding(8, 600), holding(8, 0)];
        assert!(in_flight.reserve(cost, &liar, 2).is_ok());
    }
}
