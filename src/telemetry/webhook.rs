//! The metrics of a webhook.

use super::scrape::Scrape;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Counts of one webhook, and how far it is behind.
#[derive(Debug, Default)]
pub struct WebhookFigures {
    /// Posts that the receiver took.
    pub taken: AtomicU64,
    /// Posts that the receiver answered otherwise.
    pub refused: AtomicU64,
    /// Posts without an answer of the receiver.
    pub unanswered: AtomicU64,
    /// Time of the oldest event that is not taken yet, Unix seconds; 0 if all are.
    pub waiting_since: AtomicI64,
}

/// Tells everything of it; without one there are names and no values.
pub(super) fn tell(scrape: &mut Scrape, figures: Option<&WebhookFigures>) {
    let sends = figures.map(|figures| {
        let count = |word: &str, count: &AtomicU64| {
            ([("result", word.to_owned())], count.load(Ordering::Relaxed))
        };
        vec![
            count("taken", &figures.taken),
            count("refused", &figures.refused),
            count("unanswered", &figures.unanswered),
        ]
    });
    let help = "Posts to the webhook, by outcome";
    scrape.counters(("webhook_sends", help), sends.unwrap_or_default());
    let waiting = figures.map(|figures| figures.waiting_since.load(Ordering::Relaxed));
    let waiting = waiting.filter(|since| *since > 0).map(|since| ([], since));
    let help = "Time of the oldest event that the webhook's receiver has not taken";
    scrape.gauges(("webhook_waiting_timestamp_seconds", help), waiting.into_iter().collect());
}
