//! Hands events on to the merchant's own address: at least once, in order per stream, signed.

use super::ShelfFailed;
use super::metrics::Metrics;
use super::onward::{Push, Said, after};
use super::shelf::{Parcel, Shelf};
use crate::clock::{Clock as _, SystemClock};
use crate::pause_clock::PauseClock;
use crate::transport::client_for;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client as Http, Url};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tracing::{error, warn};
use webhooks::{ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, WebhookSecret};

/// Between two looks for work when nothing new comes in.
const TICK: Duration = Duration::from_secs(1);
/// Number of events that are on their way at once, each of another stream.
const AT_ONCE: usize = 16;
/// Number of events that are looked at to find those: twice as many, since as many may be under way.
const MOST: u32 = 32;
/// Longest time that the address may take to answer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The way to the merchant's own address.
#[derive(Debug)]
pub(super) struct Pusher {
    /// The clock for pauses and dates.
    pub(super) clock: PauseClock,
    pub(super) shelf: Shelf,
    pub(super) http: Http,
    pub(super) address: Url,
    pub(super) secret: WebhookSecret,
    pub(super) pace: i64,
    pub(super) metrics: Arc<Metrics>,
}

/// The HTTP client for pushing.
pub(super) fn http(address: &str) -> Result<Http, reqwest::Error> {
    client_for(address).timeout(TIMEOUT).build()
}

impl Pusher {
    /// Runs until the store fails. A stream whose event is under way waits; the others do not wait for it.
    pub(super) async fn run(self) -> Result<(), ShelfFailed> {
        let mut news = self.shelf.watch();
        let (mut under_way, mut streams) = (FuturesUnordered::new(), HashSet::new());
        loop {
            let room = AT_ONCE.saturating_sub(under_way.len());
            if room > 0 {
                // Those that are under way are among the first.
                let parcels = self.shelf.parcels(self.clock.now_ms(), MOST).await?;
                let new = parcels.into_iter().filter(|one| !streams.contains(&one.row.stream));
                for parcel in new.take(room).collect::<Vec<_>>() {
                    streams.insert(parcel.row.stream.clone());
                    under_way.push(self.push(parcel));
                }
            }
            tokio::select! {
                Some(stream) = under_way.next() => drop(streams.remove(&stream?)),
                // Something new, or a pause that is over; a store that has failed shows itself above.
                _ = news.changed(), if room > 0 => {}
                () = tokio::time::sleep(TICK), if room > 0 => {}
            }
        }
    }

    /// One try, written down. Answers the stream that it was of.
    async fn push(&self, parcel: Parcel) -> Result<String, ShelfFailed> {
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
        self.shelf.pushed(&parcel, next, words, self.clock.now_ms()).await?;
        Ok(parcel.row.stream)
    }

    /// One try, and what was said in words.
    async fn send(&self, parcel: &Parcel) -> (Said, String) {
        let Ok(body) = serde_json::to_string(&parcel.row) else {
            return (Said::Nothing, "the event cannot be written as JSON".to_owned());
        };
        let id = parcel.row.event_id.clone();
        let timestamp = SystemClock.now().0;
        let request = self
            .http
            .post(self.address.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ID_HEADER, &id)
            .header(TIMESTAMP_HEADER, timestamp)
            .header(SIGNATURE_HEADER, self.secret.sign(&id, timestamp, &body))
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
