//! A beacon node of a test network whose execution chain is anvil: what that calls final its sync committee signs.

#[path = "../../../crates/beacon/tests/it/made.rs"]
#[expect(dead_code, reason = "the crate's own tests use the rest")]
mod made;

use super::anvil::Rpc;
use alloy::primitives::B256;
use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use beacon::network::Network;
use host::clock::Clock;
use made::{Claim, PERIOD};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::net::TcpListener;

/// The answers of the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Says {
    /// The truth.
    #[default]
    Truth,
    /// That another block of the same height is final, which too few have signed.
    Forgery,
    /// That nothing is final beyond the pinned block.
    Old,
}

#[derive(Debug)]
struct Shared {
    rpc: Rpc,
    /// The period that all its slots are of: the one before the present.
    period: u64,
    says: Mutex<Says>,
    /// The last answer, by the height of its block.
    last: Mutex<Option<(u64, Value)>>,
}

/// A running beacon node.
#[derive(Clone, Debug)]
pub(crate) struct Beacon {
    shared: Arc<Shared>,
    pub(crate) url: String,
    /// The root of the block from which it is followed.
    pub(crate) checkpoint: B256,
}

impl Beacon {
    /// The network for which its committees sign, as the configuration names it.
    pub(crate) const NETWORK: &str = "hoodi";

    /// Of the chain that this node holds.
    pub(crate) async fn of(rpc: Rpc) -> Self {
        let network = Network::hoodi();
        let now = u64::try_from(Clock::MACHINE.unix_ms() / 1000).unwrap();
        let slot = (now - network.genesis_time) / network.seconds_per_slot;
        let period = slot / PERIOD - 1;
        let (says, last) = (Mutex::default(), Mutex::default());
        let shared = Arc::new(Shared { rpc, period, says, last });
        let (checkpoint, _) = shared.start();
        let api = "/eth/v1/beacon/light_client";
        let router = Router::new()
            .route(&format!("{api}/bootstrap/{{root}}"), get(bootstrap))
            .route(&format!("{api}/updates"), get(async || "[]"))
            .route(&format!("{api}/finality_update"), get(finality))
            .with_state(Arc::clone(&shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        #[expect(clippy::disallowed_methods, reason = "it lives as long as the test")]
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { shared, url, checkpoint }
    }

    /// From now on it says this.
    pub(crate) fn says(&self, says: Says) {
        *self.shared.says.lock() = says;
        *self.shared.last.lock() = None;
    }
}

impl Shared {
    /// The pinned block, and what is told of it.
    fn start(&self) -> (B256, Value) {
        made::bootstrap_that(self.period * PERIOD + 100, &json!({ "block_number": "0" }))
    }
}

async fn bootstrap(State(shared): State<Arc<Shared>>, Path(root): Path<String>) -> String {
    let (pinned, told) = shared.start();
    assert_eq!(root, pinned.to_string());
    told.to_string()
}

async fn finality(State(shared): State<Arc<Shared>>) -> String {
    let block: Value = shared.rpc.call("eth_getBlockByNumber", json!(["finalized", false])).await;
    let of_hex = |name: &str| {
        let text = block[name].as_str().unwrap().trim_start_matches("0x");
        u64::from_str_radix(text, 16).unwrap()
    };
    let number = of_hex("number");
    if let Some((_, told)) = shared.last.lock().clone().filter(|(height, _)| *height == number) {
        return told.to_string();
    }
    let says = *shared.says.lock();
    let offset = if says == Says::Old { 101 } else { 200 + number };
    let hash =
        if says == Says::Forgery { json!(B256::repeat_byte(0xab)) } else { block["hash"].clone() };
    let network = Network::hoodi();
    let claim = Claim {
        genesis: network.genesis_validators_root.0,
        fork_version: network.forks.last().unwrap().version,
        signers: if says == Says::Forgery { 341 } else { 342 },
        executes: json!({
            "block_number": if says == Says::Old { "1".to_owned() } else { number.to_string() },
            "block_hash": hash, "timestamp": of_hex("timestamp").to_string(),
        }),
        ..Claim::at(shared.period, offset)
    };
    let told = claim.finality();
    *shared.last.lock() = Some((number, told.clone()));
    told.to_string()
}
