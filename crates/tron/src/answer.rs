//! A block as a node's HTTP API reports it (`getblock`, `getblockbynum`, `getnowblock`), believed in nothing.
//!
//! Fields with default values are left out of every answer. A field that is not known here makes a header unreadable.
//! Elsewhere it is passed over: then the root does not fit, and the block is unjudged.

use alloy::primitives::{B256, Bytes};
use serde::Deserialize;

/// A block, with or without its transactions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BlockAnswer {
    /// Its id, as the node says.
    #[serde(rename = "blockID")]
    pub block_id: B256,
    /// Its header.
    pub block_header: SignedHeader,
    /// The block's transactions; empty if the request did not ask for them.
    #[serde(default)]
    pub transactions: Vec<TransactionAnswer>,
}

/// A header and its producer's signature.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SignedHeader {
    /// The part that is hashed and signed.
    pub raw_data: HeaderAnswer,
    /// 65 bytes; none in block 0.
    #[serde(default)]
    pub witness_signature: Bytes,
}

/// The fields of a header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderAnswer {
    /// Its height.
    #[serde(default)]
    pub number: u64,
    /// Its time, Unix ms.
    #[serde(default)]
    pub timestamp: u64,
    /// The id of the block before.
    #[serde(rename = "parentHash", default)]
    pub parent_hash: B256,
    /// The root over its transactions.
    #[serde(rename = "txTrieRoot", default)]
    pub tx_trie_root: B256,
    /// Address of the block's producer: 21 bytes, in block 0 a text.
    #[serde(default)]
    pub witness_address: Bytes,
    /// Not in use.
    #[serde(default)]
    pub witness_id: i64,
    /// The version of blocks.
    #[serde(default)]
    pub version: i32,
    /// Empty on every network in use.
    #[serde(rename = "accountStateRoot", default)]
    pub account_state_root: Bytes,
}

/// A transaction in a block. `raw_data` is not read: its bytes stand in `raw_data_hex`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TransactionAnswer {
    /// Its id, as the node says.
    #[serde(rename = "txID")]
    pub tx_id: B256,
    /// The data that was signed.
    #[serde(default)]
    pub raw_data_hex: Bytes,
    /// One for each key that signed.
    #[serde(default)]
    pub signature: Vec<Bytes>,
    /// Its outcome is known.
    #[serde(default)]
    pub ret: Vec<RetAnswer>,
}

/// The result of a transaction. Nothing but `contract_ret` of the first is looked at by nodes; the rest is here since the
/// leaf covers it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RetAnswer {
    /// Result of the transaction's call, in the word of [`ContractResult`](crate::result::ContractResult).
    #[serde(rename = "contractRet")]
    pub contract_ret: String,
    /// `FAILED`, or nothing.
    pub ret: String,
    /// Sun.
    pub fee: i64,
    /// Of a new token.
    #[serde(rename = "assetIssueID")]
    pub asset_issue_id: String,
    /// Sun.
    pub withdraw_amount: i64,
    /// Sun.
    pub unfreeze_amount: i64,
    /// Of an exchange.
    pub exchange_received_amount: i64,
    /// Of an exchange.
    pub exchange_inject_another_amount: i64,
    /// Of an exchange.
    pub exchange_withdraw_another_amount: i64,
    /// Of an exchange.
    pub exchange_id: i64,
    /// Sun.
    pub shielded_transaction_fee: i64,
    /// Of an order on the market.
    #[serde(rename = "orderId")]
    pub order_id: Bytes,
    /// The orders that filled it.
    #[serde(rename = "orderDetails")]
    pub order_details: Vec<OrderDetailAnswer>,
    /// Sun.
    pub withdraw_expire_amount: i64,
}

/// A part of an order on the market that was filled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OrderDetailAnswer {
    /// The order that was there.
    pub maker_order_id: Bytes,
    /// The order that came.
    pub taker_order_id: Bytes,
    /// The amount sold.
    pub fill_sell_quantity: i64,
    /// The amount bought.
    pub fill_buy_quantity: i64,
}
