//! A platform that listens, a merchant that signs, and the merchant's own address for callbacks.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use parking_lot::Mutex;
use sandbox_chains::town::wallet;
use sandbox_platform::auth::{Credentials, Headers, Signed};
use sandbox_platform::clock::Clock;
use sandbox_platform::platform::{EVM_CHAIN, Side, TRON_CHAIN};
use sandbox_platform::{Options, Platform, Ports, Running};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// Both chains, by the platform's ids.
pub(crate) const CHAINS: [u32; 2] = [EVM_CHAIN, TRON_CHAIN];

alloy::sol! {
    struct Item {
        uint64 subscribeId;
        uint64 planId;
        uint32 planVersion;
        bytes32 userHash;
        uint32 period;
        uint128 amount;
    }
    function processSubscribePlan(address merKey, Item[] items, uint256 deadline) external returns (uint8[] reasons);
}

/// What came back: HTTP status and body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    /// The data of a success.
    pub(crate) fn data(self) -> Value {
        assert_eq!((self.status, &self.body["code"]), (200, &json!(200)), "{}", self.body);
        self.body["data"].clone()
    }

    /// The code of a refusal, which has a reason.
    pub(crate) fn refused(self) -> (u16, u64) {
        let words = self.body["description"].as_str().unwrap_or_default();
        assert!(!words.is_empty() && self.body["msg"].is_string(), "{}", self.body);
        (self.status, self.body["code"].as_u64().unwrap())
    }
}

/// A callback as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) path: String,
    pub(crate) body: Value,
    /// Whether the signature was good at the time.
    pub(crate) verified: bool,
}

#[derive(Debug)]
struct Desk {
    heard: Mutex<Vec<Heard>>,
    answer: Mutex<String>,
    credentials: Credentials,
    clock: Clock,
}

/// The world of a test.
pub(crate) struct World {
    pub(crate) running: Running,
    pub(crate) client: reqwest::Client,
    desk: Arc<Desk>,
    /// Where callbacks go.
    pub(crate) notify: String,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn in_directory(path: &Path) -> Self {
        Self::with(Options { state: Some(path.to_owned()), ..Options::default() }).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let platform = tokio::task::spawn_blocking(move || Platform::found(&options).unwrap());
        let running = platform.await.unwrap().serve(Ports::default()).await.unwrap();
        let desk = Arc::new(Desk {
            heard: Mutex::default(),
            answer: Mutex::new("success".to_owned()),
            credentials: running.platform.credentials().clone(),
            clock: running.platform.clock().clone(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let notify = format!("http://{}/notify?shop=1", listener.local_addr().unwrap());
        let router = axum::Router::new().fallback(hear).with_state(Arc::clone(&desk));
        TaskTracker::new().spawn(async move { axum::serve(listener, router).await });
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Self { running, client, desk, notify }
    }

    pub(crate) fn platform(&self) -> &Platform {
        &self.running.platform
    }

    pub(crate) fn side(&self, chain: u32) -> &Side {
        self.platform().side(chain).unwrap()
    }

    pub(crate) fn now_s(&self) -> u64 {
        self.platform().clock().machine_ms() / 1000
    }

    /// A signed GET; the query is part of the path.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.signed("GET", path, "", self.now_s()).await
    }

    /// A signed POST.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.signed("POST", path, &body.to_string(), self.now_s()).await
    }

    /// A request that is signed at a time.
    pub(crate) async fn signed(&self, method: &str, path: &str, body: &str, at_s: u64) -> Answer {
        self.try_signed(method, path, body, at_s).await.unwrap()
    }

    /// The same; none where no whole answer comes.
    pub(crate) async fn try_signed(
        &self,
        method: &str,
        path: &str,
        body: &str,
        at_s: u64,
    ) -> Option<Answer> {
        let at = at_s.to_string();
        let credentials = self.platform().credentials();
        let sign = credentials.sign(&at, Signed { method, path, body: body.as_bytes() });
        self.try_raw(method, path, body, [&credentials.key, &at, &sign]).await
    }

    /// A request with these three headers.
    pub(crate) async fn raw(
        &self,
        method: &str,
        path: &str,
        body: &str,
        headers: [&str; 3],
    ) -> Answer {
        self.try_raw(method, path, body, headers).await.unwrap()
    }

    async fn try_raw(
        &self,
        method: &str,
        path: &str,
        body: &str,
        headers: [&str; 3],
    ) -> Option<Answer> {
        let url = format!("{}{path}", self.running.base_url);
        let mut request = self.client.request(method.parse().unwrap(), url).body(body.to_owned());
        if method == "POST" {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in ["X-PAY-KEY", "X-PAY-TIMESTAMP", "X-PAY-SIGN"].into_iter().zip(headers)
        {
            request = request.header(name, value);
        }
        let response = request.send().await.ok()?;
        let status = response.status().as_u16();
        let body = serde_json::from_slice(&response.bytes().await.ok()?).unwrap();
        Some(Answer { status, body })
    }

    /// A control of the sandbox.
    pub(crate) async fn control(&self, name: &str, body: &Value) -> Value {
        let (status, answer) = self.try_control(name, body).await;
        assert_eq!(status, 200, "{name}: {answer}");
        answer
    }

    pub(crate) async fn try_control(&self, name: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}/sandbox/{name}", self.running.admin_url);
        let request = self.client.post(url).header("content-type", "application/json");
        let response = request.body(body.to_string()).send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
    }

    /// Makes blocks until all is final, and sends what follows.
    pub(crate) async fn finalise(&self) {
        self.platform().finalise().await.unwrap();
    }

    /// A link to the monthly plan.
    pub(crate) async fn link(&self, chain: u32, user: &str) -> Value {
        self.post("/api/mer/subscribe/payment/create", &self.link_body(chain, user)).await.data()
    }

    pub(crate) fn link_body(&self, chain: u32, user: &str) -> Value {
        json!({
            "chainId": chain, "planId": 7, "externalUserId": user,
            "redirectionUrl": "https://shop.example/thanks", "notifyUrl": self.notify,
        })
    }

    /// A user with an active subscription, all of it final; its order number.
    pub(crate) async fn subscribed(&self, chain: u32, user: &str, wallet: &str) -> String {
        let link = self.link(chain, user).await;
        let done = self
            .control("follow-link", &json!({"paymentUrl": link["paymentUrl"], "wallet": wallet}))
            .await;
        self.finalise().await;
        done["outTradeNo"].as_str().unwrap().to_owned()
    }

    /// What is due on a chain.
    pub(crate) async fn due(&self, chain: u32) -> Vec<Value> {
        let page = self.get("/api/mer/subscribe/chargeable/list?page=1&size=500").await.data();
        let list = page["list"].as_array().unwrap().clone();
        list.into_iter().filter(|entry| entry["chainId"] == chain).collect()
    }

    /// Bills entries of the list as a Signer does, and makes all of it final. The hash.
    pub(crate) async fn bill(&self, chain: u32, entries: &[Value]) -> String {
        let hash = self.send_bill(chain, entries);
        self.finalise().await;
        hash
    }

    pub(crate) fn send_bill(&self, chain: u32, entries: &[Value]) -> String {
        use alloy::sol_types::SolCall as _;
        let side = self.side(chain);
        let items = entries.iter().map(|entry| Item {
            subscribeId: entry["subscribeId"].as_u64().unwrap(),
            planId: entry["planId"].as_u64().unwrap(),
            planVersion: entry["planVersion"].as_u64().unwrap().try_into().unwrap(),
            userHash: entry["userHash"].as_str().unwrap().parse().unwrap(),
            period: entry["period"].as_u64().unwrap().try_into().unwrap(),
            amount: entry["amount"].as_str().unwrap().parse().unwrap(),
        });
        let deadline = alloy::primitives::U256::MAX;
        let call = processSubscribePlanCall {
            merKey: side.town.mer_key,
            items: items.collect(),
            deadline,
        };
        let sent = side.chain.sign(&wallet("biller"), side.town.billing, call.abi_encode().into());
        side.chain.send(&sent.raw).unwrap();
        side.family().spell_hash(sent.hash)
    }

    /// What the merchant heard so far, and forgets. What became final at once is told at once, and may
    /// arrive in any order.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        std::mem::take(&mut self.desk.heard.lock())
    }

    /// What the merchant answers from now on.
    pub(crate) fn answers(&self, text: &str) {
        text.clone_into(&mut self.desk.answer.lock());
    }
}

async fn hear(State(desk): State<Arc<Desk>>, headers: HeaderMap, uri: Uri, body: Bytes) -> String {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let path = uri.path_and_query().unwrap().as_str();
    let signed = Signed { method: "POST", path, body: &body };
    let headers = Headers {
        key: header("x-pay-key"),
        timestamp: header("x-pay-timestamp"),
        sign: header("x-pay-sign"),
    };
    let now_s = desk.clock.machine_ms() / 1000;
    let verified = desk.credentials.verify(headers, signed, now_s).is_ok();
    let body = serde_json::from_slice(&body).unwrap();
    desk.heard.lock().push(Heard { path: path.to_owned(), body, verified });
    desk.answer.lock().clone()
}
