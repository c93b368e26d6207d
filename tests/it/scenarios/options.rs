//! What a request may ask for besides charging, and the shapes that it may have.

use crate::world::anvil::Family;
use crate::world::proxy::SEND;
use crate::world::signer::{Heard, Signer, TVM_PATH};
use crate::world::town::{Founding, Town, refusals};
use serde_json::{Value, json};

on_both_families![
    a_dry_run_charges_nobody_and_says_who_would_be,
    a_mixed_dry_run_follows_the_mode,
    a_dry_run_of_what_is_billed_already_would_charge_nobody,
    a_billing_is_found_by_its_hash_and_by_the_callers_name_for_it,
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
    assert_eq!(heard.failures(), refusals(&[(&town.people[0], "ALREADY_CHARGED")]));
}

async fn a_billing_is_found_by_its_hash_and_by_the_callers_name_for_it(family: Family) {
    let (town, signer) = founded(family).await;
    let sha = "c3".repeat(32);
    for (place, name) in ["july/2026?", &sha, &sha].into_iter().enumerate() {
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
    let both = signer.scheduler.billings(&sha).await;
    assert_eq!(both.body["data"].as_array().unwrap().len(), 2);
    let unknown = signer.scheduler.billings("august").await;
    assert_eq!((unknown.code(), unknown.status), (0, 404));
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
    assert_eq!((heard.code(), heard.status), (0, 503));
    assert_eq!(heard.body["msg"], "no TRON chain configured");
}
