//! A node's answers about a transaction: to a broadcast, while the node knows it, and once it is in a block.

use super::api::{Api, garbled};
use super::call_result::CallResult;
use super::calls::words_of;
use super::endpoints::{Question, Side};
use alloy::primitives::{Address, B256, Bytes, Log, LogData};
use node::AskError;
use serde::Deserialize;
use serde_json::json;
use tron_primitives::transaction::txid;

/// A node's answer to a broadcast, unjudged.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Broadcast {
    /// True if the node says that it took the transaction.
    #[serde(default)]
    pub result: bool,
    /// The node's code; empty if there is none.
    #[serde(default)]
    pub code: String,
    /// The node's words.
    #[serde(default)]
    pub message: String,
    /// The hash that the node computed from the bytes that reached it.
    pub txid: Option<B256>,
}

#[derive(Deserialize)]
struct RawTx {
    #[serde(rename = "txID")]
    id: B256,
    #[serde(default)]
    ret: Vec<RawContractRet>,
}

#[derive(Deserialize)]
struct RawPool {
    #[serde(rename = "txId", default)]
    ids: Vec<B256>,
}

#[derive(Deserialize)]
struct RawWaiting {
    raw_data_hex: Bytes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawContractRet {
    #[serde(default)]
    contract_ret: String,
}

/// The effect of a transaction in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxInfo {
    /// The transaction's id.
    pub id: B256,
    /// The number of its block.
    pub block: u64,
    /// The block's time, Unix ms. It can be later than the transaction's expiration.
    pub block_time_ms: u64,
    /// Cost of the transaction, sun.
    pub fee: u64,
    /// Energy used, with the penalty of the contract's energy factor.
    pub energy: u64,
    /// The node's word for how the call went.
    pub outcome: String,
    /// The meaning of that word; none if the word means nothing.
    pub result: Option<CallResult>,
    /// The data that the call returned or reverted with.
    pub returned: Bytes,
    /// Why it failed, in the node's words.
    pub words: String,
    /// The logs of the contracts.
    pub logs: Vec<Log>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawInfo {
    id: B256,
    #[serde(default)]
    block_number: u64,
    #[serde(default)]
    block_time_stamp: u64,
    #[serde(default)]
    fee: u64,
    /// FAILED; left out otherwise.
    #[serde(default)]
    result: String,
    /// Hex of a text.
    #[serde(default)]
    res_message: String,
    #[serde(default)]
    contract_result: Vec<Bytes>,
    #[serde(default)]
    receipt: RawReceipt,
    #[serde(default)]
    log: Vec<RawLog>,
}

#[derive(Default, Deserialize)]
struct RawReceipt {
    #[serde(default)]
    energy_usage_total: u64,
    #[serde(default)]
    result: String,
}

/// Addresses here have 20 bytes.
#[derive(Deserialize)]
struct RawLog {
    address: Address,
    #[serde(default)]
    topics: Vec<B256>,
    #[serde(default)]
    data: Bytes,
}

impl RawInfo {
    fn check(self, asked: B256) -> Option<TxInfo> {
        let logs = self.log.into_iter().map(|log| {
            LogData::new(log.topics, log.data).map(|data| Log { address: log.address, data })
        });
        let result = CallResult::of_record(&self.receipt.result, &self.result);
        let info = TxInfo {
            id: self.id,
            block: self.block_number,
            block_time_ms: self.block_time_stamp,
            fee: self.fee,
            energy: self.receipt.energy_usage_total,
            outcome: self.receipt.result,
            result,
            returned: self.contract_result.into_iter().next().unwrap_or_default(),
            words: words_of(&self.res_message),
            logs: logs.collect::<Option<_>>()?,
        };
        (info.id == asked && info.block > 0).then_some(info)
    }
}

impl Api<'_> {
    /// The result of the call that a transaction makes, also from a node that keeps no history; none
    /// where the node does not know the transaction, and nothing follows from that. On the full side
    /// it may only be in the pool, and its result a guess.
    pub async fn call_result(self, side: Side, id: B256) -> Result<Option<CallResult>, AskError> {
        const QUESTION: &str = "gettransactionbyid";
        match self.ask(side, QUESTION, by_id(id)).await? {
            // Further results are whatever the relay of the transaction filled in.
            Some(RawTx { id: answered, ret }) if answered == id => {
                Ok(ret.first().and_then(|first| CallResult::of_word(&first.contract_ret)))
            }
            Some(RawTx { .. }) => Err(garbled(QUESTION)),
            None => Ok(None),
        }
    }

    /// Asks for the transactions that wait in the node's pool.
    pub async fn pool(self) -> Result<Vec<B256>, AskError> {
        let question = "gettransactionlistfrompending";
        let told: Option<RawPool> = self.ask(Side::Full, question, json!({})).await?;
        Ok(told.map(|pool| pool.ids).unwrap_or_default())
    }

    /// Asks for the signed part of a transaction in the node's pool; none if the transaction is not in the pool.
    pub async fn waiting(self, id: B256) -> Result<Option<Bytes>, AskError> {
        const QUESTION: &str = "gettransactionfrompending";
        let told: Option<RawWaiting> = self.ask(Side::Full, QUESTION, by_id(id)).await?;
        match told.map(|waiting| waiting.raw_data_hex) {
            Some(raw) if txid(&raw) != id => Err(garbled(QUESTION)),
            raw => Ok(raw),
        }
    }

    /// Asks for the effect of the transaction, if it is in a block; on the solidity side, in an irrevocable one.
    pub async fn info(self, side: Side, id: B256) -> Result<Option<TxInfo>, AskError> {
        const QUESTION: &str = "gettransactioninfobyid";
        let raw: Option<RawInfo> = self.ask(side, QUESTION, by_id(id)).await?;
        let info = raw.map(|raw| raw.check(id).ok_or_else(|| garbled(QUESTION))).transpose()?;
        Ok(info.map(|info| TxInfo { words: self.clean(&info.words), ..info }))
    }
}

/// The offer of signed bytes. They must be on disk.
pub fn offer(raw: &[u8]) -> Question {
    let params = json!({ "transaction": hex::encode(raw) });
    Question::Http { side: Side::Full, name: "broadcasthex", params, runs: false }
}

impl Broadcast {
    /// The same without our secrets.
    #[must_use]
    pub fn cleaned(&self, clean: impl Fn(&str) -> String) -> Self {
        let (code, message) = (clean(&self.code), clean(&self.message));
        Self { code, message, ..self.clone() }
    }
}

fn by_id(id: B256) -> serde_json::Value {
    json!({ "value": hex::encode(id) })
}
