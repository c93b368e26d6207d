//! The HTTP API of a TRON node: one question, one answer, or one of our own errors.
//!
//! A node has two doors, each with a URL of its own: the full one answers from the head and from its
//! own pool, the solidity one from what is irrevocable. No error made here holds a URL or a key.
//! Nothing is asked twice, and while a server has shut us out nothing is asked at all.

mod answers;
mod calls;
mod error;
mod records;

pub(super) use answers::{Block, Parameters, Resources, Sent};
pub(super) use calls::{ConstantCall, Ran, eth_call};
pub(super) use error::{ApiError, Fault};
pub(super) use records::{Broadcast, TxInfo};

use crate::config::RpcUrl;
use crate::node::rpc::Redactor;
use crate::node::{Dial, Exchange, HeaderKey, Reply, Target, Undialable};
use error::{Complaint, shut_out_for};
use parking_lot::Mutex;
use secrecy::SecretString;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// How many questions one door is asked at once. A node takes 50 connections per port and leaves the
/// next one without an answer (node.maxHttpConnectNumber); others want to ask it as well.
const AT_ONCE: usize = 12;

/// `TronGrid`'s header for API keys.
pub const API_KEY_HEADER: &str = "tron-pro-api-key";

/// What a client is made of.
#[derive(Clone, Copy, Debug)]
pub struct ApiParts<'a> {
    /// The base URL that `/wallet/…` is appended to.
    pub full: &'a RpcUrl,
    /// The base URL that `/walletsolidity/…` is appended to.
    pub solidity: &'a RpcUrl,
    /// What `TronGrid` knows us by.
    pub key: Option<&'a SecretString>,
    /// Bounds one whole exchange.
    pub timeout: Duration,
}

/// One of the URLs of a node that there is no client for, by its key in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ApiUnusable {
    /// `full` or `solidity`.
    pub key: &'static str,
    /// What is wrong with it.
    pub problem: Undialable,
}

/// The connections to one node.
#[derive(Debug)]
pub struct Api {
    full: Door,
    solidity: Door,
    redactor: Redactor,
    shut_until: Mutex<Option<Instant>>,
    breaks: AtomicU64,
}

#[derive(Debug)]
struct Door {
    exchange: Arc<dyn Exchange>,
    host: String,
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
    pub fn new(dial: &dyn Dial, parts: ApiParts<'_>) -> Result<Self, ApiUnusable> {
        let key = parts.key.map(|key| HeaderKey { header: API_KEY_HEADER, key });
        let target = |url| Target { url, key, timeout: parts.timeout };
        let (full, solidity) = (target(parts.full), target(parts.solidity));
        let unusable = |key| move |problem| ApiUnusable { key, problem };
        Ok(Self {
            full: Door::new(dial, full, "wallet").map_err(unusable("full"))?,
            solidity: Door::new(dial, solidity, "walletsolidity").map_err(unusable("solidity"))?,
            redactor: Redactor::of(full).and(Redactor::of(solidity)),
            shut_until: Mutex::new(None),
            breaks: AtomicU64::new(0),
        })
    }

    /// The host behind a door.
    pub(super) fn host(&self, side: Side) -> &str {
        &self.door(side).host
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
            Fault::Lost(_) | Fault::Http(_) | Fault::Garbled => {
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
        let path = format!("{}/{question}", door.service);
        let _turn = door.turns.acquire().await.map_err(|_| Fault::Garbled)?;
        if let Some(wait) = self.shut_out() {
            return Err(Fault::ShutOut { wait });
        }
        door.exchange.post(&path, body).await.map_err(Fault::Lost)
    }

    fn read<R: DeserializeOwned>(&self, reply: &Reply) -> Result<Option<R>, Fault> {
        let complaint = Complaint::read(&reply.body);
        if let Some(wait) = shut_out_for(reply, complaint.as_ref()) {
            self.hold(wait);
            return Err(Fault::ShutOut { wait });
        }
        match complaint {
            _ if reply.is_server_error() => Err(Fault::Http(reply.status)),
            Some(complaint) => Err(Fault::Refused(self.redactor.clean(&complaint.0))),
            None if !reply.is_success() => Err(Fault::Http(reply.status)),
            None if is_empty_object(&reply.body) => Ok(None),
            None => serde_json::from_slice(&reply.body).map(Some).map_err(|_| Fault::Garbled),
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

impl Door {
    fn new(dial: &dyn Dial, target: Target<'_>, service: &'static str) -> Result<Self, Undialable> {
        let exchange = dial.dial(target)?;
        Ok(Self { exchange, host: target.url.host(), service, turns: Semaphore::new(AT_ONCE) })
    }
}

fn garbled(question: &'static str) -> ApiError {
    ApiError { question, fault: Fault::Garbled }
}

fn is_empty_object(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    let inside = body.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}
