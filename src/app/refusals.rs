//! Has refusals written down, behind the requests that heard them.

use journal::Journal;
use ledger::{Refusals, Unkept, newest_batch};
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Interval between two writes: a crash takes no more than this.
const EVERY: Duration = Duration::from_secs(1);

/// Interval at which the log says that refusals are not kept.
const SAID_EVERY: Duration = Duration::from_mins(1);

/// Writes them until `stop`, and once more at the end, where they are kept.
pub(super) async fn keep(refusals: Option<Refusals>, journal: Journal, stop: CancellationToken) {
    let Some(refusals) = refusals else { return };
    let mut notice = UnkeptNotice::default();
    let kept = refusals.clone();
    if let Ok(newest) = newest_batch(&journal).await {
        notice.about(&refusals, blocking(move || kept.begin(newest)).await);
    }
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let over = tokio::select! {
            _ = ticks.tick() => false,
            () = stop.cancelled() => true,
        };
        // A journal that does not answer is not waited for: what is refused meanwhile is told all the same.
        if let Ok(Ok(newest)) = timeout(EVERY, newest_batch(&journal)).await {
            refusals.seen(newest);
        }
        let kept = refusals.clone();
        notice.about(&refusals, blocking(move || kept.write()).await);
        if over {
            return;
        }
    }
}

/// None where the process ends.
async fn blocking(
    work: impl FnOnce() -> Result<(), Unkept> + Send + 'static,
) -> Option<Result<(), Unkept>> {
    spawn_blocking(work).await.ok()
}

/// The last notice about refusals that are not kept.
#[derive(Debug, Default)]
struct UnkeptNotice {
    said: Option<(Instant, u64)>,
}

impl UnkeptNotice {
    /// Says it, at most once a minute.
    fn about(&mut self, refusals: &Refusals, written: Option<Result<(), Unkept>>) {
        let dropped = refusals.dropped();
        let (since, before) = self.said.map_or((None, 0), |(at, count)| (Some(at), count));
        if dropped == before || since.is_some_and(|at| at.elapsed() < SAID_EVERY) {
            return;
        }
        let why = match written {
            Some(Err(why)) => why.to_string(),
            Some(Ok(())) | None => "there are too many at once".to_owned(),
        };
        let lost = dropped.saturating_sub(before);
        warn!(lost, why, "refusals are missing in the ledger; billing goes on");
        self.said = Some((Instant::now(), dropped));
    }
}
