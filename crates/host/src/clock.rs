//! The one door through which this machine's time comes in.

use std::time::{SystemTime, UNIX_EPOCH};

/// The source of a process's time: chosen once, when the process starts. For logs, timestamps of rows and the
/// callers' 60 s window; the chain's time alone decides what may be charged.
#[derive(Clone, Copy, Debug)]
pub struct Clock(fn() -> i64);

impl Clock {
    /// The machine's own clock: that of the program.
    pub const MACHINE: Self = Self(machine_ms);

    /// A clock that tells what `unix_ms` tells: a simulated machine has one.
    pub const fn telling(unix_ms: fn() -> i64) -> Self {
        Self(unix_ms)
    }

    /// Now, in Unix milliseconds.
    pub fn unix_ms(self) -> i64 {
        (self.0)()
    }
}

#[expect(clippy::disallowed_methods, reason = "the one door")]
fn machine_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
