//! The one door through which this machine's time comes in.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, in Unix milliseconds. For logs, timestamps of rows and the callers' 60 s window; what may
/// be charged is judged by the chain's time alone.
#[expect(clippy::disallowed_methods, reason = "the one door")]
pub fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
