//! Transactions of the account that this Signer did not sign, or has forgotten: a key that is used
//! elsewhere, and a journal that is an old copy. It learns from the chain, and opens again by itself.

use super::lanes::{change_key, introduce_the_new_key};
use crate::world::anvil::Family;
use crate::world::contracts::AnyToken;
use crate::world::lies::nothing;
use crate::world::patience::eventually;
use crate::world::proxy::Act;
use crate::world::signer::{Installation, Signer};
use crate::world::town::{Town, put_key, signer_address};
use alloy::primitives::{B256, U256};
use alloy::rpc::types::TransactionRequest;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

/// The lane's status, as `/health/ready` tells it.
pub(super) async fn lane(signer: &Signer) -> String {
    let heard = signer.scheduler.get("/health/ready").await;
    heard.body["chains"][0]["status"].as_str().unwrap().to_owned()
}

/// Somebody else signs a transfer of nothing with the account's key.
pub(super) async fn transfer_elsewhere(town: &Town) {
    let foreign = TransactionRequest::default().from(signer_address()).to(signer_address());
    let foreign = TransactionRequest { gas: Some(21_000), ..foreign };
    town.anvil.call::<B256>("eth_sendTransaction", json!([foreign])).await;
}

/// Most nodes cannot look up a transaction by its sender and nonce: its block must be searched.
fn without_an_index(town: &Town) {
    let method = "eth_getTransactionBySenderAndNonce";
    town.proxy.fault(method, Act::Refuse("the method does not exist"));
}

/// Another Signer with the same key, on its own journal and with its own way to the node.
fn another(town: &Town) -> Installation {
    let config = std::fs::read_to_string(town.installation.path().join("signer.toml")).unwrap();
    let (_, chain) = config.split_once("[chains.139]\n").unwrap();
    let chain = format!("[chains.139]\n{}", chain.replace(&town.proxy.url, &town.anvil.url));
    let other = Installation::new(&chain);
    put_key(&other);
    other
}

/// Mines until the lane takes new work.
pub(super) async fn opens(town: &Town, signer: &Signer) {
    eventually("the lane is open", async || {
        town.anvil.mine(1).await;
        lane(signer).await == "ok"
    })
    .await;
}

#[tokio::test]
async fn a_key_that_is_used_elsewhere_closes_the_lane_until_it_is_known_for_what() {
    let town = Town::found().await;
    without_an_index(&town);
    let signer = town.signer().await;
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&signer).await;
    transfer_elsewhere(&town).await;
    eventually("the Signer noticed", async || lane(&signer).await != "ok").await;
    let reason = lane(&signer).await;
    assert!(reason.contains("2 transactions") && reason.contains("journal knows 1"), "{reason}");
    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    assert!(refused.body["msg"].as_str().unwrap().contains("used elsewhere"), "{refused:?}");
    let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.code(), 1, "what was charged is still known: {again:?}");
    // Two more in one block, one of them a call of a token.
    town.anvil.set_automine(false).await;
    let approve = AnyToken::approveCall { spender: town.contract, value: U256::ONE };
    town.anvil.submit(signer_address(), town.token.address, &approve).await;
    transfer_elsewhere(&town).await;
    town.anvil.mine(1).await;
    town.anvil.set_automine(true).await;
    assert_eq!(town.transactions().await, 4);
    opens(&town, &signer).await;
    signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.quiet(&signer).await;
    assert_eq!(town.transactions().await, 5);
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn a_place_that_a_transfer_took_ends_its_batch_and_frees_its_charges() {
    let town = Town::on_request(Family::Evm).await;
    let signer = town.signer().await;
    town.proxy.fault("eth_sendRawTransaction", Act::Refuse("not now"));
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    transfer_elsewhere(&town).await;
    town.anvil.mine(1).await;
    town.noticed().await;
    assert_eq!(signer.billing(&hash).await["state"], "open", "the block can still be undone");
    let held = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(held.tx_hash(), hash);
    town.proxy.heal();
    assert_eq!(town.settled(&signer, &hash).await["state"], "usurped");
    let fresh = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &fresh).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn what_another_signer_of_the_same_key_charged_is_learnt_and_charged_by_nobody_else() {
    let town = Town::on_request(Family::Evm).await;
    let elsewhere = another(&town);
    let (signer, other) = (town.signer().await, elsewhere.start().await);
    let theirs = other.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&other).await;
    opens(&town, &signer).await;
    eventually("it is learnt", async || signer.billing(&theirs).await["state"] == "charged").await;
    let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.tx_hash(), theirs, "it is charged already");
    signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn a_place_that_another_signer_took_for_the_same_person_is_one_payment() {
    let town = Town::on_request(Family::Evm).await;
    let elsewhere = another(&town);
    let (signer, other) = (town.signer().await, elsewhere.start().await);
    town.proxy.fault("eth_sendRawTransaction", Act::Refuse("not now"));
    let ours = signer.scheduler.bill(&json!(town.entries([0, 1]))).await.tx_hash();
    let theirs = other.scheduler.bill(&json!(town.entries([1, 2]))).await.tx_hash();
    town.quiet(&other).await;
    town.proxy.heal();
    assert_eq!(town.settled(&signer, &ours).await["state"], "usurped");
    assert_eq!(signer.billing(&theirs).await["state"], "charged");
    for held in [1, 2] {
        let again = signer.scheduler.bill(&json!(town.entries([held]))).await;
        assert_eq!(again.tx_hash(), theirs, "{again:?}");
    }
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 1]).await;
}

/// The stranger has the place of an open batch, and nodes do not show what the stranger did: that may have charged
/// anybody.
#[tokio::test]
async fn nothing_new_is_signed_while_no_node_names_the_transaction_that_took_a_place() {
    let town = Town::on_request(Family::Evm).await;
    let elsewhere = another(&town);
    let (signer, other) = (town.signer().await, elsewhere.start().await);
    town.proxy.fault("eth_sendRawTransaction", Act::Refuse("not now"));
    town.proxy.fault("eth_getTransactionReceipt", Act::Rewrite(nothing));
    town.proxy.tells_no_block();
    let ours = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let theirs = other.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.quiet(&other).await;
    eventually("the lane is closed", async || lane(&signer).await != "ok").await;
    let reason = lane(&signer).await;
    assert!(reason.contains("the nonce 0 of the account"), "{reason}");
    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    signer.kill();
    let signer = town.signer().await;
    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "a start knows no more: {refused:?}");
    town.proxy.heal();
    assert_eq!(town.settled(&signer, &ours).await["state"], "usurped");
    opens(&town, &signer).await;
    let again = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!(again.tx_hash(), theirs, "{again:?}");
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0]).await;
}

/// The stranger takes the place of one batch and charges what the next one holds: that one is cancelled, and
/// the charge is the stranger's from then on.
#[tokio::test]
async fn what_a_stranger_charged_is_held_when_the_batch_that_had_the_claim_ends_without_it() {
    let town = Town::on_request(Family::Evm).await;
    let elsewhere = another(&town);
    let (signer, other) = (town.signer().await, elsewhere.start().await);
    town.proxy.fault("eth_sendRawTransaction", Act::Refuse("not now"));
    let first = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let second = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    let theirs = other.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.quiet(&other).await;
    assert_eq!(town.settled(&signer, &first).await["state"], "usurped");
    let held = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!(held.tx_hash(), second, "it is open: {held:?}");
    town.proxy.heal();
    let ended = town.settled(&signer, &second).await;
    assert_eq!(ended["state"], "cancelled", "{ended}");
    let again = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((again.code(), again.tx_hash()), (1, theirs), "{again:?}");
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0]).await;
    signer.terminate().await;
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{audit:?}");
}

#[tokio::test]
async fn an_old_copy_of_the_journal_learns_what_it_has_forgotten() {
    let town = Town::on_request(Family::Evm).await;
    without_an_index(&town);
    let (journal, copy) = (town.installation.journal(), town.installation.path().join("copy"));
    let signer = town.signer().await;
    let known = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&signer).await;
    signer.terminate().await;
    let log = town.installation.path().join("journal.sqlite-wal");
    assert!(!log.exists(), "a journal at rest is one file: that is what a backup copies");
    std::fs::copy(&journal, &copy).unwrap();
    let signer = town.signer().await;
    let landed = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.quiet(&signer).await;
    let pooled = signer.scheduler.bill(&json!(town.entries([2]))).await.tx_hash();
    signer.terminate().await;
    std::fs::copy(&copy, &journal).unwrap();

    let signer = town.signer().await;
    eventually("what is final is learnt", async || {
        signer.billing(&landed).await["state"] == "charged"
    })
    .await;
    eventually("what waits in the pool is noticed", async || {
        lane(&signer).await.contains("wait in a pool")
    })
    .await;
    let refused = signer.scheduler.bill(&json!(town.entries([2]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "it is not known whom: {refused:?}");
    opens(&town, &signer).await;
    for (place, hash) in [known, landed, pooled].into_iter().enumerate() {
        let again = signer.scheduler.bill(&json!(town.entries([place]))).await;
        assert_eq!(again.tx_hash(), hash, "{place}");
    }
    town.assert_paid(&[1, 1, 1]).await;
    signer.terminate().await;
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{audit:?}");
}

#[tokio::test]
async fn a_call_that_nobody_can_read_keeps_the_lane_closed() {
    let town = Town::found().await;
    let signer = town.signer().await;
    // The billing call with one byte too many: the contract takes it, and the profile does not.
    let body = json!({"dryRun": false, "list": town.entries([0])});
    let elsewhere = another(&town);
    let other = elsewhere.start().await;
    let heard = other.scheduler.bill(&body).await;
    let theirs = heard.tx_hash();
    town.quiet(&other).await;
    opens(&town, &signer).await;
    // A lane that has not looked yet is open as well.
    eventually("it is learnt", async || signer.billing(&theirs).await["state"] == "charged").await;
    let found: Value = town.anvil.call("eth_getTransactionByHash", json!([theirs])).await;
    let longer = format!("{}00", found["input"].as_str().unwrap());
    let foreign = json!([{
        "from": signer_address(), "to": town.contract, "input": longer, "gas": "0x4c4b40",
    }]);
    let opaque: B256 = town.anvil.call("eth_sendTransaction", foreign).await;
    eventually("nobody can tell whom it charged", async || {
        town.anvil.mine(1).await;
        lane(&signer).await.contains("nobody can tell whom")
    })
    .await;
    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    signer.terminate().await;

    // With another key it is not known either.
    introduce_the_new_key(&town).await;
    town.anvil.set_automine(true).await;
    change_key(&town, "");
    let signer = town.signer().await;
    let why = lane(&signer).await;
    assert!(why.contains("which has signed here before"), "{why}");
    signer.terminate().await;
    let file = town.installation.path().join("claims.jsonl");
    let (claims, words) = (file.to_str().unwrap(), "looked at its transfers: it charged nobody");
    let exported = town.installation.run(&["claims", "export", "--out", claims]).await;
    assert!(exported.status.success(), "{exported:?}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
    let found: Value = town.anvil.call("eth_getTransactionByHash", json!([opaque])).await;
    let number = |field: &str| {
        u64::from_str_radix(found[field].as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
    };
    let line = json!({
        "chain": 139, "contract": town.contract, "signer": signer_address(),
        "position": number("nonce"), "transaction": opaque, "block": number("blockNumber"),
        "blockTime": 0, "guard": 0, "claims": [],
    });
    let lines = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{lines}{line}\n")).unwrap();
    let imported = town.installation.run(&["claims", "import", claims, "--why", words]).await;
    assert!(imported.status.success(), "{imported:?}");
    let signer = town.signer().await;
    opens(&town, &signer).await;
    let hash = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 1, 0]).await;
}
