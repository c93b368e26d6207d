//! Doubles of stores that are asked over HTTP: each test says by what rules one answers, and what it answers
//! before that.

use axum::Router;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// Paths on which clouds hand credentials out: a request to them is no question to the store.
const DOORS: [&str; 2] = ["/latest/", "/computeMetadata/"];

/// A store that runs.
#[derive(Clone)]
pub(super) struct Double {
    pub(super) url: String,
    /// Answers given before any others, the last one first: status and body.
    pub(super) first: Arc<Mutex<Vec<(u16, Value)>>>,
    /// The questions to the store.
    pub(super) heard: Arc<Mutex<Vec<Heard>>>,
}

/// One question.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    pub(super) method: Method,
    /// With the query.
    pub(super) path: String,
    headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Heard {
    async fn read(request: Request) -> Self {
        let (Parts { method, uri, headers, .. }, body) = request.into_parts();
        let body = axum::body::to_bytes(body, 1 << 16).await.unwrap().to_vec();
        Self { method, path: uri.to_string(), headers, body }
    }

    /// A header; nothing where there is none.
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Double {
    /// One that answers by these rules.
    pub(super) async fn serve(
        rules: impl Fn(&Heard) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let double = Self { url, first: Arc::default(), heard: Arc::default() };
        let (first, all) = (Arc::clone(&double.first), Arc::clone(&double.heard));
        let router = Router::new().fallback(move |request: Request| {
            let (rules, first, all) = (rules.clone(), Arc::clone(&first), Arc::clone(&all));
            async move {
                let heard = Heard::read(request).await;
                if DOORS.iter().any(|door| heard.path.starts_with(door)) {
                    return rules(&heard);
                }
                all.lock().push(heard.clone());
                let before = first.lock().pop();
                before.map_or_else(|| rules(&heard), |(status, body)| told(status, &body))
            }
        });
        TaskTracker::new().spawn(async { axum::serve(listener, router).await.unwrap() });
        double
    }
}

pub(super) fn told(status: u16, body: &Value) -> Response {
    (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
}
