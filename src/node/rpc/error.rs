//! Why a question got no answer, in words that are safe to show.

use crate::node::exchange::NoReply;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// A question without an answer. Its words hold no URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{method}: {fault}")]
pub struct RpcError {
    /// What was asked.
    pub method: &'static str,
    /// What went wrong.
    pub fault: Fault,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nothing came back.
    #[error("{0}")]
    Lost(NoReply),
    /// The server answered with a status and no JSON-RPC answer that could be used.
    #[error("HTTP status {0}")]
    Http(u16),
    /// The answer is not what the protocol says, or answers another question.
    #[error("the answer makes no sense")]
    Garbled,
    /// The node's own error.
    #[error("{0}")]
    Node(NodeError),
    /// The node is on another chain. Nothing else was asked of it.
    #[error("{answered}, but this chain's eip155_id is {configured}")]
    WrongChain {
        /// What the node says.
        answered: u64,
        /// What the configuration says.
        configured: u64,
    },
    /// There is no node that could be asked.
    #[error("no node of this chain can be asked")]
    NoNode,
}

/// A JSON-RPC error, cut and cleaned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeError {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// The bytes that came with it: what a call reverted with.
    pub data: Option<Vec<u8>>,
}

/// A JSON-RPC error as it comes.
#[derive(Deserialize)]
pub(super) struct RawNodeError {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    data: Option<Value>,
}

impl RawNodeError {
    /// The first run of hex in the data: geth and most others send `"0x…"`, some `"Reverted 0x…"`,
    /// some an object that holds one of these as its own `data`.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let nested = self.data.as_ref()?.get("data").or(self.data.as_ref())?;
        let (_, digits) = nested.as_str()?.split_once("0x")?;
        hex::decode(digits).ok()
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}
