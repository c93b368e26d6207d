//! Counts of the questions to a node and their results, for machines alone. No decision rests on them.

use super::error::Fault;
use super::exchange::NoReply;
use parking_lot::Mutex;
use prometheus_client::metrics::histogram::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use strum::{EnumCount, EnumIter, IntoEnumIterator, IntoStaticStr};

/// Upper bounds of the durations of answers, seconds.
const SECONDS: [f64; 9] = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 3.0, 10.0];

/// Why a question was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum NoAnswer {
    /// Nothing came in time: it hangs.
    Timeout,
    /// There is no way to it.
    Unreachable,
    /// The connection broke.
    Broken,
    /// It answered with an HTTP status.
    Http,
    /// It wants no questions for a while.
    ShutOut,
    /// It answered with nothing that makes sense.
    Garbled,
    /// It said itself that it cannot answer at the moment.
    Overloaded,
    /// It is on another chain.
    WrongChain,
}

impl NoAnswer {
    /// The word for it in metrics.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Returns the reason that a fault stands for. A node's own error is one that says that it cannot answer.
    fn of(fault: &Fault) -> Self {
        match fault {
            Fault::Lost(NoReply::TimedOut) => Self::Timeout,
            Fault::Lost(NoReply::Refused | NoReply::NoConnection) | Fault::NoNode => {
                Self::Unreachable
            }
            Fault::Lost(NoReply::Broken) => Self::Broken,
            Fault::Http(_) => Self::Http,
            Fault::ShutOut { .. } => Self::ShutOut,
            Fault::Lost(NoReply::TooLong) | Fault::Garbled => Self::Garbled,
            Fault::Node(_) => Self::Overloaded,
            Fault::WrongChain { .. } => Self::WrongChain,
        }
    }
}

/// The results of the questions of one method.
#[derive(Clone, Debug)]
pub struct MethodTraffic {
    /// Durations of the answers, seconds. Errors that are answers, such as a call that reverts, count.
    pub answers: Histogram,
    /// Number of questions without an answer.
    pub unanswered: u64,
}

/// The questions to one node since the start, up to now.
#[derive(Clone, Debug)]
pub struct NodeTraffic {
    /// The node's label.
    pub label: String,
    /// By method: each from when it was asked first.
    pub methods: BTreeMap<&'static str, MethodTraffic>,
    /// Number of unanswered questions for each reason: every reason is listed.
    pub unanswered: Vec<(NoAnswer, u64)>,
    /// Number of further requests that its provider may be sent at once; none if requests are not counted.
    pub left: Option<u64>,
}

/// Counts what is asked of one node.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    methods: Mutex<BTreeMap<&'static str, MethodTraffic>>,
    unanswered: [AtomicU64; NoAnswer::COUNT],
}

impl Traffic {
    /// A question is on its way: its method is told from now on, so that its first failure is seen as
    /// one more than none.
    pub(super) fn asked(&self, method: &'static str) {
        let new = || MethodTraffic { answers: Histogram::new(SECONDS), unanswered: 0 };
        self.methods.lock().entry(method).or_insert_with(new);
    }

    /// It was answered.
    pub(super) fn answered(&self, method: &'static str, took: Duration) {
        if let Some(traffic) = self.methods.lock().get(method) {
            traffic.answers.observe(took.as_secs_f64());
        }
    }

    /// It was not.
    pub(super) fn unanswered(&self, method: &'static str, fault: &Fault) {
        if let Some(traffic) = self.methods.lock().get_mut(method) {
            traffic.unanswered = traffic.unanswered.saturating_add(1);
        }
        let why = NoAnswer::of(fault);
        let counters = NoAnswer::iter().zip(&self.unanswered);
        for (_, counter) in counters.filter(|(each, _)| *each == why) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// As it stands.
    pub(super) fn view(&self, label: &str) -> NodeTraffic {
        let counts = self.unanswered.iter().map(|counter| counter.load(Ordering::Relaxed));
        NodeTraffic {
            label: label.to_owned(),
            methods: self.methods.lock().clone(),
            unanswered: NoAnswer::iter().zip(counts).collect(),
            left: None,
        }
    }
}
