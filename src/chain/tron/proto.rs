//! The five protobuf messages of a contract call. Field numbers are java-tron's
//! (`protocol/src/main/protos/core/Tron.proto` and `contract/smart_contract.proto`).
//!
//! A node hashes its own serialisation of what it parsed, so these must encode canonically: fields
//! by ascending number, defaults left out. prost does.

use prost::Message;

/// `ContractType.TriggerSmartContract`.
pub(super) const TRIGGER: i32 = 31;

/// What the parameter of such a contract is.
pub(super) const TRIGGER_URL: &str = "type.googleapis.com/protocol.TriggerSmartContract";

/// A transaction as it goes on the wire. `raw_data` is kept as the bytes that are hashed.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Transaction {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) raw_data: Vec<u8>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub(super) signature: Vec<Vec<u8>>,
}

/// What is signed. Times in ms, `fee_limit` in sun.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Raw {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) ref_block_bytes: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) ref_block_hash: Vec<u8>,
    #[prost(int64, tag = "8")]
    pub(super) expiration: i64,
    /// The memo: costs a fee, never set here.
    #[prost(bytes = "vec", tag = "10")]
    pub(super) data: Vec<u8>,
    #[prost(message, repeated, tag = "11")]
    pub(super) contract: Vec<Contract>,
    #[prost(int64, tag = "14")]
    pub(super) timestamp: i64,
    #[prost(int64, tag = "18")]
    pub(super) fee_limit: i64,
}

/// What the transaction does.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Contract {
    #[prost(int32, tag = "1")]
    pub(super) kind: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) parameter: Option<Any>,
    /// 0, the owner permission.
    #[prost(int32, tag = "5")]
    pub(super) permission_id: i32,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Any {
    #[prost(string, tag = "1")]
    pub(super) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

/// A call of a contract. Addresses have 21 bytes; `call_value` is in sun.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct TriggerSmartContract {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) owner_address: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) contract_address: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) call_value: i64,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) data: Vec<u8>,
}
