//! What the Signer refuses to sign though chain and customers would let it, and the switch that
//! stops it.

use crate::world::anvil::{Family, Mining};
use crate::world::contracts::Subscriber;
use crate::world::lies::one_unit_more_was_taken;
use crate::world::proxy::{ANYTHING, Act, SEND};
use crate::world::signer::{Heard, Scheduler, Signer};
use crate::world::town::{Founding, PRICE, Town, entry, spell};
use alloy::primitives::Address;
use serde_json::{Value, json};

on_both_families![
    a_batch_over_the_limit_is_refused_before_anybody_is_asked,
    a_token_that_is_not_listed_and_an_amount_above_the_limit_are_refused,
    a_day_has_room_for_its_limit_whatever_crashes_and_however_many_ask_at_once,
    what_fails_on_chain_makes_room_again,
    what_the_contract_takes_beyond_the_claim_is_told_and_counted,
    a_day_of_fees_ends_with_its_limit,
    without_a_policy_the_log_and_check_say_that_nothing_is_limited,
    a_paused_chain_signs_nothing_new_and_follows_what_is_open_also_after_a_restart,
    a_request_that_is_on_its_way_when_the_chain_is_paused_is_not_signed,
    only_who_may_control_does_and_says_clearly_what,
    a_chain_that_the_configuration_pauses_stays_paused,
];

const OPERATOR: &str = "operator-key";
const OPERATORS_SECRET: &str = "the operator's own secret";

/// A town whose Signer has this policy, with `USDT` for the token that everybody pays in.
pub(super) async fn town_with(family: Family, policy: impl FnOnce(String) -> String) -> Town {
    // With a lookup: a limit over what only the caller states is refused at the start.
    let founding = Founding { people: 6, lookup: true, ..Founding::on(family) };
    let town = Town::with(founding).await;
    configured(&town, &policy(town.spell(town.token.address)));
    town
}

/// Adds to the configuration: a policy, and a caller who may control.
fn configured(town: &Town, policy: &str) {
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let more = format!(
        "[callers.operator]\nkey = {OPERATOR:?}\nsecret = {OPERATORS_SECRET:?}\ncontrol = true\n\
         [chains.139.policy]\n{policy}\n"
    );
    std::fs::write(&path, format!("{before}\n{more}")).unwrap();
}

fn operator(signer: &Signer) -> Scheduler {
    let (key, secret) = (OPERATOR.to_owned(), OPERATORS_SECRET.to_owned());
    Scheduler { key, secret, ..signer.scheduler.clone() }
}

async fn control(caller: &Scheduler, what: &str, body: &str) -> Heard {
    let path = format!("/PayTool/control/{what}");
    caller.post(&path, body.as_bytes()).await.expect("the Signer answers")
}

/// What the ledger has of a person.
async fn ledger(signer: &Signer, person: &Subscriber) -> Vec<Value> {
    let path = format!("/PayTool/charges?subscribeId={}", person.subscribe_id);
    let at = crate::world::signer::unix_seconds();
    let told = signer.scheduler.send("GET", &path, b"", at).await.unwrap();
    told.body["data"]["charges"].as_array().unwrap_or_else(|| panic!("{told:?}")).clone()
}

async fn shown(signer: &Signer) -> Heard {
    let at = crate::world::signer::unix_seconds();
    let heard = operator(signer).send("GET", "/PayTool/control", b"", at).await.unwrap();
    assert_eq!((heard.code(), heard.status), (1, 200), "{heard:?}");
    heard
}

fn refused_by(heard: &Heard, rule: &str) {
    assert_eq!((heard.code(), heard.status), (0, 403), "{heard:?}");
    let msg = heard.body["msg"].as_str().unwrap();
    assert!(msg.contains(&format!("rule {rule}:")), "{rule}: {msg}");
    assert_eq!(heard.body["data"], Value::Null);
}

async fn a_batch_over_the_limit_is_refused_before_anybody_is_asked(family: Family) {
    let town = town_with(family, |_| "max_batch = 2".to_owned()).await;
    let signer = town.signer().await;
    town.proxy.take_asked();
    let heard = signer.scheduler.bill(&json!(town.entries(0..3))).await;
    refused_by(&heard, "chains.139.policy.max_batch");
    let asked = || town.proxy.asked_about(ANYTHING, &town.people);
    assert_eq!(asked(), 0);
    let again = json!({"requestId": "again", "list": town.entries(0..3)});
    refused_by(&signer.scheduler.bill(&again).await, "chains.139.policy.max_batch");
    let dry = json!({"dryRun": true, "list": town.entries(0..3)});
    refused_by(&signer.scheduler.bill(&dry).await, "chains.139.policy.max_batch");
    for person in &town.people {
        let told = ledger(&signer, person).await;
        let expected = usize::from(person.subscribe_id <= town.people[2].subscribe_id);
        assert_eq!(told.len(), expected, "{told:?}");
        for line in told {
            assert_eq!(line["state"], "refused");
            assert_eq!((&line["failCode"], &line["refusals"]), (&json!("POLICY"), &json!(2)));
            let rule = "Refused by policy: rule chains.139.policy.max_batch";
            assert_eq!((&line["failReason"], &line["requestId"]), (&json!(rule), &json!("again")));
        }
    }
    assert_eq!(asked(), 0);
    let hash = signer.scheduler.bill(&json!(town.entries(0..2))).await.tx_hash();
    assert!(asked() > 0, "whoever may be charged is asked about");
    town.settled(&signer, &hash).await;
    town.assert_paid(&[1, 1, 0]).await;
}

async fn a_token_that_is_not_listed_and_an_amount_above_the_limit_are_refused(family: Family) {
    let other = spell(family, Address::repeat_byte(0xDD));
    let town = town_with(family, |_| format!("tokens.OTHER = \"{other}\"")).await;
    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
    refused_by(&heard, "chains.139.policy.tokens");
    drop(signer.kill());

    let limit =
        |most: u128| move |usdt| format!("tokens.USDT = \"{usdt}\"\nmax_amount.USDT = \"{most}\"");
    let town = town_with(family, limit(PRICE - 1)).await;
    let signer = town.signer().await;
    for body in [json!(town.entries([0])), json!({"mode": "partial", "list": town.entries([0, 1])})]
    {
        refused_by(&signer.scheduler.bill(&body).await, "chains.139.policy.max_amount.USDT");
    }
    let dry = json!({"dryRun": true, "list": town.entries([0])});
    refused_by(&signer.scheduler.bill(&dry).await, "chains.139.policy.max_amount.USDT");
    assert_eq!(town.transactions().await, 0);
    drop(signer.kill());

    let town = town_with(family, limit(PRICE)).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.settled(&signer, &hash).await;
    town.assert_paid(&[1]).await;
}

async fn a_day_has_room_for_its_limit_whatever_crashes_and_however_many_ask_at_once(
    family: Family,
) {
    let most = PRICE * 4;
    let policy = |usdt| format!("tokens.USDT = \"{usdt}\"\nmax_amount_per_day.USDT = \"{most}\"");
    let town = town_with(family, policy).await;
    let signer = town.signer().await;
    let rule = "chains.139.policy.max_amount_per_day.USDT";
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.settled(&signer, &hash).await;
    drop(signer.kill());

    let signer = town.signer().await;
    let too_many = json!({"dryRun": true, "list": town.entries(1..5)});
    refused_by(&signer.scheduler.bill(&too_many).await, rule);
    let bodies: Vec<Value> = (1..6).map(|place| json!(town.entries([place]))).collect();
    let all = bodies.iter().map(|body| signer.scheduler.bill(body));
    let heard = futures_util::future::join_all(all).await;
    let (sent, refused): (Vec<_>, Vec<_>) = heard.iter().partition(|heard| heard.code() == 1);
    assert_eq!((sent.len(), refused.len()), (3, 2), "{heard:?}");
    for heard in refused {
        refused_by(heard, rule);
    }
    town.quiet(&signer).await;
    let paid: u128 =
        futures_util::future::join_all(town.people.iter().map(|who| town.payments(who)))
            .await
            .iter()
            .sum();
    assert_eq!(paid, 4);
    assert_eq!(
        signer.scheduler.bill(&json!(town.entries([0]))).await.code(),
        1,
        "a repeat is none"
    );
    let spent = shown(&signer).await.text;
    let token = town.spell(town.token.address);
    assert!(spent.contains(&format!("\"{token}\":{most},\"fee\":")), "{spent}");
    drop(signer.terminate().await);
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stdout));
}

async fn what_fails_on_chain_makes_room_again(family: Family) {
    let most = PRICE;
    let policy = |usdt| format!("tokens.USDT = \"{usdt}\"\nmax_amount_per_day.USDT = \"{most}\"");
    let town = town_with(family, policy).await;
    let signer = town.signer().await;
    town.proxy.fault(SEND, Act::Break);
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.token.set_balance(town.people[0].wallet, 5).await;
    town.proxy.heal();
    let billing = town.settled(&signer, &hash).await;
    assert_eq!(billing["subscriptions"][0]["state"], "failed", "{billing}");
    let hash = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.settled(&signer, &hash).await;
    let heard = signer.scheduler.bill(&json!(town.entries([2]))).await;
    refused_by(&heard, "chains.139.policy.max_amount_per_day.USDT");
}

async fn what_the_contract_takes_beyond_the_claim_is_told_and_counted(family: Family) {
    let policy =
        |usdt| format!("tokens.USDT = \"{usdt}\"\nmax_amount_per_day.USDT = \"{}\"", PRICE * 2);
    let town = town_with(family, policy).await;
    let signer = town.signer().await;
    let record = match family {
        Family::Evm => "eth_getTransactionReceipt",
        Family::Tron => "gettransactioninfobyid",
    };
    town.proxy.tells_no_block();
    town.proxy.fault(record, Act::Rewrite(one_unit_more_was_taken));
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let billing = town.settled(&signer, &hash).await;
    let told = &billing["subscriptions"][0];
    assert_eq!((&told["state"], &told["chargedToken"]), (&json!("charged"), &Value::Null));
    assert_eq!(told["chargedAmount"], (PRICE + 1).to_string(), "{billing}");
    signer.wrote("charged something else than was claimed").await;
    let metrics = signer.scheduler.get("/metrics").await.text;
    let counted =
        "signer_charges_total{chain=\"139\",state=\"charged_otherwise\",reason=\"none\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
    let spent = shown(&signer).await.text;
    assert!(spent.contains(&format!(":{},\"fee\":", PRICE + 1)), "{spent}");
    let heard = signer.scheduler.bill(&json!(town.entries([1]))).await;
    refused_by(&heard, "chains.139.policy.max_amount_per_day.USDT");
    drop(signer.terminate().await);
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stdout));
}

async fn a_day_of_fees_ends_with_its_limit(family: Family) {
    let town = town_with(family, |_| "max_fee_per_day = 1".to_owned()).await;
    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
    refused_by(&heard, "chains.139.policy.max_fee_per_day");
    town.assert_paid(&[0]).await;
}

async fn without_a_policy_the_log_and_check_say_that_nothing_is_limited(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    assert!(signer.log().contains("any amount of any token"), "{}", signer.log());
    drop(signer.terminate().await);
    let check = town.installation.run(&["check"]).await;
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(check.status.success() && said.contains("any amount of any token"), "{said}");
}

async fn a_paused_chain_signs_nothing_new_and_follows_what_is_open_also_after_a_restart(
    family: Family,
) {
    let mining = Mining::OnRequest;
    let town = Town::with(Founding { mining, ..Founding::on(family) }).await;
    configured(&town, "");
    let signer = town.signer().await;
    let open = json!(town.entries([0]));
    let hash = signer.scheduler.bill(&open).await.tx_hash();
    let heard = control(&operator(&signer), "pause", r#"{"chainId":"139"}"#).await;
    assert_eq!((heard.code(), heard.status), (1, 200), "{heard:?}");
    assert!(heard.body["data"][0]["paused"].as_str().unwrap().contains("by operator since"));
    let fresh = json!(town.entries([1]));
    refused_by(&signer.scheduler.bill(&fresh).await, "pause");
    assert_eq!(signer.scheduler.bill(&open).await.tx_hash(), hash, "a repeat signs nothing");
    let ready = signer.scheduler.get("/health/ready").await;
    assert_eq!(ready.status, 200, "whoever is to resume it must get through");
    let told = ready.body["chains"][0]["paused"].as_str().unwrap();
    assert!(told.starts_with("since") && !ready.text.contains(OPERATOR), "{ready:?}");
    let metrics = signer.scheduler.get("/metrics").await.text;
    assert!(metrics.contains("signer_paused{chain=\"139\"} 1"), "{metrics}");
    drop(signer.kill());

    let check = town.installation.run(&["check"]).await;
    assert!(String::from_utf8_lossy(&check.stdout).contains("paused"), "{check:?}");
    let signer = town.signer().await;
    assert!(signer.log().contains("nothing new is signed"), "{}", signer.log());
    refused_by(&signer.scheduler.bill(&fresh).await, "pause");
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    let heard = operator(&signer).resume().await;
    assert_eq!(heard.body["data"][0]["paused"], Value::Null, "{heard:?}");
    let hash = signer.scheduler.bill(&fresh).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 1, 0]).await;
}

async fn a_request_that_is_on_its_way_when_the_chain_is_paused_is_not_signed(family: Family) {
    let town = town_with(family, |_| String::new()).await;
    let signer = town.signer().await;
    town.proxy.hold_billings_of(&town.people);
    let body = json!(town.entries(0..2));
    let (heard, ()) = tokio::join!(signer.scheduler.bill(&body), async {
        town.proxy.struck().await;
        assert_eq!(control(&operator(&signer), "pause", "").await.code(), 1);
        town.proxy.heal();
    });
    refused_by(&heard, "pause");
    assert_eq!(town.proxy.asked(SEND), 0);
    assert_eq!(operator(&signer).resume().await.code(), 1);
    let hash = signer.scheduler.bill(&body).await.tx_hash();
    town.settled(&signer, &hash).await;
    town.assert_paid(&[1, 1, 0]).await;
}

async fn only_who_may_control_does_and_says_clearly_what(family: Family) {
    let town = town_with(family, |_| String::new()).await;
    let signer = town.signer().await;
    for what in ["pause", "resume"] {
        let heard = control(&signer.scheduler, what, "").await;
        assert_eq!((heard.code(), heard.status), (0, 403), "{heard:?}");
        assert!(heard.body["msg"].as_str().unwrap().contains("control = true"));
        let stranger =
            Scheduler { secret: "not the operator's secret".into(), ..operator(&signer) };
        assert_eq!(control(&stranger, what, "").await.status, 401);
        let vague =
            [r#"{"chainID":139}"#, r#"{"chainId":null}"#, r#"{"chainId":"139.0"}"#, "[139]", "{"];
        for body in vague {
            let heard = control(&operator(&signer), what, body).await;
            assert_eq!((heard.code(), heard.status), (0, 400), "{body}: {heard:?}");
        }
        let unknown =
            if what == "pause" { r#"{"chainId":"140"}"# } else { r#"{"pauses":{"140":1}}"# };
        let heard = control(&operator(&signer), what, unknown).await;
        assert_eq!((heard.code(), heard.status), (0, 404), "{heard:?}");
    }
    assert_eq!(shown(&signer).await.body["data"][0]["paused"], Value::Null);
    let over = control(&operator(&signer), "resume", r#"{"pauses":{"139":1}}"#).await;
    assert_eq!((over.code(), over.status), (0, 409), "no such pause: {over:?}");
    let hash = signer.scheduler.bill(&json!([entry(&town.people[0], 1)])).await.tx_hash();
    town.settled(&signer, &hash).await;
}

async fn a_chain_that_the_configuration_pauses_stays_paused(family: Family) {
    let chain_keys = "paused = true".to_owned();
    let town = Town::with(Founding { chain_keys, ..Founding::on(family) }).await;
    configured(&town, "");
    let signer = town.signer().await;
    let body = json!(town.entries([0]));
    refused_by(&signer.scheduler.bill(&body).await, "pause");
    let heard = operator(&signer).resume().await;
    assert_eq!((heard.code(), heard.status), (0, 400), "no caller has paused it: {heard:?}");
    let shown = shown(&signer).await;
    let paused = shown.body["data"][0]["paused"].as_str().unwrap();
    assert!(paused.contains("chains.139.paused"), "{paused}");
    refused_by(&signer.scheduler.bill(&body).await, "pause");
    town.assert_paid(&[0]).await;
}
