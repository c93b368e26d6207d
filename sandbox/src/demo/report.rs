//! What `--json` prints: for each chain what was answered, what the chain decided, and what was not as expected.

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
    /// What happened.
    pub(crate) step: &'static str,
    /// Whether it was as expected.
    pub(crate) held: bool,
    /// What was seen.
    pub(crate) saw: String,
}

/// What became of one batch.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    /// The code of the answer that charged.
    pub(crate) code: i64,
    /// The transaction that it named.
    pub(crate) tx_hash: String,
    /// Who is charged by it.
    pub(crate) charged: Vec<u64>,
    /// Who is not, and why.
    pub(crate) refused: Vec<Refused>,
    /// What the chain decided, by subscription.
    pub(crate) states: BTreeMap<u64, String>,
    /// From the start of the process to the first answer on this chain.
    pub(crate) first_answer_seconds: f64,
    /// From the first request to the final word of the chain.
    pub(crate) seconds: f64,
    /// What was not as expected.
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
    /// Whether everything was as expected.
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
