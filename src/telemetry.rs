//! Log lines, metrics and where spans go. Every metric's name, unit and help text is here; `docs/metrics.md` says what each
//! is good for.

mod chains;
mod classic;
mod instances;
mod journal;
mod metrics;
mod nodes;
mod otlp;
mod scrape;
mod webhook;

pub use classic::classic;
pub use instances::stands_by;
pub use metrics::{ANYBODY, Billed, Metrics, NOBODY};
pub use otlp::{SpanSender, SpansUnsent};
pub use webhook::WebhookFigures;

use config::{LogConfig, LogFormat};
use engine::SPAN_TARGET;
use std::io::IsTerminal as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt, registry};

/// Starts writing log lines to standard error, and making the spans of charges if they are sent. The first call in a
/// process counts; later ones, as tests make them, change nothing.
pub fn start_logging(config: &LogConfig, spans: Option<&SpanSender>) {
    let lines =
        fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr);
    let lines = match config.format {
        LogFormat::Text => lines.with_target(false).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let lines = lines.with_filter(log_filter(config));
    drop(registry().with(lines).with(spans.map(SpanSender::layer)).try_init());
}

/// Returns the filter of log lines. The spans of charges are in none.
fn log_filter(config: &LogConfig) -> EnvFilter {
    let filter = EnvFilter::new(&config.filter);
    match format!("{SPAN_TARGET}=off").parse() {
        Ok(no_spans) => filter.add_directive(no_spans),
        Err(_) => filter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use billing::{FailCode, PlatformChainId};
    use std::collections::HashSet;
    use std::time::Duration;
    use tracing::info_span;
    use tracing::subscriber::with_default;

    #[test]
    fn where_none_are_sent_no_span_of_a_charge_is_made() {
        let config = LogConfig { filter: "trace".to_owned(), format: LogFormat::Text };
        let lines = fmt::layer().with_writer(std::io::sink).with_filter(log_filter(&config));
        with_default(registry().with(lines), || {
            assert!(info_span!(target: SPAN_TARGET, "sign").is_disabled());
            assert!(!info_span!("request").is_disabled());
        });
    }

    /// Checks the requirement of `promtool check metrics`: every sample has a help text and a type under its own
    /// name.
    #[test]
    fn the_older_format_describes_every_sample() {
        let metrics = Metrics::new(&["a".to_owned()], &[PlatformChainId(7)], &["wrong"], &[], 0);
        let (caller, refused) = ("a".to_owned(), vec![FailCode::NotDueYet]);
        let billed = Billed { caller, chain: Some(7), code: 2, status: 200, refused };
        metrics.billed(&billed, Duration::from_millis(7));
        metrics.unauthenticated("wrong");
        metrics.replayed();
        let text = classic(&metrics.counted());
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
        for counted in [
            "signer_answers_total{caller=\"a\",chain=\"7\",code=\"2\",status=\"200\"} 1",
            "signer_refusals_total{chain=\"7\",fail_code=\"NOT_DUE_YET\",retry=\"WAIT\"} 1",
        ] {
            assert!(text.contains(counted), "{text}");
        }
        assert!(text.contains("# TYPE signer_replays_total counter"), "{text}");
    }
}
