//! The questions that are put to a node, and the few fields of the answers that are read.
//!
//! Own structures, since chains differ in the fields that we don't need.

use super::block::Block;
use super::facts::EvmNodeFacts;
use alloy::consensus::constants::EMPTY_ROOT_HASH;
use alloy::primitives::{Address, B256, Bytes, Log, U64, U128, U256};
use node::{AskError, Fault, JsonRpc};
use serde::Deserialize;
use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Named here because an aggregate asks it in its own way.
pub const ETH_CALL: &str = "eth_call";

/// The number of blocks from which the tip is read.
const FEE_HISTORY_BLOCKS: u64 = 10;

/// The node or nodes to ask.
pub type EvmAsker<'a> = node::Asker<'a, JsonRpc>;

/// The node to ask, and the block to ask about: one preflight sees one state of the chain.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The node to ask.
    pub rpc: EvmAsker<'a>,
    /// Which block: a number, or `latest` where there is one node only.
    pub block: String,
    /// The abilities of the chain, and of the node that is asked.
    pub known: EvmNodeFacts,
}

/// The header of a block.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    number: U64,
    /// Its hash.
    pub hash: B256,
    timestamp: U64,
    base_fee_per_gas: Option<U128>,
    gas_limit: U64,
}

impl Header {
    /// Returns its number.
    pub fn number(&self) -> u64 {
        self.number.to()
    }

    /// Returns its time, Unix seconds.
    pub fn time(&self) -> u64 {
        self.timestamp.to()
    }

    /// Returns its base fee, wei per gas; none if the chain has none.
    pub fn base_fee(&self) -> Option<u128> {
        self.base_fee_per_gas.map(|fee| fee.to())
    }

    /// Returns the most gas that the block may use.
    pub fn gas_limit(&self) -> u64 {
        self.gas_limit.to()
    }
}

/// The receipt of a transaction in a block.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JsonReceipt {
    /// The hash of the transaction.
    pub transaction_hash: B256,
    /// The hash of its block.
    pub block_hash: B256,
    block_number: U64,
    status: U64,
    /// The logs of the contracts.
    pub logs: Vec<Log>,
    // The fields below are told to people and decide nothing, so no receipt is refused for them.
    #[serde(default)]
    gas_used: Value,
    #[serde(default)]
    effective_gas_price: Value,
    #[serde(default)]
    l1_fee: Value,
}

impl JsonReceipt {
    /// Returns the number of the block.
    pub fn block_number(&self) -> u64 {
        self.block_number.to()
    }

    /// Returns true if the transaction succeeded.
    pub fn succeeded(&self) -> bool {
        self.status == U64::ONE
    }

    /// Gas used, and wei paid for it, what a rollup asks for its data included; none where the receipt
    /// does not tell.
    pub fn cost(&self) -> Option<(u64, U256)> {
        let number = |value: &Value| U256::deserialize(value).ok();
        let (used, price) = (number(&self.gas_used)?, number(&self.effective_gas_price)?);
        let data = number(&self.l1_fee).unwrap_or_default();
        Some((used.try_into().ok()?, used.saturating_mul(price).saturating_add(data)))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FeeHistory {
    gas_used_ratio: Vec<f64>,
    #[serde(default)]
    reward: Option<Vec<Vec<U128>>>,
}

/// A call that is asked about and never sent.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The caller.
    pub from: Address,
    /// The called address.
    pub to: Address,
    /// The input.
    pub data: &'a [u8],
    /// The gas that the call may use.
    pub gas: u64,
}

impl Serialize for Call<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut call = serializer.serialize_struct("Call", 4)?;
        call.serialize_field("from", &self.from)?;
        call.serialize_field("to", &self.to)?;
        // `data` and not `input`, since every node knows the former.
        call.serialize_field("data", &alloy::hex::encode_prefixed(self.data))?;
        call.serialize_field("gas", &U64::from(self.gas))?;
        call.end()
    }
}

/// The number of a block as the protocol writes it.
pub fn quantity(number: u64) -> String {
    format!("0x{number:x}")
}

/// The code at an address; empty where there is none.
pub async fn code(rpc: EvmAsker<'_>, at: Address) -> Result<Bytes, AskError> {
    rpc.ask("eth_getCode", json!([at, "latest"])).await
}

/// The header of a block by tag or number; none where there is no such block.
pub async fn header(rpc: EvmAsker<'_>, block: &str) -> Result<Option<Header>, AskError> {
    rpc.ask("eth_getBlockByNumber", json!([block, false])).await
}

/// Returns the number of transactions of `who` that the chain holds up to and including `block`.
pub async fn nonce(rpc: EvmAsker<'_>, who: Address, block: &str) -> Result<u64, AskError> {
    rpc.ask::<U64>("eth_getTransactionCount", json!([who, block])).await.map(|n| n.to())
}

/// The same for a block by its number: a node that lags behind errs instead of answering from the
/// past.
pub async fn nonce_at(rpc: EvmAsker<'_>, who: Address, block: u64) -> Result<u64, AskError> {
    nonce(rpc, who, &quantity(block)).await
}

/// The transactions of an account that wait in a pool, as a node tells them.
#[derive(Debug, Deserialize)]
pub struct PoolContent {
    #[serde(default)]
    pending: BTreeMap<String, Box<RawValue>>,
    #[serde(default)]
    queued: BTreeMap<String, Box<RawValue>>,
}

impl PoolContent {
    /// Returns all of them: without a gap, and behind one.
    pub fn transactions(&self) -> impl Iterator<Item = &RawValue> {
        self.pending.values().chain(self.queued.values()).map(AsRef::as_ref)
    }
}

/// The transactions of `who` that wait in the node's pool, also those behind a gap, which no count shows. Many nodes do
/// not tell. geth: internal/ethapi/api.go, `TxPoolAPI.ContentFrom`.
pub async fn pool_content(rpc: EvmAsker<'_>, who: Address) -> Result<PoolContent, AskError> {
    rpc.ask("txpool_contentFrom", json!([who])).await
}

/// The balance of an account, wei.
pub async fn balance(rpc: EvmAsker<'_>, who: Address) -> Result<U256, AskError> {
    rpc.ask("eth_getBalance", json!([who, "latest"])).await
}

/// The gas price that a node names, wei per gas.
pub async fn gas_price(rpc: EvmAsker<'_>) -> Result<u128, AskError> {
    rpc.ask::<U128>("eth_gasPrice", json!([])).await.map(|price| price.to())
}

/// The tips of others, wei per gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tips {
    /// In the middle.
    pub usual: u128,
    /// The lowest fifth.
    pub low: u128,
}

/// Reads the tips of others; none where the node knows no history, or tells one in a form of its own, or nobody tipped.
pub async fn tips(rpc: EvmAsker<'_>) -> Result<Option<Tips>, AskError> {
    let asked = json!([quantity(FEE_HISTORY_BLOCKS), "latest", [20, 50]]);
    let history: FeeHistory = match rpc.ask("eth_feeHistory", asked).await {
        Err(AskError { fault: Fault::Node(_) | Fault::Garbled, .. }) => return Ok(None),
        answered => answered?,
    };
    let rewards = history.reward.unwrap_or_default();
    let median = |percentile: usize| {
        let tips = rewards.iter().map(|row| row.get(percentile).map_or(0, |tip| tip.to()));
        median_tip(history.gas_used_ratio.iter().copied().zip(tips))
    };
    let tips = || Some(Tips { low: median(0)?, usual: median(1)? });
    Ok(tips())
}

/// A transaction in a block, or in a pool.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transaction {
    /// Its hash.
    pub hash: B256,
    /// The account that sent it.
    pub from: Address,
    /// Some chains hold system transactions that have none.
    nonce: Option<U64>,
    /// The called address; none if it makes a contract.
    pub to: Option<Address>,
    /// The input.
    #[serde(alias = "data")]
    pub input: Option<Bytes>,
    block_number: Option<U64>,
}

impl Transaction {
    /// Returns true if the account sent the transaction with this nonce.
    pub fn is(&self, from: Address, nonce: u64) -> bool {
        self.from == from && self.nonce.map(|nonce| nonce.to()) == Some(nonce)
    }

    /// Returns the number of its block; none while it is in a pool.
    pub fn block_number(&self) -> Option<u64> {
        self.block_number.map(|number| number.to())
    }
}

/// A block with its transactions.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FullBlock {
    #[serde(flatten)]
    header: Header,
    transactions_root: Option<B256>,
    /// Its transactions.
    pub transactions: Vec<Transaction>,
}

impl FullBlock {
    /// Returns the block without its transactions.
    pub fn block(&self) -> Block {
        Block { number: self.header.number(), hash: self.header.hash, time: self.header.time() }
    }

    /// Returns true if the node told the block's transactions: a node that has thrown them away may tell of none.
    pub fn is_whole(&self) -> bool {
        !self.transactions.is_empty() || self.transactions_root == Some(EMPTY_ROOT_HASH)
    }
}

/// A block with its transactions; none where the node has no such block.
pub async fn full_block(rpc: EvmAsker<'_>, block: u64) -> Result<Option<FullBlock>, AskError> {
    rpc.ask("eth_getBlockByNumber", json!([quantity(block), true])).await
}

/// The transaction of `who` with this nonce, of nodes that can look it up.
pub async fn by_nonce(
    rpc: EvmAsker<'_>,
    who: Address,
    nonce: u64,
) -> Result<Option<Transaction>, AskError> {
    rpc.ask("eth_getTransactionBySenderAndNonce", json!([who, quantity(nonce)])).await
}

/// The receipt of a transaction; none if the node has none.
pub async fn receipt(rpc: EvmAsker<'_>, hash: B256) -> Result<Option<JsonReceipt>, AskError> {
    rpc.ask("eth_getTransactionReceipt", json!([hash])).await
}

/// The block with this hash and its whole transactions, as the node tells it; null where the node has no such block.
pub async fn block_told(rpc: EvmAsker<'_>, hash: B256) -> Result<Box<RawValue>, AskError> {
    rpc.ask("eth_getBlockByHash", json!([hash, true])).await
}

/// The header of the block with this hash, as the node tells it; null where the node has no such block.
pub async fn header_told(rpc: EvmAsker<'_>, hash: B256) -> Result<Box<RawValue>, AskError> {
    rpc.ask("eth_getBlockByHash", json!([hash, false])).await
}

/// The same of the block at this height.
pub async fn header_told_at(rpc: EvmAsker<'_>, number: u64) -> Result<Box<RawValue>, AskError> {
    rpc.ask("eth_getBlockByNumber", json!([quantity(number), false])).await
}

/// All receipts of the block with this hash, as the node tells them; null where the node has no such block.
pub async fn receipts_told(rpc: EvmAsker<'_>, block: B256) -> Result<Box<RawValue>, AskError> {
    rpc.ask("eth_getBlockReceipts", json!([block])).await
}

/// The receipt of a transaction, as the node tells it; null where the node has none.
pub async fn receipt_told(rpc: EvmAsker<'_>, hash: B256) -> Result<Box<RawValue>, AskError> {
    rpc.ask("eth_getTransactionReceipt", json!([hash])).await
}

/// An account at a block, with the nodes of the state's trie that lead to it, as the node tells them.
pub async fn account_told(
    rpc: EvmAsker<'_>,
    who: Address,
    block: u64,
) -> Result<Box<RawValue>, AskError> {
    rpc.ask("eth_getProof", json!([who, [], quantity(block)])).await
}

/// Runs a call at one view, and returns its answer.
pub async fn call(view: &View<'_>, call: Call<'_>) -> Result<Bytes, AskError> {
    view.rpc.ask(ETH_CALL, (call, &view.block)).await
}

/// The gas that a transaction of this call would use.
pub async fn estimate_gas(rpc: EvmAsker<'_>, block: &str, call: Call<'_>) -> Result<u64, AskError> {
    rpc.ask::<U64>("eth_estimateGas", (call, block)).await.map(|gas| gas.to())
}

/// The median over blocks of what they tipped, wei per gas. `blocks` are (share of gas used, tip); empty
/// blocks tell nothing. Of an even number the dearer middle one counts.
pub fn median_tip(blocks: impl IntoIterator<Item = (f64, u128)>) -> Option<u128> {
    let mut tips: Vec<u128> =
        blocks.into_iter().filter(|(used, _)| *used > 0.0).map(|(_, tip)| tip).collect();
    tips.sort_unstable();
    tips.get(tips.len() >> 1).copied()
}
