//! The transactions of a block, encoded again and compared with the root in its header.

use crate::block::Items;
use crate::header::ProvenHeader;
use crate::trie;
use crate::unproven::{Contradiction, Obstacle, Unproven};
use alloy::consensus::transaction::SignerRecoverable as _;
use alloy::consensus::{TxEnvelope, TxType};
use alloy::eips::eip2718::{Decodable2718 as _, Encodable2718 as _};
use alloy::primitives::{Address, B256, U64, keccak256};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A transaction in a proven block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenTransaction {
    hash: B256,
    envelope: TxEnvelope,
}

impl ProvenTransaction {
    /// The transaction in these bytes (EIP-2718); none if they are of an unknown form, or not in the one way in which
    /// a transaction is written.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let envelope = TxEnvelope::decode_2718_exact(bytes).ok()?;
        (envelope.encoded_2718() == bytes).then(|| Self { hash: keccak256(bytes), envelope })
    }

    /// The transaction that a node tells; none if its form is unknown. The fields alone count: the sender and the hash
    /// are computed.
    pub fn of_answer(told: &RawValue) -> Option<Self> {
        let (_, envelope) = read(0, told.get()).ok()?;
        Some(Self { hash: keccak256(envelope.encoded_2718()), envelope })
    }

    /// Its hash.
    pub fn hash(&self) -> B256 {
        self.hash
    }

    /// All that was signed.
    pub fn envelope(&self) -> &TxEnvelope {
        &self.envelope
    }

    /// The account that signed it; none if nobody can have.
    pub fn sender(&self) -> Option<Address> {
        self.envelope.recover_signer().ok()
    }
}

/// The fields of a transaction that are read before its type is known.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type")]
    kind: Option<U64>,
    hash: Option<B256>,
}

/// Proves the transactions that a node names with a header.
pub(crate) fn prove(
    told: &[Box<RawValue>],
    header: &ProvenHeader,
) -> Result<Items<ProvenTransaction>, Unproven> {
    let mut items = Items { read: vec![], bytes: vec![] };
    let mut claimed = vec![];
    for (index, told) in told.iter().enumerate() {
        let (hash, envelope) = read(index, told.get())?;
        let bytes = envelope.encoded_2718();
        claimed.push(hash);
        items.read.push(ProvenTransaction { hash: keccak256(&bytes), envelope });
        items.bytes.push(bytes);
    }
    if trie::root(&items.bytes) != header.fields().transactions_root {
        return Err(Contradiction::Transactions.into());
    }
    match items.read.iter().zip(claimed).find(|(proven, claimed)| proven.hash != *claimed) {
        Some((_, claimed)) => Err(Contradiction::Transaction(claimed).into()),
        None => Ok(items),
    }
}

/// The transaction at `index` with the hash that the node names.
fn read(index: usize, told: &str) -> Result<(B256, TxEnvelope), Unproven> {
    let form = |_| Obstacle::TransactionForm(index);
    if told.starts_with('"') {
        return Err(Obstacle::MissingField("transactions").into());
    }
    let head: Head = serde_json::from_str(told).map_err(form)?;
    let kind = head.kind.unwrap_or_default().to::<u64>();
    let known = u8::try_from(kind).is_ok_and(|kind| TxType::try_from(kind).is_ok());
    if !known {
        return Err(Obstacle::TransactionType(kind).into());
    }
    let hash = head.hash.ok_or(Obstacle::MissingField("hash"))?;
    let envelope: TxEnvelope = serde_json::from_str(told).map_err(form)?;
    let signature = envelope.signature();
    if signature.r().is_zero() && signature.s().is_zero() {
        return Err(Obstacle::Unsigned(index).into());
    }
    Ok((hash, envelope))
}
