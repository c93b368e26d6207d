//! Tells the length of the history outside of the journal: if somebody changes or cuts off the file later, the log
//! and the metrics contradict the file.

use journal::Journal;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Interval between two reports.
const EVERY: Duration = Duration::from_mins(1);

/// Tells the newest row every minute in which one was written, and once more at the end.
pub(super) async fn report(journal: Journal, stop: CancellationToken) {
    let mut minutes = interval(EVERY);
    minutes.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = None;
    loop {
        let over = tokio::select! {
            _ = minutes.tick() => false,
            () = stop.cancelled() => true,
        };
        match journal.head().await {
            Ok(head) if told.as_ref() != Some(&head) => {
                info!(%head, "the history goes so far");
                told = Some(head);
            }
            Ok(_) => {}
            Err(problem) => warn!(%problem, "how far the history goes cannot be read"),
        }
        if over {
            return;
        }
    }
}
