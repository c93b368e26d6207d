//! Calls that are asked about and never sent: `triggerconstantcontract`.
//!
//! A call that fails is an answer, not an error. An error means that the node gave no answer.

use super::api::{Api, garbled};
use super::endpoints::{Endpoints, Question, Side};
use alloy::primitives::{Address, Bytes};
use node::{AskError, Request};
use serde::Deserialize;
use serde_json::{Value, json};
use tron_primitives::address::to_hex;

const QUESTION: &str = "triggerconstantcontract";

/// A call of a contract by an account that need not exist.
#[derive(Clone, Copy, Debug)]
pub struct ConstantCall<'a> {
    /// The account that makes the call.
    pub owner: Address,
    /// The contract.
    pub contract: Address,
    /// The input.
    pub data: &'a [u8],
}

/// A read of many things at once: creation code that returns them in the place of code. Nothing is
/// deployed, and no limit of a deployment applies: 200 energy for each byte returned, of 100,000,000.
#[derive(Clone, Copy, Debug)]
pub struct DeploylessRead<'a> {
    /// The account that makes the call.
    pub owner: Address,
    /// The code, with its input behind it.
    pub code: &'a [u8],
}

/// The ending of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// It went through.
    Passed {
        /// Energy used, penalty included.
        energy: u64,
        /// The returned data.
        answer: Bytes,
    },
    /// The contract reverted.
    Reverted {
        /// Energy used.
        energy: u64,
        /// The revert data.
        data: Bytes,
    },
    /// The node stopped it or did not run it: no contract, out of energy or of time, an invalid
    /// instruction, or no constant calls on this node.
    Stopped {
        /// The node's code.
        code: String,
        /// The node's words.
        words: String,
    },
}

impl CallOutcome {
    /// Returns true if the call took too long. The limit is wall-clock time (80 ms on the main network): the same
    /// call may pass when the node is less busy, and a smaller one sooner.
    pub fn out_of_time(&self) -> bool {
        match self {
            Self::Stopped { words, .. } => words.contains("CPU timeout"),
            Self::Passed { .. } | Self::Reverted { .. } => false,
        }
    }
}

#[derive(Deserialize)]
struct RawRun {
    result: RawResult,
    #[serde(default)]
    energy_used: u64,
    #[serde(default)]
    constant_result: Vec<Bytes>,
    #[serde(default)]
    transaction: RawTransaction,
}

#[derive(Deserialize)]
struct RawResult {
    #[serde(default)]
    result: bool,
    #[serde(default)]
    code: String,
    /// Hex of a text.
    #[serde(default)]
    message: String,
}

#[derive(Default, Deserialize)]
struct RawTransaction {
    #[serde(default)]
    ret: Vec<RawRet>,
}

#[derive(Deserialize)]
struct RawRet {
    #[serde(default)]
    ret: String,
}

impl RawRun {
    /// `result.result` is true also of a call that reverted; `transaction.ret` tells them apart.
    fn judge(self, clean: impl FnOnce(&str) -> String) -> Option<CallOutcome> {
        let energy = self.energy_used;
        let mut returned = self.constant_result.into_iter();
        match (self.result.result, self.transaction.ret.as_slice(), returned.next()) {
            (true, [RawRet { ret }], Some(answer)) if ret.is_empty() => {
                Some(CallOutcome::Passed { energy, answer })
            }
            (true, [RawRet { ret }], Some(data)) if ret == "FAILED" => {
                Some(CallOutcome::Reverted { energy, data })
            }
            (false, _, _) if !self.result.code.is_empty() => Some(CallOutcome::Stopped {
                code: self.result.code,
                words: clean(&words_of(&self.result.message)),
            }),
            _ => None,
        }
    }
}

/// The text that a node's message is the hex of; the message itself where it is none.
pub(crate) fn words_of(message: &str) -> String {
    let bytes = hex::decode(message).unwrap_or_else(|_| message.as_bytes().to_vec());
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Api<'_> {
    /// Runs a call without sending it, on the state of this side.
    pub async fn run(self, side: Side, call: ConstantCall<'_>) -> Result<CallOutcome, AskError> {
        let params = json!({
            "owner_address": to_hex(call.owner),
            "contract_address": to_hex(call.contract),
            "data": hex::encode(call.data),
        });
        self.runs(side, params).await
    }

    /// Runs creation code without deploying anything, on the state of the head.
    pub async fn run_deployless(self, read: DeploylessRead<'_>) -> Result<CallOutcome, AskError> {
        let code = hex::encode(read.code);
        self.runs(Side::Full, json!({ "owner_address": to_hex(read.owner), "data": code })).await
    }

    async fn runs(self, side: Side, params: Value) -> Result<CallOutcome, AskError> {
        let asked = Question::Http { side, name: QUESTION, params, runs: true };
        let raw: RawRun = self.0.put(asked).await?;
        raw.judge(|words| self.clean(words)).ok_or_else(|| garbled(QUESTION))
    }

    /// Returns true if the node that is asked, or every node where any may be asked, answers [`Api::eth_call`].
    pub fn speaks_jsonrpc(self) -> bool {
        let fleet = self.0.fleet();
        match self.0.only() {
            Some(id) => fleet.client(id).is_some_and(Endpoints::speaks_jsonrpc),
            None => fleet.clients().all(Endpoints::speaks_jsonrpc),
        }
    }

    /// Runs a call over the node's JSON-RPC, which knows only the newest state and only `data`. Asked
    /// at the solidity node's JSON-RPC, the newest state is the irrevocable one.
    pub async fn eth_call(self, call: ConstantCall<'_>) -> Result<Bytes, AskError> {
        let data = alloy::hex::encode_prefixed(call.data);
        let call = json!({ "from": call.owner, "to": call.contract, "data": data });
        self.0.put(Question::JsonRpc(Request::of("eth_call", (call, "latest")))).await
    }
}
