//! Log lines and counters. Every metric's name, unit and help text is here.

use crate::billing::{self, spell_address};
use crate::config::{LogConfig, LogFormat};
use crate::engine::{Engine, Gate};
use alloy::primitives::U256;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::collections::HashSet;
use std::io::IsTerminal as _;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// Starts writing log lines to standard error. The first call in a process counts; later ones, as
/// tests make them, change nothing.
pub fn start_logging(config: &LogConfig) {
    let filter = EnvFilter::new(&config.filter);
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let started = match config.format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    drop(started);
}

/// What of a billing request is counted.
#[derive(Debug)]
pub struct Billed {
    /// The caller's label.
    pub caller: String,
    /// The code of the answer.
    pub code: u8,
    /// Its HTTP status.
    pub status: u16,
    /// The `failCode` of every subscription that was refused.
    pub refused: Vec<&'static str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct AnswerLabels {
    caller: String,
    code: u32,
    status: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RefusalLabels {
    fail_code: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PortLabels {
    port: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ChainLabels {
    chain: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FollowerLabels {
    chain: u32,
    account: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct NodeLabels {
    chain: u32,
    node: String,
    state: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WitnessLabels {
    chain: u32,
    node: String,
}

/// Upper bounds of the duration histogram, seconds.
const SECONDS: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 10.0];

/// All counters of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    answers: Family<AnswerLabels, Counter>,
    refusals: Family<RefusalLabels, Counter>,
    unauthenticated: Family<ReasonLabels, Counter>,
    replays: Counter,
    certificates: Family<PortLabels, Gauge>,
    seconds: Histogram,
    commits: Gauge,
    writes: Gauge,
    history_rows: Gauge,
    history_digest: Gauge,
    undecided: Family<ChainLabels, Gauge>,
    following: Family<FollowerLabels, Gauge>,
    held_up: Family<ChainLabels, Gauge>,
    open: Family<ChainLabels, Gauge>,
    paused: Family<ChainLabels, Gauge>,
    head: Family<ChainLabels, Gauge>,
    nodes: Family<NodeLabels, Gauge>,
    disputed: Family<WitnessLabels, Gauge>,
    burnt: Family<ChainLabels, Gauge>,
    otherwise: Family<ChainLabels, Gauge>,
}

impl Metrics {
    /// Counters at zero.
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("signer"),
            answers: Family::default(),
            refusals: Family::default(),
            unauthenticated: Family::default(),
            replays: Counter::default(),
            certificates: Family::default(),
            seconds: Histogram::new(SECONDS),
            commits: Gauge::default(),
            writes: Gauge::default(),
            history_rows: Gauge::default(),
            history_digest: Gauge::default(),
            undecided: Family::default(),
            following: Family::default(),
            held_up: Family::default(),
            open: Family::default(),
            paused: Family::default(),
            head: Family::default(),
            nodes: Family::default(),
            disputed: Family::default(),
            burnt: Family::default(),
            otherwise: Family::default(),
        };
        let registry = &mut metrics.registry;
        let answers = "Billing requests by caller, code and HTTP status";
        registry.register("answers", answers, metrics.answers.clone());
        registry.register(
            "refusals",
            "Subscriptions refused, by failCode",
            metrics.refusals.clone(),
        );
        let unauthenticated = "Requests whose signature did not prove who sent them";
        registry.register("auth_failures", unauthenticated, metrics.unauthenticated.clone());
        let replays = "Signed messages that came again and heard what the first heard";
        registry.register("replays", replays, metrics.replays.clone());
        let ends = "When the certificate of a port ends, Unix seconds";
        let name = "certificate_end_timestamp_seconds";
        registry.register(name, ends, metrics.certificates.clone());
        let seconds = "Seconds from a billing request to its answer";
        registry.register("billing_seconds", seconds, metrics.seconds.clone());
        let commits = "Commits since the start, one fsync each";
        registry.register("journal_commits", commits, metrics.commits.clone());
        let writes = "Writes that those commits made durable";
        registry.register("journal_writes", writes, metrics.writes.clone());
        let rows = "Rows of the journal's history when it was last told, at most a minute ago";
        registry.register("history_rows", rows, metrics.history_rows.clone());
        let digest = "First 48 bits of the digest of the last of those rows";
        registry.register("history_digest", digest, metrics.history_digest.clone());
        metrics.name_chains();
        metrics
    }

    /// Names what is told of each chain.
    fn name_chains(&mut self) {
        let registry = &mut self.registry;
        let undecided = "Batches that the chain has not decided";
        registry.register("undecided_batches", undecided, self.undecided.clone());
        let following = "Undecided batches of accounts that only end what they have begun";
        registry.register("following_batches", following, self.following.clone());
        let held_up = "Undecided batches that something known keeps from landing";
        registry.register("held_up_batches", held_up, self.held_up.clone());
        registry.register("lane_open", "1 when the chain takes new work", self.open.clone());
        let paused = "1 while the chain is paused: nothing new is signed";
        registry.register("paused", paused, self.paused.clone());
        registry.register("chain_head", "Number of the newest block seen", self.head.clone());
        registry.register("node_state", "1 for the state that a node is in", self.nodes.clone());
        let disputed = "Undecided batches of which a node has long told another record than others";
        registry.register("disputed_batches", disputed, self.disputed.clone());
        let burnt = "Fees of transactions that charged nobody, since the start: gwei, on TRON sun";
        registry.register("burnt_fees", burnt, self.burnt.clone());
        let otherwise = "Charges since the start that were not what was claimed";
        registry.register("charged_otherwise", otherwise, self.otherwise.clone());
    }

    /// Counts one billing request.
    pub fn billed(&self, billed: &Billed, took: Duration) {
        let (code, status) = (billed.code.into(), billed.status.into());
        let labels = AnswerLabels { caller: billed.caller.clone(), code, status };
        self.answers.get_or_create(&labels).inc();
        for code in &billed.refused {
            let labels = RefusalLabels { fail_code: (*code).to_owned() };
            self.refusals.get_or_create(&labels).inc();
        }
        self.seconds.observe(took.as_secs_f64());
    }

    /// Counts a request that proved nothing, by the word for why.
    pub fn unauthenticated(&self, reason: &'static str) {
        self.unauthenticated.get_or_create(&ReasonLabels { reason }).inc();
    }

    /// Tells when the certificate of the port of callers ends, Unix seconds.
    pub fn certificate(&self, until: i64) {
        self.certificates.get_or_create(&PortLabels { port: "http.listen" }).set(until);
    }

    /// Counts a message that was here before.
    pub fn replayed(&self) {
        self.replays.inc();
    }

    /// All of them as text, with the gauges read now.
    pub fn render(&self, engine: &Engine) -> String {
        let figures = engine.journal.figures();
        self.commits.set(gauge(figures.commits.load(Ordering::Relaxed)));
        self.writes.set(gauge(figures.writes.load(Ordering::Relaxed)));
        if let Some(head) = figures.head.lock().as_ref() {
            self.history_rows.set(gauge(head.row));
            let prefix =
                head.digest.get(..12).and_then(|first| i64::from_str_radix(first, 16).ok());
            self.history_digest.set(prefix.unwrap_or_default());
        }
        self.nodes.clear();
        self.disputed.clear();
        for (id, lane) in &engine.lanes {
            for node in lane.chain.nodes() {
                let state = node.state.word().to_owned();
                let labels = NodeLabels { chain: id.0, node: node.label, state };
                self.nodes.get_or_create(&labels).set(1);
            }
            let chain = ChainLabels { chain: id.0 };
            let all = || std::iter::once(lane).chain(engine.followers_of(*id));
            let undecided = all().map(|lane| lane.undecided()).sum();
            self.undecided.get_or_create(&chain).set(count(undecided));
            let held_up = all().map(|lane| lane.held_up().len()).sum();
            self.held_up.get_or_create(&chain).set(count(held_up));
            for node in all().flat_map(|lane| lane.disputed()).flat_map(|(_, nodes)| nodes) {
                self.disputed.get_or_create(&WitnessLabels { chain: id.0, node }).inc();
            }
            let burnt = figures.burnt.lock().get(id).copied().unwrap_or_default();
            let unit = match lane.chain.facts().family {
                billing::Family::Evm => U256::from(1_000_000_000_u64),
                billing::Family::Tvm => U256::ONE,
            };
            let burnt = u64::try_from(burnt.div_ceil(unit)).unwrap_or(u64::MAX);
            self.burnt.get_or_create(&chain).set(gauge(burnt));
            let otherwise = figures.otherwise.lock().get(id).copied().unwrap_or_default();
            self.otherwise.get_or_create(&chain).set(gauge(otherwise));
            self.open.get_or_create(&chain).set(i64::from(lane.gate() == Gate::Open));
            self.paused.get_or_create(&chain).set(i64::from(lane.paused().is_some()));
            self.head.get_or_create(&chain).set(gauge(lane.pulse().map_or(0, |pulse| pulse.head)));
        }
        for lane in &engine.followers {
            let facts = lane.chain.facts();
            let account = spell_address(facts.family, facts.signer);
            let labels = FollowerLabels { chain: facts.id.0, account };
            self.following.get_or_create(&labels).set(count(lane.undecided()));
        }
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(error) => format!("# {error}\n"),
        }
    }
}

/// `OpenMetrics` text in the older format, in which a counter is described under its whole name.
pub fn classic(openmetrics: &str) -> String {
    let named =
        |line: &str| line.strip_prefix("# TYPE ")?.strip_suffix(" counter").map(str::to_owned);
    let counters: HashSet<String> = openmetrics.lines().filter_map(named).collect();
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines().filter(|line| *line != "# EOF" && !line.starts_with("# UNIT "))
    {
        match line.splitn(4, ' ').collect::<Vec<_>>().as_slice() {
            ["#", word @ ("HELP" | "TYPE"), name, rest] if counters.contains(*name) => {
                text.extend(["# ", word, " ", name, "_total ", rest]);
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn gauge(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `promtool check metrics` asks for: every sample has a help text and a type under its own name.
    #[test]
    fn the_older_format_describes_every_sample() {
        let metrics = Metrics::new();
        let billed =
            Billed { caller: "a".to_owned(), code: 2, status: 200, refused: vec!["NOT_DUE_YET"] };
        metrics.billed(&billed, Duration::from_millis(7));
        metrics.unauthenticated("wrong");
        metrics.replayed();
        let mut text = String::new();
        encode(&mut text, &metrics.registry).unwrap();
        let text = classic(&text);
        let described = |word: &str| -> HashSet<&str> {
            let prefix = format!("# {word} ");
            let lines = text.lines().filter_map(|line| line.strip_prefix(prefix.as_str()));
            lines.filter_map(|line| line.split(' ').next()).collect()
        };
        let (help, kinds) = (described("HELP"), described("TYPE"));
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        for sample in samples.clone() {
            let name = sample.split(['{', ' ']).next().unwrap();
            let of_histogram = ["_bucket", "_sum", "_count"];
            let base =
                of_histogram.into_iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert!(help.contains(base) && kinds.contains(base), "{name} in\n{text}");
        }
        assert!(samples.count() > 15 && !text.contains("# EOF"), "{text}");
        assert!(text.contains("signer_answers_total{caller=\"a\",code=\"2\",status=\"200\"} 1"));
        assert!(text.contains("# TYPE signer_replays_total counter"), "{text}");
    }
}
