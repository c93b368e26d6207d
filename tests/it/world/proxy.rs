//! Stands between the Signer and its node: counts what is asked, and misbehaves by method name.

use alloy::primitives::{Bytes as Raw, keccak256};
use axum::body::{Body, Bytes, to_bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// Stands for every method in [`Proxy::fault`].
pub(crate) const ANYTHING: &str = "*";

/// What the proxy does with a call instead of passing it on.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Neither passes it on nor answers.
    Swallow,
    /// Passes it on, and never answers.
    PassOnAndHang,
    /// Passes it on, and answers with HTTP 502.
    PassOnAndFail,
    /// Passes it on, and drops the connection instead of answering.
    PassOnAndBreak,
    /// Drops the connection, as if nobody were there.
    Break,
    /// Keeps it until the proxy is healed, then passes it on.
    Hold,
    /// Does not pass it on; answers with this JSON-RPC error message.
    Refuse(&'static str),
    /// Does not pass it on; answers with the JSON-RPC error message that this makes of the question.
    RefuseAs(fn(&Value) -> &'static str),
    /// Passes it on, and answers with such a message all the same.
    PassOnAndRefuseAs(fn(&Value) -> &'static str),
    /// Does not pass a transaction on, and answers with its hash as if it had.
    Pretend,
    /// Passes it on after this time.
    Delay(Duration),
    /// Passes it on, and lies: this is done to the answer.
    Rewrite(fn(&mut Value)),
}

/// One question to the node.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) begun: Instant,
    pub(crate) answered: Instant,
}

#[derive(Debug)]
struct Shared {
    target: String,
    faults: watch::Sender<Vec<(&'static str, Act)>>,
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
            target: target.to_owned(),
            faults: watch::Sender::new(vec![]),
            asked: Mutex::default(),
            strikes: watch::Sender::new(0),
            client: reqwest::Client::new(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        #[expect(clippy::disallowed_methods, reason = "lives as long as the test")]
        tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { shared, url }
    }

    /// From now on, every call of `method` meets `act`; with a blank and a tag after it, as in
    /// `eth_getTransactionCount pending`, those that ask about that block.
    pub(crate) fn fault(&self, method: &'static str, act: Act) {
        self.shared.strikes.send_replace(0);
        self.shared.faults.send_modify(|faults| faults.push((method, act)));
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
        let waited = tokio::time::timeout(Duration::from_secs(20), enough).await;
        waited.expect("not enough calls met the fault").unwrap();
    }

    /// How many calls of `method` began after `moment` and were answered.
    pub(crate) fn asked_since(&self, method: &str, moment: Instant) -> usize {
        let asked = self.shared.asked.lock();
        asked.iter().filter(|asked| asked.method == method && asked.begun > moment).count()
    }

    /// How many calls of `method` were answered since [`Self::take_asked`].
    pub(crate) fn asked(&self, method: &str) -> usize {
        self.shared.asked.lock().iter().filter(|asked| asked.method == method).count()
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

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let connections = TaskTracker::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(answer_all(stream, Arc::clone(&shared)));
    }
}

async fn answer_all(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let body = to_bytes(Body::new(request.into_body()), 64 << 20).await;
            pass(&shared, body.map_err(|_| Dropped)?).await
        }
    });
    // A connection that was dropped on purpose ends with an error.
    http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
}

async fn pass(shared: &Shared, body: Bytes) -> Result<Response, Dropped> {
    let begun = Instant::now();
    let question: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = question["method"].as_str().unwrap_or("batch").to_owned();
    let mut rewrite: Option<fn(&mut Value)> = None;
    match shared.fault_for(&method, &question) {
        None => {}
        Some(Act::Swallow) => return std::future::pending().await,
        Some(Act::PassOnAndHang) => {
            forward(shared, body).await;
            return std::future::pending().await;
        }
        Some(Act::PassOnAndFail) => {
            forward(shared, body).await;
            return Ok(StatusCode::BAD_GATEWAY.into_response());
        }
        Some(Act::PassOnAndBreak) => {
            forward(shared, body).await;
            return Err(Dropped);
        }
        Some(Act::Break) => return Err(Dropped),
        Some(Act::Refuse(message)) => return Ok(refusal(&question, message)),
        Some(Act::RefuseAs(words)) => return Ok(refusal(&question, words(&question))),
        Some(Act::PassOnAndRefuseAs(words)) => {
            forward(shared, body).await;
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
    }
    let mut answer = forward(shared, body).await;
    if let (Some(change), Some(told)) = (rewrite, &answer) {
        let mut told: Value = serde_json::from_slice(told).unwrap_or_default();
        change(&mut told["result"]);
        answer = Some(told.to_string().into());
    }
    shared.asked.lock().push(Asked { method, begun, answered: Instant::now() });
    Ok(match answer {
        Some(answer) => ([("content-type", "application/json")], answer).into_response(),
        None => StatusCode::BAD_GATEWAY.into_response(),
    })
}

impl Shared {
    /// What a call of `method` meets, if anything; counts it.
    fn fault_for(&self, method: &str, question: &Value) -> Option<Act> {
        let block = question["params"].as_array().and_then(|params| params.iter().find_map(tag));
        let narrow = block.map(|block| format!("{method} {block}")).unwrap_or_default();
        let faults = self.faults.borrow();
        let meant = |m: &str| m == method || m == ANYTHING || m == narrow;
        let (_, act) = faults.iter().find(|(m, _)| meant(m))?;
        self.strikes.send_modify(|strikes| *strikes += 1);
        Some(act.clone())
    }
}

/// The block that a parameter of a question names in words.
fn tag(param: &Value) -> Option<&str> {
    param.as_str().filter(|text| matches!(*text, "latest" | "pending" | "finalized"))
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

async fn forward(shared: &Shared, body: Bytes) -> Option<Bytes> {
    let request = shared.client.post(&shared.target).header("content-type", "application/json");
    request.body(body).send().await.ok()?.bytes().await.ok()
}
