//! Signed transactions as they are on the wire.

use super::fees::{Bid, cost};
use alloy::consensus::{Transaction, TxEnvelope};
use alloy::eips::Decodable2718;
use alloy::primitives::{Bytes, TxKind, U256};

/// The fields that can be read from the bytes of an attempt.
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

    /// Returns the highest cost of the attempt, wei.
    pub(super) fn cost(&self) -> U256 {
        cost(self.gas_limit, self.bid)
    }
}
