//! JSON-RPC over one endpoint: one question, one answer, or one of our own errors.

use super::ask::Asker;
use super::client::{Client, read_answer};
use super::decode::decode;
use super::error::{AskError, Fault, RawNodeError, RealChain};
use super::exchange::{Dial, Exchange, Reply, Target, Undialable};
use super::fleet::Fleet;
use super::redact::Redactor;
use super::rules::{FleetRules, Member};
use alloy::primitives::U64;
use async_trait::async_trait;
use config::RpcUrl;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const CHAIN_ID: &str = "eth_chainId";

/// A JSON-RPC client of one endpoint.
#[derive(Debug)]
pub struct JsonRpc {
    exchange: Arc<dyn Exchange>,
    redactor: Redactor,
    next_id: AtomicU64,
}

/// A question over JSON-RPC.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: &'static str,
    params: Box<RawValue>,
}

impl Request {
    /// The question with these parameters: a list, or a tuple. One that cannot be written asks with `null`, which
    /// nodes refuse.
    pub fn of(method: &'static str, params: impl Serialize) -> Self {
        let params = to_raw_value(&params).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self { method, params }
    }
}

#[derive(Serialize)]
struct RpcRequest<'a> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: &'a RawValue,
}

#[derive(Deserialize)]
struct RpcAnswer<'a> {
    id: Option<u64>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    error: Option<RawNodeError>,
}

/// Tells a result that is null from none at all.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

impl JsonRpc {
    /// A client of the endpoint at `target`. Nothing is asked yet.
    pub fn new(dial: &dyn Dial, target: Target<'_>) -> Result<Self, Undialable> {
        let exchange = dial.dial(target)?;
        Ok(Self { exchange, redactor: Redactor::of(target), next_id: AtomicU64::new(1) })
    }

    fn read(&self, reply: &Reply, id: u64) -> Result<Box<RawValue>, Fault> {
        let answer = decode::<RpcAnswer<'_>>(&reply.body);
        let overloaded = reply.is_server_error() || reply.is_too_many_requests();
        match answer {
            _ if overloaded => Err(Fault::Http(reply.status)),
            Ok(RpcAnswer { id: Some(got), error: Some(error), .. }) if got == id => {
                Err(Fault::Node(self.redactor.clean_error(&error)))
            }
            _ if !reply.is_success() => Err(Fault::Http(reply.status)),
            Ok(RpcAnswer { id: Some(got), result: Some(result), error: None }) if got == id => {
                Ok(result.to_owned())
            }
            Ok(_) | Err(_) => Err(Fault::Garbled),
        }
    }
}

#[async_trait]
impl Client for JsonRpc {
    type Question = Request;

    fn name(question: &Request) -> &'static str {
        question.method
    }

    async fn ask(&self, question: &Request) -> Result<Box<RawValue>, Fault> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let Request { method, params } = question;
        let envelope = RpcRequest { jsonrpc: "2.0", id, method, params };
        let body = serde_json::to_vec(&envelope).map_err(|_| Fault::Garbled)?;
        let reply = self.exchange.post("", body).await.map_err(Fault::Lost)?;
        self.read(&reply, id)
    }

    async fn chains(&self) -> Result<Vec<RealChain>, AskError> {
        let asked = Request::of(CHAIN_ID, json!([]));
        let answer = self.ask(&asked).await;
        let id = answer.and_then(|raw| read_answer::<U64>(&raw));
        let id = id.map_err(|fault| AskError { question: CHAIN_ID, fault })?;
        Ok(vec![RealChain::Eip155(id.to())])
    }

    fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}

/// A URL of the configuration that no client can be made for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct UnusableUrl {
    /// Place of the URL in the configuration: `rpc[1]`.
    pub key: String,
    /// The problem that was found.
    pub problem: Undialable,
}

/// The endpoints at `urls`, which stand in the configuration under `key`.
fn members(
    dial: &dyn Dial,
    key: &str,
    urls: &[RpcUrl],
    timeout: Duration,
    member: fn(&RpcUrl, JsonRpc) -> Member<JsonRpc>,
) -> Result<Vec<Member<JsonRpc>>, UnusableUrl> {
    let dialled = urls.iter().enumerate().map(|(at, url)| {
        let client = JsonRpc::new(dial, Target { url, key: None, timeout });
        let client = client.map_err(|problem| UnusableUrl { key: format!("{key}[{at}]"), problem });
        Ok(member(url, client?))
    });
    dialled.collect()
}

impl Fleet<JsonRpc> {
    /// A fleet of the nodes at `rpc`, which are asked, and at `send_only`, which are not.
    pub fn dial(
        dial: &dyn Dial,
        rpc: &[RpcUrl],
        send_only: &[RpcUrl],
        rules: FleetRules,
    ) -> Result<Self, UnusableUrl> {
        let asked = members(dial, "rpc", rpc, rules.timeout, Member::asked)?;
        let sent = members(dial, "send_only", send_only, rules.timeout, Member::sent_to)?;
        Ok(Self::of(asked.into_iter().chain(sent).collect(), rules))
    }

    /// A fleet of endpoints that are asked for final blocks alone.
    pub fn witnesses(
        dial: &dyn Dial,
        urls: &[RpcUrl],
        rules: FleetRules,
    ) -> Result<Self, UnusableUrl> {
        Ok(Self::of(members(dial, "witness_rpc", urls, rules.timeout, Member::asked)?, rules))
    }
}

impl Asker<'_, JsonRpc> {
    /// Asks. A read only: it may be asked twice.
    pub async fn ask<R>(&self, method: &'static str, params: impl Serialize) -> Result<R, AskError>
    where
        R: DeserializeOwned + Send,
    {
        self.put(Request::of(method, params)).await
    }
}

#[cfg(test)]
mod tests;
