//! The billing call, run without being sent: `eth_simulateV1` where the node has it, else
//! `eth_call` and `eth_estimateGas` at once.
//!
//! A call that fails is an answer, not an error. An error means that the node gave no answer.

use super::node::EvmAsker;
use super::node::{self, Call, View};
use crate::chain::ChainError;
use crate::chain::trial::{CallFailure, Simulated};
use crate::node::NoReply;
use crate::node::{AskError, Fault, NodeError};
use alloy::primitives::{Address, Bytes, U64};
use serde::Deserialize;
use serde_json::json;

const METHOD: &str = "eth_simulateV1";

/// What a plain transfer uses.
const TRANSFER_GAS: u64 = 21_000;

/// How nodes begin the message of a call that ran and failed, in lower case.
/// geth: core/vm/errors.go; anvil: "EVM error …"; `OpenEthereum` and Nethermind: "VM execution error".
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

/// Whether the node can simulate. Only a node that could not be reached leaves it open.
pub(super) async fn works(rpc: EvmAsker<'_>, from: Address) -> Result<bool, AskError> {
    let probe = Call { from, to: from, data: &[], gas: TRANSFER_GAS };
    match simulate(rpc, "latest", probe).await {
        Ok(ran) => Ok(matches!(ran, Simulated::Passed { .. })),
        Err(error) => cannot(error),
    }
}

/// Whether an error of a probe says that the node cannot do it: false. Else nothing is known.
pub(super) fn cannot(error: AskError) -> Result<bool, AskError> {
    match &error.fault {
        Fault::Node(_) | Fault::Http(_) | Fault::Garbled | Fault::Lost(NoReply::TooLong) => {
            Ok(false)
        }
        Fault::Lost(
            NoReply::Refused | NoReply::NoConnection | NoReply::TimedOut | NoReply::Broken,
        )
        | Fault::ShutOut { .. }
        | Fault::WrongChain { .. }
        | Fault::NoNode => Err(error),
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
    let (answer, used) =
        tokio::join!(attempt(view, call), node::estimate_gas(view.rpc, &view.block, call));
    match answer? {
        Ok(answer) => Ok(Simulated::Passed { used: used?, answer }),
        Err(failure) => Ok(Simulated::Failed(failure)),
    }
}

/// Runs a call without asking what it used: cheaper by far than an estimate.
pub(super) async fn attempt(
    view: &View<'_>,
    call: Call<'_>,
) -> Result<Result<Bytes, CallFailure>, ChainError> {
    match node::call(view, call).await {
        Ok(answer) => Ok(Ok(answer)),
        Err(AskError { fault: Fault::Node(error), .. }) if is_failure(&error) => {
            Ok(Err(CallFailure { data: error.data.unwrap_or_default(), words: error.message }))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether the node says that the call ran and failed, rather than that it could not run it.
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
