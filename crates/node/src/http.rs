//! Exchanges over HTTP: the way that the program takes.

use super::exchange::{Dial, Exchange, LONGEST_ANSWER, NoReply, Reply, Target, Undialable};
use async_trait::async_trait;
use config::OutboundConfig;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, RequestBuilder, Response, Url, redirect};
use secrecy::ExposeSecret as _;
use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{fmt, io};

/// Time limit for making a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Time that an unused connection is kept. Shorter than the idle timeouts of usual proxies (60 s).
const IDLE: Duration = Duration::from_secs(45);

/// Dials over HTTP: straight, unless it was told otherwise. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Http {
    environment_proxies: bool,
    /// The client of all endpoints: each by itself would read the machine's authorities, and keep them.
    client: Arc<OnceLock<Option<Client>>>,
}

impl Http {
    /// Dials as it is configured.
    pub fn new(config: OutboundConfig) -> Self {
        Self { environment_proxies: config.environment_proxies, client: Arc::default() }
    }

    fn client(&self) -> Result<Client, Undialable> {
        let straight = |client: ClientBuilder| {
            if self.environment_proxies { client } else { client.no_proxy() }
        };
        let new = || {
            straight(Client::builder())
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_idle_timeout(IDLE)
                .redirect(redirect::Policy::none())
                .build()
                .ok()
        };
        self.client.get_or_init(new).clone().ok_or(Undialable::Client)
    }
}

impl Dial for Http {
    fn dial(&self, target: Target<'_>) -> Result<Arc<dyn Exchange>, Undialable> {
        let url = Url::parse(target.url.expose()).map_err(|_| Undialable::Url)?;
        if url.cannot_be_a_base() {
            return Err(Undialable::Url);
        }
        let mut headers = HeaderMap::new();
        if let Some(shown) = target.key {
            #[expect(clippy::disallowed_methods, reason = "the one header that carries it")]
            let key = shown.key.expose_secret();
            let mut value = HeaderValue::from_str(key).map_err(|_| Undialable::Key)?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(shown.header), value);
        }
        let (client, timeout) = (self.client()?, target.timeout);
        Ok(Arc::new(Endpoint { client, url, headers, timeout }))
    }

    fn seed(&self) -> u64 {
        let mut bytes = [0; 8];
        // Without chance all processes pause alike, which does no harm.
        getrandom::getrandom(&mut bytes).unwrap_or_default();
        u64::from_le_bytes(bytes)
    }
}

/// One endpoint. Its connections are kept alive.
struct Endpoint {
    client: Client,
    url: Url,
    /// The headers of every request.
    headers: HeaderMap,
    timeout: Duration,
}

#[async_trait]
impl Exchange for Endpoint {
    async fn post(&self, path: &str, body: Vec<u8>) -> Result<Reply, NoReply> {
        let request = self.client.post(self.below(path)).body(body);
        self.replied(request.header(CONTENT_TYPE, "application/json")).await
    }

    async fn get(&self, path: &str, query: &[(&str, u64)]) -> Result<Reply, NoReply> {
        let mut url = self.below(path);
        for (name, value) in query {
            url.query_pairs_mut().append_pair(name, &value.to_string());
        }
        self.replied(self.client.get(url).header(ACCEPT, "application/json")).await
    }
}

impl Endpoint {
    /// Sends a request, and reads the answer.
    async fn replied(&self, request: RequestBuilder) -> Result<Reply, NoReply> {
        let request = request.timeout(self.timeout).headers(self.headers.clone());
        let response = request.send().await.map_err(|error| NoReply::of(&error))?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(seconds);
        Ok(Reply { status, retry_after, body: read_body(response).await? })
    }

    fn below(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        if !path.is_empty()
            && let Ok(mut segments) = url.path_segments_mut()
        {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

/// The body of an answer, if it is not too long.
async fn read_body(mut response: Response) -> Result<Vec<u8>, NoReply> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| NoReply::of(&error))? {
        if body.len().saturating_add(chunk.len()) > LONGEST_ANSWER {
            return Err(NoReply::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn seconds(value: &HeaderValue) -> Option<Duration> {
    value.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

impl NoReply {
    /// Classifies a client error. Its own text holds the URL and is dropped here.
    fn of(error: &reqwest::Error) -> Self {
        if error.is_timeout() {
            Self::TimedOut
        } else if !error.is_connect() {
            Self::Broken
        } else if is_refused(error) {
            Self::Refused
        } else {
            Self::NoConnection
        }
    }
}

fn is_refused(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<io::Error>()
            && io.kind() == io::ErrorKind::ConnectionRefused
        {
            return true;
        }
        cause = inner.source();
    }
    false
}
