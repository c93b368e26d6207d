//! An authorization of EIP-7702, signed with the account's key, uses a nonce without a transaction of the
//! account: nobody can tell whom it let charge, so a person says.

use super::strangers::opens;
use crate::world::anvil::Family;
use crate::world::patience::eventually;
use crate::world::proxy::{Act, SEND};
use crate::world::signer::Signer;
use crate::world::town::{KEY, Town, signer_address};
use alloy::eips::eip7702::Authorization;
use alloy::primitives::{Address, B256, U256};
use alloy::rpc::types::TransactionRequest;
use alloy::signers::SignerSync as _;
use alloy::signers::local::PrivateKeySigner;
use serde_json::{Value, json};

/// Somebody else pays for a transaction that carries an authorization of the account with this nonce.
pub(super) async fn authorized(town: &Town, nonce: u64) -> B256 {
    let key: PrivateKeySigner = KEY.parse().unwrap();
    // Of the address zero: it takes a delegation back, and uses a nonce all the same.
    let authorization =
        Authorization { chain_id: U256::from(31_337), address: Address::ZERO, nonce };
    let signature = key.sign_hash_sync(&authorization.signature_hash()).unwrap();
    let sponsors: Vec<Address> = town.anvil.call("eth_accounts", json!([])).await;
    let sponsored = TransactionRequest {
        authorization_list: Some(vec![authorization.into_signed(signature)]),
        gas: Some(100_000),
        ..TransactionRequest::default().from(sponsors[3]).to(sponsors[3])
    };
    town.anvil.call("eth_sendTransaction", json!([sponsored])).await
}

/// The account's standing, and the status of the health page.
async fn health(signer: &Signer) -> (u16, String) {
    let heard = signer.scheduler.get("/health/ready").await;
    (heard.status, heard.body["chains"][0]["status"].as_str().unwrap().to_owned())
}

async fn says_that_no_transaction_has_the_nonce(town: &Town, signer: &Signer, nonce: u64) {
    eventually("the lane says what happened", async || {
        town.anvil.mine(1).await;
        let (status, why) = health(signer).await;
        let told = why.contains(&format!("has the nonce {nonce}")) && why.contains("EIP-7702");
        told && status == 503
    })
    .await;
    let refused = signer.scheduler.bill(&json!(town.entries([2]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
}

async fn done(town: &Town, arguments: &[&str]) {
    let output = town.installation.run(arguments).await;
    assert!(output.status.success(), "{output:?}");
}

/// Whether the ledger holds against the chain, and what is said of it.
async fn proof(town: &Town) -> (bool, String) {
    let ended = town.installation.run(&["totals", "--prove"]).await;
    (ended.status.success(), String::from_utf8(ended.stderr).unwrap())
}

#[tokio::test]
async fn a_batch_whose_nonce_an_authorization_used_is_ended_by_a_persons_word() {
    let town = Town::on_request(Family::Evm).await;
    let signer = town.signer().await;
    town.proxy.fault(SEND, Act::Refuse("not now"));
    let hash = signer.scheduler.bill(&json!(town.entries([0, 1]))).await.tx_hash();
    authorized(&town, 0).await;
    town.anvil.mine(1).await;
    town.proxy.heal();
    says_that_no_transaction_has_the_nonce(&town, &signer, 0).await;
    assert_eq!(town.transactions().await, 1, "the nonce is used");
    let billing = signer.billing(&hash).await;
    assert_eq!(billing["state"], "usurped", "{billing}");
    assert_eq!(billing["subscriptions"][0]["state"], "unproven", "{billing}");
    let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
    let failure = &again.body["data"][0];
    let told = (again.code(), &failure["failCode"], &failure["retry"]);
    assert_eq!(told, (2, &json!("OUTCOME_UNKNOWN"), &json!("FIX")), "{again:?}");
    signer.terminate().await;
    let (proven, said) = proof(&town).await;
    assert!(proven && said.contains("0 differences"), "nothing is said to be charged: {said}");

    let [free, charged] = [0, 1].map(|at| town.people[at].subscribe_id.to_string());
    let why = "the authorization called nothing; the other has paid by hand";
    done(&town, &["resolve", &hash, &free, "free", "--why", why]).await;
    done(&town, &["resolve", &hash, &charged, "charged", "--why", why]).await;
    let signer = town.signer().await;
    opens(&town, &signer).await;
    let anew = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &anew).await["state"], "charged");
    let held = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!(held.tx_hash(), hash, "a person has said that it is charged: {held:?}");
    // What was paid by hand is in no event of the contract.
    assert_eq!(town.payments(&town.people[0]).await, 1);
    assert_eq!(town.payments(&town.people[1]).await, 0);
    signer.terminate().await;
    let (proven, said) = proof(&town).await;
    let told = format!("what a person has said is charged: subscription {charged}\n");
    assert!(!proven && said.contains(&told) && said.contains("1 differences"), "{said}");
    assert!(!said.contains("on record"), "{said}");
    done(&town, &["audit"]).await;
}

#[tokio::test]
async fn an_idle_lane_whose_nonce_an_authorization_used_goes_on_behind_it_when_a_person_names_it() {
    let town = Town::found().await;
    let signer = town.signer().await;
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&signer).await;
    let by = authorized(&town, 1).await;
    says_that_no_transaction_has_the_nonce(&town, &signer, 1).await;
    signer.terminate().await;

    let file = town.installation.path().join("claims.jsonl");
    let claims = file.to_str().unwrap();
    done(&town, &["claims", "export", "--out", claims]).await;
    let found: Value = town.anvil.call("eth_getTransactionByHash", json!([by])).await;
    let block = found["blockNumber"].as_str().unwrap().trim_start_matches("0x").to_owned();
    let line = json!({
        "chain": 139, "contract": town.contract, "signer": signer_address(), "position": 1,
        "transaction": by, "block": u64::from_str_radix(&block, 16).unwrap(), "blockTime": 0,
        "guard": 0, "claims": [],
    });
    let lines = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{lines}{line}\n")).unwrap();
    done(&town, &["claims", "import", claims, "--why", "it took a delegation back"]).await;
    let signer = town.signer().await;
    opens(&town, &signer).await;
    let hash = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 1, 0]).await;
    signer.terminate().await;
    done(&town, &["audit"]).await;
}
