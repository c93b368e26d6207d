//! Golden bodies in the spelling of TRON: what callers parse, to the letter. And bodies that cannot be.

use super::*;
use crate::world::signer::EVM_PATH;
use crate::world::town::{PRICE, entry};
use alloy::primitives::U256;

async fn usual() -> Scene {
    Scene::set(3).await
}

#[tokio::test]
async fn a_sent_batch_is_answered_like_this() {
    let scene = usual().await;
    let heard = scene.signer.scheduler.bill(&json!(scene.town.entries([0, 1]))).await;
    insta::assert_snapshot!(golden(&heard, &scene.town), @"");
    let data = &heard.body["data"];
    let hash = data["txHash"].as_str().unwrap();
    let raw = hex::decode(data["signedTransactionData"].as_str().unwrap()).unwrap();
    let tx = Tx::decode(&raw).unwrap();
    assert_eq!(tx.id, hash.parse::<B256>().unwrap(), "the bytes are those of the hash");
    assert_eq!(json!(tx.raw().fee_limit.to_string()), data["gasRequired"]);
    scene.pooled(hash).await;
}

#[tokio::test]
async fn a_refused_batch_is_answered_like_this() {
    let scene = usual().await;
    let town = &scene.town;
    let [first, second, _] = &town.people[..] else { panic!() };
    town.token.approve(first.wallet, town.merchant.billing, U256::from(PRICE - 1)).await;
    town.token.set_balance(second.wallet, 5).await;
    let heard = scene.signer.scheduler.bill(&json!(town.entries([0, 1, 2]))).await;
    insta::assert_snapshot!(golden(&heard, town), @"");
}

#[tokio::test]
async fn a_dry_run_is_answered_like_this() {
    let scene = usual().await;
    scene.town.token.set_balance(scene.town.people[1].wallet, 5).await;
    let dry = json!({"dryRun": true, "mode": "partial", "list": scene.town.entries([0, 1])});
    let heard = scene.signer.scheduler.bill(&dry).await;
    insta::assert_snapshot!(golden(&heard, &scene.town), @"");
}

#[tokio::test]
async fn the_report_on_a_billing_looks_like_this() {
    let scene = usual().await;
    let batch = json!({"requestId": "july", "list": scene.town.entries([0])});
    let hash = scene.signer.scheduler.bill(&batch).await.tx_hash();
    assert_eq!(scene.settled(&hash).await, "charged");
    let heard = scene.signer.scheduler.billings(&hash).await;
    insta::assert_snapshot!(golden(&heard, &scene.town), @"");
}

/// The body as it came, one field per line, with what differs from run to run taken out.
fn golden(heard: &Heard, town: &Town) -> String {
    let contract = town.spell(town.merchant.billing);
    let mut text = heard.text.replace(&town.spell(signer_address()), "<T… of the signer>");
    text = text.replace(&contract, "<T… of the contract>");
    let data = heard.body["data"].get(0).unwrap_or(&heard.body["data"]);
    for field in ["txHash", "signedTransactionData"] {
        let value = data[field].as_str().unwrap_or("absent");
        assert!(!value.starts_with("0x"), "TRON spells without 0x: {value}");
        text = text.replace(value, &format!("<{field}>"));
    }
    for field in ["gasRequired", "acceptedAt", "settledAt", "block"] {
        let value = data[field].to_string();
        let digits = value.trim_matches('"');
        let redacted = value.replace(digits, &format!("<{field}>"));
        text = text.replace(&format!("\"{field}\":{value}"), &format!("\"{field}\":{redacted}"));
    }
    text.replace(",\"", ",\n\"").replace("},{", "},\n{").replace("[{", "[\n{")
}

#[tokio::test]
async fn wallets_and_tokens_are_taken_in_every_spelling_of_tron_and_in_no_wrong_one() {
    let scene = usual().await;
    let who = &scene.town.people[0];
    let with = |field: &str, text: String| {
        let mut entry = entry(who, 1);
        entry[field] = json!(text);
        json!([entry])
    };
    let base58 = scene.town.spell(who.wallet);
    let mut mistyped = base58.clone();
    let last = mistyped.pop().unwrap();
    mistyped.push(if last == 'x' { 'y' } else { 'x' });
    let wrong = [
        (mistyped, "has a wrong checksum"),
        ("T123".to_owned(), "userWallet"),
        (format!("42{}", hex::encode(who.wallet)), "userWallet"),
        ("5".to_owned(), "userWallet"),
    ];
    for (text, says) in wrong {
        let heard = scene.signer.scheduler.bill(&with("userWallet", text.clone())).await;
        assert_eq!((heard.code(), heard.status), (2, 200), "{text}: {heard:?}");
        let failure = &heard.body["data"][0];
        assert_eq!(failure["failCode"], "INVALID_ENTRY", "{text}");
        assert!(failure["failReason"].as_str().unwrap().contains(says), "{text}: {failure}");
    }
    let hash = scene.bill(0).await;
    for text in [base58, format!("41{}", hex::encode(who.wallet)), format!("{:#x}", who.wallet)] {
        let heard = scene.signer.scheduler.bill(&with("userWallet", text.clone())).await;
        assert_eq!(heard.tx_hash(), hash, "{text}");
    }
    let body = json!(scene.town.entries([0])).to_string();
    let heard = scene.signer.scheduler.post(EVM_PATH, body.as_bytes()).await.unwrap();
    assert_eq!((heard.code(), heard.status), (0, 503), "{heard:?}");
    assert_eq!(heard.body["msg"], "no EVM chain configured");
    scene.ends_with(&[1, 0, 0]).await;
}
