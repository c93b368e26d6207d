//! What happened is told in order, as soon as it happens, to whoever may hear it.

use crate::world::anvil::{Family, Mining};
use crate::world::signer::{Heard, Scheduler, Signer, unix_seconds};
use crate::world::town::{Founding, Town};
use serde_json::{Value, json};

on_both_families![
    a_billing_is_followed_from_its_acceptance_to_its_end_over_a_restart,
    a_pause_and_a_lane_that_opens_are_told_of,
];

async fn events(caller: &Scheduler, query: &str) -> Heard {
    let path = format!("/PayTool/events?{query}");
    caller.send("GET", &path, b"", unix_seconds()).await.unwrap()
}

/// Everything behind `after`, once `wanted` is among it.
async fn until(signer: &Signer, mut after: String, wanted: &str) -> (Vec<Value>, String) {
    let mut all = Vec::new();
    loop {
        let heard = events(&signer.scheduler, &format!("wait=25{after}")).await;
        let page = &heard.body["data"];
        let told = page["events"].as_array().unwrap_or_else(|| panic!("{heard:?}")).clone();
        assert!(!told.is_empty(), "{wanted} never came: {all:?}");
        all.extend(told);
        after = format!("&after={}", page["next"].as_str().unwrap());
        if all.iter().any(|event| event["event"] == wanted) {
            return (all, after);
        }
    }
}

fn kinds(events: &[Value]) -> Vec<&str> {
    let of_billings = events.iter().filter(|event| !event["billing"].is_null());
    of_billings.map(|event| event["event"].as_str().unwrap()).collect()
}

async fn a_billing_is_followed_from_its_acceptance_to_its_end_over_a_restart(family: Family) {
    let town = Town::with(Founding { mining: Mining::OnRequest, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    let caller = signer.scheduler.clone();
    let body = json!({"requestId": "followed", "list": town.entries([0, 1])});
    let (heard, billed) = tokio::join!(events(&caller, "wait=25"), signer.scheduler.bill(&body));
    let hash = billed.tx_hash();
    let told = &heard.body["data"]["events"][0];
    assert_eq!(
        (&told["event"], &told["requestId"], &told["txHash"], &told["chainId"]),
        (&json!("accepted"), &json!("followed"), &json!(hash), &json!(139)),
        "{heard:?}"
    );
    let subscriptions: Vec<_> = told["charges"].as_array().unwrap().iter().collect();
    assert_eq!(subscriptions.len(), 2);
    assert!(subscriptions.iter().all(|one| one["state"] == "open"), "{told}");
    let after = format!("&after={}", heard.body["data"]["next"].as_str().unwrap());
    signer.kill();
    let signer = town.signer().await;
    town.settled(&signer, &hash).await;
    let (rest, _) = until(&signer, after, "charged").await;
    assert_eq!(kinds(&rest), ["charged"], "nothing twice, nothing left out: {rest:?}");
    let end = rest.iter().find(|event| event["event"] == "charged").unwrap();
    assert!(end["charges"].as_array().unwrap().iter().all(|one| one["state"] == "charged"));
    assert!(end["block"].is_u64() && end["blockTime"].is_u64(), "{end}");
    let (all, _) = until(&signer, String::new(), "charged").await;
    assert_eq!(kinds(&all), ["accepted", "charged"]);
    let rows: Vec<u64> = all.iter().map(|event| event["row"].as_u64().unwrap()).collect();
    assert!(rows.is_sorted());
}

async fn a_pause_and_a_lane_that_opens_are_told_of(family: Family) {
    let town = Town::on(family).await;
    let path = town.installation.path().join("signer.toml");
    let mut text = std::fs::read_to_string(&path).unwrap();
    for (label, rights) in
        [("operator", "control = true"), ("elsewhere", "chains = [7]"), ("deaf", "read = false")]
    {
        let section = format!(
            "\n[callers.{label}]\nkey = \"shared\"\nsecret = \"a secret of {label}, of the tests\"\n{rights}\n"
        );
        text.push_str(&section);
    }
    std::fs::write(&path, text).unwrap();
    let signer = town.signer().await;
    let caller = |label: &str| Scheduler {
        key: "shared".to_owned(),
        secret: format!("a secret of {label}, of the tests"),
        ..signer.scheduler.clone()
    };
    let paused = caller("operator").post("/PayTool/control/pause", b"").await.unwrap();
    assert_eq!(paused.code(), 1, "{paused:?}");
    let (told, after) = until(&signer, String::new(), "paused").await;
    let pause = told.iter().find(|event| event["event"] == "paused").unwrap();
    assert_eq!((&pause["by"], &pause["chainId"]), (&json!("operator"), &json!(139)));
    let (told, _) = until(&signer, after, "laneOpened").await;
    let opened = told.iter().find(|event| event["event"] == "laneOpened").unwrap();
    assert!(opened["address"].is_string(), "{opened}");
    let elsewhere = events(&caller("elsewhere"), "").await;
    assert_eq!(elsewhere.body["data"]["events"], json!([]), "{elsewhere:?}");
    assert_eq!(events(&caller("deaf"), "").await.status, 403);
}
