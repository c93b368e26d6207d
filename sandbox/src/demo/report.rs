//! What `--json` prints: for each chain what was answered, what the chain decided, and what was not as expected.

use serde::Serialize;
use std::collections::BTreeMap;

/// By family.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report(pub(crate) BTreeMap<&'static str, Outcome>);

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
        self.0.values().all(|outcome| outcome.faults.is_empty())
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
