//! A chain that does not take what it is offered: fees rise, gas money goes, pools forget, blocks are
//! undone. Whoever was promised a charge is charged once, or told that nobody was.

use super::strangers::lane;
use crate::world::anvil::Mining;
use crate::world::patience::eventually;
use crate::world::proxy::Act;
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town, signer_address};
use alloy::primitives::{Address, B256, Bytes, U256, address};
use serde_json::{Value, json};

const GWEI: u128 = 1_000_000_000;
const ETHER: u128 = 1_000_000_000 * GWEI;

/// Blocks are made on request, and what bids too little is replaced after a second.
async fn town() -> Town {
    with("replace_after = \"1s\"").await
}

async fn with(chain_keys: &str) -> Town {
    let chain_keys = chain_keys.to_owned();
    Town::with(Founding { mining: Mining::OnRequest, chain_keys, ..Founding::default() }).await
}

/// What is said of the billing that `id` names.
async fn status(signer: &Signer, id: &str) -> Value {
    signer.scheduler.billings(id).await.body["data"][0].clone()
}

fn hashes(billing: &Value) -> Vec<String> {
    serde_json::from_value(billing["txHashes"].clone()).unwrap()
}

/// Makes a block that nothing in the pool can pay for, and others that are hardly cheaper.
pub(super) async fn spike(town: &Town) {
    let dear = json!([U256::from(100 * GWEI)]);
    town.anvil.call::<Value>("anvil_setNextBlockBaseFeePerGas", dear).await;
    town.anvil.mine(1).await;
}

async fn set_balance(town: &Town, wei: u128) {
    let asked = json!([signer_address(), U256::from(wei)]);
    town.anvil.call::<Value>("anvil_setBalance", asked).await;
}

#[tokio::test]
async fn what_bids_too_little_is_replaced_and_any_of_its_hashes_finds_it() {
    let town = town().await;
    let signer = town.signer().await;
    let first = signer.scheduler.bill(&json!(town.entries([0, 1]))).await.tx_hash();
    spike(&town).await;
    eventually("it is known what holds it up", async || {
        status(&signer, &first).await["heldUp"] == "it bids less than the chain asks now"
    })
    .await;
    eventually("it is replaced", async || hashes(&status(&signer, &first).await).len() >= 2).await;
    let again = signer.scheduler.bill(&json!(town.entries([0, 1]))).await;
    let newest = again.tx_hash();
    assert_ne!(newest, first, "a repeat names the newest");
    let ended = town.settled(&signer, &first).await;
    assert_eq!((&ended["state"], hashes(&ended)[0].as_str()), (&json!("charged"), first.as_str()));
    let winner = ended["txHash"].as_str().unwrap();
    assert_ne!(winner, first, "the first cannot pay for a block");
    for hash in hashes(&ended) {
        assert_eq!(status(&signer, &hash).await["txHash"], winner, "{hash}");
    }
    assert_eq!(town.transactions().await, 1);
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn with_replacement_off_one_billing_is_one_hash_and_it_waits() {
    let town = with("replacement = \"off\"\nreplace_after = \"1s\"").await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    spike(&town).await;
    town.proxy.take_asked();
    eventually("it is offered again and again", async || {
        town.proxy.asked("eth_sendRawTransaction") >= 4
    })
    .await;
    assert_eq!(hashes(&status(&signer, &hash).await).len(), 1);
    let ended = town.settled(&signer, &hash).await;
    assert_eq!((&ended["state"], hashes(&ended)), (&json!("charged"), vec![hash]));
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_ceiling_in_the_way_of_a_replacement_is_waited_under() {
    let mut town = town().await;
    let ceiling = "150 gwei";
    town.installation =
        town.installation.env("SIGNER__CHAINS__139__FEES__MAX_FEE_PER_GAS", ceiling);
    let signer = town.signer().await;
    let first = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let dear = json!([U256::from(300 * GWEI)]);
    town.anvil.call::<Value>("anvil_setNextBlockBaseFeePerGas", dear).await;
    town.anvil.mine(1).await;
    let said = "no other attempt can be signed now";
    signer.wrote(said).await;
    assert!(signer.log().contains("fees.max_fee_per_gas"), "it says which ceiling");
    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    let ready = signer.scheduler.get("/health/ready").await;
    let why = ready.body["chains"][0]["status"].as_str().unwrap().to_owned();
    assert_eq!(ready.status, 503, "{ready:?}");
    assert!(why.contains("fees.max_fee_per_gas"), "as the request hears: {why}");
    town.noticed().await;
    assert_eq!(signer.log().matches(said).count(), 1, "once");
    assert_eq!(hashes(&status(&signer, &first).await).len(), 1);
    assert_eq!(town.settled(&signer, &first).await["state"], "charged", "it fell again");
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_ceiling_for_a_whole_transaction_shows_in_readiness_before_a_request_meets_it() {
    let mut town = town().await;
    let ceiling = ("SIGNER__CHAINS__139__FEES__MAX_TX_COST", "1000 gwei");
    town.installation = town.installation.env(ceiling.0, ceiling.1);
    let signer = town.signer().await;
    let ready = signer.scheduler.get("/health/ready").await;
    let why = ready.body["chains"][0]["status"].as_str().unwrap().to_owned();
    assert_eq!(ready.status, 503, "{ready:?}");
    assert!(why.contains("fees.max_tx_cost"), "{why}");
    let refused = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    assert!(refused.text.contains("fees.max_tx_cost"), "{refused:?}");
}

#[tokio::test]
async fn without_gas_money_a_batch_starves_in_sight_and_heals_when_there_is_some() {
    let town = town().await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    set_balance(&town, 1).await;
    let starved = "the signing account cannot pay for it: top it up";
    eventually("the batch is seen to starve", async || {
        status(&signer, &hash).await["heldUp"] == starved
    })
    .await;
    let ready = signer.scheduler.get("/health/ready").await.body;
    assert_eq!(ready["chains"][0]["heldUp"][0]["why"], starved, "{ready}");
    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    town.anvil.mine(1).await;
    set_balance(&town, 1000 * ETHER).await;
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn what_open_transactions_may_still_cost_is_not_spent_twice() {
    let town = town().await;
    let signer = town.signer().await;
    let dry = json!({"dryRun": true, "list": town.entries([0])});
    let heard = signer.scheduler.bill(&dry).await;
    let gas: u128 = heard.body["data"]["gasRequired"].as_str().unwrap().parse().unwrap();
    let block = town.anvil.call::<Value>("eth_getBlockByNumber", json!(["latest", false])).await;
    let base: U256 = serde_json::from_value(block["baseFeePerGas"].clone()).unwrap();
    // Enough for one such transaction and not for two.
    set_balance(&town, gas * (base.to::<u128>() * 2 + GWEI) * 3 / 2).await;
    town.noticed().await;
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!(refused.code(), 0, "{refused:?}");
    assert!(refused.body["msg"].as_str().unwrap().contains("top it up"), "{refused:?}");
    town.quiet(&signer).await;
    set_balance(&town, 1000 * ETHER).await;
    town.noticed().await;
    signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0]).await;
}

async fn base_fee(town: &Town) -> u128 {
    let block = town.anvil.call::<Value>("eth_getBlockByNumber", json!(["latest", false])).await;
    serde_json::from_value::<U256>(block["baseFeePerGas"].clone()).unwrap().to()
}

#[tokio::test]
async fn an_account_that_cannot_pay_for_a_batch_is_told_of_before_the_first_request() {
    let town = town().await;
    set_balance(&town, 1000).await;
    let signer = town.signer().await;
    let unpaid = "an ordinary batch may cost";
    eventually("readiness says so", async || lane(&signer).await.contains(unpaid)).await;
    let checked = town.installation.run(&["check"]).await;
    let told = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(told.contains(unpaid) && told.contains("not ready to bill"), "{told}");
}

#[tokio::test]
async fn what_no_node_can_take_is_cancelled_even_where_its_bid_is_at_the_ceiling() {
    let mut town = town().await;
    let ceiling = base_fee(&town).await + 1;
    for key in ["MAX_FEE_PER_GAS", "MAX_PRIORITY_FEE_PER_GAS"] {
        let key = format!("SIGNER__CHAINS__139__FEES__{key}");
        town.installation = town.installation.env(&key, &format!("{ceiling} wei"));
    }
    let signer = town.signer().await;
    town.proxy.fault("eth_sendRawTransaction", Act::Refuse("intrinsic gas too low"));
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    eventually("a cancel is signed", async || hashes(&status(&signer, &hash).await).len() == 2)
        .await;
    town.proxy.heal();
    let ended = town.settled(&signer, &hash).await;
    assert_eq!(ended["state"], "cancelled", "{ended}");
    let asked = json!([ended["txHash"]]);
    let cancel: Value = town.anvil.call("eth_getTransactionByHash", asked).await;
    let bid: U256 = serde_json::from_value(cancel["maxFeePerGas"].clone()).unwrap();
    assert!(bid > U256::from(ceiling), "{bid} is one step above {ceiling}");
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn what_no_node_can_take_is_cancelled_and_free_to_be_billed_again() {
    let town = town().await;
    let signer = town.signer().await;
    town.proxy.fault("eth_sendRawTransaction", Act::Refuse("intrinsic gas too low"));
    // As on a chain where a transfer takes more than 21,000 gas.
    town.proxy.fault("eth_estimateGas", Act::Rewrite(|gas| *gas = json!("0x186a0")));
    let hash = signer.scheduler.bill(&json!(town.entries([0, 1]))).await.tx_hash();
    eventually("a cancel is signed", async || hashes(&status(&signer, &hash).await).len() == 2)
        .await;
    let held = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(held.code(), 1, "until the cancel is final the charge may still land: {held:?}");
    town.proxy.heal();
    let ended = town.settled(&signer, &hash).await;
    assert_eq!(ended["state"], "cancelled");
    assert_ne!(ended["txHash"], hash);
    let asked = json!([ended["txHash"]]);
    let cancel: Value = town.anvil.call("eth_getTransactionByHash", asked).await;
    assert_eq!(cancel["gas"], json!(U256::from(140_000)), "with its margin: {cancel}");
    assert_eq!((&cancel["value"], &cancel["from"]), (&json!("0x0"), &cancel["to"]));
    town.assert_paid(&[0, 0, 0]).await;
    let fresh = signer.scheduler.bill(&json!(town.entries([0, 1]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &fresh).await["state"], "charged");
    assert_eq!(town.transactions().await, 2);
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn a_batch_that_does_not_land_in_time_is_given_up_when_that_is_wanted() {
    let town = with("give_up_after = \"1m\"").await;
    let signer = town.signer().await;
    town.proxy.fault("eth_sendRawTransaction", Act::Refuse("txpool is full"));
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(status(&signer, &hash).await["state"], "open");
    signer.terminate().await;
    let aged = "UPDATE batch SET accepted_ms = accepted_ms - 61000";
    let journal = rusqlite::Connection::open(town.installation.journal()).unwrap();
    town.installation.forge();
    assert_eq!(journal.execute(aged, []).unwrap(), 1);
    drop(journal);
    let signer = town.signer().await;
    eventually("a cancel is signed", async || hashes(&status(&signer, &hash).await).len() == 2)
        .await;
    town.proxy.heal();
    assert_eq!(town.settled(&signer, &hash).await["state"], "cancelled");
    town.assert_paid(&[0, 0, 0]).await;
}

#[tokio::test]
async fn what_a_pool_forgets_is_offered_again_in_the_same_bytes() {
    let town = town().await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    for _ in 0..3 {
        town.anvil.drop_transaction(hash.parse::<B256>().unwrap()).await;
        eventually("it is in the pool again", async || town.sent().await[1] == U256::ONE).await;
    }
    let ended = town.settled(&signer, &hash).await;
    assert_eq!((&ended["state"], hashes(&ended)), (&json!("charged"), vec![hash]));
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_block_that_is_undone_takes_its_charge_along_and_it_is_made_again_once() {
    let town = town().await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.anvil.mine(1).await;
    town.noticed().await;
    town.assert_paid(&[1, 0, 0]).await;
    let offers = town.proxy.asked("eth_sendRawTransaction");
    town.noticed().await;
    assert_eq!(town.proxy.asked("eth_sendRawTransaction"), offers, "it is in a block");
    town.anvil.reorg(1).await;
    town.assert_paid(&[0, 0, 0]).await;
    assert_eq!(status(&signer, &hash).await["state"], "open", "no block of it was final");
    let ended = town.settled(&signer, &hash).await;
    assert_eq!((&ended["state"], hashes(&ended)), (&json!("charged"), vec![hash]));
    assert_eq!(town.transactions().await, 1);
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn an_account_that_is_delegated_to_a_contract_sends_one_transaction_at_a_time() {
    let town = town().await;
    let delegation = [&[0xef, 0x01, 0x00][..], Address::repeat_byte(9).as_slice()].concat();
    let code = json!([signer_address(), Bytes::from(delegation)]);
    town.anvil.call::<Value>("anvil_setCode", code).await;
    let signer = town.signer().await;
    signer.wrote("the signing account is delegated to a contract").await;
    let checked = town.installation.run(&["check"]).await;
    let told = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(told.contains("EIP-7702"), "{told}");
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let (one, two) = ([U256::ZERO, U256::ONE], [U256::ONE, U256::from(2)]);
    let body = json!(town.entries([1]));
    let (second, ()) = tokio::join!(signer.scheduler.bill(&body), async {
        town.noticed().await;
        assert_eq!(town.sent().await, one, "the second waits for the first");
        town.anvil.mine(1).await;
    });
    second.tx_hash();
    assert_eq!(town.sent().await, two);
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn a_fee_for_data_counts_when_it_is_asked_whether_the_account_can_pay() {
    let oracle = address!("0x420000000000000000000000000000000000000F");
    let mut town = Town::found().await;
    town.installation = town.installation.env("SIGNER__CHAINS__139__FEES__L1_FEE", "op");
    let signer = town.signer().await;
    let body = json!(town.entries([0]));
    let refused = signer.scheduler.bill(&body).await;
    assert_eq!(refused.code(), 0, "{refused:?}");
    assert!(refused.body["msg"].as_str().unwrap().contains("fees.l1_fee"), "{refused:?}");

    // PUSH32 fee, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN.
    let answers = |fee: u128| {
        let word = U256::from(fee).to_be_bytes::<32>();
        let code = [&[0x7f][..], &word, &[0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]].concat();
        json!([oracle, Bytes::from(code)])
    };
    // The account holds 1000 ether: not enough with a margin of 30 %.
    town.anvil.call::<Value>("anvil_setCode", answers(800 * ETHER)).await;
    let refused = signer.scheduler.bill(&body).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    assert!(refused.body["msg"].as_str().unwrap().contains("top it up"), "{refused:?}");
    town.anvil.call::<Value>("anvil_setCode", answers(700 * ETHER)).await;
    signer.scheduler.bill(&body).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
}
