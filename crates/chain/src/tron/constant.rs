//! Calls that are asked about and never sent, few at a time, and what their answers mean.
//!
//! A node stops such a call after a short time on the clock (80 ms on the main network). Calls that
//! each pass alone fail when many run at once, so few do; and a call that was stopped says nothing
//! about the contract, only that less should be asked at a time.

use super::TronChain;
use super::api::{Api, CallOutcome, ConstantCall, DeploylessRead, Side, is_of_the_door};
use crate::trial::CallFailure;
use crate::{ChainError, OddAnswer};
use ::node::{AskError, Fault};
use alloy::primitives::{Address, Bytes};

/// Number of tries in all of a call that was stopped for want of time.
pub(super) const TRIES: usize = 3;

/// Beginning of the words for a call that was stopped because it took too long.
const TOO_LONG: &str = "CPU timeout";

/// Beginnings of the words for a call that was stopped because too much was asked of it.
const STOPPED: [&str; 2] = [TOO_LONG, "Not enough energy"];

/// The words for an address without a contract.
const NO_CONTRACT: &str = "Smart contract is not exist";

/// Beginning of the machine's exceptions, in words of the HTTP API. java-tron:
/// actuator/.../core/vm/program/Program.java
const MACHINE: &str = "class org.tron.core.vm.program.Program$";

/// The code of the JSON-RPC for a call that ran and failed.
/// java-tron: framework/.../services/jsonrpc/TronJsonRpcImpl.java
const RAN_AND_FAILED: i64 = -32000;

/// The outcome of a constant call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConstantCallOutcome {
    /// It went through.
    Said {
        /// Energy used, penalty included; 0 where the node does not tell.
        energy: u64,
        /// The returned data.
        answer: Bytes,
    },
    /// It ran and failed, or there is nothing to call.
    Failed(CallFailure),
    /// The node stopped it: too much was asked at once, for this node at this moment.
    Stopped(String),
}

impl TronChain {
    /// Calls a contract on the state of the head, as the signing account would.
    pub(super) async fn call(
        &self,
        api: Api<'_>,
        contract: Address,
        data: &[u8],
    ) -> Result<ConstantCallOutcome, ChainError> {
        let call = ConstantCall { owner: self.account.facts.signer, contract, data };
        judge(api.run(Side::Full, call).await?)
    }

    /// Runs creation code that only reads.
    pub(super) async fn read_deployless(
        &self,
        api: Api<'_>,
        code: &[u8],
    ) -> Result<ConstantCallOutcome, ChainError> {
        let read = DeploylessRead { owner: self.account.facts.signer, code };
        judge(api.run_deployless(read).await?)
    }

    /// The same as [`Self::call`] where only the answer matters, over the JSON-RPC if there is one.
    pub(super) async fn ask(
        &self,
        api: Api<'_>,
        contract: Address,
        data: &[u8],
    ) -> Result<ConstantCallOutcome, ChainError> {
        if !api.speaks_jsonrpc() {
            return self.call(api, contract, data).await;
        }
        let call = ConstantCall { owner: self.account.facts.signer, contract, data };
        match api.eth_call(call).await {
            Err(error) if is_of_the_door(&error.fault) => self.call(api, contract, data).await,
            said => judge_rpc(said),
        }
    }
}

/// Returns true if a call that was stopped took too long, rather than too much energy.
pub(super) fn out_of_time(words: &str) -> bool {
    words.contains(TOO_LONG)
}

fn judge(ran: CallOutcome) -> Result<ConstantCallOutcome, ChainError> {
    let out_of_time = ran.out_of_time();
    match ran {
        CallOutcome::Passed { energy, answer } => Ok(ConstantCallOutcome::Said { energy, answer }),
        CallOutcome::Reverted { data, .. } => {
            let words = "REVERT opcode executed".to_owned();
            Ok(ConstantCallOutcome::Failed(CallFailure { data: data.to_vec(), words }))
        }
        CallOutcome::Stopped { words, .. } if out_of_time => {
            Ok(ConstantCallOutcome::Stopped(words))
        }
        CallOutcome::Stopped { code, words } => match words.strip_prefix(MACHINE) {
            Some(rest) => Ok(failed(rest.split_once(" : ").map_or(rest, |(_, why)| why))),
            None if words.contains(NO_CONTRACT) => Ok(failed(&words)),
            None => {
                let answer = OddAnswer::NotRun { code, words };
                Err(ChainError::Node { question: "triggerconstantcontract", answer })
            }
        },
    }
}

fn judge_rpc(said: Result<Bytes, AskError>) -> Result<ConstantCallOutcome, ChainError> {
    match said {
        Ok(answer) => Ok(ConstantCallOutcome::Said { energy: 0, answer }),
        Err(AskError { fault: Fault::Node(error), .. })
            if error.code == RAN_AND_FAILED || error.message.contains(NO_CONTRACT) =>
        {
            Ok(failed(&error.message))
        }
        Err(error) => Err(error.into()),
    }
}

fn failed(words: &str) -> ConstantCallOutcome {
    if STOPPED.iter().any(|start| words.starts_with(start)) {
        return ConstantCallOutcome::Stopped(words.to_owned());
    }
    ConstantCallOutcome::Failed(CallFailure { data: Vec::new(), words: words.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::node::NodeError;

    fn stopped(code: &str, words: &str) -> Result<ConstantCallOutcome, ChainError> {
        judge(CallOutcome::Stopped { code: code.to_owned(), words: words.to_owned() })
    }

    fn rpc(code: i64, message: &str) -> Result<ConstantCallOutcome, ChainError> {
        let fault = Fault::Node(NodeError { code, message: message.to_owned(), data: None });
        judge_rpc(Err(AskError { question: "eth_call", fault }))
    }

    /// Recorded: 05, 06, 28 and 31 of the golden transcripts.
    #[test]
    fn a_call_that_was_stopped_is_told_from_one_that_failed_and_from_a_node_that_will_not() {
        let machine = |what: &str| format!("{MACHINE}{what}");
        let asked_too_much = [
            stopped(
                "OTHER_ERROR",
                &machine("OutOfTimeException : CPU timeout for 'DUP3' operation executing"),
            ),
            stopped(
                "OTHER_ERROR",
                &machine("OutOfEnergyException : Not enough energy for 'SSTORE' operation"),
            ),
            rpc(-32000, "CPU timeout for 'SSTORE' operation executing"),
            rpc(-32000, "Not enough energy for 'SSTORE' operation executing"),
        ];
        for heard in asked_too_much {
            assert!(matches!(heard, Ok(ConstantCallOutcome::Stopped(_))), "{heard:?}");
        }
        let broke = [
            stopped(
                "OTHER_ERROR",
                &machine("IllegalOperationException : Invalid operation code: opCode[fe];"),
            ),
            stopped("CONTRACT_VALIDATE_ERROR", "Smart contract is not exist."),
            judge(CallOutcome::Reverted { energy: 605, data: vec![8].into() }),
            rpc(-32000, "REVERT opcode executed: a reason"),
            rpc(-32000, "Invalid operation code: opCode[fe];"),
            rpc(-32600, "Smart contract is not exist."),
        ];
        for heard in broke {
            assert!(matches!(heard, Ok(ConstantCallOutcome::Failed(_))), "{heard:?}");
        }
        let no_answer = [
            stopped("CONTRACT_VALIDATE_ERROR", "this node does not support constant"),
            stopped("OTHER_ERROR", "class java.lang.NullPointerException : null"),
            rpc(-32600, "this node does not support constant"),
            rpc(-32602, "method parameters invalid"),
        ];
        for heard in no_answer {
            assert!(matches!(heard, Err(ChainError::Node { .. })), "{heard:?}");
        }
    }
}
