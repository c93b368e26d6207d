//! Tells what happens to a receiver that is configured: every event of the feed, in order, at least once,
//! signed as the platform signs its callbacks. It has a thread of its own, and nothing waits for it.

use crate::auth::{self, KEY_HEADER, SIGN_HEADER, SignedParts, TIMESTAMP_HEADER};
use crate::http::{EventPage, EventRow, EventsUnread, NEWEST, WebhookDesk, events_after};
use config::{OutboundConfig, WebhookConfig};
use engine::Engine;
use journal::UntakenEvent;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response, Url, redirect};
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Time to wait after the feed, or the stored state of the webhook, could not be read.
const AGAIN: Duration = Duration::from_secs(5);

/// Time to wait for news before the feed is looked at all the same.
const QUIET: Duration = Duration::from_secs(5);

/// The answer of a receiver, with HTTP 200, to an event that it has taken.
const TAKEN: &[u8] = b"success";

/// Part of an answer that is read, bytes.
const LONGEST: usize = 64;

type WebhookTrouble = Box<dyn Error + Send + Sync>;

/// The outcome of one send.
#[derive(Debug)]
enum Sending {
    Taken,
    /// The receiver answered something else.
    Refused(String),
    /// Nobody answered, or a proxy in the receiver's place.
    Unanswered(String),
}

/// Sends to one receiver.
#[derive(Debug)]
pub(super) struct Webhook {
    pub(super) config: WebhookConfig,
    pub(super) outbound: OutboundConfig,
    pub(super) engine: Arc<Engine>,
    pub(super) desk: Arc<WebhookDesk>,
}

impl Webhook {
    /// Sends until `stop`, on a thread of its own.
    pub(super) fn begin(self, stop: CancellationToken) -> io::Result<()> {
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
        info!(receiver = %self.config.url, "what happens is told to a webhook");
        while let Some(followed) = stop.run_until_cancelled(self.follow(client)).await {
            if let Err(problem) = followed {
                warn!(%problem, "what happens cannot be told to the webhook");
            }
            stop.run_until_cancelled(tokio::time::sleep(AGAIN)).await;
        }
    }

    /// Follows the feed for as long as it can be read.
    async fn follow(&self, client: &Client) -> Result<(), WebhookTrouble> {
        self.count_set_aside()?;
        let mut place = if let Some(place) = self.desk.outbox.place()? {
            place
        } else {
            let now = events_after(&self.engine, Some(NEWEST)).await?.next;
            self.desk.outbox.move_to(&now)?;
            now
        };
        self.engine.journal.note_told(&place);
        let mut news = self.engine.journal.figures().grown.subscribe();
        loop {
            news.mark_unchanged();
            self.replay(client).await?;
            let page = self.page(&place).await?;
            for event in &page.events {
                self.desk.figures.waiting_since.store(event.at, Ordering::Relaxed);
                self.tell(client, event).await?;
            }
            if page.next != place {
                self.desk.outbox.move_to(&page.next)?;
                place = page.next;
                self.engine.journal.note_told(&place);
            }
            if page.events.is_empty() {
                self.desk.figures.waiting_since.store(0, Ordering::Relaxed);
                tokio::select! {
                    _ = timeout(QUIET, news.changed()) => {}
                    () = self.desk.wake.notified() => {}
                }
            }
        }
    }

    /// Returns the events behind a place. A place of another journal counts as none: then everything is told again.
    async fn page(&self, place: &str) -> Result<EventPage, EventsUnread> {
        match events_after(&self.engine, Some(place)).await {
            Err(EventsUnread::Lost(why)) => {
                warn!(
                    why,
                    "the webhook is told everything again: where it had come to is not known here"
                );
                events_after(&self.engine, None).await
            }
            page => page,
        }
    }

    /// Sends one event until it is taken, or set aside.
    async fn tell(&self, client: &Client, event: &EventRow) -> Result<(), WebhookTrouble> {
        let body = serde_json::to_string(event)?;
        let (mut refused, mut sent) = (0_usize, 0_usize);
        let pauses = &self.config.pauses;
        loop {
            let pause = pauses.get(sent).or(pauses.last()).copied().unwrap_or_default();
            if timeout(pause, self.desk.wake.notified()).await.is_ok() {
                self.replay(client).await?;
            }
            sent = sent.saturating_add(1);
            match self.send(client, &body).await {
                Sending::Taken => return Ok(self.desk.outbox.move_to(&event.cursor)?),
                Sending::Refused(why) => {
                    refused = refused.saturating_add(1);
                    if refused >= pauses.len() {
                        return self.set_aside(event, body, why);
                    }
                }
                Sending::Unanswered(why) if sent == pauses.len() => {
                    warn!(why, "nobody answers for the webhook: it is tried until somebody does");
                }
                Sending::Unanswered(_) => {}
            }
        }
    }

    fn set_aside(&self, event: &EventRow, body: String, why: String) -> Result<(), WebhookTrouble> {
        let (kind, row) = (event.event.as_str(), event.row);
        warn!(
            event = kind,
            row, why, "the webhook's receiver does not take an event: it is set aside"
        );
        let (cursor, at_ms) = (event.cursor.clone(), self.engine.journal.now_ms());
        self.desk.outbox.set_aside(&UntakenEvent { cursor, body, at_ms, why })?;
        self.count_set_aside()
    }

    /// Sends once what a person wants sent again.
    async fn replay(&self, client: &Client) -> Result<(), WebhookTrouble> {
        while let Some(event) = self.desk.outbox.to_replay()? {
            match self.send(client, &event.body).await {
                Sending::Taken => self.desk.outbox.taken(&event.cursor)?,
                Sending::Refused(why) | Sending::Unanswered(why) => {
                    self.desk.outbox.still_aside(&event.cursor, &why)?;
                }
            }
            self.count_set_aside()?;
        }
        Ok(())
    }

    fn count_set_aside(&self) -> Result<(), WebhookTrouble> {
        let count = self.desk.outbox.all_set_aside()?.len();
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.desk.figures.set_aside.store(count, Ordering::Relaxed);
        Ok(())
    }

    async fn send(&self, client: &Client, body: &str) -> Sending {
        let sent = self.post(client, body).await;
        let figures = &self.desk.figures;
        let count = |count: &AtomicU64| count.fetch_add(1, Ordering::Relaxed);
        match &sent {
            Sending::Taken => count(&figures.taken),
            Sending::Refused(_) => count(&figures.refused),
            Sending::Unanswered(_) => count(&figures.unanswered),
        };
        sent
    }

    async fn post(&self, client: &Client, body: &str) -> Sending {
        let Ok(url) = Url::parse(self.config.url.expose()) else {
            return Sending::Unanswered("the URL cannot be used".to_owned());
        };
        let timestamp = self.engine.journal.now_ms().div_euclid(1000).to_string();
        let path = url
            .query()
            .map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let parts = SignedParts {
            key: Some(&self.config.key),
            timestamp: Some(&timestamp),
            sign: None,
            method: "POST",
            path_and_query: &path,
            body: body.as_bytes(),
        };
        let sign = auth::sign(&self.config.secret, &parts);
        let request = client.post(url).header(CONTENT_TYPE, "application/json");
        let request = request.header(KEY_HEADER, &self.config.key).header(SIGN_HEADER, sign);
        match request.header(TIMESTAMP_HEADER, timestamp).body(body.to_owned()).send().await {
            Ok(answer) => judge(answer).await,
            // Its own text holds the URL.
            Err(error) if error.is_timeout() => Sending::Unanswered("timed out".to_owned()),
            Err(error) if error.is_connect() => Sending::Unanswered("no connection".to_owned()),
            Err(_) => Sending::Unanswered("connection broken".to_owned()),
        }
    }
}

/// Judges the receiver's answer. A proxy that finds nobody behind it does not answer for the receiver.
async fn judge(mut answer: Response) -> Sending {
    let status = answer.status().as_u16();
    if [502, 503, 504].contains(&status) {
        return Sending::Unanswered(format!("HTTP {status}"));
    }
    if status != 200 {
        return Sending::Refused(format!("HTTP {status}"));
    }
    let mut said = Vec::new();
    while said.len() <= LONGEST
        && let Ok(Some(chunk)) = answer.chunk().await
    {
        said.extend_from_slice(&chunk);
    }
    if said.trim_ascii() == TAKEN {
        Sending::Taken
    } else {
        Sending::Refused("HTTP 200, and another body than success".to_owned())
    }
}
