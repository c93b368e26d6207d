//! Calls that are asked about and never sent, few at a time, and the meaning of their answers.
//!
//! A node stops such a call after a short time on the clock (80 ms on the main network). Calls that each pass alone
//! fail when many run at once, so few do; and a call that was stopped says nothing about the contract, only that less
//! should be asked at a time.

use super::api::Api;
use super::calls::{CallOutcome, ConstantCall, DeploylessRead};
use super::endpoints::{Side, is_of_the_endpoint};
use alloy::primitives::Bytes;
use node::{AskError, Fault};

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
pub enum CallRan {
    /// It went through.
    Passed {
        /// Energy used, penalty included; 0 if the node does not tell.
        energy: u64,
        /// The returned data.
        answer: Bytes,
    },
    /// It ran and failed, or there is nothing to call.
    Failed(CallError),
    /// The node stopped it, in these words: too much was asked at once, for this node at this moment.
    Stopped(String),
}

/// The failure of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallError {
    /// The revert data; empty if there is none.
    pub data: Bytes,
    /// The node's words.
    pub words: String,
}

/// The reason why a call has no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRun {
    /// The node gave no answer.
    Asked(AskError),
    /// The node does not run the call.
    Refused {
        /// The node's code.
        code: String,
        /// The node's words.
        words: String,
    },
}

impl From<AskError> for NotRun {
    fn from(error: AskError) -> Self {
        Self::Asked(error)
    }
}

impl Api<'_> {
    /// Runs a call on the state of the head.
    pub async fn call(self, call: ConstantCall<'_>) -> Result<CallRan, NotRun> {
        judge(self.run(Side::Full, call).await?)
    }

    /// Runs creation code that only reads.
    pub async fn read_deployless(self, read: DeploylessRead<'_>) -> Result<CallRan, NotRun> {
        judge(self.run_deployless(read).await?)
    }

    /// Runs a call of which only the answer matters: over the JSON-RPC if there is one.
    pub async fn call_for_answer(self, call: ConstantCall<'_>) -> Result<CallRan, NotRun> {
        if !self.speaks_jsonrpc() {
            return self.call(call).await;
        }
        match self.eth_call(call).await {
            Err(error) if is_of_the_endpoint(&error.fault) => self.call(call).await,
            answer => judge_rpc(answer),
        }
    }
}

/// Returns true if a call that was stopped took too long, rather than too much energy.
pub fn out_of_time(words: &str) -> bool {
    words.contains(TOO_LONG)
}

fn judge(ran: CallOutcome) -> Result<CallRan, NotRun> {
    let out_of_time = ran.out_of_time();
    match ran {
        CallOutcome::Passed { energy, answer } => Ok(CallRan::Passed { energy, answer }),
        CallOutcome::Reverted { data, .. } => {
            let words = "REVERT opcode executed".to_owned();
            Ok(CallRan::Failed(CallError { data, words }))
        }
        CallOutcome::Stopped { words, .. } if out_of_time => Ok(CallRan::Stopped(words)),
        CallOutcome::Stopped { code, words } => match words.strip_prefix(MACHINE) {
            Some(rest) => Ok(failed(rest.split_once(" : ").map_or(rest, |(_, why)| why))),
            None if words.contains(NO_CONTRACT) => Ok(failed(&words)),
            None => Err(NotRun::Refused { code, words }),
        },
    }
}

fn judge_rpc(answer: Result<Bytes, AskError>) -> Result<CallRan, NotRun> {
    match answer {
        Ok(answer) => Ok(CallRan::Passed { energy: 0, answer }),
        Err(AskError { fault: Fault::Node(error), .. })
            if error.code == RAN_AND_FAILED || error.message.contains(NO_CONTRACT) =>
        {
            Ok(failed(&error.message))
        }
        Err(error) => Err(error.into()),
    }
}

fn failed(words: &str) -> CallRan {
    if STOPPED.iter().any(|start| words.starts_with(start)) {
        return CallRan::Stopped(words.to_owned());
    }
    CallRan::Failed(CallError { data: Bytes::new(), words: words.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::NodeError;

    fn stopped(code: &str, words: &str) -> Result<CallRan, NotRun> {
        judge(CallOutcome::Stopped { code: code.to_owned(), words: words.to_owned() })
    }

    fn rpc(code: i64, message: &str) -> Result<CallRan, NotRun> {
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
            assert!(matches!(heard, Ok(CallRan::Stopped(_))), "{heard:?}");
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
            assert!(matches!(heard, Ok(CallRan::Failed(_))), "{heard:?}");
        }
        let no_answer = [
            stopped("CONTRACT_VALIDATE_ERROR", "this node does not support constant"),
            stopped("OTHER_ERROR", "class java.lang.NullPointerException : null"),
            rpc(-32600, "this node does not support constant"),
            rpc(-32602, "method parameters invalid"),
        ];
        for heard in no_answer {
            let refused = match &heard {
                Err(NotRun::Refused { .. }) => true,
                Err(NotRun::Asked(error)) => matches!(error.fault, Fault::Node(_)),
                Ok(_) => false,
            };
            assert!(refused, "{heard:?}");
        }
    }
}
