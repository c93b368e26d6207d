//! JSON-RPC over HTTP with one node: one question, one answer, or one of our own errors.
//!
//! No error made here holds a URL, or any part of one: paths and queries of such URLs carry API
//! keys. Nothing is asked twice here, and nothing is concluded from an answer.

mod error;
mod redact;

pub use error::{Fault, NodeError, RpcError};
pub(crate) use redact::Redactor;

use super::exchange::{Dial, Exchange, Reply, Target, Undialable};
use error::RawNodeError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A JSON-RPC client of one endpoint.
#[derive(Debug)]
pub struct Rpc {
    exchange: Arc<dyn Exchange>,
    redactor: Redactor,
    next_id: AtomicU64,
    breaks: AtomicU64,
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: P,
}

#[derive(Deserialize)]
struct Answer<'a> {
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
    /// A client of the endpoint at `target`. Nothing is asked yet.
    pub fn new(dial: &dyn Dial, target: Target<'_>) -> Result<Self, Undialable> {
        Ok(Self {
            exchange: dial.dial(target)?,
            redactor: Redactor::of(target),
            next_id: AtomicU64::new(1),
            breaks: AtomicU64::new(0),
        })
    }

    /// Asks the node.
    pub async fn ask<P, R>(&self, method: &'static str, params: P) -> Result<R, RpcError>
    where
        P: Serialize + Send + Sync,
        R: DeserializeOwned,
    {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let answer = self.exchange(&Request { jsonrpc: "2.0", id, method, params }).await;
        let fault = match answer.and_then(|reply| self.read(&reply, id)) {
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

    async fn exchange<P>(&self, request: &Request<'_, P>) -> Result<Reply, Fault>
    where
        P: Serialize + Send + Sync,
    {
        let body = serde_json::to_vec(request).map_err(|_| Fault::Garbled)?;
        self.exchange.post("", body).await.map_err(Fault::Lost)
    }

    fn read<R: DeserializeOwned>(&self, reply: &Reply, id: u64) -> Result<R, Fault> {
        let answer = serde_json::from_slice::<Answer<'_>>(&reply.body);
        let overloaded = reply.is_server_error() || reply.is_too_many_requests();
        match answer {
            _ if overloaded => Err(Fault::Http(reply.status)),
            Ok(Answer { id: Some(got), error: Some(error), .. }) if got == id => {
                Err(Fault::Node(self.redactor.clean_error(&error)))
            }
            _ if !reply.is_success() => Err(Fault::Http(reply.status)),
            Ok(Answer { id: Some(got), result: Some(result), error: None }) if got == id => {
                serde_json::from_str(result.get()).map_err(|_| Fault::Garbled)
            }
            Ok(_) | Err(_) => Err(Fault::Garbled),
        }
    }
}

#[cfg(test)]
mod tests;
