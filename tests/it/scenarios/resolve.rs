//! A charge that the chain does not tell of is settled by a person, from the command line or over HTTP.

use crate::world::anvil::{Family, Mining};
use crate::world::contracts::{AnyToken, somebody};
use crate::world::signer::{Heard, Scheduler, Signer};
use crate::world::town::{Founding, Town};
use serde_json::{Value, json};

on_both_families![
    what_a_person_found_out_of_an_unproven_charge_is_kept,
    only_who_may_control_resolves_and_hears_what_is_wrong,
];

/// A town whose profile waits for events that its contract never emits.
pub(super) async fn deaf(family: Family) -> Town {
    let mut town = Town::with(Founding { mining: Mining::OnRequest, ..Founding::on(family) }).await;
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let operator = "[callers.operator]\nkey = \"operator-key\"\nsecret = \"the operator's own secret\"\n\
                    control = true\n";
    std::fs::write(&path, format!("{before}\n{operator}")).unwrap();
    let event = "event NobodyEmits(uint64 indexed subscribeId)";
    let installation = town.installation.clone();
    town.installation = installation
        .env("SIGNER__CHAINS__139__BILLING__CHARGED", event)
        .env("SIGNER__CHAINS__139__BILLING__SKIPPED", "event NorThis(uint64 indexed subscribeId)");
    town
}

fn operator(signer: &Signer) -> Scheduler {
    let (key, secret) = ("operator-key".to_owned(), "the operator's own secret".to_owned());
    Scheduler { key, secret, ..signer.scheduler.clone() }
}

async fn resolve(caller: &Scheduler, body: &Value) -> Heard {
    let path = "/PayTool/control/resolve";
    caller.post(path, body.to_string().as_bytes()).await.expect("the Signer answers")
}

async fn told(town: &Town, arguments: &[&str]) -> (bool, String) {
    let output = town.installation.run(arguments).await;
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

/// Has two people billed, of whom the chain charges the first alone; tells the transaction.
pub(super) async fn half_charged(town: &Town, signer: &Signer) -> String {
    let anybody = somebody("anybody");
    town.anvil.fund(&[anybody]).await;
    // Ahead of the billing in the next block: no simulation can know.
    let block = AnyToken::setBlackListedCall { who: town.people[1].wallet, blocked: true };
    town.anvil.submit(anybody, town.token.address, &block).await;
    let hash = signer.scheduler.bill(&json!(town.entries([0, 1]))).await.tx_hash();
    let billing = town.settled(signer, &hash).await;
    for at in [0, 1] {
        assert_eq!(billing["subscriptions"][at]["state"], "unproven", "{billing}");
    }
    let block = AnyToken::setBlackListedCall { who: town.people[1].wallet, blocked: false };
    town.anvil.submit(anybody, town.token.address, &block).await;
    town.anvil.mine(1).await;
    hash
}

async fn what_a_person_found_out_of_an_unproven_charge_is_kept(family: Family) {
    let town = deaf(family).await;
    let signer = town.signer().await;
    let hash = half_charged(&town, &signer).await;
    let [first, second] = [0, 1].map(|at| town.people[at].subscribe_id);
    let why = "the token's transfers show it";
    let body = json!({"billing": hash, "subscribeId": first, "outcome": "charged", "why": why});
    let heard = resolve(&operator(&signer), &body).await;
    assert_eq!((heard.code(), heard.status), (1, 200), "{heard:?}");
    assert_eq!(heard.body["data"]["subscriptions"][0]["resolved"], "charged", "{heard:?}");
    // As the ledger spells it.
    let as_text = json!({"billing": hash, "subscribeId": first.to_string(), "outcome": "charged", "why": why});
    let again = resolve(&operator(&signer), &as_text).await;
    assert_eq!(again.body["msg"], "resolved so before", "{again:?}");

    let second = second.to_string();
    let free = ["resolve", &hash, &second, "free", "--why", why];
    let of_it = ["--server", signer.scheduler.url.as_str()];
    let (done, said) = told(&town, &[&free[..], &of_it].concat()).await;
    assert!(done && said.contains("resolved as free, by the running Signer"), "{said}");
    let otherwise = ["resolve", &hash, &second, "charged", "--why", why];
    let (done, said) = told(&town, &[&otherwise[..], &of_it].concat()).await;
    assert!(!done && said.contains("resolved as free before, and that stands"), "{said}");
    signer.terminate().await;

    let (done, said) = told(&town, &free).await;
    assert!(done && said.contains("free before"), "{said}");
    let (done, said) = told(&town, &["resolve", "1", &second, "charged", "--why", why]).await;
    assert!(!done && said.contains("resolved as free before, and that stands"), "{said}");

    let signer = town.signer().await;
    signer.scheduler.bill(&json!(town.entries([0]))).await;
    let again = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    assert_ne!(again, hash, "it is signed anew");
    town.settled(&signer, &again).await;
    town.assert_paid(&[1, 1, 0]).await;
    signer.terminate().await;
    let (done, said) = told(&town, &["audit"]).await;
    assert!(done, "{said}");
}

async fn only_who_may_control_resolves_and_hears_what_is_wrong(family: Family) {
    let town = deaf(family).await;
    let signer = town.signer().await;
    let who = town.people[0].subscribe_id;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let body = json!({"billing": hash, "subscribeId": who, "outcome": "free", "why": "I say so"});
    let heard = resolve(&signer.scheduler, &body).await;
    assert_eq!((heard.code(), heard.status), (0, 403), "{heard:?}");
    let open = resolve(&operator(&signer), &body).await;
    assert_eq!((open.code(), open.status), (0, 409), "{open:?}");
    assert!(open.body["msg"].as_str().unwrap().contains("still open"), "{open:?}");
    for (field, value, status) in [
        ("billing", json!("nobody"), 404),
        ("subscribeId", json!(999_999), 404),
        ("outcome", json!("maybe"), 400),
        ("subscribeId", json!("one"), 400),
        ("subscribeId", json!(-1), 400),
        ("subscribeId", json!(null), 400),
        ("why", json!(""), 400),
        ("more", json!(1), 400),
    ] {
        let mut body = body.clone();
        body[field] = value;
        let heard = resolve(&operator(&signer), &body).await;
        assert_eq!((heard.code(), heard.status), (0, status), "{field}: {heard:?}");
    }
    town.settled(&signer, &hash).await;
    town.assert_paid(&[1, 0, 0]).await;
}
