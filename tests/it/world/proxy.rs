//! Stands between the Signer and its node: counts what is asked, and misbehaves by method name.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// What the proxy does with a call instead of passing it on.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Neither passes it on nor answers.
    Swallow,
    /// Passes it on, and never answers.
    PassOnAndHang,
    /// Passes it on, and answers with HTTP 502.
    PassOnAndFail,
    /// Does not pass it on; answers with this JSON-RPC error message.
    Refuse(&'static str),
    /// Passes it on after this time.
    Delay(Duration),
}

/// One question to the node.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) begun: Instant,
    pub(crate) answered: Instant,
}

#[derive(Debug, Default)]
struct Shared {
    target: String,
    faults: Mutex<Vec<(&'static str, Act)>>,
    asked: Mutex<Vec<Asked>>,
    struck: Notify,
    client: reqwest::Client,
}

/// A node that can be made to misbehave.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    pub(crate) url: String,
}

impl Proxy {
    /// In front of the node at `target`.
    pub(crate) async fn before(target: &str) -> Self {
        let shared = Arc::new(Shared { target: target.to_owned(), ..Shared::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(any(pass)).with_state(Arc::clone(&shared));
        #[expect(clippy::disallowed_methods, reason = "lives as long as the test")]
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { shared, url }
    }

    /// From now on, every call of `method` meets `act`.
    pub(crate) fn fault(&self, method: &'static str, act: Act) {
        self.shared.faults.lock().push((method, act));
    }

    /// From now on, nothing is wrong.
    pub(crate) fn heal(&self) {
        self.shared.faults.lock().clear();
    }

    /// Waits until a fault has met a call.
    pub(crate) async fn struck(&self) {
        let wait = self.shared.struck.notified();
        tokio::time::timeout(Duration::from_secs(20), wait).await.expect("no call met the fault");
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

async fn pass(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let begun = Instant::now();
    let question: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = question["method"].as_str().unwrap_or("batch").to_owned();
    let fault = shared.faults.lock().iter().find(|(m, _)| *m == method).map(|(_, act)| act.clone());
    if fault.is_some() {
        shared.struck.notify_one();
    }
    match fault {
        None => {}
        Some(Act::Swallow) => return std::future::pending().await,
        Some(Act::PassOnAndHang) => {
            forward(&shared, body).await;
            return std::future::pending().await;
        }
        Some(Act::PassOnAndFail) => {
            forward(&shared, body).await;
            return StatusCode::BAD_GATEWAY.into_response();
        }
        Some(Act::Refuse(message)) => {
            let error = serde_json::json!({"code": -32000, "message": message});
            let answer =
                serde_json::json!({"jsonrpc": "2.0", "id": question["id"], "error": error});
            return answer.to_string().into_response();
        }
        Some(Act::Delay(time)) => tokio::time::sleep(time).await,
    }
    let answer = forward(&shared, body).await;
    shared.asked.lock().push(Asked { method, begun, answered: Instant::now() });
    match answer {
        Some(answer) => ([("content-type", "application/json")], answer).into_response(),
        None => StatusCode::BAD_GATEWAY.into_response(),
    }
}

async fn forward(shared: &Shared, body: Bytes) -> Option<Bytes> {
    let request = shared.client.post(&shared.target).header("content-type", "application/json");
    request.body(body).send().await.ok()?.bytes().await.ok()
}
