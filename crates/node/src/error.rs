//! Why a question got no answer, in words that are safe to show.

use super::exchange::NoReply;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// A question without an answer. Its words hold no URL and no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{question}: {fault}")]
pub struct AskError {
    /// Name of the method that was asked.
    pub question: &'static str,
    /// The failure.
    pub fault: Fault,
}

/// The failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nothing came back.
    #[error("{0}")]
    Lost(NoReply),
    /// The server answered with a status and nothing that could be used. The node may have seen the
    /// question.
    #[error("HTTP status {0}")]
    Http(u16),
    /// The server does not look at questions for a while, or it is still too early to ask again. In
    /// both cases it has not seen this one.
    #[error("the server wants no questions for the next {} ms", wait.as_millis())]
    ShutOut {
        /// The length of that time.
        wait: Duration,
    },
    /// The answer is not what the protocol says, or answers another question.
    #[error("the answer is not that of a node: no JSON, or not what was asked for")]
    Garbled,
    /// The node's own error.
    #[error("{0}")]
    Node(NodeError),
    /// The node is on another chain. Nothing else was asked of it.
    #[error("{answered}, but this chain is {configured}")]
    WrongChain {
        /// The node's answer.
        answered: RealChain,
        /// The value in the configuration.
        configured: RealChain,
    },
    /// There is no node that could be asked.
    #[error("no node of this chain can be asked")]
    NoNode,
}

/// The mark that tells one real chain from another, as nodes know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RealChain {
    /// The id that signatures commit to (EIP-155).
    Eip155(u64),
    /// The last four bytes of the id of a TRON chain's block 0.
    Genesis(u32),
}

impl fmt::Display for RealChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eip155(id) => write!(f, "{id}"),
            Self::Genesis(id) => write!(f, "{id:#010x}"),
        }
    }
}

/// An error that a node names, cut and cleaned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeError {
    /// The code; 0 where the protocol knows none.
    pub code: i64,
    /// The message.
    pub message: String,
    /// The bytes that came with it: what a call reverted with.
    pub data: Option<Vec<u8>>,
}

impl NodeError {
    /// An error that is only a message.
    pub fn of(message: impl Into<String>) -> Self {
        Self { code: 0, message: message.into(), data: None }
    }
}

impl std::error::Error for NodeError {}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            0 => f.write_str(&self.message),
            code => write!(f, "{} (code {code})", self.message),
        }
    }
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
