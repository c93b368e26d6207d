//! The counters of requests, and the text of a scrape.

use super::chains::{self, ChainNow, seconds};
use super::scrape::Scrape;
use super::webhook::WebhookFigures;
use super::{instances, journal, nodes};
use billing::{FailCode, PlatformChainId};
use engine::Engine;
use ledger::Refusals;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::fmt;
use std::time::Duration;
use strum::IntoEnumIterator;

/// Upper bounds of how long billing requests took, seconds.
const SECONDS: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 10.0];

/// In metrics, the caller of a request that did not prove who sent it.
pub const NOBODY: &str = "nobody";

/// The caller where nobody has to sign requests.
pub const ANYBODY: &str = "anybody";

/// The label if no chain is known.
const NO_CHAIN: &str = "none";

/// The answers to a caller about a chain: code and HTTP status.
const ANSWERED: [(u8, u16); 7] =
    [(1, 200), (2, 200), (0, 200), (0, 400), (0, 403), (0, 409), (0, 503)];

/// The HTTP statuses of a caller's requests of which no chain is known.
const UNREAD: [u16; 7] = [400, 403, 404, 408, 413, 429, 503];

/// The HTTP statuses of what is turned away before anybody knows whose it is.
const TURNED_AWAY: [u16; 6] = [400, 401, 403, 408, 413, 429];

/// The counted parts of a billing request.
#[derive(Debug)]
pub struct Billed {
    /// The caller's label.
    pub caller: String,
    /// The platform's id of the chain, where the request came so far that it is known.
    pub chain: Option<u32>,
    /// The code of the answer.
    pub code: u8,
    /// Its HTTP status.
    pub status: u16,
    /// Why each subscription that was refused is.
    pub refused: Vec<FailCode>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct AnswerLabels {
    caller: String,
    chain: String,
    code: u32,
    status: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RefusalLabels {
    chain: String,
    fail_code: &'static str,
    retry: &'static str,
}

impl RefusalLabels {
    fn of(chain: &str, code: FailCode) -> Self {
        let (fail_code, retry) = (code.token(), code.retry().token());
        Self { chain: chain.to_owned(), fail_code, retry }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct BudgetLabels {
    budget: &'static str,
    caller: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PortLabels {
    port: &'static str,
}

/// All counters of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    chains: Vec<String>,
    answers: Family<AnswerLabels, Counter>,
    refusals: Family<RefusalLabels, Counter>,
    unauthenticated: Family<ReasonLabels, Counter>,
    used_up: Family<BudgetLabels, Counter>,
    replays: Counter,
    certificates: Family<PortLabels, Gauge>,
    seconds: Histogram,
    started_ms: i64,
}

impl Metrics {
    /// Counters at zero, for callers with these labels, these chains, these words for why a signature proves
    /// nothing and for what a caller can use up. The process began at `started_ms`, Unix ms.
    pub fn new(
        callers: &[String],
        chains: &[PlatformChainId],
        reasons: &[&'static str],
        budgets: &[&'static str],
        started_ms: i64,
    ) -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("signer"),
            chains: chains.iter().map(|chain| chain.0.to_string()).collect(),
            answers: Family::default(),
            refusals: Family::default(),
            unauthenticated: Family::default(),
            used_up: Family::default(),
            replays: Counter::default(),
            certificates: Family::default(),
            seconds: Histogram::new(SECONDS),
            started_ms,
        };
        metrics.begin_at_zero(callers, reasons, budgets);
        let registry = &mut metrics.registry;
        let answers = "Billing requests by caller, chain, code and HTTP status";
        registry.register("answers", answers, metrics.answers.clone());
        let refusals = "Subscriptions refused, by chain, failCode and who can mend it";
        registry.register("refusals", refusals, metrics.refusals.clone());
        let unauthenticated = "Requests whose signature did not prove who sent them";
        registry.register("auth_failures", unauthenticated, metrics.unauthenticated.clone());
        let used_up = "Requests that heard 429, by the budget that was used up, and whose it is";
        registry.register("budget_used_up", used_up, metrics.used_up.clone());
        let replays = "Signed messages that came again and heard what the first heard";
        registry.register("replays", replays, metrics.replays.clone());
        let ends = "When the certificate of a port ends, Unix time";
        let name = "certificate_end_timestamp_seconds";
        registry.register(name, ends, metrics.certificates.clone());
        let seconds = "Seconds from a billing request to its answer";
        registry.register("billing_seconds", seconds, metrics.seconds.clone());
        metrics
    }

    /// Sets the counters to 0: a counter that was never told as 0 cannot be seen to rise.
    fn begin_at_zero(
        &self,
        callers: &[String],
        reasons: &[&'static str],
        budgets: &[&'static str],
    ) {
        let of = |caller: &str, chain: &str, code: u8, status: u16| AnswerLabels {
            caller: caller.to_owned(),
            chain: chain.to_owned(),
            code: code.into(),
            status: status.into(),
        };
        let begin = |labels: AnswerLabels| drop(self.answers.get_or_create(&labels));
        let nobody = [ANYBODY.to_owned()];
        let callers = if callers.is_empty() { nobody.as_slice() } else { callers };
        for caller in callers {
            for chain in &self.chains {
                for (code, status) in ANSWERED {
                    begin(of(caller, chain, code, status));
                }
            }
            for status in UNREAD {
                begin(of(caller, NO_CHAIN, 0, status));
            }
            for budget in budgets {
                drop(self.used_up.get_or_create(&BudgetLabels { budget, caller: caller.clone() }));
            }
        }
        for status in TURNED_AWAY {
            begin(of(NOBODY, NO_CHAIN, 0, status));
        }
        for (chain, code) in self.refusable() {
            drop(self.refusals.get_or_create(&RefusalLabels::of(chain, code)));
        }
        for reason in reasons {
            drop(self.unauthenticated.get_or_create(&ReasonLabels { reason }));
        }
    }

    /// Counts one billing request.
    pub fn billed(&self, billed: &Billed, took: Duration) {
        let (code, status) = (billed.code.into(), billed.status.into());
        let chain = billed.chain.map_or_else(|| NO_CHAIN.to_owned(), |chain| chain.to_string());
        for code in &billed.refused {
            self.refusals.get_or_create(&RefusalLabels::of(&chain, *code)).inc();
        }
        let labels = AnswerLabels { caller: billed.caller.clone(), chain, code, status };
        self.answers.get_or_create(&labels).inc();
        self.seconds.observe(took.as_secs_f64());
    }

    fn refusable(&self) -> impl Iterator<Item = (&str, FailCode)> {
        self.chains
            .iter()
            .flat_map(|chain| FailCode::iter().map(move |code| (chain.as_str(), code)))
    }

    /// Counts a request that proved nothing, by the word for why.
    pub fn unauthenticated(&self, reason: &'static str) {
        self.unauthenticated.get_or_create(&ReasonLabels { reason }).inc();
    }

    /// Counts a request that met a budget that is used up.
    pub fn used_up(&self, budget: &'static str, caller: &str) {
        self.used_up.get_or_create(&BudgetLabels { budget, caller: caller.to_owned() }).inc();
    }

    /// Tells when the certificate of the port of callers ends, Unix seconds.
    pub fn certificate(&self, until: i64) {
        self.certificates.get_or_create(&PortLabels { port: "http.listen" }).set(until);
    }

    /// Counts a message that was here before.
    pub fn replayed(&self) {
        self.replays.inc();
    }

    /// Renders all metrics as `OpenMetrics` text. Values that are not counted here are read now, once, from the
    /// present state: no node is asked, and the journal is not waited for.
    pub fn render(
        &self,
        engine: &Engine,
        webhook: Option<&WebhookFigures>,
        refusals: Option<&Refusals>,
    ) -> String {
        let mut text = String::new();
        match self.write(&mut text, engine, webhook, refusals) {
            Ok(()) => text,
            Err(error) => format!("# {error}\n# EOF\n"),
        }
    }

    /// Those that are counted here, alone.
    #[cfg(test)]
    pub(super) fn counted(&self) -> String {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry).unwrap();
        text
    }

    fn write(
        &self,
        text: &mut String,
        engine: &Engine,
        webhook: Option<&WebhookFigures>,
        refusals: Option<&Refusals>,
    ) -> fmt::Result {
        let mut scrape = Scrape::new();
        let version = ("version", env!("CARGO_PKG_VERSION").to_owned());
        scrape.gauges(("build_info", "1; which program this is"), vec![([version], 1)]);
        let started = vec![([], seconds(self.started_ms))];
        scrape.floats(("start_timestamp_seconds", "When the process began, Unix time"), started);
        let lanes = engine.lanes();
        let chains = ChainNow::of(lanes, engine.journal.now_ms());
        chains::tell(&mut scrape, &chains);
        nodes::tell(&mut scrape, &chains);
        journal::tell(&mut scrape, &engine.journal, refusals);
        instances::tell(&mut scrape, None, &engine.journal.instances().all());
        super::webhook::tell(&mut scrape, webhook);
        super::otlp::tell(&mut scrape);
        encode_registry(text, &self.registry)?;
        scrape.write(text)?;
        encode_eof(text)
    }
}
