//! A node that plays recordings, and an adapter that is connected to it.

use super::super::api::{Broadcast, offer};
use super::*;
use crate::Signatory;
use ::node::{AskError, Http};
use alloy::primitives::U256;
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri};
use billing::{Charge, Entry, Family, Period, PlatformChainId, Scalar, Values};
use config::{
    BillingConfig, ChainConfig, ChainKeys, FamilyConfig, KeyRef, NewWork, PolicyConfig, RpcUrl,
    Sun, TvmFeeConfig, TvmNode,
};
use contract::Profile;
use host::clock::Clock;
use serde_json::json;
use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::sync::Arc;
use tokio::net::TcpListener;

/// The head in the recording of node and blocks (01), Unix ms.
pub(super) const HEAD_MS: u64 = 1_795_253_454_000;
pub(super) const SOLID_ID: &str =
    "000000000000003d53c7513db7aa4f7d41835e9832b882fd9b521d4405c36364";
pub(super) const GENESIS_ID: &str =
    "0000000000000000d7cf487df380a00bf740b3c1e5c11e0cac48146729d6a48c";
pub(super) const CHAIN_ID: u32 = 0x29d6_a48c;

pub(super) fn now() -> i64 {
    i64::try_from(HEAD_MS).unwrap() + 2_000
}

pub(super) fn recorded_answer(file: &str, path: &str, asked: &Value) -> String {
    let found = exchanges().iter().find(|exchange| {
        exchange.place.starts_with(file) && exchange.path == path && exchange.asked == *asked
    });
    found.unwrap_or_else(|| panic!("{file} {path} {asked}")).sent.clone()
}

/// A node at the head of 01, with the signer's account of 03.
pub(super) fn node() -> Arc<Double> {
    let double = Arc::new(Double::default());
    let newest = json!({ "detail": false });
    let genesis = json!({ "detail": false, "id_or_num": "0" });
    let first = recorded_answer("01", "/wallet/getblock", &genesis);
    for service in ["wallet", "walletsolidity"] {
        let path = format!("/{service}/getblock");
        double.says(&path, 200, &recorded_answer("01", &path, &newest));
        double.says(&format!("{path} {genesis}"), 200, &first);
    }
    let stake = "4164275ba38bf14de95af49894e06276ec189753b1";
    let signer = address::to_hex(key(&"07".repeat(32)).address());
    let rename = |answer: String| answer.replace(stake, &signer);
    for question in ["getaccount", "getaccountresource"] {
        let path = format!("/wallet/{question}");
        let answer = recorded_answer("03", &path, &json!({ "address": stake }));
        double.says(&path, 200, &rename(answer));
    }
    for question in ["getchainparameters", "getnextmaintenancetime"] {
        let path = format!("/wallet/{question}");
        let answer = exchanges().iter().find(|exchange| exchange.path == path).unwrap();
        double.says(&path, 200, &answer.sent);
    }
    let contract = exchanges().iter().find(|exchange| {
        exchange.path == "/wallet/getcontractinfo" && exchange.sent.contains("runtimecode")
    });
    double.says("/wallet/getcontractinfo", 200, &contract.unwrap().sent);
    double
}

fn billing() -> BillingConfig {
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

pub(super) fn profile() -> Profile {
    Profile::parse(&billing(), Family::Tvm).unwrap()
}

pub(super) fn parts(url: &str) -> (SigningAccount, TronParts) {
    let config = config(url, url);
    let account = account(key(&"07".repeat(32)), profile(), &config);
    (account, TronParts::new(client(url).0, config.into()))
}

pub(super) fn account(key: Arc<Key>, profile: Profile, config: &TvmConfig) -> SigningAccount {
    account_of(&Signatory::Key(key), profile, &FamilyConfig::Tvm(Arc::new(config.clone())))
}

pub(super) fn account_of(
    signatory: &Signatory,
    profile: Profile,
    family: &FamilyConfig,
) -> SigningAccount {
    let chain = ChainConfig {
        platform_id: PlatformChainId(195),
        name: "tron".to_owned(),
        test: true,
        default: false,
        new_work: NewWork::Taken,
        gas_warn_billings: 0,
        explorer: None,
        keys: ChainKeys::one(KeyRef::Keystore("not used".to_owned())),
        policy: PolicyConfig::default(),
        family: family.clone(),
    };
    SigningAccount::new(&chain, profile, signatory, Clock::telling(now))
}

pub(super) fn charge(n: u8) -> Charge {
    let fields = [
        ("subscribeId", Scalar::Number(n.to_string())),
        ("planId", Scalar::Number("7".to_owned())),
        ("userHash", Scalar::Text(hex::encode([n; 32]))),
        ("amount", Scalar::Number("100".to_owned())),
    ];
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
    Charge {
        entry: Entry::parse(fields.collect()).unwrap().admitted(Values::new()),
        period: Period::Guarded,
        amount: U256::from(100),
        wallet: Address::repeat_byte(n),
        token: Address::repeat_byte(9),
    }
}

pub(super) async fn connected(url: &str) -> TronChain {
    let (account, parts) = parts(url);
    TronChain::connect(account, parts).await.unwrap()
}

/// A node that gives prepared answers, by path or by path and request.
#[derive(Debug, Default)]
pub(super) struct Double {
    pub(super) answers: parking_lot::Mutex<HashMap<String, (u16, String)>>,
    pub(super) headers: parking_lot::Mutex<Vec<(&'static str, String)>>,
    /// What it was asked: path and body.
    pub(super) asked: parking_lot::Mutex<Vec<(String, Value)>>,
    /// The API keys that came with it.
    pub(super) keys: parking_lot::Mutex<Vec<Option<String>>>,
}

impl Double {
    pub(super) fn says(&self, path: &str, status: u16, body: &str) {
        self.answers.lock().insert(path.to_owned(), (status, body.to_owned()));
    }

    pub(super) fn asked(&self, path: &str) -> usize {
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
pub(super) async fn serving<T>(double: &Arc<Double>, test: impl AsyncFnOnce(&str) -> T) -> T {
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

/// A node that nothing is known of yet.
pub(super) struct Lone(pub(super) Arc<Fleet<Endpoints>>);

impl Lone {
    pub(super) fn api(&self) -> Api<'_> {
        Api::of(&self.0, NodeId(0))
    }

    pub(super) fn breaks(&self) -> u64 {
        self.0.breaks(NodeId(0))
    }

    pub(super) fn forgive(&self) {
        self.0.client(NodeId(0)).unwrap().forgive();
    }

    pub(super) async fn broadcast(&self, raw: &[u8]) -> Result<Broadcast, AskError> {
        let said: Broadcast = self.0.only(NodeId(0)).put(offer(raw)).await?;
        Ok(said.cleaned(|text| self.0.clean(text)))
    }
}

pub(super) fn client(url: &str) -> Lone {
    client_of(&config(url, url)).unwrap()
}

pub(super) fn client_of(config: &TvmConfig) -> Result<Lone, UnusableNode> {
    fleet(&Http::default(), config).map(|fleet| Lone(Arc::new(fleet)))
}

pub(super) fn config(full: &str, solidity: &str) -> TvmConfig {
    let (full, solidity) = (RpcUrl::parse(full).unwrap(), RpcUrl::parse(solidity).unwrap());
    TvmConfig {
        chain_id: CHAIN_ID,
        nodes: vec![TvmNode { full, solidity, jsonrpc: None, api_key: None }],
        witnesses: Some(forged::maker()),
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
