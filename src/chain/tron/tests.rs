//! What the tests share: the recordings of a real node, and a server that plays them back.

#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod answers;
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod beat;
mod broadcasts;
mod limits;
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod vectors;

use super::*;
use crate::keys::KeySource;
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::future::IntoFuture;
use std::path::{Path, PathBuf};
use tokio::net::TcpListener;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tron")
}

fn recorded(file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(golden().join(file)).unwrap()).unwrap()
}

fn key(hex: &str) -> Arc<Key> {
    let source = KeySource::Env { json_or_hex: hex.to_owned().into(), platform_chain_id: 1 };
    Arc::new(Key::load(source, "chains.1.key", true).unwrap())
}

/// One question to a node and its answer.
struct Exchange {
    place: String,
    path: String,
    /// What was asked.
    asked: Value,
    status: u16,
    /// The answer as it was sent.
    sent: String,
    /// The answer, read.
    body: Value,
}

/// Every recorded exchange over HTTP, but those that were shortened for the file.
fn exchanges() -> Vec<Exchange> {
    let mut files: Vec<_> =
        fs::read_dir(golden()).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let names = files.iter().filter_map(|path| path.file_name()?.to_str());
    let scenarios = names.filter(|name| name.starts_with(|c: char| c.is_ascii_digit()));
    scenarios
        .flat_map(|file| {
            recorded(file)["steps"]
                .as_array()
                .unwrap()
                .iter()
                .enumerate()
                .filter_map(|(at, step)| exchange(file, at, step))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn exchange(file: &str, at: usize, step: &Value) -> Option<Exchange> {
    let (request, response) = (step.get("request")?, step.get("response")?);
    let body = response.get("body")?.clone();
    let text = response.get("body_text").and_then(Value::as_str).map(str::to_owned);
    let sent = text.unwrap_or_else(|| body.as_str().map_or(body.to_string(), str::to_owned));
    let shortened = [
        r#"["(trimmed"#,
        "deployedBytecode of",
        "identical to",
        r#""logs":"(trimmed"#,
        r#""runtimecode":"("#,
    ];
    let whole = !shortened.iter().any(|mark| sent.contains(mark));
    let status = u16::try_from(response["status"].as_u64()?).ok()?;
    whole.then(|| Exchange {
        place: format!("{file} step {at}"),
        path: request["path"].as_str().unwrap().to_owned(),
        asked: request.get("body").cloned().unwrap_or_default(),
        status,
        body: serde_json::from_str(&sent).unwrap_or(body),
        sent,
    })
}

/// A node that gives prepared answers, by path or by path and request.
#[derive(Debug, Default)]
struct Double {
    answers: parking_lot::Mutex<HashMap<String, (u16, String)>>,
    headers: parking_lot::Mutex<Vec<(&'static str, String)>>,
    /// What it was asked: path and body.
    asked: parking_lot::Mutex<Vec<(String, Value)>>,
    /// The API keys that came with it.
    keys: parking_lot::Mutex<Vec<Option<String>>>,
}

impl Double {
    fn says(&self, path: &str, status: u16, body: &str) {
        self.answers.lock().insert(path.to_owned(), (status, body.to_owned()));
    }

    fn asked(&self, path: &str) -> usize {
        self.asked.lock().iter().filter(|(asked, _)| asked == path).count()
    }

    fn answer(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> (StatusCode, HeaderMap, String) {
        let asked = serde_json::from_slice(body).unwrap_or_default();
        let exact = format!("{} {asked}", uri.path());
        self.asked.lock().push((uri.path().to_owned(), asked));
        let key = headers.get("tron-pro-api-key").map(|key| key.to_str().unwrap().to_owned());
        self.keys.lock().push(key);
        let answers = self.answers.lock();
        let found = answers.get(&exact).or_else(|| answers.get(uri.path()));
        let (status, body) = found.cloned().unwrap_or((404, "no such answer".to_owned()));
        let mut more = HeaderMap::new();
        for (name, value) in &*self.headers.lock() {
            more.insert(*name, value.parse().unwrap());
        }
        (StatusCode::from_u16(status).unwrap(), more, body)
    }
}

/// Serves `double` for as long as `test` takes. The test gets the base URL.
async fn serving<T>(double: &Arc<Double>, test: impl AsyncFnOnce(&str) -> T) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let shared = Arc::clone(double);
    let handler =
        async move |uri: Uri, headers: HeaderMap, body: Bytes| shared.answer(&uri, &headers, &body);
    let server = axum::serve(listener, Router::new().fallback(handler));
    tokio::select! {
        done = test(&url) => done,
        stopped = server.into_future() => panic!("{stopped:?}"),
    }
}

fn client(url: &str) -> Api {
    let timeout = Duration::from_secs(20);
    Api::new(ApiParts { full: url, solidity: url, key: None, timeout }).unwrap()
}
