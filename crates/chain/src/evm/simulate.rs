//! The billing call, run without being sent: `eth_simulateV1` where the node has it, else
//! `eth_call` and `eth_estimateGas` at once, and `eth_call` alone with less and less gas where there is no estimate.
//!
//! A call that fails is an answer, not an error. An error means that the node gave no answer.

use crate::ChainError;
use crate::simulation::{CallFailure, Simulated};
use ::node::NoReply;
use ::node::{AskError, Fault, NodeError};
use alloy::primitives::{Address, Bytes, U64};
use evm_node::EvmAsker;
use evm_node::{self as node, Call, View};
use evm_testimony::errors::passing;
use futures_util::future::{Either, select};
use serde::Deserialize;
use serde_json::json;
use std::iter::successors;
use std::pin::pin;

const METHOD: &str = "eth_simulateV1";

/// The gas that a plain transfer uses.
const TRANSFER_GAS: u64 = 21_000;

/// The beginnings of the messages of nodes about a call that ran and failed, in lower case. geth:
/// core/vm/errors.go; anvil: "EVM error …"; `OpenEthereum` and Nethermind: "VM execution error".
const FAILED: [&str; 9] = [
    "execution reverted",
    "vm execution error",
    "evm error",
    "revert",
    "out of gas",
    "invalid opcode",
    "invalid jump destination",
    "stack underflow",
    "write protection",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SimulatedCall {
    return_data: Bytes,
    gas_used: U64,
    status: U64,
    #[serde(default)]
    error: Option<SimulatedError>,
}

#[derive(Deserialize)]
struct SimulatedError {
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Option<Bytes>,
}

#[derive(Deserialize)]
struct SimulatedBlock {
    calls: Vec<SimulatedCall>,
}

/// The result of a probe of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// It can be asked so.
    Works,
    /// It cannot.
    Fails,
    /// It gave no answer within its time: some take minutes for an estimate.
    TooSlow,
}

impl Probe {
    /// A probe that was answered.
    pub(super) fn of(works: bool) -> Self {
        if works { Self::Works } else { Self::Fails }
    }

    /// The result where the node did not answer. The error is returned where it could not be reached at all.
    pub(super) fn after(error: AskError) -> Result<Self, AskError> {
        match &error.fault {
            Fault::Node(_) | Fault::Http(_) | Fault::Garbled | Fault::Lost(NoReply::TooLong) => {
                Ok(Self::Fails)
            }
            Fault::Lost(NoReply::TimedOut) => Ok(Self::TooSlow),
            Fault::Lost(NoReply::Refused | NoReply::NoConnection | NoReply::Broken)
            | Fault::ShutOut { .. }
            | Fault::WrongChain { .. }
            | Fault::NoNode => Err(error),
        }
    }
}

/// Probes that the node can simulate.
pub(super) async fn probe(rpc: EvmAsker<'_>, from: Address) -> Result<Probe, AskError> {
    let probe = Call { from, to: from, data: &[], gas: TRANSFER_GAS };
    match simulate(rpc, "latest", probe).await {
        Ok(ran) => Ok(Probe::of(matches!(ran, Simulated::Passed { .. }))),
        Err(error) => Probe::after(error),
    }
}

/// Runs a call and says what it used.
pub(super) async fn run(view: &View<'_>, call: Call<'_>) -> Result<Simulated, ChainError> {
    if view.known.ways.simulates {
        match simulate(view.rpc, &view.block, call).await {
            Err(AskError { fault: Fault::Node(_), .. }) => {}
            ran => return Ok(ran?),
        }
    }
    let (attempt, estimate) =
        (pin!(attempt(view, call)), pin!(node::estimate_gas(view.rpc, &view.block, call)));
    let (ran, used) = match select(attempt, estimate).await {
        // Of a call that fails an estimate tells nothing: some nodes take seconds for that.
        Either::Left((Ok(Simulated::Failed(failure)), _)) => return Ok(Simulated::Failed(failure)),
        Either::Left((ran, estimate)) => (ran?, estimate.await),
        Either::Right((used, attempt)) => (attempt.await?, used),
    };
    let answer = match ran {
        Simulated::Passed { answer, .. } => answer,
        failed @ Simulated::Failed(_) => return Ok(failed),
    };
    let used = match used {
        Err(error) if is_no_estimate(&error) => least_gas(view, call, &answer).await?,
        used => used?,
    };
    Ok(Simulated::Passed { used, answer })
}

/// Returns true if a node has no estimate of a call that it runs: it does not know the question, stumbles over
/// bounds of its own (Hardhat with blocks larger than a transaction may be), or is too slow (Ganache).
fn is_no_estimate(error: &AskError) -> bool {
    match &error.fault {
        Fault::Node(said) => !passing(said),
        Fault::Lost(NoReply::TimedOut) => true,
        Fault::Lost(
            NoReply::Refused | NoReply::NoConnection | NoReply::Broken | NoReply::TooLong,
        )
        | Fault::Http(_)
        | Fault::ShutOut { .. }
        | Fault::Garbled
        | Fault::WrongChain { .. }
        | Fault::NoNode => false,
    }
}

/// The share of its gas that each rung of a search leaves to the next.
const RUNG: (u64, u64) = (7, 8);

/// The least gas with which a call that passes still gives this answer, to an eighth, and rather too much: it is
/// run with less and less of it.
async fn least_gas(view: &View<'_>, call: Call<'_>, answer: &Bytes) -> Result<u64, AskError> {
    let less = |gas: &u64| {
        let less = gas.saturating_mul(RUNG.0).checked_div(RUNG.1)?;
        (less >= TRANSFER_GAS).then_some(less)
    };
    let rungs: Vec<u64> = successors(Some(call.gas), less).collect();
    let gas_at = |rung: usize| rungs.get(rung).copied().unwrap_or(call.gas);
    // The first is known to do, and one beyond the last is taken not to.
    let (mut does, mut fails) = (0, rungs.len());
    while fails.saturating_sub(does) > 1 {
        let middle = does.midpoint(fails);
        match node::call(view, Call { gas: gas_at(middle), ..call }).await {
            Ok(same) if same == *answer => does = middle,
            Ok(_) => fails = middle,
            Err(AskError { fault: Fault::Node(said), .. }) if !passing(&said) => fails = middle,
            Err(error) => return Err(error),
        }
    }
    Ok(gas_at(does))
}

/// Runs a call without asking what it used: cheaper by far than an estimate. The usage of a call that passes is 0.
pub(super) async fn attempt(view: &View<'_>, call: Call<'_>) -> Result<Simulated, ChainError> {
    match node::call(view, call).await {
        Ok(answer) => Ok(Simulated::Passed { used: 0, answer }),
        Err(AskError { fault: Fault::Node(error), .. }) if is_failure(&error) => {
            let data = error.data.unwrap_or_default();
            Ok(Simulated::Failed(CallFailure { data, words: error.message }))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns true if the node says that the call ran and failed, rather than that the node could not run it.
fn is_failure(error: &NodeError) -> bool {
    let said = error.message.to_ascii_lowercase();
    error.code == 3 || error.data.is_some() || FAILED.iter().any(|start| said.starts_with(start))
}

async fn simulate(rpc: EvmAsker<'_>, block: &str, call: Call<'_>) -> Result<Simulated, AskError> {
    let input = alloy::hex::encode_prefixed(call.data);
    let call = json!({
        "from": call.from, "to": call.to, "input": input, "gas": U64::from(call.gas)
    });
    let asked = json!([{ "blockStateCalls": [{ "calls": [call] }], "validation": false }, block]);
    read(rpc.ask(METHOD, asked).await?).ok_or(AskError { question: METHOD, fault: Fault::Garbled })
}

fn read(blocks: Vec<SimulatedBlock>) -> Option<Simulated> {
    let mut calls = blocks.into_iter().flat_map(|block| block.calls);
    let (Some(call), None) = (calls.next(), calls.next()) else { return None };
    if call.status == U64::ONE {
        return Some(Simulated::Passed { used: call.gas_used.to(), answer: call.return_data });
    }
    // geth puts the data of the revert into the error, anvil into what was returned.
    let error = call.error.unwrap_or(SimulatedError { message: String::new(), data: None });
    let data = error.data.unwrap_or(call.return_data);
    Some(Simulated::Failed(CallFailure { data: data.to_vec(), words: error.message }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn said(answer: Value) -> Option<Simulated> {
        read(serde_json::from_value(answer).unwrap())
    }

    #[test]
    fn a_simulated_call_is_read_from_geth_and_from_anvil() {
        let call = |status: &str, rest: Value| {
            let mut call = json!({ "returnData": "0x", "logs": [], "gasUsed": "0x5208" });
            call["status"] = json!(status);
            call.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            said(json!([{ "number": "0x3", "calls": [call] }]))
        };
        let passed = call("0x1", json!({ "returnData": "0xaa" }));
        assert_eq!(passed, Some(Simulated::Passed { used: 21_000, answer: vec![0xaa].into() }));
        let failed = |words: &str| {
            Some(Simulated::Failed(CallFailure { data: vec![0xbb], words: words.to_owned() }))
        };
        let geth = json!({ "error": { "code": 3, "message": "reverted", "data": "0xbb" } });
        assert_eq!(call("0x0", geth), failed("reverted"));
        let anvil =
            json!({ "returnData": "0xbb", "error": { "code": -3200, "message": "failed" } });
        assert_eq!(call("0x0", anvil), failed("failed"));
        assert_eq!(said(json!([])), None);
    }

    #[test]
    fn only_a_call_that_ran_can_have_failed() {
        let error = |code, message: &str, data: Option<Vec<u8>>| {
            is_failure(&NodeError { code, message: message.to_owned(), data })
        };
        assert!(error(3, "execution reverted: custom error 0xf8170986", Some(vec![1])));
        assert!(error(-32000, "execution reverted", None));
        assert!(error(-32603, "EVM error OutOfGas", None));
        assert!(error(-32000, "invalid opcode: INVALID", None));
        assert!(!error(-32000, "header not found", None));
        assert!(!error(-32005, "daily request limit reached", None));
        assert!(!error(-32601, "Method not found", None));
    }
}
