//! A node of a chain whose validators seal blocks: anvil's chain, with headers of its own, and their hashes in every answer.

#[path = "../../../crates/parlia/tests/it/made.rs"]
#[expect(dead_code, reason = "the crate's own tests use the rest")]
mod made;

use super::anvil::Rpc;
use super::plain::client;
use alloy::consensus::Header;
use alloy::primitives::{B256, Bytes};
use axum::Router;
use axum::extract::State;
use axum::routing::post;
use made::Validator;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::Mutex as Turn;

/// The blocks that a validator seals in a row.
const TURN: u64 = 2;

/// The blocks from one epoch header to the next.
const EPOCH: u64 = 1_000;

/// The chain's id as the town has it, which seals sign.
const CHAIN: u64 = 31_337;

/// The places of the validators that seal, in the list of 21.
type Sealers = Range<usize>;

#[derive(Debug)]
struct Shared {
    rpc: Rpc,
    client: reqwest::Client,
    target: String,
    validators: Vec<Validator>,
    sealers: Mutex<Sealers>,
    /// The headers that were sealed so far, from block 0 on.
    headers: Turn<Vec<Header>>,
    /// The hash that anvil has for a block by its sealed one, and the other way round.
    hashes: Mutex<HashMap<B256, B256>>,
}

/// A running node.
#[derive(Clone, Debug)]
pub(crate) struct Sealed {
    shared: Arc<Shared>,
    pub(crate) url: String,
}

impl Sealed {
    /// Of the chain that the anvil at `target` holds.
    pub(crate) async fn before(rpc: Rpc, target: &str) -> Self {
        let shared = Arc::new(Shared {
            rpc,
            client: client(),
            target: target.to_owned(),
            validators: made::validators(0..21),
            sealers: Mutex::new(0..21),
            headers: Turn::default(),
            hashes: Mutex::default(),
        });
        let url = serve(Router::new().route("/", post(answer)).with_state(Arc::clone(&shared)));
        Self { url: url.await, shared }
    }

    /// A node of the same chain that tells a block above the newest one, which no validator sealed. Returns its URL.
    pub(crate) async fn lies_above(&self) -> String {
        let shared = Arc::clone(&self.shared);
        serve(Router::new().route("/", post(answer_above)).with_state(shared)).await
    }

    /// From now on only these of the 21 validators seal new blocks.
    pub(crate) fn sealed_by(&self, sealers: Sealers) {
        *self.shared.sealers.lock() = sealers;
    }

    /// Seals every block that there is.
    pub(crate) async fn seals_all(&self) {
        self.shared.seal_all().await;
    }

    /// The hash of the first epoch header.
    pub(crate) async fn checkpoint(&self) -> B256 {
        self.shared.seal_up_to(0).await;
        self.shared.headers.lock().await[0].hash_slow()
    }
}

impl Shared {
    /// Seals every block up to this one that is not sealed yet.
    async fn seal_up_to(&self, number: u64) {
        let mut headers = self.headers.lock().await;
        while let Ok(next) = u64::try_from(headers.len())
            && next <= number
        {
            let told: Value =
                self.rpc.call("eth_getBlockByNumber", json!([format!("{next:#x}"), false])).await;
            let of_anvil: B256 = serde_json::from_value(told["hash"].clone()).unwrap();
            let header: Header = serde_json::from_value(told).expect("a header");
            let sealed = self.sealed(header, headers.last());
            let hash = sealed.hash_slow();
            self.hashes.lock().extend([(hash, of_anvil), (of_anvil, hash)]);
            headers.push(sealed);
        }
    }

    async fn seal_all(&self) {
        let newest: String = self.rpc.call("eth_blockNumber", json!([])).await;
        self.seal_up_to(u64::from_str_radix(&newest[2..], 16).unwrap()).await;
    }

    /// The header on top of the newest one, by somebody who is no validator.
    async fn above(&self) -> Header {
        self.seal_all().await;
        let newest = self.headers.lock().await.last().unwrap().clone();
        let mut above = Header {
            parent_hash: newest.hash_slow(),
            number: newest.number + 1,
            extra_data: Bytes::from(vec![0; 97]),
            ..newest
        };
        made::seal(&mut above, &made::validators(70..71)[0], CHAIN);
        above
    }

    /// The header in the place of anvil's, on top of the one that was sealed last.
    fn sealed(&self, mut header: Header, parent: Option<&Header>) -> Header {
        let mut extra = vec![0; 32];
        if header.number.is_multiple_of(EPOCH) {
            extra.extend(made::listed(&self.validators, u8::try_from(TURN).unwrap()));
        }
        extra.extend([0; 65]);
        header.extra_data = Bytes::from(extra);
        header.parent_hash = parent.map_or(B256::ZERO, Header::hash_slow);
        header.parent_beacon_block_root = Some(B256::ZERO);
        let empty = alloy::consensus::EMPTY_ROOT_HASH;
        header.withdrawals_root = header.withdrawals_root.or(Some(empty));
        header.blob_gas_used = header.blob_gas_used.or(Some(0));
        header.excess_blob_gas = header.excess_blob_gas.or(Some(0));
        let sealers = self.sealers.lock().clone();
        let turn = usize::try_from(header.number / TURN).unwrap();
        let sealer = &self.validators[sealers.start + turn % sealers.len()];
        made::seal(&mut header, sealer, CHAIN);
        header
    }

    /// The text with the other hash in the place of each that has one.
    fn exchanged(&self, text: &str) -> String {
        const LENGTH: usize = 66;
        let hashes = self.hashes.lock();
        let mut exchanged = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("\"0x") {
            let (before, from) = rest.split_at(at + 1);
            exchanged.push_str(before);
            let other = from.get(..LENGTH).and_then(|text| hashes.get(&text.parse::<B256>().ok()?));
            if let Some(hash) = other.filter(|_| from[LENGTH..].starts_with('"')) {
                exchanged.push_str(&hash.to_string());
                rest = &from[LENGTH..];
            } else {
                exchanged.push_str("0x");
                rest = &from[2..];
            }
        }
        exchanged + rest
    }

    async fn told(&self, question: &str) -> String {
        let asked = self.exchanged(question);
        let sent = self.client.post(&self.target).header("content-type", "application/json");
        let answer = sent.body(asked).send().await.unwrap().text().await.unwrap();
        let told: Value = serde_json::from_str(&answer).unwrap();
        // A log names its block, too, but none comes before the receipt that holds it.
        let result = &told["result"];
        let number = result["number"].as_str().or_else(|| result["blockNumber"].as_str());
        let Some(number) = number.or_else(|| result[0]["blockNumber"].as_str()) else {
            return answer;
        };
        let number = u64::from_str_radix(&number[2..], 16).unwrap();
        self.seal_up_to(number).await;
        let mut told: Value = serde_json::from_str(&self.exchanged(&answer)).unwrap();
        if result["number"].is_string() {
            let header = &self.headers.lock().await[usize::try_from(number).unwrap()];
            for (name, value) in made::told(header).as_object().unwrap() {
                if !["transactions", "size", "uncles", "milliTimestamp"].contains(&&**name) {
                    told["result"][name] = value.clone();
                }
            }
        }
        told.to_string()
    }
}

/// Serves at a port of its own. Returns the URL.
async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    #[expect(clippy::disallowed_methods, reason = "it lives as long as the test")]
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

async fn answer(State(shared): State<Arc<Shared>>, question: String) -> String {
    shared.told(&question).await
}

/// The same, but for a block that there is not yet.
async fn answer_above(State(shared): State<Arc<Shared>>, question: String) -> String {
    let answer = shared.told(&question).await;
    let asked: Value = serde_json::from_str(&question).unwrap();
    let mut told: Value = serde_json::from_str(&answer).unwrap();
    if asked["method"] != "eth_getBlockByNumber" || !told["result"].is_null() {
        return answer;
    }
    let above = shared.above().await;
    if asked["params"][0] == format!("{:#x}", above.number) {
        told["result"] = made::told(&above);
    }
    told.to_string()
}
