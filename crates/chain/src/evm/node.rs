//! The questions that the adapter asks a node, and the few fields of the answers that it reads.
//!
//! Own structures, since chains differ in the fields that we don't need.

use super::conclude::Block;
use super::fees::median_tip;
use super::known::EvmNodeFacts;
use ::node::{self, AskError, Fault, JsonRpc};
use alloy::consensus::constants::EMPTY_ROOT_HASH;
use alloy::primitives::{Address, B256, Bytes, Log, U64, U128, U256};
use serde::Deserialize;
use serde_json::{Value, json};

/// Named here because an aggregate asks it in its own way.
pub(super) const ETH_CALL: &str = "eth_call";

/// The number of blocks from which the tip is read.
const FEE_HISTORY_BLOCKS: u64 = 10;

/// The node or nodes to ask.
pub(super) type EvmAsker<'a> = node::Asker<'a, JsonRpc>;

/// The node to ask, and the block to ask about: one preflight sees one state of the chain.
#[derive(Clone, Debug)]
pub(super) struct View<'a> {
    /// The node to ask.
    pub(super) rpc: EvmAsker<'a>,
    /// Which block: a number, or `latest` where there is one node only.
    pub(super) block: String,
    /// The abilities of the chain, and of the node that is asked.
    pub(super) known: EvmNodeFacts,
}

/// The header of a block.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    number: U64,
    pub(super) hash: B256,
    timestamp: U64,
    base_fee_per_gas: Option<U128>,
    gas_limit: U64,
}

impl Header {
    pub(super) fn number(&self) -> u64 {
        self.number.to()
    }

    /// Unix seconds.
    pub(super) fn time(&self) -> u64 {
        self.timestamp.to()
    }

    /// Wei per gas.
    pub(super) fn base_fee(&self) -> Option<u128> {
        self.base_fee_per_gas.map(|fee| fee.to())
    }

    pub(super) fn gas_limit(&self) -> u64 {
        self.gas_limit.to()
    }
}

/// The receipt of a transaction in a block.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JsonReceipt {
    pub(super) transaction_hash: B256,
    pub(super) block_hash: B256,
    block_number: U64,
    status: U64,
    pub(super) logs: Vec<Log>,
    // The fields below are told to people and decide nothing, so no receipt is refused for them.
    #[serde(default)]
    gas_used: Value,
    #[serde(default)]
    effective_gas_price: Value,
    #[serde(default)]
    l1_fee: Value,
}

impl JsonReceipt {
    pub(super) fn block_number(&self) -> u64 {
        self.block_number.to()
    }

    pub(super) fn succeeded(&self) -> bool {
        self.status == U64::ONE
    }

    /// Gas used, and wei paid for it, what a rollup asks for its data included; none where the receipt
    /// does not tell.
    pub(super) fn cost(&self) -> Option<(u64, U256)> {
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
pub(super) struct Call<'a> {
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) data: &'a [u8],
    /// The gas that the call may use.
    pub(super) gas: u64,
}

impl Call<'_> {
    /// `data` and not `input`: every node knows the former.
    pub(super) fn json(&self) -> Value {
        let (data, gas) = (alloy::hex::encode_prefixed(self.data), U64::from(self.gas));
        json!({ "from": self.from, "to": self.to, "data": data, "gas": gas })
    }
}

/// The number of a block as the protocol writes it.
pub(super) fn quantity(number: u64) -> String {
    format!("0x{number:x}")
}

/// The code at an address; empty where there is none.
pub(super) async fn code(rpc: EvmAsker<'_>, at: Address) -> Result<Bytes, AskError> {
    rpc.ask("eth_getCode", json!([at, "latest"])).await
}

/// The header of a block by tag or number; none where there is no such block.
pub(super) async fn header(rpc: EvmAsker<'_>, block: &str) -> Result<Option<Header>, AskError> {
    rpc.ask("eth_getBlockByNumber", json!([block, false])).await
}

/// Returns the number of transactions of `who` that the chain holds up to and including `block`.
pub(super) async fn nonce(rpc: EvmAsker<'_>, who: Address, block: &str) -> Result<u64, AskError> {
    rpc.ask::<U64>("eth_getTransactionCount", json!([who, block])).await.map(|n| n.to())
}

/// The same for a block by its number: a node that lags behind errs instead of answering from the
/// past.
pub(super) async fn nonce_at(rpc: EvmAsker<'_>, who: Address, block: u64) -> Result<u64, AskError> {
    nonce(rpc, who, &quantity(block)).await
}

/// Wei.
pub(super) async fn balance(rpc: EvmAsker<'_>, who: Address) -> Result<U256, AskError> {
    rpc.ask("eth_getBalance", json!([who, "latest"])).await
}

/// Wei per gas.
pub(super) async fn gas_price(rpc: EvmAsker<'_>) -> Result<u128, AskError> {
    rpc.ask::<U128>("eth_gasPrice", json!([])).await.map(|price| price.to())
}

/// The tips of others, wei per gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tips {
    /// In the middle.
    pub(super) usual: u128,
    /// The lowest fifth.
    pub(super) low: u128,
}

/// Reads the tips of others; none where the node knows no history or nobody tipped.
pub(super) async fn tips(rpc: EvmAsker<'_>) -> Result<Option<Tips>, AskError> {
    let asked = json!([quantity(FEE_HISTORY_BLOCKS), "latest", [20, 50]]);
    let history: FeeHistory = match rpc.ask("eth_feeHistory", asked).await {
        Err(AskError { fault: Fault::Node(_), .. }) => return Ok(None),
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
pub(super) struct Transaction {
    pub(super) hash: B256,
    pub(super) from: Address,
    /// Some chains hold system transactions that have none.
    nonce: Option<U64>,
    pub(super) to: Option<Address>,
    #[serde(alias = "data")]
    pub(super) input: Option<Bytes>,
    block_number: Option<U64>,
}

impl Transaction {
    /// Returns true if the account sent the transaction with this nonce.
    pub(super) fn is(&self, from: Address, nonce: u64) -> bool {
        self.from == from && self.nonce.map(|nonce| nonce.to()) == Some(nonce)
    }

    pub(super) fn block_number(&self) -> Option<u64> {
        self.block_number.map(|number| number.to())
    }
}

/// A block with its transactions.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FullBlock {
    #[serde(flatten)]
    header: Header,
    transactions_root: Option<B256>,
    pub(super) transactions: Vec<Transaction>,
}

impl FullBlock {
    /// Which block it is.
    pub(super) fn block(&self) -> Block {
        Block { number: self.header.number(), hash: self.header.hash, time: self.header.time() }
    }

    /// Returns true if the node told the block's transactions: a node that has thrown them away may tell of none.
    pub(super) fn is_whole(&self) -> bool {
        !self.transactions.is_empty() || self.transactions_root == Some(EMPTY_ROOT_HASH)
    }
}

/// A block with its transactions; none where the node has no such block.
pub(super) async fn full_block(
    rpc: EvmAsker<'_>,
    block: u64,
) -> Result<Option<FullBlock>, AskError> {
    rpc.ask("eth_getBlockByNumber", json!([quantity(block), true])).await
}

/// The transaction of `who` with this nonce, of nodes that can look it up.
pub(super) async fn by_nonce(
    rpc: EvmAsker<'_>,
    who: Address,
    nonce: u64,
) -> Result<Option<Transaction>, AskError> {
    rpc.ask("eth_getTransactionBySenderAndNonce", json!([who, quantity(nonce)])).await
}

pub(super) async fn receipt(
    rpc: EvmAsker<'_>,
    hash: B256,
) -> Result<Option<JsonReceipt>, AskError> {
    rpc.ask("eth_getTransactionReceipt", json!([hash])).await
}

pub(super) async fn call(view: &View<'_>, call: Call<'_>) -> Result<Bytes, AskError> {
    view.rpc.ask(ETH_CALL, json!([call.json(), view.block])).await
}

pub(super) async fn estimate_gas(
    rpc: EvmAsker<'_>,
    block: &str,
    call: Call<'_>,
) -> Result<u64, AskError> {
    let asked = json!([call.json(), block]);
    rpc.ask::<U64>("eth_estimateGas", asked).await.map(|gas| gas.to())
}
