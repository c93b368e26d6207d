//! The time of the simulated machine: that of the paused runtime, on top of when it was started.

use host::clock::Clock;
use std::cell::Cell;
use tokio::time::Instant;

thread_local! {
    static NOW: Cell<(i64, Option<Instant>)> = const { Cell::new((0, None)) };
}

/// The clock that the Signer is given.
pub(crate) const CLOCK: Clock = Clock::telling(now);

/// From here on, inside the runtime that is running, it is `unix_ms`.
pub(crate) fn begin(unix_ms: u64) {
    let start = i64::try_from(unix_ms).unwrap_or(i64::MAX);
    NOW.set((start, Some(Instant::now())));
}

fn now() -> i64 {
    let (start, since) = NOW.get();
    let passed = since.map_or(0, |since| since.elapsed().as_millis());
    start.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX))
}
