//! Stands between the Signer and its node: counts what is asked, and misbehaves by method name. On
//! TRON the method is the last part of the path.

mod faults;
mod methods;

pub(crate) use faults::Act;
pub(crate) use methods::{ANYTHING, BLOCK, LOOK, OUTCOME, READER, SEND, SIMULATE};

use self::faults::{Fault, mentions, names};
use self::methods::{NEWEST, fits};
use super::contracts::Subscriber;
use super::patience::PATIENCE;
use super::plain::client;
use alloy::primitives::{Address, Bytes as Raw, keccak256};
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// One question to the node.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// What was asked, as it was written.
    text: Bytes,
    pub(crate) begun: Instant,
    pub(crate) answered: Instant,
}

#[derive(Debug)]
struct Shared {
    faults: watch::Sender<Vec<Fault>>,
    asked: Mutex<Vec<Asked>>,
    /// How many calls have met a fault since the last one was set.
    strikes: watch::Sender<usize>,
    client: reqwest::Client,
}

/// The end of a connection on which nothing was answered.
#[derive(Debug, thiserror::Error)]
#[error("the connection is dropped")]
struct Dropped;

/// A node that can be made to misbehave.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    pub(crate) url: String,
}

impl Proxy {
    /// In front of the node at `target`.
    pub(crate) async fn before(target: &str) -> Self {
        let shared = Arc::new(Shared {
            faults: watch::Sender::new(vec![]),
            asked: Mutex::default(),
            strikes: watch::Sender::new(0),
            client: client(),
        });
        let url = door(&shared, target).await;
        Self { shared, url }
    }

    /// One more door to the same node, with the same faults. Tells where it is.
    pub(crate) async fn and_before(&self, target: &str) -> String {
        door(&self.shared, target).await
    }

    /// From now on, every call of `method` meets `act`; with a blank and a tag after it, as in
    /// `eth_getTransactionCount pending`, those that ask about that block; on TRON also by its side, as
    /// in `walletsolidity/getblock`. There a rewrite is done to the whole answer.
    pub(crate) fn fault(&self, method: &'static str, act: Act) {
        self.add(Fault { method, about: vec![], act });
    }

    /// The same, of those that name any of these accounts.
    pub(crate) fn fault_about(&self, method: &'static str, accounts: &[Address], act: Act) {
        let about = accounts.iter().map(alloy::hex::encode).collect();
        self.add(Fault { method, about, act });
    }

    /// From now on every billing of any of these people is held before it is simulated. A Signer simulates for its own
    /// sake as well, to learn whether the contract takes a batch of nobody: that passes, and is no sign of a request.
    pub(crate) fn hold_billings_of(&self, people: &[Subscriber]) {
        self.fault_billings_of(people, Act::Hold);
    }

    /// From now on every simulation of a billing of any of these people meets `act`, and no simulation of a batch of
    /// nobody.
    pub(crate) fn fault_billings_of(&self, people: &[Subscriber], act: Act) {
        self.add(Fault { method: SIMULATE, about: names(people), act });
    }

    fn add(&self, fault: Fault) {
        self.shared.strikes.send_replace(0);
        self.shared.faults.send_modify(|faults| faults.push(fault));
    }

    /// From now on no record on EVM can be held against its block.
    pub(crate) fn tells_no_block(&self) {
        self.fault("eth_getBlockByHash", Act::Refuse("Method not found"));
    }

    /// From now on, nothing is wrong.
    pub(crate) fn heal(&self) {
        self.shared.faults.send_replace(vec![]);
    }

    /// Waits until a call has met a fault, since the last one was set.
    pub(crate) async fn struck(&self) {
        self.struck_times(1).await;
    }

    /// Waits until so many calls have met a fault, since the last one was set.
    pub(crate) async fn struck_times(&self, times: usize) {
        let mut strikes = self.shared.strikes.subscribe();
        let enough = strikes.wait_for(|strikes| *strikes >= times);
        let waited = tokio::time::timeout(PATIENCE, enough).await;
        waited.expect("not enough calls met the fault").unwrap();
    }

    /// How many calls of `method` began after `moment` and were answered.
    pub(crate) fn asked_since(&self, method: &str, moment: Instant) -> usize {
        let asked = self.shared.asked.lock();
        asked.iter().filter(|asked| fits(method, &asked.method) && asked.begun > moment).count()
    }

    /// How many calls of `method` were answered since [`Self::take_asked`].
    pub(crate) fn asked(&self, method: &str) -> usize {
        self.shared.asked.lock().iter().filter(|asked| fits(method, &asked.method)).count()
    }

    /// The number of calls of `method` about any of these people that were answered since [`Self::take_asked`].
    pub(crate) fn asked_about(&self, method: &str, people: &[Subscriber]) -> usize {
        let names = names(people);
        let about = |asked: &&Asked| {
            fits(method, &asked.method) && mentions(&String::from_utf8_lossy(&asked.text), &names)
        };
        self.shared.asked.lock().iter().filter(about).count()
    }

    /// What was asked since the last time.
    pub(crate) fn take_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.shared.asked.lock())
    }
}

/// The longest chain of questions that each had to wait for the one before.
pub(crate) fn sequential_round_trips(asked: &[Asked]) -> usize {
    let mut depths: Vec<(Instant, usize)> = Vec::new();
    let mut by_start = asked.to_vec();
    by_start.sort_by_key(|asked| asked.begun);
    for question in &by_start {
        let before = depths.iter().filter(|(end, _)| *end <= question.begun);
        let depth = before.map(|(_, depth)| *depth).max().unwrap_or(0) + 1;
        depths.push((question.answered, depth));
    }
    depths.into_iter().map(|(_, depth)| depth).max().unwrap_or(0)
}

async fn door(shared: &Arc<Shared>, target: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let target = target.trim_end_matches('/').to_owned();
    #[expect(clippy::disallowed_methods, reason = "lives as long as the test")]
    tokio::spawn(serve(listener, target, Arc::clone(shared)));
    url
}

async fn serve(listener: TcpListener, target: String, shared: Arc<Shared>) {
    let connections = TaskTracker::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(answer_all(stream, target.clone(), Arc::clone(&shared)));
    }
}

/// One question on its way.
struct Question {
    url: String,
    headers: HeaderMap,
    body: Bytes,
}

async fn answer_all(stream: TcpStream, target: String, shared: Arc<Shared>) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (shared, target) = (Arc::clone(&shared), target.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = to_bytes(Body::new(body), 64 << 20).await.map_err(|_| Dropped)?;
            // The node's own path; what stands before it is the door's.
            let path = parts.uri.path();
            let url = format!("{target}{}", path.find("/wallet").map_or("", |at| &path[at..]));
            pass(&shared, Question { url, headers: parts.headers, body }).await
        }
    });
    // A connection that was dropped on purpose ends with an error.
    http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
}

fn method_of(url: &str, question: &Value) -> String {
    match question["method"].as_str() {
        _ if url.contains("/wallet") => url.rsplit('/').next().unwrap_or_default().to_owned(),
        Some("eth_call") if !question["params"][2].is_null() => READER.to_owned(),
        Some("eth_getBlockByNumber") if question["params"][0] == "latest" => NEWEST.to_owned(),
        method => method.unwrap_or("batch").to_owned(),
    }
}

async fn pass(shared: &Shared, asked: Question) -> Result<Response, Dropped> {
    let begun = Instant::now();
    let question: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    let tron = asked.url.contains("/wallet");
    let method = method_of(&asked.url, &question);
    let mut rewrite: Option<fn(&mut Value)> = None;
    let side = if asked.url.contains("/walletsolidity/") { "walletsolidity" } else { "wallet" };
    match meets(shared, &method, side, &asked, &question).await {
        None | Some(Act::Forget) => {}
        Some(Act::Swallow) => return std::future::pending().await,
        Some(Act::PassOnAndHang) => {
            // It is passed on also when whoever asked is gone before.
            TaskTracker::new().spawn(post(shared.client.clone(), asked)).await.ok();
            return std::future::pending().await;
        }
        Some(Act::PassOnAndFail) => {
            forward(shared, asked).await;
            return Ok(StatusCode::BAD_GATEWAY.into_response());
        }
        Some(Act::PassOnAndBreak) => {
            forward(shared, asked).await;
            return Err(Dropped);
        }
        Some(Act::Break) => return Err(Dropped),
        Some(Act::Refuse(message)) if tron => {
            return Ok(serde_json::json!({"Error": message}).to_string().into_response());
        }
        Some(Act::Refuse(message)) => return Ok(refusal(&question, message)),
        Some(Act::RefuseAs(words)) => return Ok(refusal(&question, words(&question))),
        Some(Act::PassOnAndRefuseAs(words)) => {
            forward(shared, asked).await;
            return Ok(refusal(&question, words(&question)));
        }
        Some(Act::Pretend) => {
            let hash = question["params"][0].as_str().unwrap().parse::<Raw>().map(keccak256);
            return Ok(said(&question, "result", &serde_json::json!(hash.unwrap())));
        }
        Some(Act::Hold) => {
            let mut faults = shared.faults.subscribe();
            faults.wait_for(Vec::is_empty).await.map_err(|_| Dropped)?;
        }
        Some(Act::Delay(time)) => tokio::time::sleep(time).await,
        Some(Act::Rewrite(change)) => rewrite = Some(change),
        Some(Act::Say(words)) => return Ok(words(&question).into_response()),
    }
    let text = asked.body.clone();
    let mut answer = forward(shared, asked).await;
    if let (Some(change), Some(told)) = (rewrite, &answer) {
        let mut told: Value = serde_json::from_slice(told).unwrap_or_default();
        lie(&mut told, tron, change);
        answer = Some(told.to_string().into());
    }
    shared.asked.lock().push(Asked { method, text, begun, answered: Instant::now() });
    Ok(match answer {
        Some(answer) => ([("content-type", "application/json")], answer).into_response(),
        None => StatusCode::BAD_GATEWAY.into_response(),
    })
}

/// Changes an answer: the whole of it on TRON, else its result. A lie stands whatever the node itself
/// would have said.
fn lie(told: &mut Value, tron: bool, change: fn(&mut Value)) {
    if tron {
        return change(told);
    }
    change(&mut told["result"]);
    if !told["result"].is_null() {
        told.as_object_mut().and_then(|told| told.remove("error"));
    }
}

impl Shared {
    /// What a call of `method` meets, if anything; counts it.
    fn fault_for(&self, method: &str, side: &str, question: &Value) -> Option<Act> {
        let block = question["params"].as_array().and_then(|params| params.iter().find_map(tag));
        let narrow = block.map(|block| format!("{method} {block}")).unwrap_or_default();
        let faults = self.faults.borrow();
        let whole = format!("{side}/{method}");
        let meets = |Fault { method: m, about, .. }: &&Fault| {
            let called = fits(m, method) || *m == narrow || *m == whole;
            called && (about.is_empty() || mentions(&question.to_string(), about))
        };
        let act = faults.iter().find(meets)?.act.clone();
        self.strikes.send_modify(|strikes| *strikes += 1);
        Some(act)
    }
}

/// The block that a parameter of a question names in words.
fn tag(param: &Value) -> Option<&str> {
    param.as_str().filter(|text| matches!(*text, "latest" | "pending" | "finalized"))
}

/// What a call meets, if anything.
async fn meets(
    shared: &Shared,
    method: &str,
    side: &str,
    asked: &Question,
    question: &Value,
) -> Option<Act> {
    const FORGOTTEN: &str = "missing trie node 00ff (path ) state 0x00ff is not available";
    match shared.fault_for(method, side, question) {
        Some(Act::Forget) => {
            is_of_an_older_block(shared, asked, question).await.then_some(Act::Refuse(FORGOTTEN))
        }
        act => act,
    }
}

/// The number that a text writes in hex.
fn number(text: &Value) -> Option<u64> {
    u64::from_str_radix(text.as_str()?.strip_prefix("0x")?, 16).ok()
}

async fn is_of_an_older_block(shared: &Shared, asked: &Question, question: &Value) -> bool {
    // The block that a question is about stands last.
    let last = question["params"].as_array().and_then(|params| params.last());
    let Some(block) = last.and_then(number) else { return false };
    let newest = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber"});
    let (url, headers) = (asked.url.clone(), asked.headers.clone());
    let asked = Question { url, headers, body: newest.to_string().into() };
    let told = forward(shared, asked).await.unwrap_or_default();
    let told: Value = serde_json::from_slice(&told).unwrap_or_default();
    number(&told["result"]).is_some_and(|newest| block < newest)
}

fn refusal(question: &Value, message: &str) -> Response {
    let error = serde_json::json!({"code": -32000, "message": message});
    said(question, "error", &error)
}

fn said(question: &Value, what: &str, told: &Value) -> Response {
    serde_json::json!({"jsonrpc": "2.0", "id": question["id"], what: told})
        .to_string()
        .into_response()
}

async fn forward(shared: &Shared, asked: Question) -> Option<Bytes> {
    post(shared.client.clone(), asked).await
}

async fn post(client: reqwest::Client, asked: Question) -> Option<Bytes> {
    let mut request = client.post(&asked.url).header("content-type", "application/json");
    if let Some(key) = asked.headers.get("TRON-PRO-API-KEY") {
        request = request.header("TRON-PRO-API-KEY", key);
    }
    request.body(asked.body).send().await.ok()?.bytes().await.ok()
}
