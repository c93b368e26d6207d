//! The endpoints of one TRON node, and the questions that can be put to them: one question, one answer, or one of
//! our own errors.
//!
//! A node has two or three endpoints, each with a URL of its own: the full one answers from the head
//! and from its own pool, the solidity one from what is irrevocable, and a JSON-RPC may answer calls.
//! While a server has shut us out, nothing is asked at any of them.

use super::block::genesis;
use super::complaint::{Complaint, shut_out_for};
use async_trait::async_trait;
use config::{RpcUrl, TvmNode};
use node::{
    AskError, Client, Dial, Exchange, Fault, HeaderKey, JsonRpc, NodeError, RealChain, Redactor,
    Reply, Request, Target, Undialable, decode,
};
use parking_lot::Mutex;
use secrecy::SecretString;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::debug;

/// Number of questions that one endpoint is asked at once. A node takes 50 connections per port and leaves the next
/// one without an answer (node.maxHttpConnectNumber); others want to ask it as well.
const AT_ONCE: usize = 12;

/// Number of constant calls that one node runs for us at once: calls that each pass alone are stopped when many run
/// at the same time.
pub const CALLS_AT_ONCE: usize = 2;

/// `TronGrid`'s header for API keys.
const API_KEY_HEADER: &str = "tron-pro-api-key";

/// The reading of an empty answer, and of a list that holds nothing.
const NOTHING: &str = "null";

/// One of the URLs of a node that there is no client for, by its key in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ApiUnusable {
    /// `full`, `solidity` or `jsonrpc`.
    pub key: &'static str,
    /// The problem that was found.
    pub problem: Undialable,
}

/// The endpoints of one node.
#[derive(Debug)]
pub struct Endpoints {
    full: Endpoint,
    solidity: Endpoint,
    jsonrpc: Option<JsonRpc>,
    /// True if the JSON-RPC has answered, as far as it was asked.
    jsonrpc_fit: AtomicBool,
    calls: Semaphore,
    redactor: Redactor,
    shut_until: Mutex<Option<Instant>>,
}

/// One HTTP API.
#[derive(Debug)]
struct Endpoint {
    exchange: Arc<dyn Exchange>,
    service: &'static str,
    turns: Semaphore,
}

/// Which state a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The head, and what waits in the node's own pool.
    Full,
    /// The irrevocable state.
    Solidity,
}

/// A question to one of a node's endpoints.
#[derive(Clone, Debug)]
pub enum Question {
    /// To an HTTP API.
    Http {
        /// Which of the two.
        side: Side,
        /// Name of the question, which is the last part of its path.
        name: &'static str,
        /// The body.
        params: Value,
        /// True if the node runs a contract for the question.
        runs: bool,
    },
    /// To the JSON-RPC: a call that is not sent.
    JsonRpc(Request),
}

impl Endpoints {
    /// Clients of one node's endpoints. Nothing is asked yet.
    pub fn dial<'n>(
        dial: &dyn Dial,
        node: &'n TvmNode,
        timeout: Duration,
    ) -> Result<Self, ApiUnusable> {
        let key = node
            .api_key
            .as_ref()
            .map(|key: &SecretString| HeaderKey { header: API_KEY_HEADER, key });
        let target = move |url: &'n RpcUrl| Target { url, key, timeout };
        let unusable = |key| move |problem| ApiUnusable { key, problem };
        let http = |url: &'n RpcUrl, service, name| {
            Endpoint::dial(dial, target(url), service).map_err(unusable(name))
        };
        let jsonrpc = node.jsonrpc.as_ref().map(|url| JsonRpc::new(dial, target(url)));
        let urls = [Some(&node.full), Some(&node.solidity), node.jsonrpc.as_ref()];
        let secrets = urls.into_iter().flatten().map(|url| Redactor::of(target(url)));
        Ok(Self {
            full: http(&node.full, "wallet", "full")?,
            solidity: http(&node.solidity, "walletsolidity", "solidity")?,
            jsonrpc: jsonrpc.transpose().map_err(unusable("jsonrpc"))?,
            jsonrpc_fit: AtomicBool::new(true),
            calls: Semaphore::new(CALLS_AT_ONCE),
            redactor: secrets.fold(Redactor::default(), Redactor::and),
            shut_until: Mutex::new(None),
        })
    }

    /// Returns true if calls can be asked about over JSON-RPC at present.
    pub fn speaks_jsonrpc(&self) -> bool {
        self.jsonrpc.is_some() && self.jsonrpc_fit.load(Ordering::Relaxed)
    }

    /// Returns true if a JSON-RPC is configured that cannot be used: it is out of reach, or says what nobody
    /// understands.
    pub fn jsonrpc_is_dead(&self) -> bool {
        self.jsonrpc.is_some() && !self.speaks_jsonrpc()
    }

    /// Which chain the JSON-RPC is on. One that does not answer is not used; the HTTP API answers the
    /// same questions.
    async fn jsonrpc_chains(&self) -> Vec<RealChain> {
        let Some(rpc) = &self.jsonrpc else { return Vec::new() };
        let chains = rpc.chains().await;
        let fit = chains.is_ok();
        if self.jsonrpc_fit.swap(fit, Ordering::Relaxed) != fit || !fit {
            debug!(fit, "the node's JSON-RPC");
        }
        chains.unwrap_or_default().into_iter().map(by_genesis).collect()
    }

    async fn ask_http(
        &self,
        side: Side,
        name: &str,
        params: &Value,
    ) -> Result<Box<RawValue>, Fault> {
        let endpoint = match side {
            Side::Full => &self.full,
            Side::Solidity => &self.solidity,
        };
        let body = serde_json::to_vec(params).map_err(|_| Fault::Garbled)?;
        let path = format!("{}/{name}", endpoint.service);
        let _turn = endpoint.turns.acquire().await.map_err(|_| Fault::Garbled)?;
        if let Some(wait) = self.shut_out() {
            return Err(Fault::ShutOut { wait });
        }
        let reply = endpoint.exchange.post(&path, body).await.map_err(Fault::Lost)?;
        self.read(&reply)
    }

    fn read(&self, reply: &Reply) -> Result<Box<RawValue>, Fault> {
        let complaint = Complaint::read(&reply.body);
        if let Some(wait) = shut_out_for(reply, complaint.as_ref()) {
            self.hold(wait);
            return Err(Fault::ShutOut { wait });
        }
        match complaint {
            _ if reply.is_server_error() => Err(Fault::Http(reply.status)),
            Some(complaint) => Err(Fault::Node(NodeError::of(self.redactor.clean(&complaint.0)))),
            None if !reply.is_success() => Err(Fault::Http(reply.status)),
            None => answer(&reply.body).ok_or(Fault::Garbled),
        }
    }

    /// Returns the time for which the server still shuts us out, if it does.
    fn shut_out(&self) -> Option<Duration> {
        let until = *self.shut_until.lock();
        let wait = until?.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then_some(wait)
    }

    /// Ends the time that the server asked for.
    #[cfg(test)]
    pub(crate) fn forgive(&self) {
        *self.shut_until.lock() = Some(Instant::now());
    }

    fn hold(&self, wait: Duration) {
        let until = Instant::now().checked_add(wait);
        let mut shut = self.shut_until.lock();
        *shut = (*shut).max(until);
    }

    async fn genesis(&self, side: Side) -> Result<RealChain, AskError> {
        let params = json!({ "id_or_num": "0", "detail": false });
        let raw = self.ask_http(side, "getblock", &params).await;
        let block = raw.and_then(|raw| genesis(&raw).ok_or(Fault::Garbled));
        let question = match side {
            Side::Full => "getblock at `full`",
            Side::Solidity => "getblock at `solidity`",
        };
        let block = block.map_err(|fault| AskError { question, fault })?;
        Ok(RealChain::Genesis(chain_id(block)))
    }
}

/// Returns true if a question was not answered because of the endpoint that it was put to, rather than by the node
/// behind that endpoint.
pub(crate) fn is_of_the_endpoint(fault: &Fault) -> bool {
    match fault {
        Fault::Lost(_)
        | Fault::Http(_)
        | Fault::Garbled
        | Fault::ShutOut { .. }
        | Fault::NoNode => true,
        Fault::Node(_) | Fault::WrongChain { .. } => false,
    }
}

/// The number that contracts and `eth_chainId` know a chain by: the last four bytes of the id of
/// its block 0.
fn chain_id(genesis: alloy::primitives::B256) -> u32 {
    let [.., a, b, c, d] = genesis.0;
    u32::from_be_bytes([a, b, c, d])
}

/// The same chain as its JSON-RPC names it: by the same four bytes.
fn by_genesis(chain: RealChain) -> RealChain {
    match chain {
        RealChain::Eip155(id) => u32::try_from(id).map_or(chain, RealChain::Genesis),
        RealChain::Genesis(_) => chain,
    }
}

#[async_trait]
impl Client for Endpoints {
    type Question = Question;

    fn name(question: &Question) -> &'static str {
        match question {
            Question::Http { name, .. } => name,
            Question::JsonRpc(request) => request.method,
        }
    }

    async fn ask(&self, question: &Question) -> Result<Box<RawValue>, Fault> {
        match question {
            Question::Http { side, name, params, runs: false } => {
                self.ask_http(*side, name, params).await
            }
            Question::Http { side, name, params, runs: true } => {
                let _turn = self.calls.acquire().await.map_err(|_| Fault::Garbled)?;
                self.ask_http(*side, name, params).await
            }
            Question::JsonRpc(request) => {
                let Some(rpc) = &self.jsonrpc else { return Err(Fault::NoNode) };
                let _turn = self.calls.acquire().await.map_err(|_| Fault::Garbled)?;
                let answer = rpc.ask(request).await;
                if answer.as_ref().is_err_and(is_of_the_endpoint) {
                    self.jsonrpc_fit.store(false, Ordering::Relaxed);
                }
                answer
            }
        }
    }

    async fn chains(&self) -> Result<Vec<RealChain>, AskError> {
        let (full, solidity, jsonrpc) = tokio::join!(
            self.genesis(Side::Full),
            self.genesis(Side::Solidity),
            self.jsonrpc_chains()
        );
        let (full, solidity) = (full?, solidity?);
        Ok([vec![full, solidity], jsonrpc].concat())
    }

    fn doors(&self) -> u64 {
        if self.jsonrpc.is_some() { 3 } else { 2 }
    }

    fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}

impl Endpoint {
    fn dial(
        dial: &dyn Dial,
        target: Target<'_>,
        service: &'static str,
    ) -> Result<Self, Undialable> {
        Ok(Self { exchange: dial.dial(target)?, service, turns: Semaphore::new(AT_ONCE) })
    }
}

/// The answer in a body; nothing where that is `{}`.
fn answer(body: &[u8]) -> Option<Box<RawValue>> {
    let read: Box<RawValue> = decode(body).ok()?;
    if is_empty_object(read.get()) {
        return RawValue::from_string(NOTHING.to_owned()).ok();
    }
    // A node never says `null`, so it is not taken for `{}`.
    (read.get() != NOTHING).then_some(read)
}

fn is_empty_object(text: &str) -> bool {
    let inside = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inside.is_some_and(|inside| inside.trim().is_empty())
}
