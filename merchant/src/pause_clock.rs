//! The clock of pauses and dates: this machine's, or that of a sandbox.

use crate::clock::SystemClock;
use reqwest::{Client, Url};
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The clock for pauses and dates: this machine's clock, or that of a sandbox, which people move. Signatures carry
/// this machine's time in either case. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct PauseClock {
    sandbox: Option<Url>,
    ahead_ms: Arc<AtomicI64>,
}

/// The answer of a sandbox about its clock.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    ahead_seconds: i64,
}

impl PauseClock {
    /// The clock of the sandbox at an address, such as `http://127.0.0.1:7102/sandbox`; this machine's where there is none.
    pub(crate) fn of(sandbox: Option<&Url>) -> Self {
        Self { sandbox: sandbox.cloned(), ahead_ms: Arc::default() }
    }

    /// Returns true if the clock is that of a sandbox.
    pub(crate) fn is_followed(&self) -> bool {
        self.sandbox.is_some()
    }

    /// The time now, in Unix milliseconds, as far as it was followed.
    pub(crate) fn now_ms(&self) -> i64 {
        SystemClock.now_ms().saturating_add(self.ahead_ms.load(Ordering::Relaxed))
    }

    /// Looks how far the sandbox's clock is ahead. A sandbox that does not answer leaves it as it was.
    pub(crate) async fn follow(&self) {
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
                tracing::warn!(%url, "tells no time of a sandbox: name its console and /sandbox");
            }
            Err(why) => tracing::warn!(%url, %why, "the sandbox's clock cannot be read"),
        }
    }
}
