//! The HTTP API of a TRON node: one question, one answer, or one of our own errors.
//!
//! A node has two doors, each with a URL of its own: the full one answers from the head and from its
//! own pool, the solidity one from what is irrevocable. No error made here holds a URL or a key.
//! Nothing is asked twice, and while a server has shut us out nothing is asked at all.

mod answers;
mod calls;
mod error;
mod records;

pub use error::ApiUnusable;

pub(super) use answers::{Block, Parameters, Resources, Sent};
pub(super) use calls::{ConstantCall, Ran, eth_call};
pub(super) use error::{ApiError, Fault};
pub(super) use records::{Broadcast, TxInfo};

use crate::node::rpc::{self, Redactor};
use error::{Complaint, shut_out_for};
use parking_lot::Mutex;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, StatusCode, Url, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long an unused connection is kept. Shorter than the idle timeouts of usual proxies (60 s).
const IDLE: Duration = Duration::from_secs(45);

/// How many questions one door is asked at once. A node takes 50 connections per port and leaves the
/// next one without an answer (node.maxHttpConnectNumber); others want to ask it as well.
const AT_ONCE: usize = 12;

/// `TronGrid`'s header for API keys.
pub const API_KEY_HEADER: HeaderName = HeaderName::from_static("tron-pro-api-key");

/// What a client is made of.
#[derive(Clone, Copy, Debug)]
pub struct ApiParts<'a> {
    /// The base URL that `/wallet/…` is appended to.
    pub full: &'a str,
    /// The base URL that `/walletsolidity/…` is appended to.
    pub solidity: &'a str,
    /// What `TronGrid` knows us by.
    pub key: Option<&'a SecretString>,
    /// Bounds one whole exchange.
    pub timeout: Duration,
}

/// Connections to one node. Built once; they are kept alive.
pub struct Api {
    http: Client,
    full: Door,
    solidity: Door,
    redactor: Redactor,
    shut_until: Mutex<Option<Instant>>,
    breaks: AtomicU64,
}

struct Door {
    base: Url,
    service: &'static str,
    turns: Semaphore,
}

/// Which state a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The head, and what waits in the node's own pool.
    Full,
    /// What is irrevocable.
    Solidity,
}

impl Api {
    /// A client for one node.
    pub fn new(parts: ApiParts<'_>) -> Result<Self, ApiUnusable> {
        let full = Url::parse(parts.full).map_err(|_| ApiUnusable::FullUrl)?;
        let solidity = Url::parse(parts.solidity).map_err(|_| ApiUnusable::SolidityUrl)?;
        let mut secrets = Redactor::for_url(&full).and(Redactor::for_url(&solidity));
        let mut headers = HeaderMap::new();
        if let Some(key) = parts.key {
            #[expect(clippy::disallowed_methods, reason = "the one header that carries it")]
            let key = key.expose_secret();
            let mut value = HeaderValue::from_str(key).map_err(|_| ApiUnusable::Key)?;
            value.set_sensitive(true);
            headers.insert(API_KEY_HEADER, value);
            secrets = secrets.and(Redactor::for_secret(key));
        }
        let http = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(parts.timeout)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(AT_ONCE)
            .redirect(redirect::Policy::none())
            .default_headers(headers)
            .build()
            .map_err(|_| ApiUnusable::Client)?;
        Ok(Self {
            http,
            full: Door::new(full, "wallet").ok_or(ApiUnusable::FullUrl)?,
            solidity: Door::new(solidity, "walletsolidity").ok_or(ApiUnusable::SolidityUrl)?,
            redactor: secrets,
            shut_until: Mutex::new(None),
            breaks: AtomicU64::new(0),
        })
    }

    /// The host behind a door.
    pub(super) fn host(&self, side: Side) -> &str {
        self.door(side).base.host_str().unwrap_or_default()
    }

    fn door(&self, side: Side) -> &Door {
        match side {
            Side::Full => &self.full,
            Side::Solidity => &self.solidity,
        }
    }

    /// How often an exchange has failed other than by the node's own word. When it has grown, the
    /// node behind the URL may be another one than before.
    pub(super) fn breaks(&self) -> u64 {
        self.breaks.load(Ordering::Relaxed)
    }

    /// Asks a question. A question that the node answers with `{}` has no answer.
    async fn ask<P, R>(
        &self,
        side: Side,
        question: &'static str,
        params: &P,
    ) -> Result<Option<R>, ApiError>
    where
        P: Serialize + Sync,
        R: DeserializeOwned,
    {
        let fault = match self.exchange(side, question, params).await {
            Ok(reply) => match self.read(&reply) {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            },
            Err(fault) => fault,
        };
        match &fault {
            Fault::Refused(_) | Fault::ShutOut { .. } => {}
            Fault::Lost(_) | Fault::Garbled => {
                self.breaks.fetch_add(1, Ordering::Relaxed);
            }
        }
        Err(ApiError { question, fault })
    }

    /// Like [`Api::ask`], where `{}` makes no sense.
    async fn demand<P, R>(
        &self,
        side: Side,
        question: &'static str,
        params: &P,
    ) -> Result<R, ApiError>
    where
        P: Serialize + Sync,
        R: DeserializeOwned,
    {
        self.ask(side, question, params).await?.ok_or_else(|| garbled(question))
    }

    async fn exchange<P: Serialize + Sync>(
        &self,
        side: Side,
        question: &str,
        params: &P,
    ) -> Result<Reply, Fault> {
        let door = self.door(side);
        let body = serde_json::to_vec(params).map_err(|_| Fault::Garbled)?;
        let url = door.url(question).ok_or(Fault::Garbled)?;
        let _turn = door.turns.acquire().await.map_err(|_| Fault::Garbled)?;
        if let Some(wait) = self.shut_out() {
            return Err(Fault::ShutOut { wait });
        }
        let request = self.http.post(url).header(CONTENT_TYPE, "application/json").body(body);
        let response = request.send().await.map_err(|e| Fault::Lost(rpc::Fault::of(&e)))?;
        let status = response.status();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(seconds);
        let body = rpc::read_body(response).await.map_err(Fault::Lost)?;
        Ok(Reply { status, retry_after, body })
    }

    fn read<R: DeserializeOwned>(&self, reply: &Reply) -> Result<Option<R>, Fault> {
        let Reply { status, retry_after, body } = reply;
        let complaint = Complaint::read(body);
        if let Some(wait) = shut_out_for(*status, *retry_after, complaint.as_ref()) {
            self.hold(wait);
            return Err(Fault::ShutOut { wait });
        }
        match complaint {
            _ if status.is_server_error() => Err(http(*status)),
            Some(complaint) => Err(Fault::Refused(self.redactor.clean(&complaint.0))),
            None if !status.is_success() => Err(http(*status)),
            None if is_empty_object(body) => Ok(None),
            None => serde_json::from_slice(body).map(Some).map_err(|_| Fault::Garbled),
        }
    }

    /// How long the server still shuts us out, if it does.
    fn shut_out(&self) -> Option<Duration> {
        let until = *self.shut_until.lock();
        let wait = until?.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then_some(wait)
    }

    /// Ends the time that the server asked for.
    #[cfg(test)]
    pub(super) fn forgive(&self) {
        *self.shut_until.lock() = Some(Instant::now());
    }

    fn hold(&self, wait: Duration) {
        let until = Instant::now().checked_add(wait);
        let mut shut = self.shut_until.lock();
        *shut = (*shut).max(until);
    }
}

struct Reply {
    status: StatusCode,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

impl Door {
    fn new(base: Url, service: &'static str) -> Option<Self> {
        (!base.cannot_be_a_base()).then(|| Self { base, service, turns: Semaphore::new(AT_ONCE) })
    }

    fn url(&self, question: &str) -> Option<Url> {
        let mut url = self.base.clone();
        url.path_segments_mut().ok()?.pop_if_empty().push(self.service).push(question);
        Some(url)
    }
}

fn garbled(question: &'static str) -> ApiError {
    ApiError { question, fault: Fault::Garbled }
}

fn http(status: StatusCode) -> Fault {
    Fault::Lost(rpc::Fault::Http(status.as_u16()))
}

fn seconds(value: &HeaderValue) -> Option<Duration> {
    value.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

fn is_empty_object(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    let inside = body.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = (self.full.base.host_str(), self.solidity.base.host_str());
        f.debug_struct("Api").field("hosts", &hosts).finish_non_exhaustive()
    }
}
