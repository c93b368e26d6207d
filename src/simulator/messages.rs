//! What nodes say when they do not take bytes: every message of the adapter's table of errors, and the
//! ways in which no answer comes.

use crate::billing::Objection;
use crate::chain::evm::seam;
use crate::node::{AskError, Fault as Failure, NodeError};
use std::sync::LazyLock;

/// Every message of the table of errors: an honest node may say any of them to what is all right.
pub(super) static ALL_MESSAGES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| seam::messages(None));

/// By objection, in the order of [`TOLD`].
static MESSAGES: LazyLock<Vec<Vec<&'static str>>> =
    LazyLock::new(|| TOLD.iter().map(|objection| seam::messages(Some(*objection))).collect());

const TOLD: [Objection; 4] =
    [Objection::NonceTaken, Objection::Replaced, Objection::Underpriced, Objection::Starved];

pub(super) fn messages(objection: Objection) -> &'static [&'static str] {
    let place = TOLD.iter().position(|told| *told == objection).unwrap();
    &MESSAGES[place]
}

pub(super) fn refuses(message: &str) -> seam::Said {
    let error = NodeError { code: -32000, message: message.to_owned(), data: None };
    failed(Failure::Node(error))
}

pub(super) fn failed(fault: Failure) -> seam::Said {
    Err(AskError { question: "eth_sendRawTransaction", fault })
}
