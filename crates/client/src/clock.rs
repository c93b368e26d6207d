//! The time for signatures: from this machine's clock, or from one that a test moves.

use crate::time::UnixSeconds;
use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time that requests are signed with and callbacks are held against.
pub trait Clock: Debug + Send + Sync {
    /// The time now, in whole seconds.
    fn now(&self) -> UnixSeconds;
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one door to the machine's clock")]
    fn now(&self) -> UnixSeconds {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixSeconds(i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX))
    }
}

impl SystemClock {
    /// The time now, in Unix milliseconds.
    #[expect(clippy::disallowed_methods, reason = "the one door to the machine's clock")]
    pub fn now_ms(self) -> i64 {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
    }
}

/// The machine's clock and a number of seconds that can be changed at any time: for tests, never for
/// production.
#[derive(Debug, Default)]
pub struct MovableClock {
    ahead_seconds: AtomicI64,
}

impl MovableClock {
    /// Makes the time now `now`; it runs on from there.
    pub fn set(&self, now: UnixSeconds) {
        let ahead = now.0.saturating_sub(SystemClock.now().0);
        self.ahead_seconds.store(ahead, Ordering::Relaxed);
    }
}

impl Clock for MovableClock {
    fn now(&self) -> UnixSeconds {
        let ahead = self.ahead_seconds.load(Ordering::Relaxed);
        UnixSeconds(SystemClock.now().0.saturating_add(ahead))
    }
}
