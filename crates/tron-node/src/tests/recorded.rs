//! The recordings of a real node, and a server that plays them back. The tests of the chain read them as well.

use alloy::primitives::Address;
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri};
use config::{BillingConfig, RpcUrl, Sun, TvmConfig, TvmFeeConfig, TvmNode};
use node::{AskError, Fleet, Http, NodeId};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::future::IntoFuture;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::net::TcpListener;
use tron_node::{Broadcast, Endpoints, UnusableNode, fleet, offer};

pub(crate) const CHAIN_ID: u32 = 0x29d6_a48c;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tron")
}

pub(crate) fn recorded(file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(golden().join(file)).unwrap()).unwrap()
}

/// One question to a node and its answer.
pub(crate) struct Exchange {
    pub(crate) place: String,
    pub(crate) path: String,
    /// The question.
    pub(crate) asked: Value,
    pub(crate) status: u16,
    /// The answer as it was sent.
    pub(crate) sent: String,
    /// The answer, read.
    pub(crate) body: Value,
}

/// Every recorded exchange over HTTP, but those that were shortened for the file.
pub(crate) fn exchanges() -> &'static [Exchange] {
    static ALL: LazyLock<Vec<Exchange>> = LazyLock::new(|| {
        let files = fs::read_dir(golden()).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<_> = files.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.starts_with(|first: char| first.is_ascii_digit()));
        names.sort();
        names.iter().flat_map(|file| exchanges_of(file)).collect()
    });
    &ALL
}

fn exchanges_of(file: &str) -> Vec<Exchange> {
    let recorded = recorded(file);
    let steps = recorded["steps"].as_array().unwrap().iter().enumerate();
    steps.filter_map(|(at, step)| exchange(file, at, step)).collect()
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
pub(crate) struct Double {
    pub(crate) answers: parking_lot::Mutex<HashMap<String, (u16, String)>>,
    pub(crate) headers: parking_lot::Mutex<Vec<(&'static str, String)>>,
    /// The questions that it was asked: path and body.
    pub(crate) asked: parking_lot::Mutex<Vec<(String, Value)>>,
    /// The API keys that came with it.
    pub(crate) keys: parking_lot::Mutex<Vec<Option<String>>>,
}

impl Double {
    pub(crate) fn says(&self, path: &str, status: u16, body: &str) {
        self.answers.lock().insert(path.to_owned(), (status, body.to_owned()));
    }

    pub(crate) fn asked(&self, path: &str) -> usize {
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
pub(crate) async fn serving<T>(double: &Arc<Double>, test: impl AsyncFnOnce(&str) -> T) -> T {
    serving_at("127.0.0.1", double, test).await
}

/// The same under this address, which is a provider of its own.
pub(crate) async fn serving_at<T>(
    address: &str,
    double: &Arc<Double>,
    test: impl AsyncFnOnce(&str) -> T,
) -> T {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
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

/// A node that nothing is known of yet.
pub(crate) struct Lone(pub(crate) Arc<Fleet<Endpoints>>);

impl Lone {
    pub(crate) async fn broadcast(&self, raw: &[u8]) -> Result<Broadcast, AskError> {
        let said: Broadcast = self.0.only(NodeId(0)).put(offer(raw)).await?;
        Ok(said.cleaned(|text| self.0.clean(text)))
    }
}

pub(crate) fn client(url: &str) -> Lone {
    client_of(&config(url, url)).unwrap()
}

pub(crate) fn client_of(config: &TvmConfig) -> Result<Lone, UnusableNode> {
    fleet(&Http::default(), config).map(|fleet| Lone(Arc::new(fleet)))
}

pub(crate) fn billing() -> BillingConfig {
    BillingConfig {
        call: "charge(bytes32[] userHash, uint256[] amount, uint256 deadline)".to_owned(),
        lookup: None,
        charged: None,
        skipped: None,
        constants: BTreeMap::new(),
        reasons: BTreeMap::new(),
        period: None,
        deadline: Duration::from_mins(10),
        guard: Duration::from_hours(1),
    }
}

pub(crate) fn config(full: &str, solidity: &str) -> TvmConfig {
    let (full, solidity) = (RpcUrl::parse(full).unwrap(), RpcUrl::parse(solidity).unwrap());
    TvmConfig {
        chain_id: CHAIN_ID,
        nodes: vec![TvmNode { full, solidity, jsonrpc: None, api_key: None }],
        witnesses: None,
        rpc_timeout: Duration::from_secs(20),
        contract: Address::repeat_byte(5),
        multicall: Some(Address::repeat_byte(6)),
        chunk: 50,
        clock_tolerance: Duration::from_mins(1),
        idle_poll_interval: Duration::from_mins(1),
        max_requests_per_day: None,
        poll_interval: Duration::from_hours(1),
        rebroadcast_interval: Duration::from_secs(10),
        max_in_flight: 16,
        expiry: Duration::from_mins(2),
        max_attempts: 3,
        retry_within: Duration::from_mins(10),
        fees: TvmFeeConfig {
            max_fee_limit: Sun(500_000_000),
            energy_margin_percent: 20,
            drift_margin_percent: 10,
            energy_reserve: 0,
            max_burnt_per_day: Sun(1_000_000_000),
            max_run_percent: 1_000_000,
        },
        billing: billing(),
    }
}
