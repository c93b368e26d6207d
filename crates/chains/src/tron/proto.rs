//! The protobuf messages of TRON that a node reads or hashes, field for field.
//!
//! Field numbers are facts of the protocol. Unknown fields are dropped when a message is read, so re-encoding gives
//! the canonical bytes over which a node computes every id.

use prost::Message;

/// A transaction as it travels.
#[derive(Clone, PartialEq, Message)]
pub struct Transaction {
    /// The data that is signed.
    #[prost(message, optional, tag = "1")]
    pub raw_data: Option<Raw>,
    /// Signatures over sha256 of the raw data.
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub signature: Vec<Vec<u8>>,
}

/// A transaction in a block, as its tree of hashes has it.
#[derive(Clone, PartialEq, Message)]
pub struct Done {
    /// The data that was signed.
    #[prost(message, optional, tag = "1")]
    pub raw_data: Option<Raw>,
    /// Signatures.
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub signature: Vec<Vec<u8>>,
    /// Result of the transaction. The protocol has a list of results here, a node fills in one.
    #[prost(message, optional, tag = "5")]
    pub ret: Option<Ret>,
}

/// The fate of a transaction.
#[derive(Clone, PartialEq, Message)]
pub struct Ret {
    /// `contractRet`.
    #[prost(int32, tag = "3")]
    pub contract_ret: i32,
}

/// The signed part of a transaction.
#[derive(Clone, PartialEq, Message)]
pub struct Raw {
    /// Low 16 bits of the reference block's number.
    #[prost(bytes = "vec", tag = "1")]
    pub ref_block_bytes: Vec<u8>,
    /// Unused by the chain.
    #[prost(int64, tag = "3")]
    pub ref_block_num: i64,
    /// Bytes 8..16 of the reference block's id.
    #[prost(bytes = "vec", tag = "4")]
    pub ref_block_hash: Vec<u8>,
    /// Expiration (ms of block time).
    #[prost(int64, tag = "8")]
    pub expiration: i64,
    /// Memo.
    #[prost(bytes = "vec", tag = "10")]
    pub data: Vec<u8>,
    /// Exactly one.
    #[prost(message, repeated, tag = "11")]
    pub contract: Vec<Contract>,
    /// Unused by the chain.
    #[prost(bytes = "vec", tag = "12")]
    pub scripts: Vec<u8>,
    /// When it was made (ms); never checked.
    #[prost(int64, tag = "14")]
    pub timestamp: i64,
    /// Ceiling of the energy bill (sun).
    #[prost(int64, tag = "18")]
    pub fee_limit: i64,
}

/// The operation that a transaction performs.
#[derive(Clone, PartialEq, Message)]
pub struct Contract {
    /// Contract type number.
    #[prost(int32, tag = "1")]
    pub r#type: i32,
    /// The type's own message.
    #[prost(message, optional, tag = "2")]
    pub parameter: Option<Any>,
    /// Unused.
    #[prost(bytes = "vec", tag = "3")]
    pub provider: Vec<u8>,
    /// Unused.
    #[prost(bytes = "vec", tag = "4")]
    pub contract_name: Vec<u8>,
    /// Which permission signs: 0 owner, 2.. active.
    #[prost(int32, tag = "5")]
    pub permission_id: i32,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
pub struct Any {
    /// `type.googleapis.com/protocol.<name>`.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The message's bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// Type 1: moves TRX.
#[derive(Clone, PartialEq, Message)]
pub struct Transfer {
    /// Payer, 21 bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub owner_address: Vec<u8>,
    /// Payee, 21 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub to_address: Vec<u8>,
    /// Sun.
    #[prost(int64, tag = "3")]
    pub amount: i64,
}

/// Type 31: calls a contract.
#[derive(Clone, PartialEq, Message)]
pub struct Trigger {
    /// Caller, 21 bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub owner_address: Vec<u8>,
    /// Contract, 21 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub contract_address: Vec<u8>,
    /// Sun.
    #[prost(int64, tag = "3")]
    pub call_value: i64,
    /// Call data.
    #[prost(bytes = "vec", tag = "4")]
    pub data: Vec<u8>,
    /// TRC-10 amount.
    #[prost(int64, tag = "5")]
    pub call_token_value: i64,
    /// TRC-10 id.
    #[prost(int64, tag = "6")]
    pub token_id: i64,
}

/// Type 30: deploys a contract.
#[derive(Clone, PartialEq, Message)]
pub struct Create {
    /// Deployer, 21 bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub owner_address: Vec<u8>,
    /// Deployed contract code.
    #[prost(message, optional, tag = "2")]
    pub new_contract: Option<SmartContract>,
    /// TRC-10 amount.
    #[prost(int64, tag = "3")]
    pub call_token_value: i64,
    /// TRC-10 id.
    #[prost(int64, tag = "4")]
    pub token_id: i64,
}

/// A contract as its deployer describes it.
#[derive(Clone, PartialEq, Message)]
pub struct SmartContract {
    /// Deployer, 21 bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub origin_address: Vec<u8>,
    /// Address, 21 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub contract_address: Vec<u8>,
    /// The ABI, passed through unread.
    #[prost(bytes = "vec", tag = "3")]
    pub abi: Vec<u8>,
    /// Creation code.
    #[prost(bytes = "vec", tag = "4")]
    pub bytecode: Vec<u8>,
    /// Sun sent along.
    #[prost(int64, tag = "5")]
    pub call_value: i64,
    /// The caller's share of the energy, percent.
    #[prost(int64, tag = "6")]
    pub consume_user_resource_percent: i64,
    /// Name.
    #[prost(string, tag = "7")]
    pub name: String,
    /// The deployer's ceiling per call (energy).
    #[prost(int64, tag = "8")]
    pub origin_energy_limit: i64,
}

/// The hashed part of a block header.
#[derive(Clone, PartialEq, Message)]
pub struct HeaderRaw {
    /// Block time (ms).
    #[prost(int64, tag = "1")]
    pub timestamp: i64,
    /// Root over the transactions.
    #[prost(bytes = "vec", tag = "2")]
    pub tx_trie_root: Vec<u8>,
    /// The id of the block before.
    #[prost(bytes = "vec", tag = "3")]
    pub parent_hash: Vec<u8>,
    /// Height.
    #[prost(int64, tag = "7")]
    pub number: i64,
    /// Producer: 21 bytes, in block 0 a text.
    #[prost(bytes = "vec", tag = "9")]
    pub witness_address: Vec<u8>,
    /// Block version.
    #[prost(int32, tag = "10")]
    pub version: i32,
}
