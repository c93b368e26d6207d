//! The one seam between the Signer and the nodes: bytes posted to an endpoint, bytes that come back.
//!
//! Everything above it (JSON-RPC, TRON's HTTP API, the fleet, both adapters) is the same in
//! production, in tests and in a simulated world; whoever replaces [`Dial`] replaces the network and
//! nothing else.

use async_trait::async_trait;
use config::RpcUrl;
use secrecy::SecretString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The address of an endpoint, and the terms of speaking to it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Its URL. Holds secrets; prints without them.
    pub url: &'a RpcUrl,
    /// A key that it wants to be shown.
    pub key: Option<HeaderKey<'a>>,
    /// Bounds one whole exchange.
    pub timeout: Duration,
}

/// An API key that travels in a header.
#[derive(Clone, Copy, Debug)]
pub struct HeaderKey<'a> {
    /// The header's name, in lower case.
    pub header: &'static str,
    /// The key.
    pub key: &'a SecretString,
}

/// Makes exchanges with endpoints.
pub trait Dial: Send + Sync + fmt::Debug {
    /// An exchange with one endpoint. Nothing is sent yet.
    fn dial(&self, target: Target<'_>) -> Result<Arc<dyn Exchange>, Undialable>;

    /// A number by chance: many processes that fail together do not ask again together. In a simulated
    /// world it is the same for the same history.
    fn seed(&self) -> u64;
}

/// One endpoint that questions are posted to.
#[async_trait]
pub trait Exchange: Send + Sync + fmt::Debug {
    /// Posts a JSON body to `path` below the endpoint's URL (empty for the URL itself), once, and
    /// returns what came back, whatever its status. Ends within the timeout that was dialled with,
    /// and reads no answer longer than [`LONGEST_ANSWER`].
    async fn post(&self, path: &str, body: Vec<u8>) -> Result<Reply, NoReply>;

    /// Gets `path` below the endpoint's URL, with these parameters in its query. Ends as [`Self::post`] does.
    async fn get(&self, path: &str, query: &[(&str, u64)]) -> Result<Reply, NoReply>;
}

/// The longest answer that is read, bytes.
pub const LONGEST_ANSWER: usize = 16 << 20;

/// The reply of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The time in its `Retry-After` header, where that is a number of seconds.
    pub retry_after: Option<Duration>,
    /// The body, at most [`LONGEST_ANSWER`] bytes.
    pub body: Vec<u8>,
}

impl Reply {
    /// Returns true if the status is one of success (2xx).
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns true if the server reports that it could not do its work (5xx).
    pub fn is_server_error(&self) -> bool {
        (500..600).contains(&self.status)
    }

    /// Returns true if the server reports that it was asked too often (429).
    pub fn is_too_many_requests(&self) -> bool {
        self.status == 429
    }
}

/// Why nothing came back. Names no URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReply {
    /// Nobody listens there. The endpoint has not seen the question.
    #[error("connection refused")]
    Refused,
    /// No connection could be made: name resolution, routing or TLS.
    #[error("no connection: the name does not resolve, no route leads there, or TLS fails")]
    NoConnection,
    /// No answer in time. The endpoint may have seen the question.
    #[error("timed out")]
    TimedOut,
    /// The connection broke. The endpoint may have seen the question.
    #[error("connection broken")]
    Broken,
    /// The answer is longer than [`LONGEST_ANSWER`].
    #[error("the answer is too long")]
    TooLong,
}

/// Why there is no exchange with an endpoint. Says nothing about URL and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undialable {
    /// No path can be put below the URL.
    #[error("the URL cannot be used")]
    Url,
    /// The key holds something that no header can.
    #[error("the API key cannot be sent in a header")]
    Key,
    /// The client cannot be made: most likely TLS finds no trusted roots.
    #[error("the HTTP client cannot be made")]
    Client,
}
