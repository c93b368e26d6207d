//! Golden bodies, as callers parse them: the same on both families, but for the spelling of addresses and hashes.

use crate::world::anvil::Family;
use crate::world::signer::Heard;
use crate::world::town::{PRICE, Town, signer_address};
use alloy::primitives::{B256, U256, keccak256};
use sandbox_chains::tron::tx::Tx;
use serde_json::json;

on_both_families![
    a_sent_batch_is_answered_like_this,
    a_refused_batch_is_answered_like_this,
    a_dry_run_is_answered_like_this,
    the_report_on_a_billing_looks_like_this,
];

async fn a_sent_batch_is_answered_like_this(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&json!(town.entries([0, 1]))).await;
    insta::allow_duplicates! {insta::assert_snapshot!(golden(&heard, &town), @r#"
    {"code":1,
    "msg":"Billing transaction sent",
    "description":null,
    "data":{"address":"<signer>",
    "chainId":139,
    "gasRequired":"<gasRequired>",
    "signedTransactionData":"<signedTransactionData>",
    "subscriptionIds":[7000001,7000002],
    "txHash":"<txHash>"}}
    "#)};
    let data = &heard.body["data"];
    let raw = alloy::hex::decode(data["signedTransactionData"].as_str().unwrap()).unwrap();
    let id = match family {
        Family::Evm => keccak256(&raw),
        Family::Tron => {
            let tx = Tx::decode(&raw).unwrap();
            assert_eq!(json!(tx.raw().fee_limit.to_string()), data["gasRequired"]);
            tx.id
        }
    };
    assert_eq!(id, heard.tx_hash().parse::<B256>().unwrap(), "the bytes are those of the hash");
}

async fn a_refused_batch_is_answered_like_this(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    let [first, second, _] = &town.people[..] else { panic!() };
    town.token.approve(first.wallet, town.merchant.billing, U256::from(PRICE - 1)).await;
    town.token.set_balance(second.wallet, 5).await;
    let mut entries = town.entries([0, 1, 2]);
    // The caller's spelling comes back.
    entries[0]["userHash"] =
        json!(first.user_hash.to_string().replacen("0x", "", 1).to_uppercase());
    let heard = signer.scheduler.bill(&json!(entries)).await;
    insta::allow_duplicates! {insta::assert_snapshot!(golden(&heard, &town), @r#"
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
    "userHash":"47388E55CD52BA4D95889571C8145711153FE59D0D453F2FE20D541CD076FDDF",
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
    "#)};
}

async fn a_dry_run_is_answered_like_this(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    town.token.set_balance(town.people[1].wallet, 5).await;
    let dry = json!({"dryRun": true, "mode": "partial", "list": town.entries([0, 1])});
    let heard = signer.scheduler.bill(&dry).await;
    insta::allow_duplicates! {insta::assert_snapshot!(golden(&heard, &town), @r#"
    {"code":0,
    "msg":"Dry run: nothing was signed or sent",
    "description":null,
    "data":{"dryRun":true,
    "address":"<signer>",
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
    "#)};
}

async fn the_report_on_a_billing_looks_like_this(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    let batch = json!({"requestId": "july", "list": town.entries([0])});
    let hash = signer.scheduler.bill(&batch).await.tx_hash();
    town.settled(&signer, &hash).await;
    let heard = signer.scheduler.billings(&hash).await;
    insta::allow_duplicates! {insta::assert_snapshot!(golden(&heard, &town), @r#"
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
    "address":"<signer>",
    "contract":"<contract>",
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
    "#)};
}

/// The body as it came, one field per line, with what differs from run to run taken out.
fn golden(heard: &Heard, town: &Town) -> String {
    let mut text = heard.text.replace(&town.spell(signer_address()), "<signer>");
    text = text.replace(&town.spell(town.merchant.billing), "<contract>");
    let data = heard.body["data"].get(0).unwrap_or(&heard.body["data"]);
    for field in ["txHash", "signedTransactionData"] {
        let value = data[field].as_str().unwrap_or("absent");
        let is_plain = value == "absent" || town.family() == Family::Tron;
        assert_ne!(value.starts_with("0x"), is_plain, "TRON spells without 0x: {value}");
        text = text.replace(value, &format!("<{field}>"));
    }
    for field in ["gasRequired", "acceptedAt", "settledAt", "block"] {
        let value = data[field].to_string();
        let digits = value.trim_matches('"');
        let redacted = value.replace(digits, &format!("<{field}>"));
        text = text.replace(&format!("\"{field}\":{value}"), &format!("\"{field}\":{redacted}"));
    }
    let signed = &data["transactions"][0]["signedAt"];
    text = text.replace(&format!("\"signedAt\":{signed}"), "\"signedAt\":<signedAt>");
    for field in ["used", "fee"] {
        let value = data["execution"][field].to_string();
        text = text.replace(&format!("\"{field}\":{value}"), &format!("\"{field}\":<{field}>"));
    }
    text.replace(",\"", ",\n\"").replace("},{", "},\n{").replace("[{", "[\n{")
}
