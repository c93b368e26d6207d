//! The money that pays for a transaction on EVM, and the cost that its place in the line may reach.

use super::fees::Bid;
use super::wire::Wire;
use crate::commitments::{Commitments, Funds, Reservation};
use alloy::primitives::{B256, U256};
use billing::{Attempt, Slot};
use std::collections::BTreeMap;

/// The transactions that wait for a block, by their places in the line.
pub(super) type InFlight = Commitments<PlaceCost>;

/// Money that is set aside for a draft.
pub(super) type Reserved = Reservation<PlaceCost>;

/// The balance of the account as a node tells it, and how far the account's line is used up in the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holding {
    /// The number of the account's transactions that the state has seen: places below this are paid.
    pub(super) nonce: u64,
    /// The balance of the account in that state, wei.
    pub(super) balance: U256,
}

impl Funds for Holding {
    type Cost = PlaceCost;

    fn holds(&self) -> U256 {
        self.balance
    }

    fn owes(&self, signed: &BTreeMap<u64, PlaceCost>, drafts: &[PlaceCost]) -> U256 {
        sum(signed.range(self.nonce..).map(|(_, place)| place).chain(drafts).copied())
    }
}

/// The facts remembered of a place in the line, or of a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaceCost {
    /// The hash of its newest attempt; zero for a draft.
    newest: B256,
    /// The bid of the newest attempt.
    pub(super) bid: Bid,
    /// The cost that the newest attempt may reach, wei.
    pub(super) cost: U256,
    /// The cost that the dearest attempt may reach, wei: any attempt may land.
    dearest: U256,
}

impl PlaceCost {
    /// Returns the cost that a draft may reach, wei.
    pub(super) fn of_draft(bid: Bid, cost: U256) -> Self {
        Self { newest: B256::ZERO, bid, cost, dearest: cost }
    }

    fn of(newest: B256, wire: &Wire) -> Self {
        Self { newest, ..Self::of_draft(wire.bid, wire.cost()) }
    }

    /// The same, beside the attempts that were made before.
    fn after(self, before: Option<Self>) -> Self {
        let known = before.map_or(U256::ZERO, |before| before.dearest);
        Self { dearest: self.dearest.max(known), ..self }
    }
}

impl InFlight {
    /// Takes down a transaction that is offered.
    pub(super) fn offered(&self, hash: B256, raw: &[u8]) {
        if let Some(wire) = Wire::read(raw) {
            self.note(wire.nonce, |before| PlaceCost::of(hash, &wire).after(before));
        }
    }

    /// Returns what is known of a slot's place. The bytes are read once, since open places are looked at every few
    /// seconds. None where the newest bytes cannot be read.
    pub(super) fn of<A: AsRef<Attempt>>(&self, slot: &Slot<A>) -> Option<PlaceCost> {
        let newest = slot.attempts.newest().as_ref().signed.hash;
        if let Some(known) = self.at(slot.position).filter(|known| known.newest == newest) {
            return Some(known);
        }
        let read = |attempt: &A| {
            let signed = &attempt.as_ref().signed;
            Some(PlaceCost::of(signed.hash, &Wire::read(&signed.raw)?))
        };
        let attempts: Vec<PlaceCost> = slot.attempts.iter().map(read).collect::<Option<_>>()?;
        let each =
            attempts.into_iter().map(|one| self.note(slot.position, |before| one.after(before)));
        each.last()
    }

    /// Returns what the places from `nonce` on, and before `end`, may still cost, wei.
    pub(super) fn outstanding(&self, nonce: u64, end: u64) -> U256 {
        sum(self.between(nonce.min(end)..end))
    }

    /// Forgets the places that are taken for good.
    pub(super) fn forget_below(&self, finalized: u64) {
        self.keep(|position, _| position >= finalized);
    }
}

/// Takes down that a draft is signed.
pub(super) fn signed(reserved: &Reserved, hash: B256, raw: &[u8]) {
    if let Some(wire) = Wire::read(raw) {
        reserved.signed(wire.nonce, |before| PlaceCost::of(hash, &wire).after(before));
    }
}

fn sum(places: impl IntoIterator<Item = PlaceCost>) -> U256 {
    places.into_iter().fold(U256::ZERO, |sum, place| sum.saturating_add(place.dearest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ChainError;
    use crate::Payer;
    use alloy::consensus::{SignableTransaction as _, TxEnvelope, TxLegacy};
    use alloy::eips::Encodable2718 as _;
    use alloy::primitives::{Address, Signature, TxKind};
    use billing::Family;
    use std::sync::Arc;

    fn raw(nonce: u64, gas_limit: u64, gas_price: u128) -> Vec<u8> {
        let to = TxKind::Call(Address::ZERO);
        let tx =
            TxLegacy { chain_id: Some(1), nonce, gas_limit, gas_price, to, ..TxLegacy::default() };
        TxEnvelope::from(tx.into_signed(Signature::test_signature())).encoded_2718()
    }

    fn holding(nonce: u64, balance: u64) -> Holding {
        Holding { nonce, balance: U256::from(balance) }
    }

    fn draft(cost: u64) -> PlaceCost {
        PlaceCost::of_draft(Bid::Legacy { price: 1 }, U256::from(cost))
    }

    #[test]
    fn what_waits_for_a_block_is_what_the_dearest_attempt_of_each_place_may_cost() {
        let in_flight = InFlight::of_account(Payer::nobody(Family::Evm));
        let hash = B256::repeat_byte;
        in_flight.offered(hash(1), &raw(7, 100, 10));
        in_flight.offered(hash(2), &raw(8, 100, 20));
        in_flight.offered(hash(3), &raw(7, 21, 30));
        in_flight.offered(hash(4), b"no transaction");
        let outstanding = |nonce, end| in_flight.outstanding(nonce, end);
        assert_eq!(outstanding(0, u64::MAX), U256::from(3000), "1000, 2000: no cancel of 630");
        assert_eq!(outstanding(8, u64::MAX), U256::from(2000), "a block has the first");
        assert_eq!(outstanding(7, 8), U256::from(1000));
        assert_eq!(outstanding(9, 8), U256::ZERO);
        in_flight.forget_below(8);
        assert_eq!(outstanding(0, u64::MAX), U256::from(2000));
    }

    #[test]
    fn drafts_that_are_made_at_the_same_time_share_the_money() {
        let in_flight = Arc::new(InFlight::of_account(Payer::nobody(Family::Evm)));
        let holdings = [holding(7, 2500)];
        let reserve = || in_flight.reserve(draft(1000), None, &holdings, 1);
        let (first, second) = (reserve().unwrap(), reserve().unwrap());
        let third = reserve().unwrap_err();
        let (have, need) = (U256::from(2500), U256::from(3000));
        assert_eq!(third, ChainError::GasFunds { have, need, payer: Payer::nobody(Family::Evm) });
        drop(second);
        let second = reserve().expect("what is dropped costs nothing");
        signed(&first, B256::repeat_byte(1), &raw(7, 100, 10));
        drop(first);
        assert!(reserve().is_err(), "what is signed is not paid yet");
        signed(&second, B256::repeat_byte(2), &raw(8, 100, 10));
        drop(second);
        assert!(reserve().is_err());
        let paid = [holding(8, 2500)];
        assert!(in_flight.reserve(draft(1000), None, &paid, 1).is_ok(), "a block has the first");
    }

    #[test]
    fn of_what_nodes_say_the_account_holds_two_have_to_be_enough_or_else_the_least() {
        let in_flight = Arc::new(InFlight::of_account(Payer::nobody(Family::Evm)));
        in_flight.offered(B256::repeat_byte(1), &raw(7, 100, 10));
        // The second node has seen the block that holds the first transaction, and what it cost.
        let both = [holding(7, 1500), holding(8, 600)];
        assert!(in_flight.reserve(draft(500), None, &both, 2).is_ok());
        let poorer = [holding(7, 1500), holding(8, 400)];
        assert!(in_flight.reserve(draft(500), None, &poorer, 2).is_err());
        assert!(
            in_flight.reserve(draft(500), None, &poorer[1..], 2).is_err(),
            "one of two is down"
        );
        let liar = [holding(7, 1500), holding(8, 600), holding(8, 0)];
        assert!(in_flight.reserve(draft(500), None, &liar, 2).is_ok());
    }
}
