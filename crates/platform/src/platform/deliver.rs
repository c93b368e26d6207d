//! Sends callbacks: signed as requests are, at 0 s, and after pauses of 15 s, 30 s, 3, 5 and 10 min until the merchant answers `success`.

use super::Platform;
use crate::auth::{self, Signed};
use crate::roads::{Mishap, Road};
use crate::store;
use crate::store::callbacks::{Callback, Try};
use futures_util::future::join_all;
use reqwest::Url;

/// Length of the part of an answer that is kept (bytes).
const KEPT: usize = 300;

/// Number of callbacks on their way at a time.
const AT_ONCE: usize = 32;

/// The sender of a callback.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    Schedule,
    Person,
}

impl Platform {
    /// Sends every callback that is due by the moved clock.
    pub(crate) async fn deliver_due(&self) -> Result<(), store::Error> {
        let _turn = self.0.sending.lock().await;
        loop {
            let due = self.store().due_callbacks(self.clock().now_ms())?;
            if due.is_empty() {
                return Ok(());
            }
            for some in due.chunks(AT_ONCE) {
                let tried = some.iter().map(|callback| self.attempt(callback, Sender::Schedule));
                join_all(tried).await.into_iter().collect::<Result<(), _>>()?;
            }
        }
    }

    /// Sends a callback once more, by hand; None if there is none with this id or nobody to send it to.
    pub(crate) async fn send_again(&self, id: i64) -> Result<Option<bool>, store::Error> {
        let Some(callback) = self.store().callback(id)?.filter(|callback| callback.url.is_some())
        else {
            return Ok(None);
        };
        self.attempt(&callback, Sender::Person).await?;
        Ok(self.store().tries(id)?.last().map(Try::succeeded))
    }

    async fn attempt(&self, callback: &Callback, sender: Sender) -> Result<(), store::Error> {
        let url = callback.url.as_deref().unwrap_or_default();
        let (status, answer) = match self.send(url, &callback.body).await {
            Ok((status, answer)) => (Some(status), answer),
            Err(error) => (None, error),
        };
        let at_ms = self.clock().now_ms();
        let number = callback.tries + 1;
        let by_hand = sender == Sender::Person;
        let done = Try { number, at_ms, by_hand, status, answer };
        self.store().tried(callback, &done)?;
        let shown = status.map_or_else(|| done.answer.clone(), |status| status.to_string());
        let taken = if done.succeeded() { "success" } else { "not taken" };
        let (kind, subject) = (&callback.kind, &callback.subject);
        self.say(format!("callback  {kind} {subject} -> {url}: {shown}, {taken}"));
        Ok(())
    }

    /// Posts it, unless something happens on the way.
    async fn send(&self, url: &str, body: &str) -> Result<(u16, String), String> {
        let lost = || "lost on the way: a fault of the sandbox".to_owned();
        match self.roads().next(Road::Callbacks) {
            Some(Mishap::Down) => return Err(lost()),
            Some(Mishap::Lost) => {
                drop(self.post(url, body).await);
                return Err(lost());
            }
            Some(Mishap::Twice) => drop(self.post(url, body).await),
            Some(Mishap::Slow | Mishap::Garbled) | None => {}
        }
        self.post(url, body).await
    }

    async fn post(&self, url: &str, body: &str) -> Result<(u16, String), String> {
        let parsed = Url::parse(url).map_err(|error| error.to_string())?;
        let query = parsed.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = format!("{}{query}", parsed.path());
        let timestamp = (self.clock().machine_ms() / 1000).to_string();
        let signed = Signed { method: "POST", path: &path, body: body.as_bytes() };
        let request = self
            .0
            .client
            .post(parsed)
            .header("content-type", "application/json")
            .header(auth::KEY, &self.credentials().key)
            .header(auth::TIMESTAMP, &timestamp)
            .header(auth::SIGN, self.credentials().sign(&timestamp, signed))
            .body(body.to_owned());
        let mut response = request.send().await.map_err(words)?;
        let status = response.status().as_u16();
        let mut kept = vec![];
        while kept.len() < KEPT {
            let Some(chunk) = response.chunk().await.map_err(words)? else { break };
            kept.extend_from_slice(&chunk);
        }
        kept.truncate(KEPT);
        Ok((status, String::from_utf8_lossy(&kept).into_owned()))
    }
}

/// Returns the words for an error, with the cause that is of use to a person: the innermost.
#[expect(clippy::needless_pass_by_value, reason = "this is how map_err hands it over")]
fn words(error: reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if error.is_timeout() { "no answer in time".to_owned() } else { cause.to_string() }
}
