//! The metrics of a webhook.

use super::chains::whole;
use super::sheet::Sheet;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Counts of one webhook, and how far it is behind.
#[derive(Debug, Default)]
pub struct WebhookFigures {
    /// Sends that the receiver took.
    pub taken: AtomicU64,
    /// Sends that it answered otherwise.
    pub refused: AtomicU64,
    /// Sends that nobody answered.
    pub unanswered: AtomicU64,
    /// When the oldest event happened that is not told yet, Unix seconds; 0 where all are.
    pub waiting_since: AtomicI64,
    /// Events that are set aside.
    pub set_aside: AtomicU64,
}

/// Tells everything of it; without one there are names and no values.
pub(super) fn tell(sheet: &mut Sheet, figures: Option<&WebhookFigures>) {
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
    let help = "Events that were sent to the webhook, by what came of it";
    sheet.counters(("webhook_sends", help), sends.unwrap_or_default());
    let waiting = figures.map(|figures| figures.waiting_since.load(Ordering::Relaxed));
    let waiting = waiting.filter(|since| *since > 0).map(|since| ([], since));
    let help = "When the oldest event happened that the webhook was not told yet";
    sheet.gauges(("webhook_waiting_timestamp_seconds", help), waiting.into_iter().collect());
    let aside = figures.map(|figures| ([], whole(figures.set_aside.load(Ordering::Relaxed))));
    let help = "Events that the webhook's receiver did not take, and that wait to be sent again";
    sheet.gauges(("webhook_set_aside", help), aside.into_iter().collect());
}
