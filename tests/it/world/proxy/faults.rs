//! Faults of a node.

use super::super::contracts::Subscriber;
use serde_json::Value;
use std::time::Duration;

/// The proxy's act on a call that it does not pass on as it is.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Neither passes it on nor answers.
    Swallow,
    /// Passes it on, and never answers.
    PassOnAndHang,
    /// Passes it on, and answers with HTTP 502.
    PassOnAndFail,
    /// Passes it on, and drops the connection instead of answering.
    PassOnAndBreak,
    /// Drops the connection, as if nobody were there.
    Break,
    /// Keeps it until the proxy is healed, then passes it on.
    Hold,
    /// Does not pass it on; answers with this JSON-RPC error message.
    Refuse(&'static str),
    /// Does not pass it on; answers with the JSON-RPC error message that this makes of the question.
    RefuseAs(fn(&Value) -> &'static str),
    /// Passes it on, and answers with such a message all the same.
    PassOnAndRefuseAs(fn(&Value) -> &'static str),
    /// Does not pass a transaction on, and answers with its hash as if it had.
    Pretend,
    /// Passes it on after this time.
    Delay(Duration),
    /// Passes it on unless it asks about an older block than the newest by its number: the node has
    /// forgotten the states of those.
    Forget,
    /// Passes it on, and lies: this is done to the answer.
    Rewrite(fn(&mut Value)),
    /// Does not pass it on; answers with the text that this makes of the question.
    Say(fn(&Value) -> String),
}

/// A thing that is wrong with the node.
#[derive(Debug)]
pub(super) struct Fault {
    /// The calls that meet it, see [`super::Proxy::fault`].
    pub(super) method: &'static str,
    /// Those of them that name any of these accounts, hex in small letters; all if there are none.
    pub(super) about: Vec<String>,
    pub(super) act: Act,
}

/// The names of these people in calls, hex in small letters.
pub(super) fn names(people: &[Subscriber]) -> Vec<String> {
    let names = people.iter().flat_map(|who| [who.user_hash.as_slice(), who.wallet.as_slice()]);
    names.map(alloy::hex::encode).collect()
}

pub(super) fn mentions(text: &str, names: &[String]) -> bool {
    let text = text.to_lowercase();
    names.iter().any(|name| text.contains(name))
}
