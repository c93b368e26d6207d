//! The main job on EVM nodes of other makes than anvil, as npm has them, and on nodes that lack something.

use crate::world::anvil::Family;
use crate::world::patience::ASKED_AT_MOST;
use crate::world::proxy::{ANYTHING, Act, READER};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town, refusals};
use alloy::primitives::U256;
use serde_json::{Value, json};

#[tokio::test]
async fn hardhat_is_billed_on_as_it_comes() {
    the_main_job(&Town::on_make("hardhat", founding("")).await).await;
}

/// With the times that docs/nodes.md has for this make.
#[tokio::test]
async fn ganache_is_billed_on_as_it_comes() {
    let town = Town::on_make("ganache", founding("rpc_timeout = \"8s\"")).await;
    town.installation.edit("[http]", "[http]\nrequest_deadline = \"30s\"");
    the_main_job(&town).await;
}

fn founding(chain_keys: &str) -> Founding {
    Founding { people: 7, chain_keys: chain_keys.to_owned(), ..Founding::default() }
}

/// A make of node has told a history of tips with gaps.
#[tokio::test]
async fn tips_that_cannot_be_read_keep_nobody_from_billing() {
    let town = Town::found().await;
    let odd = Act::Rewrite(|history| *history = json!({"gasUsedRatio": [null], "reward": [[]]}));
    town.proxy.fault("eth_feeHistory", odd);
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}

/// Good subscribers and bad ones, repeats, a kill, and the audit of what is left.
async fn the_main_job(town: &Town) {
    let check = town.installation.run(&["check"]).await;
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
    let signer = town.signer().await;
    signer.ready().await;
    let good = signer.scheduler.insist(&json!(town.entries([0, 1]))).await.tx_hash();
    assert_eq!(signer.scheduler.insist(&json!(town.entries([1, 0]))).await.tx_hash(), good);
    let some = told_apart(town, &signer).await;
    let killed = signer.scheduler.insist(&json!(town.entries([5]))).await.tx_hash();
    signer.kill();
    let signer = town.signer().await;
    assert_eq!(signer.scheduler.insist(&json!(town.entries([5]))).await.tx_hash(), killed);
    signer.ready().await;
    let last = signer.scheduler.insist(&json!(town.entries([6]))).await.tx_hash();
    for hash in [good, some, killed, last] {
        assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    }
    town.assert_paid(&[1, 1, 0, 0, 1, 1, 1]).await;
    let ready = signer.scheduler.get("/health/ready").await;
    let records = ready.body["chains"][0]["records"].clone();
    assert_eq!(records, "proven by the blocks that they name", "{ready:?}");
    signer.terminate().await;
    let audit = town.installation.run(&["audit"]).await;
    let said = String::from_utf8_lossy(&audit.stdout);
    assert!(audit.status.success() && said.contains("0 faults"), "{said}");
}

/// Two who cannot be charged, and one who can: by name, in either mode, and in a dry run. Answers the hash of the one.
async fn told_apart(town: &Town, signer: &Signer) -> String {
    let [gone, revoked] = [&town.people[2], &town.people[3]];
    town.merchant.cancel(gone).await;
    town.token.approve(revoked.wallet, town.contract, U256::ZERO).await;
    let wanted = refusals(&[(gone, "SUBSCRIPTION_CANCELLED"), (revoked, "ALLOWANCE_INSUFFICIENT")]);
    let list = town.entries([2, 3, 4]);
    let refused = signer.scheduler.insist(&json!(list)).await;
    assert_eq!(refused.failures(), wanted, "{refused:?}");
    let dry =
        signer.scheduler.insist(&json!({"mode": "partial", "dryRun": true, "list": list})).await;
    assert_eq!(dry.body["data"]["wouldCharge"], json!([town.people[4].subscribe_id]), "{dry:?}");
    let some = signer.scheduler.insist(&json!({"mode": "partial", "list": list})).await;
    assert_eq!(some.failures(), wanted, "{some:?}");
    some.tx_hash()
}

/// Nodes that answer no estimate, or take longer for it than anybody waits: the call is run with less and less gas.
#[tokio::test]
async fn without_an_estimate_a_call_is_measured_by_running_it() {
    // A node that is busy answers within this time, and the test waits it out for the estimate alone.
    let keys = "rpc_timeout = \"4s\"".to_owned();
    let town = Town::with(Founding { chain_keys: keys, people: 4, ..Founding::default() }).await;
    let poor = &town.people[0];
    town.token.approve(poor.wallet, town.contract, U256::ZERO).await;
    let signer = town.signer().await;
    signer.ready().await;
    let hardhat = "transaction gas limit (30243552) is greater than the cap (16777216)";
    for (estimate, place) in [(Act::Refuse(hardhat), 1), (Act::Swallow, 2)] {
        for method in [READER, "eth_simulateV1"] {
            town.proxy.fault(method, Act::Refuse("Method not found"));
        }
        town.proxy.fault("eth_estimateGas", estimate);
        let body = json!({"mode": "partial", "list": town.entries([0, place])});
        let heard = signer.scheduler.insist(&body).await;
        assert_eq!(heard.failures(), refusals(&[(poor, "ALLOWANCE_INSUFFICIENT")]), "{heard:?}");
        town.proxy.heal();
        let ended = town.settled(&signer, &heard.tx_hash()).await;
        assert_eq!(ended["state"], "charged");
        let limit: u64 = heard.body["data"]["gasRequired"].as_str().unwrap().parse().unwrap();
        assert!(limit < 3_000_000, "{limit}, of 16,777,216 that a call may use");
    }
    town.assert_paid(&[0, 1, 1, 0]).await;
}

/// Some nodes take minutes for an estimate: whoever waited for one before each look would never be ready.
#[tokio::test]
async fn a_node_that_answers_no_probe_in_time_is_used_without() {
    let keys = "rpc_timeout = \"2s\"".to_owned();
    let town = Town::with(Founding { chain_keys: keys, ..Founding::default() }).await;
    for method in [READER, "eth_simulateV1"] {
        town.proxy.fault(method, Act::Swallow);
    }
    town.proxy.fault("eth_estimateGas", Act::Swallow);
    let signer = town.signer().await;
    signer.ready().await;
    let heard = signer.scheduler.insist(&json!(town.entries([0]))).await;
    assert_eq!(town.settled(&signer, &heard.tx_hash()).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}

/// What the Signer would wait for in vain, `check` says before.
#[tokio::test]
async fn check_names_what_a_node_does_not_answer() {
    let town = Town::on(Family::Evm).await;
    for (question, refusal, words) in [
        ("eth_getTransactionCount pending", "pending is not supported", "pending is not supported"),
        ("eth_getBlockByNumber finalized", "invalid block tag", "set `finality` to a depth"),
    ] {
        town.proxy.fault(question, Act::Refuse(refusal));
        let check = town.installation.run(&["check"]).await;
        let said = String::from_utf8_lossy(&check.stdout).into_owned();
        assert!(!check.status.success() && said.contains("not ready to bill"), "{said}");
        assert!(said.contains(words), "{said}");
        town.proxy.heal();
    }
}

/// A node that refuses to answer for a while is not silent: it says so.
#[tokio::test]
async fn a_node_that_limits_the_rate_is_not_called_silent() {
    let town = Town::on(Family::Evm).await;
    let signer = town.signer().await;
    signer.ready().await;
    town.proxy.fault(ANYTHING, Act::Refuse("request rate limit exceeded"));
    for _ in 0..ASKED_AT_MOST {
        let ready = signer.scheduler.get("/health/ready").await;
        let node: Value = ready.body["chains"][0]["nodes"][0]["state"].clone();
        assert_ne!(node, "silent", "{ready:?}");
        if node == "busy" {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("it is never left alone");
}
