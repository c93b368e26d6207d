//! A fake of a store that is asked over HTTP: each test gives the rules by which it answers, and answers that it
//! gives before.

use alloy::primitives::{Address, B256, Signature};
use axum::Router;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use k256::ecdsa::SigningKey;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// Paths on which clouds hand credentials out: a request to them is no question to the store.
const DOORS: [&str; 2] = ["/latest/", "/computeMetadata/"];

/// A store that runs.
#[derive(Clone)]
pub(super) struct FakeStore {
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

impl FakeStore {
    /// One that answers by these rules.
    pub(super) async fn serve(
        rules: impl Fn(&Heard) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let fake = Self { url, first: Arc::default(), heard: Arc::default() };
        let (first, all) = (Arc::clone(&fake.first), Arc::clone(&fake.heard));
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
        fake
    }
}

pub(super) fn told(status: u16, body: &Value) -> Response {
    (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
}

/// The half of its range in which the s of a signature is.
#[derive(Clone, Copy)]
pub(super) enum Half {
    Low,
    High,
}

/// A signature of `digest`.
pub(super) fn signature(key: &SigningKey, digest: &[u8], half: Half) -> k256::ecdsa::Signature {
    let (low, _) = key.sign_prehash_recoverable(digest).unwrap();
    match half {
        Half::Low => low,
        Half::High => k256::ecdsa::Signature::from_scalars(low.r(), low.s().negate()).unwrap(),
    }
}

/// Returns true if a signature of `digest` leads back to `address`, by one of the two parities.
pub(super) fn leads_back(
    signature: k256::ecdsa::Signature,
    digest: B256,
    address: Address,
) -> bool {
    let low = signature.normalize_s().unwrap_or(signature);
    let (r, s) = low.split_bytes();
    [false, true].into_iter().any(|parity| {
        let (r, s) = (B256::from_slice(&r), B256::from_slice(&s));
        let signature = Signature::from_scalars_and_parity(r, s, parity);
        signature.recover_address_from_prehash(&digest).is_ok_and(|signer| signer == address)
    })
}
