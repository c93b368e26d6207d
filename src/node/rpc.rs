//! JSON-RPC over HTTP with one node: one question, one answer, or one of our own errors.
//!
//! No error made here holds a URL, or any part of one: paths and queries of such URLs carry API
//! keys. Nothing is asked twice here, and nothing is concluded from an answer.

mod error;
mod redact;

pub use error::{Fault, NodeError, RpcError};
pub(crate) use redact::Redactor;

use error::RawNodeError;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long an unused connection is kept. Shorter than the idle timeouts of usual proxies (60 s).
const IDLE: Duration = Duration::from_secs(45);

/// The longest answer that is read, bytes.
const LONGEST_ANSWER: usize = 16 << 20;

/// A connection pool to one node. Built once; its connections are kept alive.
pub struct Rpc {
    http: Client,
    url: Url,
    redactor: Redactor,
    next_id: AtomicU64,
    breaks: AtomicU64,
}

/// Why there is no client. Says nothing about the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RpcUnusable {
    /// The text is not a URL.
    #[error("the RPC URL cannot be read")]
    Url,
    /// The key holds something that no header can.
    #[error("the API key cannot be sent in a header")]
    Key,
    /// The HTTP client cannot be made: most likely TLS finds no trusted roots.
    #[error("the HTTP client cannot be made")]
    Client,
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: P,
}

#[derive(Deserialize)]
struct Reply<'a> {
    id: Option<u64>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    error: Option<RawNodeError>,
}

/// Tells a result that is null from none at all.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

impl Rpc {
    /// A client for the node at `url`. `timeout` bounds one whole exchange.
    pub fn new(url: &str, timeout: Duration) -> Result<Self, RpcUnusable> {
        Self::build(url, timeout, HeaderMap::new(), Redactor::for_secret(""))
    }

    /// The same for a node that wants to be shown a key in a header.
    pub fn with_key(
        url: &str,
        timeout: Duration,
        header: HeaderName,
        key: Option<&SecretString>,
    ) -> Result<Self, RpcUnusable> {
        let Some(key) = key else { return Self::new(url, timeout) };
        #[expect(clippy::disallowed_methods, reason = "the one header that carries it")]
        let key = key.expose_secret();
        let mut value = HeaderValue::from_str(key).map_err(|_| RpcUnusable::Key)?;
        value.set_sensitive(true);
        let headers = HeaderMap::from_iter([(header, value)]);
        Self::build(url, timeout, headers, Redactor::for_secret(key))
    }

    fn build(
        url: &str,
        timeout: Duration,
        headers: HeaderMap,
        secrets: Redactor,
    ) -> Result<Self, RpcUnusable> {
        let url = Url::parse(url).map_err(|_| RpcUnusable::Url)?;
        let http = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(timeout)
            .pool_idle_timeout(IDLE)
            .redirect(redirect::Policy::none())
            .default_headers(headers)
            .build()
            .map_err(|_| RpcUnusable::Client)?;
        let redactor = Redactor::for_url(&url).and(secrets);
        Ok(Self { http, url, redactor, next_id: AtomicU64::new(1), breaks: AtomicU64::new(0) })
    }

    /// Asks the node.
    pub async fn ask<P, R>(&self, method: &'static str, params: P) -> Result<R, RpcError>
    where
        P: Serialize + Send + Sync,
        R: DeserializeOwned,
    {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let answer = self.exchange(&Request { jsonrpc: "2.0", id, method, params }).await;
        let fault = match answer.and_then(|(status, body)| self.read(status, &body, id)) {
            Ok(result) => return Ok(result),
            Err(fault) => fault,
        };
        if !matches!(fault, Fault::Node(_)) {
            self.breaks.fetch_add(1, Ordering::Relaxed);
        }
        Err(RpcError { method, fault })
    }

    /// How often an exchange has failed other than by the node's own word. When it has grown, the
    /// node behind the URL may be another one than before.
    pub fn breaks(&self) -> u64 {
        self.breaks.load(Ordering::Relaxed)
    }

    async fn exchange<P>(&self, request: &Request<'_, P>) -> Result<(StatusCode, Vec<u8>), Fault>
    where
        P: Serialize + Send + Sync,
    {
        let body = serde_json::to_vec(request).map_err(|_| Fault::Garbled)?;
        let response = self
            .http
            .post(self.url.clone())
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .map_err(|error| Fault::of(&error))?;
        Ok((response.status(), read_body(response).await?))
    }

    fn read<R: DeserializeOwned>(
        &self,
        status: StatusCode,
        body: &[u8],
        id: u64,
    ) -> Result<R, Fault> {
        let reply = serde_json::from_slice::<Reply<'_>>(body);
        let overloaded = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        match reply {
            _ if overloaded => Err(Fault::Http(status.as_u16())),
            Ok(Reply { id: Some(got), error: Some(error), .. }) if got == id => {
                Err(Fault::Node(self.redactor.clean_error(&error)))
            }
            _ if !status.is_success() => Err(Fault::Http(status.as_u16())),
            Ok(Reply { id: Some(got), result: Some(result), error: None }) if got == id => {
                serde_json::from_str(result.get()).map_err(|_| Fault::Garbled)
            }
            Ok(_) | Err(_) => Err(Fault::Garbled),
        }
    }
}

/// The body of an answer, if it is not too long.
pub(crate) async fn read_body(mut response: Response) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| Fault::of(&error))? {
        if body.len().saturating_add(chunk.len()) > LONGEST_ANSWER {
            return Err(Fault::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

impl fmt::Debug for Rpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rpc").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
