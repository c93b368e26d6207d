//! Where the time of signatures comes from: this machine's clock, or one that a test moves.

use crate::time::UnixSeconds;
use reqwest::{Client, Url};
use serde::Deserialize;
use std::fmt::Debug;
use std::sync::Arc;
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

/// What pauses and dates are counted by: this machine's clock, or that of a sandbox, which people move. Signatures carry
/// this machine's time in either case. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct PauseClock {
    sandbox: Option<Url>,
    ahead_ms: Arc<AtomicI64>,
}

/// What a sandbox says of its clock.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    ahead_seconds: i64,
}

impl PauseClock {
    /// The clock of the sandbox at an address, such as `http://127.0.0.1:7102/sandbox`; this machine's where there is none.
    pub fn of(sandbox: Option<&Url>) -> Self {
        Self { sandbox: sandbox.cloned(), ahead_ms: Arc::default() }
    }

    /// Whether it is that of a sandbox.
    pub fn is_followed(&self) -> bool {
        self.sandbox.is_some()
    }

    /// The time now, in Unix milliseconds, as far as it was followed.
    pub fn now_ms(&self) -> i64 {
        SystemClock.now_ms().saturating_add(self.ahead_ms.load(Ordering::Relaxed))
    }

    /// Looks how far the sandbox's clock is ahead. A sandbox that does not answer leaves it as it was.
    pub async fn follow(&self) {
        let Some(url) = &self.sandbox else { return };
        let told = async {
            let http = Client::builder().no_proxy().build()?;
            let text = http.get(url.clone()).send().await?.error_for_status()?.bytes().await?;
            Ok::<_, reqwest::Error>(serde_json::from_slice::<Told>(&text).ok())
        };
        match told.await {
            Ok(Some(told)) => {
                self.ahead_ms.store(told.ahead_seconds.saturating_mul(1000), Ordering::Relaxed);
            }
            Ok(None) => {
                tracing::warn!(%url, "tells no time of a sandbox: name its console and /sandbox")
            }
            Err(why) => tracing::warn!(%url, %why, "the sandbox's clock cannot be read"),
        }
    }
}
