//! The webhook: posts every event of the feed to one receiver, in order and at least once, signed as Standard
//! Webhooks defines. A reader of the feed like any other: the cursor is all that it keeps.

use super::webhook_cursor::WebhookCursor;
use crate::http::{EventPage, EventRow, EventsUnread, NEWEST, events_after};
use crate::telemetry::WebhookFigures;
use config::{Config, OutboundConfig, WebhookConfig};
use engine::Engine;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Url, redirect};
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use webhooks::{ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER};

/// Pause after the feed or the cursor could not be read or written.
const AFTER_FAULT: Duration = Duration::from_secs(5);

/// Longest wait for news of the feed before it is read all the same.
const IDLE: Duration = Duration::from_secs(5);

/// Pause before an event is sent the second time. Each later pause is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The outcome of one post.
#[derive(Debug)]
enum Delivery {
    /// The receiver answered 2xx.
    Taken,
    /// The receiver answered otherwise.
    Refused(String),
    /// The receiver did not answer, or a proxy answered in its place.
    Unanswered(String),
}

/// Sends to one receiver.
#[derive(Debug)]
pub(super) struct Webhook {
    config: WebhookConfig,
    outbound: OutboundConfig,
    engine: Arc<Engine>,
    cursor: WebhookCursor,
    figures: Arc<WebhookFigures>,
}

impl Webhook {
    /// The webhook that is configured, if one is.
    pub(super) fn of(
        config: &Config,
        figures: Option<Arc<WebhookFigures>>,
        engine: &Arc<Engine>,
    ) -> Option<Self> {
        Some(Self {
            config: config.webhook.clone()?,
            outbound: config.outbound,
            engine: Arc::clone(engine),
            cursor: WebhookCursor::beside(&config.journal),
            figures: figures?,
        })
    }

    /// Sends until `stop`, on a thread of its own: billing never waits for a receiver.
    pub(super) fn begin(self, stop: CancellationToken) -> io::Result<()> {
        // A file that cannot be read stops the start, where somebody looks.
        self.cursor.read()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = Client::builder().timeout(self.config.timeout);
        let client = client.redirect(redirect::Policy::none());
        let client = if self.outbound.environment_proxies { client } else { client.no_proxy() };
        let client = client.build().map_err(io::Error::other)?;
        let thread = std::thread::Builder::new().name("webhook".to_owned());
        thread.spawn(move || runtime.block_on(self.run(&client, &stop)))?;
        Ok(())
    }

    async fn run(&self, client: &Client, stop: &CancellationToken) {
        info!(receiver = %self.config.url, "events are sent to a webhook");
        while let Some(followed) = stop.run_until_cancelled(self.follow(client)).await {
            if let Err(problem) = followed {
                warn!(%problem, "events cannot be sent to the webhook");
            }
            stop.run_until_cancelled(sleep(AFTER_FAULT)).await;
        }
    }

    /// Follows the feed for as long as it can be read. The first start begins with the next event.
    async fn follow(&self, client: &Client) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut cursor = match self.cursor.read()? {
            Some(cursor) => cursor,
            None => self.reached(events_after(&self.engine, Some(NEWEST)).await?.next)?,
        };
        self.engine.journal.instances().note_webhook(&cursor);
        let mut news = self.engine.journal.figures().grown.subscribe();
        loop {
            news.mark_unchanged();
            let page = self.page(&cursor).await?;
            for event in &page.events {
                self.figures.waiting_since.store(event.at, Ordering::Relaxed);
                self.deliver(client, event).await?;
                cursor = self.reached(event.cursor.clone())?;
            }
            if page.next != cursor {
                cursor = self.reached(page.next)?;
            }
            if page.events.is_empty() {
                self.figures.waiting_since.store(0, Ordering::Relaxed);
                // Without news the feed is read again as well.
                drop(timeout(IDLE, news.changed()).await);
            }
        }
    }

    /// Writes down that everything up to `cursor` is delivered.
    fn reached(&self, cursor: String) -> io::Result<String> {
        self.cursor.write(&cursor)?;
        self.engine.journal.instances().note_webhook(&cursor);
        Ok(cursor)
    }

    /// Returns the events after a cursor. After a cursor of another journal every event is sent again.
    async fn page(&self, cursor: &str) -> Result<EventPage, EventsUnread> {
        match events_after(&self.engine, Some(cursor)).await {
            Err(EventsUnread::Lost(why)) => {
                warn!(
                    why,
                    "every event is sent to the webhook again: its cursor is not of this journal"
                );
                events_after(&self.engine, None).await
            }
            page => page,
        }
    }

    /// Sends one event until the receiver has taken it. Later events wait.
    async fn deliver(&self, client: &Client, event: &EventRow) -> serde_json::Result<()> {
        let body = serde_json::to_string(event)?;
        let mut pause = FIRST_PAUSE;
        loop {
            let delivery = self.post(client, event, &body).await;
            let count = match &delivery {
                Delivery::Taken => &self.figures.taken,
                Delivery::Refused(_) => &self.figures.refused,
                Delivery::Unanswered(_) => &self.figures.unanswered,
            };
            count.fetch_add(1, Ordering::Relaxed);
            match delivery {
                Delivery::Taken => return Ok(()),
                Delivery::Refused(why) | Delivery::Unanswered(why) if pause == FIRST_PAUSE => {
                    let row = event.row;
                    warn!(
                        row,
                        why,
                        "the webhook's receiver does not take an event: it is sent again until it does"
                    );
                }
                Delivery::Refused(_) | Delivery::Unanswered(_) => {}
            }
            sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }

    async fn post(&self, client: &Client, event: &EventRow, body: &str) -> Delivery {
        let Ok(url) = Url::parse(self.config.url.expose()) else {
            return Delivery::Unanswered("the URL cannot be used".to_owned());
        };
        let timestamp = self.engine.journal.now_ms().div_euclid(1000);
        // The scheme parts id, timestamp and body by dots.
        let id = event.cursor.replace('.', "-");
        let signature = self.config.secret.sign(&id, timestamp, body);
        let request = client.post(url).header(CONTENT_TYPE, "application/json");
        let request = request.header(ID_HEADER, id).header(TIMESTAMP_HEADER, timestamp);
        match request.header(SIGNATURE_HEADER, signature).body(body.to_owned()).send().await {
            Ok(answer) => judge(answer.status().as_u16()),
            // The error's own text holds the URL.
            Err(error) if error.is_timeout() => Delivery::Unanswered("timed out".to_owned()),
            Err(error) if error.is_connect() => Delivery::Unanswered("no connection".to_owned()),
            Err(_) => Delivery::Unanswered("connection broken".to_owned()),
        }
    }
}

/// Judges the status of an answer. With 502 to 504 a proxy says that the receiver is down.
fn judge(status: u16) -> Delivery {
    match status {
        200..=299 => Delivery::Taken,
        502..=504 => Delivery::Unanswered(format!("HTTP {status}")),
        _ => Delivery::Refused(format!("HTTP {status}")),
    }
}
