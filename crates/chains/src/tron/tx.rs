//! A transaction as a node takes it in: decoded, re-encoded, hashed.

use super::address;
use super::proto::{Create, Raw, SmartContract, Transaction, Transfer, Trigger};
use prost::encoding::{DecodeContext, WireType, decode_key, skip_field};
use prost::{DecodeError, Message};
use revm::primitives::{Address, B256};
use sha2::{Digest, Sha256};

/// A decoded transaction under its canonical id.
#[derive(Clone, Debug)]
pub struct Tx {
    /// sha256 of the canonical raw data.
    pub id: B256,
    /// The message. `ret`, were it sent, is gone.
    pub message: Transaction,
    /// The action that the transaction asks for.
    pub action: Action,
}

/// The action that a transaction asks for.
#[derive(Clone, Debug)]
pub enum Action {
    /// Call a contract.
    Trigger(Trigger),
    /// Deploy a contract.
    Create(Box<Create>),
    /// Move TRX.
    Transfer(Transfer),
    /// A type that this node does not run, or a parameter of another type than the one stated.
    Other,
}

/// sha256.
pub fn sha256(bytes: &[u8]) -> B256 {
    B256::from_slice(&Sha256::digest(bytes))
}

impl Tx {
    /// Reads the bytes of a `Transaction`. A known field of the wrong wire type is unknown, not an error.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut rest = bytes;
        let mut known = vec![];
        while !rest.is_empty() {
            let before = rest;
            let (tag, wire) = decode_key(&mut rest)?;
            skip_field(wire, tag, &mut rest, DecodeContext::default())?;
            if wire == WireType::LengthDelimited {
                known.extend_from_slice(&before[..before.len() - rest.len()]);
            }
        }
        Transaction::decode(known.as_slice()).map(Self::new)
    }

    /// A transaction of a message.
    pub fn new(message: Transaction) -> Self {
        let id = sha256(&message.raw_data.as_ref().map(Message::encode_to_vec).unwrap_or_default());
        let action = action(&message).unwrap_or(Action::Other);
        Self { id, message, action }
    }

    /// The signed part; the empty one if there is none.
    pub fn raw(&self) -> Raw {
        self.message.raw_data.clone().unwrap_or_default()
    }

    /// The bytes under the id.
    pub fn raw_bytes(&self) -> Vec<u8> {
        self.message.raw_data.as_ref().map(Message::encode_to_vec).unwrap_or_default()
    }

    /// Bytes on the wire without `ret`.
    pub fn size(&self) -> u64 {
        u64::try_from(self.message.encoded_len()).unwrap_or(u64::MAX)
    }

    /// The sender as the transaction spells it.
    pub fn owner_bytes(&self) -> &[u8] {
        match &self.action {
            Action::Trigger(call) => &call.owner_address,
            Action::Create(create) => &create.owner_address,
            Action::Transfer(transfer) => &transfer.owner_address,
            Action::Other => &[],
        }
    }

    /// The sender, if it is an address.
    pub fn owner(&self) -> Option<Address> {
        address::from21(self.owner_bytes())
    }

    /// Which permission it claims to be signed with.
    pub fn permission_id(&self) -> i32 {
        self.raw().contract.first().map_or(0, |contract| contract.permission_id)
    }
}

fn action(message: &Transaction) -> Option<Action> {
    let contract = message.raw_data.as_ref()?.contract.first()?;
    let parameter = contract.parameter.as_ref()?;
    let name = parameter.type_url.rsplit('.').next()?;
    let value = parameter.value.as_slice();
    Some(match (contract.r#type, name) {
        (31, "TriggerSmartContract") => Action::Trigger(Trigger::decode(value).ok()?),
        (30, "CreateSmartContract") => Action::Create(Box::new(Create::decode(value).ok()?)),
        (1, "TransferContract") => Action::Transfer(Transfer::decode(value).ok()?),
        _ => Action::Other,
    })
}

/// Returns the contract that a deployment deploys; the empty description if it has none.
pub fn new_contract(create: &Create) -> SmartContract {
    create.new_contract.clone().unwrap_or_default()
}
