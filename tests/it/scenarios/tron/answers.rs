//! Golden bodies in the spelling of TRON: what callers parse, to the letter. And bodies that cannot be.

use super::*;
use crate::world::signer::EVM_PATH;
use crate::world::town::{PRICE, entry};
use alloy::primitives::U256;

async fn usual() -> Scene {
    Scene::behind(founded(3, "").await, 10_000).await
}

#[tokio::test]
async fn a_sent_batch_is_answered_like_this() {
    let scene = usual().await;
    let heard = scene.signer.scheduler.bill(&json!(scene.town.entries([0, 1]))).await;
    insta::assert_snapshot!(golden(&heard, &scene.town), @r#"
    {"code":1,
    "msg":"Billing transaction sent",
    "description":null,
    "data":{"address":"<T… of the signer>",
    "chainId":139,
    "gasRequired":"<gasRequired>",
    "signedTransactionData":"<signedTransactionData>",
    "subscriptionIds":[7000001,7000002],
    "txHash":"<txHash>"}}
    "#);
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
    insta::assert_snapshot!(golden(&heard, town), @r#"
    {"code":2,
    "msg":"2 subscriptions cannot be charged; nothing was signed or sent",
    "description":null,
    "data":[
    {"amount":10000000000000000000,
    "failReason":"Allowance insufficient",
    "planId":7,
    "subscribeId":7000001,
    "tokenAllowance":"9999999999999999999",
    "tokenBalance":"1000000000000000000000",
    "userHash":"0x47388e55cd52ba4d95889571c8145711153fe59d0d453f2fe20d541cd076fddf",
    "failCode":"ALLOWANCE_INSUFFICIENT",
    "retry":"USER"},
    {"amount":10000000000000000000,
    "failReason":"Balance insufficient",
    "planId":7,
    "subscribeId":7000002,
    "tokenAllowance":"115792089237316195423570985008687907853269984665640564039457584007913129639935",
    "tokenBalance":"5",
    "userHash":"0x8efcd49249defcec3f7eb343ea549ceff59243975632e45de80a8caf1c530bee",
    "failCode":"BALANCE_INSUFFICIENT",
    "retry":"USER"}]}
    "#);
}

#[tokio::test]
async fn a_dry_run_is_answered_like_this() {
    let scene = usual().await;
    scene.town.token.set_balance(scene.town.people[1].wallet, 5).await;
    let dry = json!({"dryRun": true, "mode": "partial", "list": scene.town.entries([0, 1])});
    let heard = scene.signer.scheduler.bill(&dry).await;
    insta::assert_snapshot!(golden(&heard, &scene.town), @r#"
    {"code":0,
    "msg":"Dry run: nothing was signed or sent",
    "description":null,
    "data":{"dryRun":true,
    "address":"<T… of the signer>",
    "wouldCharge":[7000001],
    "failed":[
    {"amount":10000000000000000000,
    "failReason":"Balance insufficient",
    "planId":7,
    "subscribeId":7000002,
    "tokenAllowance":"115792089237316195423570985008687907853269984665640564039457584007913129639935",
    "tokenBalance":"5",
    "userHash":"0x8efcd49249defcec3f7eb343ea549ceff59243975632e45de80a8caf1c530bee",
    "failCode":"BALANCE_INSUFFICIENT",
    "retry":"USER"}],
    "gasRequired":"<gasRequired>"}}
    "#);
}

#[tokio::test]
async fn the_report_on_a_billing_looks_like_this() {
    let scene = usual().await;
    let batch = json!({"requestId": "july", "list": scene.town.entries([0])});
    let hash = scene.signer.scheduler.bill(&batch).await.tx_hash();
    assert_eq!(scene.settled(&hash).await, "charged");
    let heard = scene.signer.scheduler.billings(&hash).await;
    insta::assert_snapshot!(golden(&heard, &scene.town), @r#"
    {"code":1,
    "msg":"success",
    "description":null,
    "data":[
    {"txHash":"<txHash>",
    "txHashes":["<txHash>"],
    "transactions":[
    {"txHash":"<txHash>",
    "kind":"bill",
    "signedAt":<signedAt>}],
    "state":"charged",
    "heldUp":null,
    "chainId":139,
    "address":"<T… of the signer>",
    "contract":"<T… of the contract>",
    "nonce":0,
    "requestId":"july",
    "caller":"tests",
    "acceptedAt":<acceptedAt>,
    "settledAt":<settledAt>,
    "block":<block>,
    "execution":{"result":"SUCCESS",
    "message":null,
    "used":<used>,
    "fee":<fee>,
    "whatToDo":null},
    "subscriptions":[
    {"subscribeId":7000001,
    "subscribeIdText":"7000001",
    "planId":7,
    "planIdText":"7",
    "userHash":"0x47388e55cd52ba4d95889571c8145711153fe59d0d453f2fe20d541cd076fddf",
    "period":"1",
    "amount":10000000000000000000,
    "amountText":"10000000000000000000",
    "state":"charged",
    "failCode":null,
    "failReason":null,
    "resolved":null,
    "chargedAmount":null,
    "chargedToken":null,
    "chargedWallet":null}]}]}
    "#);
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
    let signed = &data["transactions"][0]["signedAt"];
    text = text.replace(&format!("\"signedAt\":{signed}"), "\"signedAt\":<signedAt>");
    for field in ["used", "fee"] {
        let value = data["execution"][field].to_string();
        let redacted = format!("\"{field}\":<{field}>");
        text = text.replace(&format!("\"{field}\":{value}"), &redacted);
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
    assert_eq!((heard.code(), heard.status), (0, 404), "{heard:?}");
    assert_eq!(heard.body["msg"], "no EVM chain is configured");
    scene.ends_with(&[1, 0, 0]).await;
}
