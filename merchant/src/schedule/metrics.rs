//! The scheduler's metrics. Every name and help text is here.

use super::answer::Answer;
use super::reconcile::Kind;
use super::run::RunReport;
use super::standing::Heard;
use crate::clock::{Clock as _, SystemClock};
use crate::time::UnixSeconds;
use parking_lot::RwLock;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Label {
    is: String,
}

fn label(is: &str) -> Label {
    Label { is: is.to_owned() }
}

/// The result of the last run.
#[derive(Clone, Debug)]
pub(crate) struct LastRun {
    /// When it ended, by this machine's clock.
    pub(crate) heard_at: UnixSeconds,
    pub(crate) line: String,
    pub(crate) went_well: bool,
}

/// The scheduler's metrics, and what health tells.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    runs: Family<Label, Counter>,
    posts: Family<Label, Counter>,
    declined: Family<Label, Counter>,
    accepted: Counter,
    standing: Family<Label, Gauge>,
    open: Gauge,
    letters: Gauge,
    differences: Family<Label, Gauge>,
    last_run_seconds: Gauge,
    last: RwLock<Option<LastRun>>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let metrics = Self {
            registry: Registry::with_prefix("merchant_schedule"),
            runs: Family::default(),
            posts: Family::default(),
            declined: Family::default(),
            accepted: Counter::default(),
            standing: Family::default(),
            open: Gauge::default(),
            letters: Gauge::default(),
            differences: Family::default(),
            last_run_seconds: Gauge::default(),
            last: RwLock::new(None),
        };
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register("runs", "Runs, by how they ended", self.runs.clone());
        registry.register("posts", "Requests to the Signer, by answer", self.posts.clone());
        registry.register("accepted", "Subscriptions in transactions", self.accepted.clone());
        registry.register("declined", "Subscriptions declined, by code", self.declined.clone());
        registry.register("subscriptions", "By standing", self.standing.clone());
        registry.register("open_transactions", "Not final yet", self.open.clone());
        registry.register("letters_waiting", "For the inbox", self.letters.clone());
        registry.register("differences", "Named, by kind", self.differences.clone());
        let help = "When the last run ended, Unix time";
        registry.register("last_run_timestamp_seconds", help, self.last_run_seconds.clone());
        self
    }

    /// Counts one answer to a batch.
    pub(crate) fn answered(&self, answer: &Answer) {
        let word = match answer {
            Answer::Verdict(_) => "verdict",
            Answer::Split { .. } => "split",
            Answer::NameTaken { .. } => "name_taken",
            Answer::Silence { .. } => "silence",
        };
        self.posts.get_or_create(&label(word)).inc();
        let Answer::Verdict(heard) = answer else { return };
        for (_, heard) in heard {
            match heard {
                Heard::Accepted { .. } => drop(self.accepted.inc()),
                Heard::Refused(decline) | Heard::Failed(decline) => {
                    self.declined.get_or_create(&label(&decline.code)).inc();
                }
                Heard::Charged { .. } | Heard::Freed { .. } | Heard::Unproven { .. } => {}
            }
        }
    }

    /// A run has ended.
    pub(crate) fn ran(&self, report: &RunReport, now_ms: i64) {
        let went_well = report.faults.is_empty();
        self.runs.get_or_create(&label(if went_well { "well" } else { "with_faults" })).inc();
        self.last_run_seconds.set(now_ms.div_euclid(1000));
        *self.last.write() =
            Some(LastRun { heard_at: SystemClock.now(), line: report.to_string(), went_well });
    }

    /// The present counts by state.
    pub(crate) fn stands(&self, census: &[(String, i64)], open: i64, letters: i64) {
        self.standing.clear();
        for (word, count) in census {
            self.standing.get_or_create(&label(word)).set(*count);
        }
        self.open.set(open);
        self.letters.set(letters);
    }

    /// Sets the number of differences of each kind that have a name.
    pub(crate) fn differ(&self, named: &BTreeMap<Kind, u64>) {
        for (kind, count) in named {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            self.differences.get_or_create(&label(kind.word())).set(count);
        }
    }

    /// The last run, if there was one.
    pub(crate) fn last(&self) -> Option<LastRun> {
        self.last.read().clone()
    }

    /// In the text format of `OpenMetrics`.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a String cannot fail.
        encode(&mut text, &self.registry).unwrap_or_default();
        text
    }
}
