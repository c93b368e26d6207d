//! The report that `--json` prints: for each chain the answers, the decisions of the chain, and everything not as
//! expected.

use serde::Serialize;
use std::collections::BTreeMap;

/// By family, and the loop of the platform.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) sides: BTreeMap<&'static str, Outcome>,
    /// One row for each step of the loop.
    pub(crate) platform: Vec<Row>,
    /// The journal in the end, a row for each thing that was done with it.
    pub(crate) journal: Vec<Row>,
}

/// One step of the loop on one chain.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// The family.
    pub(crate) chain: &'static str,
    /// The parts of the interface that it belongs to.
    pub(crate) section: &'static str,
    /// The event.
    pub(crate) step: &'static str,
    /// True if the step went as expected.
    pub(crate) held: bool,
    /// The observation made.
    pub(crate) saw: String,
}

/// The outcome of one batch.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    /// The code of the answer that charged.
    pub(crate) code: i64,
    /// The transaction that it named.
    pub(crate) tx_hash: String,
    /// Subscriptions that the batch charges.
    pub(crate) charged: Vec<u64>,
    /// Subscriptions that the batch does not charge, with the reasons.
    pub(crate) refused: Vec<Refused>,
    /// Decision of the chain, by subscription.
    pub(crate) states: BTreeMap<u64, String>,
    /// From the start of the process to the first answer on this chain.
    pub(crate) first_answer_seconds: f64,
    /// From the first request to the final word of the chain.
    pub(crate) seconds: f64,
    /// Everything that was not as expected.
    pub(crate) faults: Vec<String>,
}

/// Somebody who is not charged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Refused {
    pub(crate) subscribe_id: u64,
    pub(crate) fail_code: String,
    pub(crate) fail_reason: String,
}

impl Report {
    /// Returns true if everything was as expected.
    pub(crate) fn held(&self) -> bool {
        let batches = self.sides.values().all(|outcome| outcome.faults.is_empty());
        batches && self.platform.iter().chain(&self.journal).all(|row| row.held)
    }
}

impl Outcome {
    /// Takes down what was not as expected.
    pub(crate) fn expect(&mut self, held: bool, what: &str) {
        if !held {
            self.faults.push(format!("expected: {what}"));
        }
    }
}
