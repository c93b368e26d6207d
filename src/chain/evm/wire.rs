//! Signed transactions as they are on the wire: what they bid, and what they may still cost.

use super::fees::{Bid, cost};
use crate::billing::{Attempt, Slot};
use alloy::consensus::{Transaction, TxEnvelope};
use alloy::eips::Decodable2718;
use alloy::primitives::{B256, Bytes, TxKind, U256};
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// What can be read from the bytes of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) nonce: u64,
    pub(super) to: TxKind,
    pub(super) input: Bytes,
    pub(super) gas_limit: u64,
    pub(super) bid: Bid,
}

impl Wire {
    /// None where the bytes are no transaction, as those of an adopted attempt.
    pub(super) fn read(raw: &[u8]) -> Option<Self> {
        let tx = TxEnvelope::decode_2718_exact(raw).ok()?;
        let bid = match tx.max_priority_fee_per_gas() {
            Some(tip) => Bid::Dynamic { max_fee: tx.max_fee_per_gas(), tip },
            None => Bid::Legacy { price: tx.max_fee_per_gas() },
        };
        Some(Self {
            nonce: tx.nonce(),
            to: tx.kind(),
            input: tx.input().clone(),
            gas_limit: tx.gas_limit(),
            bid,
        })
    }

    /// What it may cost at most, wei.
    pub(super) fn cost(&self) -> U256 {
        cost(self.gas_limit, self.bid)
    }
}

/// What is remembered of a place in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// The hash of its newest attempt.
    newest: B256,
    /// What that one bids.
    pub(super) bid: Bid,
    /// What that one may cost, wei.
    pub(super) cost: U256,
    /// What its dearest attempt may cost, wei: any of them may land.
    dearest: U256,
}

/// What the places of the line that no block has taken may still cost. Bytes are read once, since
/// open places are looked at every few seconds.
#[derive(Debug, Default)]
pub(super) struct Line(Mutex<BTreeMap<u64, Standing>>);

impl Line {
    /// Takes down a transaction that is offered.
    pub(super) fn offered(&self, hash: B256, raw: &[u8]) {
        if let Some(wire) = Wire::read(raw) {
            self.note(wire.nonce, hash, &[wire]);
        }
    }

    /// What is known of a slot's place. None where its newest bytes cannot be read.
    pub(super) fn of<A: AsRef<Attempt>>(&self, slot: &Slot<A>) -> Option<Standing> {
        let newest = slot.attempts.newest().as_ref().signed.hash;
        let known = self.0.lock().get(&slot.position).copied();
        if let Some(known) = known.filter(|known| known.newest == newest) {
            return Some(known);
        }
        let wires: Option<Vec<Wire>> =
            slot.attempts.iter().map(|attempt| Wire::read(&attempt.as_ref().signed.raw)).collect();
        self.note(slot.position, newest, &wires?)
    }

    fn note(&self, position: u64, newest: B256, wires: &[Wire]) -> Option<Standing> {
        let last = wires.last()?;
        let mut line = self.0.lock();
        let known = line.get(&position).map_or(U256::ZERO, |known| known.dearest);
        let dearest = wires.iter().map(Wire::cost).fold(known, Ord::max);
        let standing = Standing { newest, bid: last.bid, cost: last.cost(), dearest };
        line.insert(position, standing);
        Some(standing)
    }

    /// What the places from `taken` on, and before `end`, may still cost, wei.
    pub(super) fn outstanding(&self, taken: u64, end: u64) -> U256 {
        let line = self.0.lock();
        let open = line.range(taken..).take_while(|(position, _)| **position < end);
        open.fold(U256::ZERO, |sum, (_, standing)| sum.saturating_add(standing.dearest))
    }

    /// Forgets the places that are taken for good.
    pub(super) fn forget_below(&self, settled: u64) {
        let mut line = self.0.lock();
        *line = line.split_off(&settled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::consensus::{SignableTransaction as _, TxLegacy};
    use alloy::eips::Encodable2718 as _;
    use alloy::primitives::{Address, Signature};

    fn raw(nonce: u64, gas_limit: u64, gas_price: u128) -> Vec<u8> {
        let to = TxKind::Call(Address::ZERO);
        let tx =
            TxLegacy { chain_id: Some(1), nonce, gas_limit, gas_price, to, ..TxLegacy::default() };
        TxEnvelope::from(tx.into_signed(Signature::test_signature())).encoded_2718()
    }

    #[test]
    fn what_waits_for_a_block_is_what_the_dearest_attempt_of_each_place_may_cost() {
        let line = Line::default();
        let hash = B256::repeat_byte;
        line.offered(hash(1), &raw(7, 100, 10));
        line.offered(hash(2), &raw(8, 100, 20));
        line.offered(hash(3), &raw(7, 21, 30));
        line.offered(hash(4), b"no transaction");
        assert_eq!(
            line.outstanding(0, u64::MAX),
            U256::from(3000),
            "1000 and 2000: no cancel of 630"
        );
        assert_eq!(line.outstanding(8, u64::MAX), U256::from(2000), "a block has the first");
        assert_eq!(line.outstanding(7, 8), U256::from(1000));
        line.forget_below(8);
        assert_eq!(line.outstanding(0, u64::MAX), U256::from(2000));
    }
}
