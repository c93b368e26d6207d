//! Nodes for unit tests: each answers as a function says.

#[path = "../../parlia/tests/it/made.rs"]
#[expect(
    dead_code,
    clippy::arithmetic_side_effects,
    reason = "the tests of that crate use the rest, and may panic"
)]
pub(crate) mod made;

use ::node::{
    Dial, Exchange, Fleet, FleetRules, JsonRpc, NoReply, RealChain, Reply, Target, Undialable,
};
use alloy::consensus::Header;
use async_trait::async_trait;
use config::RpcUrl;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The result of a method, asked with this first parameter; none if the node fails.
pub(crate) type Answers = Arc<dyn Fn(&str, &str) -> Option<Value> + Send + Sync>;

#[derive(Clone)]
struct Host(Answers);

struct Hosts(Vec<Answers>);

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Host")
    }
}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hosts")
    }
}

fn name(place: usize) -> String {
    format!("node{place}.example")
}

impl Dial for Hosts {
    fn dial(&self, target: Target<'_>) -> Result<Arc<dyn Exchange>, Undialable> {
        let host = target.url.host();
        let place = (0..self.0.len()).find(|place| name(*place) == host);
        Ok(Arc::new(Host(Arc::clone(&self.0[place.unwrap()]))))
    }

    fn seed(&self) -> u64 {
        0
    }
}

#[async_trait]
impl Exchange for Host {
    async fn post(&self, _: &str, body: Vec<u8>) -> Result<Reply, NoReply> {
        let asked: Value = serde_json::from_slice(&body).unwrap();
        let method = asked["method"].as_str().unwrap();
        let result = match method {
            "eth_chainId" => Some(json!("0x38")),
            method => self.0(method, asked["params"][0].as_str().unwrap_or_default()),
        };
        let told = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result.ok_or(NoReply::Refused)? });
        Ok(Reply { status: 200, retry_after: None, body: told.to_string().into_bytes() })
    }

    async fn get(&self, _: &str, _: &[(&str, u64)]) -> Result<Reply, NoReply> {
        Err(NoReply::Refused)
    }
}

/// A fleet of nodes that answer so, each of a provider of its own.
pub(crate) async fn fleet(answers: Vec<Answers>) -> Arc<Fleet<JsonRpc>> {
    let urls = (0..answers.len()).map(|place| format!("http://{}", name(place)));
    let urls: Vec<RpcUrl> = urls.map(|url| RpcUrl::parse(&url).unwrap()).collect();
    let rules = FleetRules {
        chain: RealChain::Eip155(made::CHAIN),
        timeout: Duration::from_secs(5),
        passing: |_| false,
        a_day: None,
        seed: 0,
    };
    let fleet = Fleet::dial(&Hosts(answers), &urls, &[], rules).unwrap();
    for (_, verified) in fleet.verify_all().await {
        verified.unwrap();
    }
    Arc::new(fleet)
}

/// The answer to a question about a block of one of these headers, by hash or by number.
pub(crate) fn told_of(headers: &[Header], asked: &str) -> Value {
    let is = |header: &&Header| {
        asked == format!("{:#x}", header.number) || asked == header.hash_slow().to_string()
    };
    headers.iter().find(is).map_or(Value::Null, made::told)
}
