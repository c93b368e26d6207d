//! The client through which a fleet asks its nodes. One implementation speaks JSON-RPC; an adapter whose nodes
//! speak something else brings its own.

use super::decode::decode;
use super::error::{AskError, Fault, RealChain};
use super::redact::Redactor;
use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::fmt;

/// A connection to one node, whichever endpoints that node has. Nothing is asked twice here, and
/// nothing is concluded from an answer.
#[async_trait]
pub trait Client: Send + Sync + fmt::Debug + 'static {
    /// A question that can be asked. One question is one exchange.
    type Question: Clone + fmt::Debug + Send + Sync + 'static;

    /// Returns the name of a question in errors and logs.
    fn name(question: &Self::Question) -> &'static str;

    /// Asks. The answer is JSON; `null` where the node says that there is nothing.
    async fn ask(&self, question: &Self::Question) -> Result<Box<RawValue>, Fault>;

    /// Asks every endpoint of the node which chain it is on.
    async fn chains(&self) -> Result<Vec<RealChain>, AskError>;

    /// Returns the number of requests that [`Self::chains`] takes.
    fn doors(&self) -> u64 {
        1
    }

    /// Takes what is secret about the node's endpoints out of texts.
    fn redactor(&self) -> &Redactor;
}

/// Reads an answer as what was asked for.
pub(super) fn read_answer<R: DeserializeOwned>(raw: &RawValue) -> Result<R, Fault> {
    decode(raw.get().as_bytes()).map_err(|_| Fault::Garbled)
}
