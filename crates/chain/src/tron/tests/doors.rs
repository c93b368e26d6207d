//! What is found out about single doors of a node, and about the key, before money depends on it.

use super::node::{config, connected, node, parts};
use super::*;
use billing::SigningHalt;
use config::RpcUrl;
use serde_json::json;

const CALL: &str = "/wallet/triggerconstantcontract";

/// What `check` says about this.
async fn finding(chain: &TronChain, what: &str) -> Vec<String> {
    let found = chain.inspect().await;
    let found = found.iter().filter(|one| format!("{one:?}").contains(what));
    found.map(|one| format!("{one:?}")).collect()
}

/// The signing account as a node tells it, with this owner permission.
fn account(double: &Double, chain: &TronChain, permission: &Value) {
    let me = tron_primitives::address::to_hex(chain.access.signer());
    let account =
        json!({ "address": me, "balance": 1_000_000_000, "owner_permission": permission });
    double.says("/wallet/getaccount", 200, &account.to_string());
}

#[tokio::test]
async fn a_key_that_cannot_sign_alone_is_found_before_anything_is_signed() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        let signer = chain.access.signer();
        let me = tron_primitives::address::to_hex(signer);
        let other = "41".to_owned() + &"11".repeat(20);
        let key = |who: &str, weight: u64| json!({ "address": who, "weight": weight });
        let permission = json!({ "threshold": 2, "keys": [key(&me, 1), key(&other, 1)] });
        account(&double, &chain, &permission);
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        assert_eq!(chain.halt(), Some(SigningHalt::NotAlone { signer, weight: 1, threshold: 2 }));
        let said = finding(&chain, "permission to sign").await;
        assert!(said[0].contains("weighs 1 of the 2"), "{said:?}");
        let permission = json!({ "threshold": 2, "keys": [key(&me, 2), key(&other, 1)] });
        account(&double, &chain, &permission);
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        assert_eq!(chain.halt(), None);
    })
    .await;
}

#[tokio::test]
async fn a_dead_json_rpc_costs_nothing_and_is_named() {
    let double = node();
    serving(&double, async |url| {
        let (account, mut dead) = parts(url);
        let mut configured = config(url, url);
        configured.nodes[0].jsonrpc = Some(RpcUrl::parse("http://127.0.0.1:9/jsonrpc").unwrap());
        dead.fleet = client_of(&configured).unwrap().0;
        let chain = TronChain::connect(account, dead).await.unwrap();
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        let passed = json!({
            "result": { "result": true }, "energy_used": 1, "constant_result": ["00"],
            "transaction": { "ret": [{}] },
        });
        double.says(CALL, 200, &passed.to_string());
        let said =
            chain.access.ask(chain.access.api(), chain.access.contract(), &[1]).await.unwrap();
        assert!(matches!(said, tron_node::CallRan::Passed { .. }));
        let named = finding(&chain, "nodes[0].jsonrpc").await;
        assert_eq!(named.len(), 1, "{named:?}");
    })
    .await;
}

#[tokio::test]
async fn a_node_without_history_is_found_by_a_record_that_it_must_have() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        let raw = sightings::any_call();
        let newest = chain.head.current().await.unwrap().solid.number;
        forged::lacks(&double, newest.saturating_sub(45)..=newest);
        let (number, time_ms) = (newest, 1_795_253_000_000);
        let place = forged::Place { number, time_ms, parent: B256::ZERO };
        forged::show(&double, newest, &forged::block(place, Some((&raw, "SUCCESS"))).1);
        double.says("/walletsolidity/gettransactioninfobyid", 200, "{}");
        let said = finding(&chain, "keeps no history").await;
        assert_eq!(said.len(), 1, "{said:?}");
    })
    .await;
}
