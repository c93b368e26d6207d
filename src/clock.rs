//! The one door through which this machine's time comes in.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, in Unix milliseconds. For logs, timestamps of rows and the callers' 60 s window; what may
/// be charged is judged by the chain's time alone.
#[expect(clippy::disallowed_methods, reason = "the one door")]
pub fn unix_ms() -> i64 {
    #[cfg(test)]
    if let Some(simulated) = simulated::now() {
        return simulated;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The time of a simulated machine. Each thread of the tests may simulate one.
#[cfg(test)]
pub(crate) mod simulated {
    use std::cell::Cell;

    thread_local! {
        static NOW_MS: Cell<Option<i64>> = const { Cell::new(None) };
    }

    pub(super) fn now() -> Option<i64> {
        NOW_MS.get()
    }

    /// Sets the time of this thread's machine, Unix ms; none for the real one.
    pub(crate) fn set(now_ms: Option<i64>) {
        NOW_MS.set(now_ms);
    }
}
