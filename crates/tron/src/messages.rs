//! The protobuf messages of contract calls and of blocks. Field numbers are java-tron's
//! (`protocol/src/main/protos/core/Tron.proto` and `core/contract/smart_contract.proto`).
//!
//! A node hashes its own serialisation of what it parsed, so these must encode canonically: fields
//! by ascending number, defaults left out. prost does.

use prost::Message;

/// `ContractType.TriggerSmartContract`.
pub const TRIGGER: i32 = 31;

/// The type of the parameter of such a contract.
pub const TRIGGER_URL: &str = "type.googleapis.com/protocol.TriggerSmartContract";

/// A transaction as it goes on the wire. `raw_data` is kept as the bytes that are hashed.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Transaction {
    /// The bytes of [`Raw`], which are signed.
    #[prost(bytes = "vec", tag = "1")]
    pub raw_data: Vec<u8>,
    /// One for each key that signed.
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub signature: Vec<Vec<u8>>,
    /// The transaction's result; only in a block.
    #[prost(message, repeated, tag = "5")]
    pub ret: Vec<Ret>,
}

/// `Transaction.Result` without its map (28). Nodes of today fill `contract_ret`, and whoever relays a transaction may
/// fill all the others.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Ret {
    /// Sun.
    #[prost(int64, tag = "1")]
    pub fee: i64,
    /// 0 (`SUCESS`), 1 (`FAILED`), or another number, which no node looks at.
    #[prost(int32, tag = "2")]
    pub ret: i32,
    /// A [`ContractResult`](crate::result::ContractResult).
    #[prost(int32, tag = "3")]
    pub contract_ret: i32,
    /// `assetIssueID`.
    #[prost(string, tag = "14")]
    pub asset_issue_id: String,
    /// Sun.
    #[prost(int64, tag = "15")]
    pub withdraw_amount: i64,
    /// Sun.
    #[prost(int64, tag = "16")]
    pub unfreeze_amount: i64,
    /// Of an exchange.
    #[prost(int64, tag = "18")]
    pub exchange_received_amount: i64,
    /// Of an exchange.
    #[prost(int64, tag = "19")]
    pub exchange_inject_another_amount: i64,
    /// Of an exchange.
    #[prost(int64, tag = "20")]
    pub exchange_withdraw_another_amount: i64,
    /// Of an exchange.
    #[prost(int64, tag = "21")]
    pub exchange_id: i64,
    /// Sun.
    #[prost(int64, tag = "22")]
    pub shielded_transaction_fee: i64,
    /// `orderId`.
    #[prost(bytes = "vec", tag = "25")]
    pub order_id: Vec<u8>,
    /// `orderDetails`.
    #[prost(message, repeated, tag = "26")]
    pub order_details: Vec<MarketOrderDetail>,
    /// Sun.
    #[prost(int64, tag = "27")]
    pub withdraw_expire_amount: i64,
}

/// A part of an order on the market that was filled.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct MarketOrderDetail {
    /// `makerOrderId`.
    #[prost(bytes = "vec", tag = "1")]
    pub maker_order_id: Vec<u8>,
    /// `takerOrderId`.
    #[prost(bytes = "vec", tag = "2")]
    pub taker_order_id: Vec<u8>,
    /// `fillSellQuantity`.
    #[prost(int64, tag = "3")]
    pub fill_sell_quantity: i64,
    /// `fillBuyQuantity`.
    #[prost(int64, tag = "4")]
    pub fill_buy_quantity: i64,
}

/// The part of a transaction that is signed. Times in ms, `fee_limit` in sun.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Raw {
    /// The low 16 bits of the number of the block that it builds on.
    #[prost(bytes = "vec", tag = "1")]
    pub ref_block_bytes: Vec<u8>,
    /// Bytes 8 to 16 of that block's id.
    #[prost(bytes = "vec", tag = "4")]
    pub ref_block_hash: Vec<u8>,
    /// It lands in no block whose parent has this time or a later one.
    #[prost(int64, tag = "8")]
    pub expiration: i64,
    /// The memo: costs a fee.
    #[prost(bytes = "vec", tag = "10")]
    pub data: Vec<u8>,
    /// Exactly one.
    #[prost(message, repeated, tag = "11")]
    pub contract: Vec<Contract>,
    /// Looked at by nobody.
    #[prost(int64, tag = "14")]
    pub timestamp: i64,
    /// The most that its energy may cost.
    #[prost(int64, tag = "18")]
    pub fee_limit: i64,
}

/// The action of a transaction.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Contract {
    /// Its type, such as [`TRIGGER`].
    #[prost(int32, tag = "1")]
    pub kind: i32,
    /// The message of that type.
    #[prost(message, optional, tag = "2")]
    pub parameter: Option<Any>,
    /// 0 is the owner permission; active permissions begin at 2.
    #[prost(int32, tag = "5")]
    pub permission_id: i32,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Any {
    /// The type of `value`.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// A message's bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// A call of a contract. Addresses have 21 bytes; `call_value` is in sun.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct TriggerSmartContract {
    /// Address of the caller.
    #[prost(bytes = "vec", tag = "1")]
    pub owner_address: Vec<u8>,
    /// Address of the called contract.
    #[prost(bytes = "vec", tag = "2")]
    pub contract_address: Vec<u8>,
    /// Coins sent with the call.
    #[prost(int64, tag = "3")]
    pub call_value: i64,
    /// The call data.
    #[prost(bytes = "vec", tag = "4")]
    pub data: Vec<u8>,
}

/// `BlockHeader.raw`: what a block's id and its producer's signature commit to.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct HeaderRaw {
    /// Unix ms.
    #[prost(int64, tag = "1")]
    pub timestamp: i64,
    /// The root over the transactions.
    #[prost(bytes = "vec", tag = "2")]
    pub tx_trie_root: Vec<u8>,
    /// The id of the block before.
    #[prost(bytes = "vec", tag = "3")]
    pub parent_hash: Vec<u8>,
    /// Height.
    #[prost(int64, tag = "7")]
    pub number: i64,
    /// Not in use.
    #[prost(int64, tag = "8")]
    pub witness_id: i64,
    /// Address of the block's producer: 21 bytes, in block 0 a text.
    #[prost(bytes = "vec", tag = "9")]
    pub witness_address: Vec<u8>,
    /// The version of blocks.
    #[prost(int32, tag = "10")]
    pub version: i32,
    /// Empty on every network in use.
    #[prost(bytes = "vec", tag = "11")]
    pub account_state_root: Vec<u8>,
}
