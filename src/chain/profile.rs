//! Stand-in for the contract profile, with the interface that the adapters use.

use crate::billing::{BadField, Charge, Entry, FailCode, Item, ItemOutcome, Opinion};
use alloy::primitives::{Address, Log};

/// Values that the chain's lookup supplied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked(pub Vec<u8>);

/// Values that the Signer computes for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Computed {
    /// Block time after which the call must not charge, Unix seconds.
    pub deadline: u64,
    /// The account that signs.
    pub signer: Address,
}

/// How the billing contract is called.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// See [`Profile::per_item`].
    pub per_item: bool,
    /// See [`Profile::lookup_call`].
    pub lookup_call: fn(&Entry) -> Result<Vec<u8>, BadField>,
    /// See [`Profile::encode`].
    pub encode: fn(&[Charge], &Computed) -> Result<Vec<u8>, BadField>,
    /// See [`Profile::opinions`].
    pub opinions: fn(&[u8], usize) -> Option<Vec<Opinion>>,
}

impl Profile {
    /// Whether there is a lookup.
    pub fn has_lookup(&self) -> bool {
        true
    }

    /// Whether the call reports on every item.
    pub fn per_item(&self) -> bool {
        self.per_item
    }

    /// Whether one call charges one subscription.
    pub fn single(&self) -> bool {
        false
    }

    /// The lookup's calldata for an entry.
    pub fn lookup_call(&self, entry: &Entry) -> Result<Vec<u8>, BadField> {
        (self.lookup_call)(entry)
    }

    /// Reads what the lookup returned.
    pub fn read_lookup(&self, answer: &[u8]) -> Option<Looked> {
        (!answer.is_empty()).then(|| Looked(answer.to_vec()))
    }

    /// The billing calldata.
    pub fn encode(&self, charges: &[Charge], computed: &Computed) -> Result<Vec<u8>, BadField> {
        (self.encode)(charges, computed)
    }

    /// What the call's return value says about every item.
    pub fn opinions(&self, answer: &[u8], items: usize) -> Option<Vec<Opinion>> {
        (self.opinions)(answer, items)
    }

    /// What a revert means.
    pub fn reverted(&self, data: &[u8]) -> (FailCode, Option<String>) {
        (FailCode::CallReverted, (!data.is_empty()).then(|| hex::encode(data)))
    }

    /// What a transaction's logs say about its items.
    pub fn outcomes(&self, _contract: Address, logs: &[Log], items: &[Item]) -> Vec<ItemOutcome> {
        items.iter().zip(logs).map(|_| ItemOutcome::Charged).collect()
    }
}
