//! Hands events on to the merchant's own address: at least once, in order per stream, signed.

use super::ShelfFailed;
use super::metrics::Metrics;
use super::now_ms;
use super::onward::{Push, Said, after, signature};
use super::shelf::{Parcel, Shelf};
use futures_util::{StreamExt as _, stream};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client as Http, Url};
use secrecy::SecretString;
use std::sync::Arc;
use std::time::Duration;
use tracing::{error, warn};

/// Between two looks for work when nothing new comes in.
const TICK: Duration = Duration::from_secs(1);
/// How many events are on their way at once, each of another stream.
const AT_ONCE: usize = 16;
/// How long the address may take to answer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The way to the merchant's own address.
#[derive(Debug)]
pub(super) struct Pusher {
    pub(super) shelf: Shelf,
    pub(super) http: Http,
    pub(super) address: Url,
    pub(super) secret: SecretString,
    pub(super) pace: i64,
    pub(super) metrics: Arc<Metrics>,
}

/// The HTTP client for pushing. Follows no redirect.
pub(super) fn http() -> Result<Http, reqwest::Error> {
    Http::builder().redirect(reqwest::redirect::Policy::none()).timeout(TIMEOUT).build()
}

impl Pusher {
    /// Runs until the store fails.
    pub(super) async fn run(self) -> Result<(), ShelfFailed> {
        let mut news = self.shelf.watch();
        loop {
            let parcels = self.shelf.parcels(now_ms(), 256).await?;
            if parcels.is_empty() {
                // Something new, or a pause that is over; a store that has failed shows itself above.
                drop(tokio::time::timeout(TICK, news.changed()).await);
                continue;
            }
            let pushes = parcels.into_iter().map(|parcel| self.push(parcel));
            let pushed: Vec<_> = stream::iter(pushes).buffer_unordered(AT_ONCE).collect().await;
            pushed.into_iter().collect::<Result<(), _>>()?;
        }
    }

    async fn push(&self, parcel: Parcel) -> Result<(), ShelfFailed> {
        let (said, words) = self.send(&parcel).await;
        let next = after(parcel.tries.saturating_add(1), said, self.pace);
        let event = parcel.row.id;
        match next {
            Push::Delivered => {}
            Push::Again(_) => warn!(event, words, "the merchant's address did not take an event"),
            Push::Dead => error!(
                event,
                stream = parcel.row.stream,
                words,
                "an event is given up, and what follows it in its stream waits: see `merchant events`"
            ),
        }
        self.metrics.pushed(next);
        self.shelf.pushed(&parcel, next, words, now_ms()).await
    }

    /// One try, and what was said in words.
    async fn send(&self, parcel: &Parcel) -> (Said, String) {
        let Ok(body) = serde_json::to_string(&parcel.row) else {
            return (Said::Nothing, "the event cannot be written as JSON".to_owned());
        };
        let id = format!("evt_{}", parcel.row.id);
        let timestamp = now_ms().div_euclid(1000);
        let request = self
            .http
            .post(self.address.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", timestamp.to_string())
            .header("webhook-signature", signature(&self.secret, &id, timestamp, &body))
            .body(body);
        match request.send().await {
            Ok(answer) => {
                let asked = answer.headers().get(RETRY_AFTER);
                let asked = asked.and_then(|value| value.to_str().ok()?.parse().ok());
                let status = answer.status().as_u16();
                (Said::Status(status, asked), format!("HTTP {status}"))
            }
            Err(error) => (Said::Nothing, error.to_string()),
        }
    }
}
