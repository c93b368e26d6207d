//! What a request may ask for besides charging, and the shapes that it may have.

use crate::world::anvil::Family;
use crate::world::contracts::Subscriber;
use crate::world::proxy::SEND;
use crate::world::signer::{Heard, Signer, TVM_PATH};
use crate::world::town::{Founding, PRICE, Town, refusals};
use alloy::primitives::U256;
use serde_json::{Value, json};

on_both_families![
    a_dry_run_charges_nobody_and_says_who_would_be,
    a_mixed_dry_run_follows_the_mode,
    a_dry_run_of_what_is_billed_already_would_charge_nobody,
    a_dry_run_tells_everybodys_reason,
    a_billing_is_found_by_its_hash_and_by_the_callers_name_for_it,
    a_repeat_under_another_name_is_found_by_that_name_too,
    other_entries_under_the_same_name_are_refused,
    digits_in_strings_come_back_as_strings,
    entries_without_a_chain_are_charged_on_the_default_chain,
    entries_without_a_chain_are_turned_away_where_none_is_the_default,
    what_the_platform_listed_is_charged_in_whatever_it_comes_wrapped,
];

async fn founded(family: Family) -> (Town, Signer) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    (town, signer)
}

fn ids(town: &Town, places: &[usize]) -> Value {
    places.iter().map(|place| town.people[*place].subscribe_id).collect()
}

async fn rehearse(signer: &Signer, mode: &str, list: &[Value]) -> Heard {
    let heard = signer.scheduler.bill(&json!({"dryRun": true, "mode": mode, "list": list})).await;
    assert_eq!((heard.code(), heard.status), (0, 200), "{heard:?}");
    heard
}

async fn a_dry_run_charges_nobody_and_says_who_would_be(family: Family) {
    let (town, signer) = founded(family).await;
    let entries = town.entries([0, 1]);
    let heard = rehearse(&signer, "all", &entries).await;
    assert_eq!(heard.body["data"]["wouldCharge"], ids(&town, &[0, 1]));
    assert!(heard.body["data"]["gasRequired"].is_string(), "{heard:?}");
    assert_eq!(town.proxy.asked(SEND), 0);
    town.assert_paid(&[0, 0, 0]).await;
    let hash = signer.scheduler.bill(&json!(entries)).await.tx_hash();
    town.settled(&signer, &hash).await;
    town.assert_paid(&[1, 1, 0]).await;
}

async fn a_mixed_dry_run_follows_the_mode(family: Family) {
    let (town, signer) = founded(family).await;
    town.token.set_balance(town.people[1].wallet, 5).await;
    let entries = town.entries([0, 1, 2]);
    let poor = refusals(&[(&town.people[1], "BALANCE_INSUFFICIENT")]);
    for (mode, places) in [("all", &[][..]), ("partial", &[0, 2])] {
        let heard = rehearse(&signer, mode, &entries).await;
        assert_eq!(heard.body["data"]["wouldCharge"], ids(&town, places), "{mode}");
        assert_eq!(heard.failures(), poor);
    }
    assert_eq!(town.proxy.asked(SEND), 0);
}

async fn a_dry_run_of_what_is_billed_already_would_charge_nobody(family: Family) {
    let (town, signer) = founded(family).await;
    let entries = town.entries([0]);
    let hash = signer.scheduler.bill(&json!(entries)).await.tx_hash();
    town.settled(&signer, &hash).await;
    let heard = rehearse(&signer, "all", &entries).await;
    assert_eq!(heard.body["data"]["wouldCharge"], json!([]));
    assert_eq!(heard.failures(), []);
    let id = town.people[0].subscribe_id;
    let earlier = json!([{"subscribeId": id, "txHash": hash, "state": "charged"}]);
    assert_eq!(heard.body["data"]["earlier"], earlier);
}

async fn a_billing_is_found_by_its_hash_and_by_the_callers_name_for_it(family: Family) {
    let (town, signer) = founded(family).await;
    let sha = "c3".repeat(32);
    for (place, name) in ["july/2026?", &sha].into_iter().enumerate() {
        let batch = json!({"requestId": name, "list": town.entries([place])});
        let hash = signer.scheduler.bill(&batch).await.tx_hash();
        town.settled(&signer, &hash).await;
        let bare = hash.trim_start_matches("0x");
        let name = name.replace('/', "%2F").replace('?', "%3F");
        for id in [&hash, bare, &bare.to_uppercase(), &name] {
            let heard = signer.scheduler.billings(id).await;
            assert_eq!(heard.code(), 1, "{id} {heard:?}");
            assert_eq!(heard.body["data"][0]["txHash"], hash, "the newest of {id}");
        }
    }
    let unknown = signer.scheduler.billings("august").await;
    assert_eq!((unknown.code(), unknown.status), (0, 404));
}

async fn a_dry_run_tells_everybodys_reason(family: Family) {
    let (town, signer) = founded(family).await;
    let [first, second, third] = &town.people[..] else { panic!() };
    town.token.set_balance(second.wallet, 5).await;
    town.token.approve(third.wallet, town.contract, U256::ZERO).await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let mut entries = town.entries([0, 1, 2]);
    entries[0]["amount"] = json!(1);
    let reasons =
        [(first, "CONFLICT"), (second, "BALANCE_INSUFFICIENT"), (third, "ALLOWANCE_INSUFFICIENT")];
    for mode in ["all", "partial"] {
        assert_eq!(
            rehearse(&signer, mode, &entries).await.failures(),
            refusals(&reasons),
            "{mode}"
        );
    }
    town.settled(&signer, &hash).await;
    make_rich(&town, second).await;
    town.assert_paid(&[1, 0, 0]).await;
}

/// As rich as everybody was in the beginning.
async fn make_rich(town: &Town, who: &Subscriber) {
    town.token.set_balance(who.wallet, PRICE * 100).await;
}

async fn named(signer: &Signer, name: &str, mode: &str, list: &[Value]) -> Heard {
    let body = json!({"requestId": name, "mode": mode, "list": list});
    signer.scheduler.bill(&body).await
}

/// The transactions that a name leads to, newest first.
async fn found(signer: &Signer, name: &str) -> Vec<String> {
    let heard = signer.scheduler.billings(name).await;
    let hash = |billing: &Value| billing["txHash"].as_str().unwrap().to_owned();
    heard.body["data"].as_array().into_iter().flatten().map(hash).collect()
}

async fn a_repeat_under_another_name_is_found_by_that_name_too(family: Family) {
    let (town, signer) = founded(family).await;
    let first = named(&signer, "a", "all", &town.entries([0])).await.tx_hash();
    let second = named(&signer, "b", "all", &town.entries([0, 1])).await.tx_hash();
    town.quiet(&signer).await;
    let third = named(&signer, "c", "partial", &town.entries([1, 0])).await;
    assert_eq!(third.tx_hash(), second);
    let mut mixed = town.entries([0, 2]);
    mixed[1]["userWallet"] = json!("nobody");
    assert_eq!(named(&signer, "d", "all", &mixed).await.code(), 2, "one of them is earlier");
    signer.terminate().await;
    let signer = town.signer().await;
    assert_eq!(found(&signer, "a").await, [&*first]);
    assert_eq!(found(&signer, "b").await, [&*second, &first]);
    assert_eq!(found(&signer, "c").await, [&*second, &first]);
    assert_eq!(found(&signer, "d").await, [&*first]);
    town.assert_paid(&[1, 1, 0]).await;
}

async fn other_entries_under_the_same_name_are_refused(family: Family) {
    let (town, signer) = founded(family).await;
    let hash = named(&signer, "a", "all", &town.entries([0])).await.tx_hash();
    town.settled(&signer, &hash).await;
    let mut dearer = town.entries([0]);
    dearer[0]["amount"] = json!(1);
    for other in [town.entries([1]), town.entries([0, 1]), dearer] {
        for mode in ["all", "partial"] {
            let heard = named(&signer, "a", mode, &other).await;
            assert_eq!((heard.status, heard.code()), (409, 0), "{heard:?}");
            let why = heard.body["msg"].as_str().unwrap();
            assert!(why.contains("requestId stands for other entries"), "{heard:?}");
        }
    }
    // However it is written, and with whatever nobody reads.
    let mut same = town.entries([0]);
    let bare = town.people[0].user_hash.to_string().replacen("0x", "", 1).to_uppercase();
    (same[0]["userHash"], same[0]["note"]) = (json!(bare), json!("another"));
    same[0]["subscribeId"] = json!(town.people[0].subscribe_id.to_string());
    assert_eq!(named(&signer, "a", "partial", &same).await.tx_hash(), hash);
    // What came to nothing stands for nothing.
    let mut poor = town.entries([1]);
    poor[0]["amount"] = json!(1);
    assert_eq!(named(&signer, "b", "all", &poor).await.code(), 2);
    let second = named(&signer, "b", "all", &town.entries([1])).await.tx_hash();
    town.settled(&signer, &second).await;
    town.assert_paid(&[1, 1, 0]).await;
}

async fn digits_in_strings_come_back_as_strings(family: Family) {
    let (town, signer) = founded(family).await;
    let [first, second, _] = &town.people[..] else { panic!() };
    town.token.set_balance(second.wallet, 5).await;
    let mut entries = town.entries([0, 1]);
    for (entry, who) in entries.iter_mut().zip([first, second]) {
        entry["subscribeId"] = json!(who.subscribe_id.to_string());
        (entry["planId"], entry["amount"]) = (json!("07"), json!(PRICE.to_string()));
    }
    let [paid, poor] = [first, second].map(|who| who.subscribe_id.to_string());
    let heard = named(&signer, "a", "partial", &entries).await;
    let hash = heard.tx_hash();
    assert_eq!(heard.body["data"]["subscriptionIds"], json!([paid]));
    for mode in ["all", "partial"] {
        let heard = named(&signer, "a", mode, &entries).await;
        let failure = &heard.body["data"][0];
        assert_eq!((&failure["subscribeId"], &failure["planId"]), (&json!(poor), &json!("07")));
        assert_eq!(failure["amount"], json!(PRICE.to_string()));
        assert_eq!(heard.body["earlier"][0]["subscribeId"], json!(paid));
    }
    let heard = rehearse(&signer, "partial", &entries[..1]).await;
    assert_eq!(heard.body["data"]["earlier"][0]["subscribeId"], json!(paid));
    let billing = town.settled(&signer, &hash).await;
    assert_eq!(billing["subscriptions"][0]["subscribeIdText"], json!(paid));
    assert_eq!(billing["subscriptions"][0]["amountText"], json!(PRICE.to_string()));
    make_rich(&town, second).await;
    town.assert_paid(&[1, 0, 0]).await;
}

fn without_chain(mut entries: Vec<Value>) -> Value {
    for entry in &mut entries {
        entry.as_object_mut().unwrap().remove("chainId");
    }
    json!(entries)
}

async fn entries_without_a_chain_are_charged_on_the_default_chain(family: Family) {
    let chain_keys = "default = true".to_owned();
    let town = Town::with(Founding { chain_keys, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&without_chain(town.entries([0]))).await;
    town.settled(&signer, &heard.tx_hash()).await;
    town.assert_paid(&[1, 0, 0]).await;
}

async fn entries_without_a_chain_are_turned_away_where_none_is_the_default(family: Family) {
    let (town, signer) = founded(family).await;
    let heard = signer.scheduler.bill(&without_chain(town.entries([0]))).await;
    assert_eq!((heard.code(), heard.status), (0, 400));
    assert_eq!(heard.body["msg"], "chainId is missing, and no default chain is configured");
}

async fn what_the_platform_listed_is_charged_in_whatever_it_comes_wrapped(family: Family) {
    let town = Town::with(Founding { people: 4, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    let page = |list: Vec<Value>| json!({"count": 1, "page": 1, "size": 10, "list": list});
    let bodies = [
        json!(town.entries([0])),
        page(town.entries([1])),
        json!({"code": 200, "msg": "success", "data": page(town.entries([2]))}),
        json!({"requestId": "r", "mode": "all", "dryRun": false, "list": town.entries([3])}),
    ];
    for body in bodies {
        let hash = signer.scheduler.bill(&body).await.tx_hash();
        town.settled(&signer, &hash).await;
    }
    town.assert_paid(&[1, 1, 1, 1]).await;
}

#[tokio::test]
async fn nobody_is_charged_on_tron_where_only_ethereum_is_configured() {
    let (town, signer) = founded(Family::Evm).await;
    let body = json!(town.entries([0])).to_string();
    let heard = signer.scheduler.post(TVM_PATH, body.as_bytes()).await.unwrap();
    assert_eq!((heard.code(), heard.status), (0, 404));
    assert_eq!(heard.body["msg"], "no TRON chain is configured");
}
