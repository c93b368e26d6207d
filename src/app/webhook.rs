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

    /// Sends until `stop`, on a thread of its own: billing never waits for a receiver. The first start begins with
    /// what happens after this call. A file that cannot be read or written stops the start, where somebody looks.
    pub(super) async fn begin(self, stop: CancellationToken) -> io::Result<()> {
        let cursor = self.first().await?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = Client::builder().timeout(self.config.timeout);
        let client = client.redirect(redirect::Policy::none());
        let client = if self.outbound.environment_proxies { client } else { client.no_proxy() };
        let client = client.build().map_err(io::Error::other)?;
        let thread = std::thread::Builder::new().name("webhook".to_owned());
        thread.spawn(move || runtime.block_on(self.run(&client, cursor, &stop)))?;
        Ok(())
    }

    /// The cursor that the file has. Before the first one, the newest event's is written: were it read anew after a
    /// failure, events in between would be skipped.
    async fn first(&self) -> io::Result<String> {
        let Some(cursor) = self.cursor.read()? else {
            let newest = events_after(&self.engine, Some(NEWEST)).await;
            return self.reached(newest.map_err(io::Error::other)?.next);
        };
        self.engine.journal.instances().note_webhook(&cursor);
        Ok(cursor)
    }

    async fn run(&self, client: &Client, mut cursor: String, stop: &CancellationToken) {
        info!(receiver = %self.config.url, "events are sent to a webhook");
        while let Some(followed) = stop.run_until_cancelled(self.follow(client, &mut cursor)).await
        {
            if let Err(problem) = followed {
                warn!(%problem, "events cannot be sent to the webhook");
            }
            stop.run_until_cancelled(sleep(AFTER_FAULT)).await;
        }
    }

    /// Follows the feed from `cursor` on for as long as it can be read. Then `cursor` is the last that was written.
    async fn follow(
        &self,
        client: &Client,
        cursor: &mut String,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut news = self.engine.journal.figures().grown.subscribe();
        loop {
            news.mark_unchanged();
            let page = self.page(cursor).await?;
            for event in &page.events {
                self.figures.waiting_since.store(event.at, Ordering::Relaxed);
                self.deliver(client, event).await?;
                *cursor = self.reached(event.cursor.clone())?;
            }
            if page.next != *cursor {
                *cursor = self.reached(page.next)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use billing::PlatformChainId;
    use config::{JournalConfig, JournalPlace, RpcUrl};
    use engine::LaneSet;
    use journal::{Journal, Pause, Switch};
    use secrecy::SecretString;
    use std::fs;
    use webhooks::WebhookSecret;

    fn config_in(folder: &std::path::Path) -> JournalConfig {
        JournalConfig {
            path: folder.join("journal.db"),
            mark_path: None,
            backups: None,
            min_free_bytes: 1,
            queue_length: 8,
            keep_refusals: None,
        }
    }

    #[tokio::test]
    async fn a_first_start_whose_cursor_cannot_be_written_skips_no_event() {
        let room = tempfile::tempdir().unwrap();
        let config = config_in(room.path());
        Journal::initialise(&config.path).unwrap();
        let engine = Arc::new(Engine::new(LaneSet::default(), Journal::open(&config).unwrap()));
        let elsewhere = room.path().join("later");
        let file = WebhookCursor::beside(&JournalPlace::File(config_in(&elsewhere)));
        let secret = SecretString::from("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz");
        let webhook = || Webhook {
            config: WebhookConfig {
                url: RpcUrl::parse("http://127.0.0.1:9/").unwrap(),
                secret: WebhookSecret::read(&secret).unwrap(),
                timeout: Duration::from_secs(1),
            },
            outbound: OutboundConfig { environment_proxies: false },
            engine: Arc::clone(&engine),
            cursor: file.clone(),
            figures: Arc::default(),
        };
        let pause = async |chain| {
            let pause = Pause { by: "ann".to_owned(), since_ms: 1, why: None };
            let switch = Switch::Pause(vec![PlatformChainId(chain)]);
            engine.journal.pauses().set(switch, pause).await.unwrap();
        };
        // A start that would have to guess later what it skips is none.
        assert!(webhook().begin(CancellationToken::new()).await.is_err());
        pause(139).await;
        fs::create_dir(&elsewhere).unwrap();
        let stopped = CancellationToken::new();
        stopped.cancel();
        webhook().begin(stopped.clone()).await.unwrap();
        let first = file.read().unwrap().expect("the start has written it, and no thread later");
        pause(140).await;
        let told = webhook();
        assert_eq!(told.first().await.unwrap(), first, "the next start goes on from there");
        let page = told.page(&first).await.unwrap();
        assert_eq!(page.events.len(), 1, "what happened after the first start is told");
    }
}
