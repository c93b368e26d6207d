//! The answers of a node, as its JSON-RPC interface gives them, believed in nothing.

use alloy::primitives::{Address, B64, B256, Bloom, Bytes, U64, U256};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::fmt;

/// A block, as `eth_getBlockByHash` and `eth_getBlockByNumber` tell it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockAnswer {
    pub(crate) hash: Option<B256>,
    pub(crate) parent_hash: Option<B256>,
    pub(crate) sha3_uncles: Option<B256>,
    pub(crate) miner: Option<Address>,
    pub(crate) state_root: Option<B256>,
    pub(crate) transactions_root: Option<B256>,
    pub(crate) receipts_root: Option<B256>,
    pub(crate) logs_bloom: Option<Bloom>,
    pub(crate) difficulty: Option<U256>,
    pub(crate) number: Option<U64>,
    pub(crate) gas_limit: Option<U64>,
    pub(crate) gas_used: Option<U64>,
    pub(crate) timestamp: Option<U64>,
    pub(crate) extra_data: Option<Bytes>,
    pub(crate) mix_hash: Option<B256>,
    pub(crate) nonce: Option<B64>,
    pub(crate) base_fee_per_gas: Option<U64>,
    pub(crate) withdrawals_root: Option<B256>,
    pub(crate) blob_gas_used: Option<U64>,
    pub(crate) excess_blob_gas: Option<U64>,
    pub(crate) parent_beacon_block_root: Option<B256>,
    pub(crate) requests_hash: Option<B256>,
    pub(crate) block_access_list_hash: Option<B256>,
    pub(crate) slot_number: Option<U64>,
    #[serde(default)]
    pub(crate) transactions: Vec<Box<RawValue>>,
    #[serde(flatten)]
    pub(crate) others: Others,
}

/// A receipt, as `eth_getBlockReceipts` and `eth_getTransactionReceipt` tell it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceiptAnswer {
    #[serde(rename = "type")]
    pub(crate) kind: Option<U64>,
    pub(crate) status: Option<U64>,
    pub(crate) root: Option<Bytes>,
    pub(crate) cumulative_gas_used: Option<U64>,
    pub(crate) gas_used: Option<U64>,
    pub(crate) logs: Option<Vec<LogAnswer>>,
    pub(crate) block_hash: Option<B256>,
    pub(crate) block_number: Option<U64>,
    pub(crate) transaction_hash: Option<B256>,
    pub(crate) transaction_index: Option<U64>,
    #[serde(flatten)]
    pub(crate) others: Others,
}

/// A log in a receipt. The fields that are not part of a receipt's bytes say where the log stands.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogAnswer {
    pub(crate) address: Address,
    pub(crate) topics: Vec<B256>,
    pub(crate) data: Bytes,
    pub(crate) block_hash: Option<B256>,
    pub(crate) block_number: Option<U64>,
    pub(crate) transaction_hash: Option<B256>,
    pub(crate) transaction_index: Option<U64>,
    pub(crate) log_index: Option<U64>,
}

/// An account with the nodes of the trie that lead to it, as `eth_getProof` tells it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountAnswer {
    pub(crate) nonce: U64,
    pub(crate) balance: U256,
    pub(crate) code_hash: B256,
    pub(crate) storage_hash: B256,
    pub(crate) account_proof: Vec<Bytes>,
}

/// The names of the fields that are not read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Others(Vec<String>);

impl<'de> Deserialize<'de> for Others {
    fn deserialize<D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error> {
        fields.deserialize_map(Self::default())
    }
}

impl<'de> Visitor<'de> for Others {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Self, A::Error> {
        while let Some((name, IgnoredAny)) = fields.next_entry()? {
            self.0.push(name);
        }
        Ok(self)
    }
}

/// Fields of a block that are no part of its header, and fields that repeat parts of it.
const BESIDE_A_HEADER: [&str; 10] = [
    "author",
    "l1BlockNumber",
    "milliTimestamp",
    "sealFields",
    "sendCount",
    "sendRoot",
    "size",
    "totalDifficulty",
    "uncles",
    "withdrawals",
];

/// Fields of a receipt that are no part of its bytes.
const BESIDE_A_RECEIPT: [&str; 22] = [
    "blobGasPrice",
    "blobGasUsed",
    "blockTimestamp",
    "contractAddress",
    "daFootprintGasScalar",
    "effectiveGasPrice",
    "error",
    "from",
    "gasUsedForL1",
    "l1BaseFeeScalar",
    "l1BlobBaseFee",
    "l1BlobBaseFeeScalar",
    "l1BlockNumber",
    "l1Fee",
    "l1FeeScalar",
    "l1GasPrice",
    "l1GasUsed",
    "logsBloom",
    "operatorFeeConstant",
    "operatorFeeScalar",
    "timeboosted",
    "to",
];

impl BlockAnswer {
    /// A field that may be part of the header, and is not known here.
    pub(crate) fn unknown_field(&self) -> Option<String> {
        unknown(&self.others, &BESIDE_A_HEADER)
    }
}

impl ReceiptAnswer {
    /// A field that may be part of the receipt's bytes, and is not known here.
    pub(crate) fn unknown_field(&self) -> Option<String> {
        unknown(&self.others, &BESIDE_A_RECEIPT)
    }
}

fn unknown(others: &Others, known: &[&str]) -> Option<String> {
    let name = others.0.iter().find(|name| !known.contains(&name.as_str()))?;
    Some(name.chars().take(40).collect())
}
