//! Two Signers with one key, each with a journal of its own, as after a failover that did not end the first: as soon
//! as one can see what the other has signed, it signs nothing more.

use super::accounts::{of_two, only_these_paid, parts};
use super::strangers::{lane, opens};
use crate::world::anvil::Family;
use crate::world::patience::{eventually, unix_ms};
use crate::world::proxy::Act;
use crate::world::signer::{Heard, Installation, Signer};
use crate::world::town::{Town, put_key};
use serde_json::json;

on_both_families![whoever_has_seen_the_other_charges_nobody_whom_that_one_has_charged];

/// Another installation with the same configuration and key, and a journal of its own.
pub(super) fn another(town: &Town) -> Installation {
    let config = std::fs::read_to_string(town.installation.path().join("signer.toml")).unwrap();
    let (_, chain) = config.split_once("[chains.139]\n").unwrap();
    let other = Installation::new(&format!("[chains.139]\n{chain}"));
    put_key(&other);
    other
}

async fn post(town: &Town, signer: &Signer, place: usize) -> Heard {
    signer.scheduler.bill(&json!(town.entries([place]))).await
}

/// Asks for everybody; tells how many transactions were signed for that.
async fn asked_for_all(town: &Town, signer: &Signer) -> usize {
    let mut signed = 0;
    for place in 0..3 {
        let heard = post(town, signer, place).await;
        signed += usize::from(heard.code() == 1 && heard.body["data"]["repeated"] != true);
    }
    signed
}

/// Nothing that was signed until now can land any more.
async fn outlive(town: &Town) {
    if town.family() == Family::Tron {
        town.tron().solidify_at(town.tron().now_ms().max(unix_ms()) + 150_000);
    }
    town.anvil.mine(1).await;
}

async fn whoever_has_seen_the_other_charges_nobody_whom_that_one_has_charged(family: Family) {
    let town = town(family).await;
    let elsewhere = another(&town);
    let (first, second) = (elsewhere.start().await, town.signer().await);
    for signer in [&first, &second] {
        eventually("both are open", async || lane(signer).await == "ok").await;
    }
    if family == Family::Tron {
        // What is signed from now on cannot have been signed before either began.
        town.tron().solidify_at(unix_ms() + 9_000);
        town.noticed().await;
    }
    let one = post(&town, &first, 0).await.tx_hash();
    town.anvil.mine(1).await;
    eventually("the other has noticed", async || lane(&second).await != "ok").await;
    assert_eq!(asked_for_all(&town, &second).await, 0);
    let two = post(&town, &first, 1).await.tx_hash();
    town.anvil.mine(1).await;
    let says =
        |reason: &str| reason.contains("used elsewhere") || reason.contains("in use elsewhere now");
    eventually("it says who signs", async || says(&lane(&second).await)).await;
    for _ in 0..3 {
        town.noticed().await;
        let reason = lane(&second).await;
        assert!(says(&reason), "{reason}");
        assert_eq!(asked_for_all(&town, &second).await, 0);
    }
    town.quiet(&first).await;
    assert_eq!(lane(&first).await, "ok", "it has seen nobody");
    first.terminate().await;
    outlive(&town).await;
    opens(&town, &second).await;
    for (place, hash) in [one, two].into_iter().enumerate() {
        assert_eq!(post(&town, &second, place).await.tx_hash(), hash, "{place}");
    }
    post(&town, &second, 2).await.tx_hash();
    eventually("the last is charged", async || {
        town.anvil.mine(1).await;
        second.scheduler.get("/health/ready").await.body["chains"][0]["undecided"] == 0
    })
    .await;
    assert_eq!(town.transactions().await, 3);
    town.assert_paid(&[1, 1, 1]).await;
}

/// What the other one charged is read late then, and may be irrevocable already.
#[tokio::test]
async fn on_tron_the_other_is_noticed_while_own_transactions_wait() {
    let town = town(Family::Tron).await;
    let elsewhere = another(&town);
    let (first, second) = (elsewhere.start().await, town.signer().await);
    for signer in [&first, &second] {
        eventually("both are open", async || lane(signer).await == "ok").await;
    }
    town.tron().solidify_at(unix_ms() + 9_000);
    town.noticed().await;
    town.proxy.fault("broadcasthex", Act::Refuse("not now"));
    let own = post(&town, &second, 0).await.tx_hash();
    town.proxy.heal();
    post(&town, &first, 1).await.tx_hash();
    town.anvil.mine(1).await;
    town.tron().solidify_at(town.tron().now_ms() + 3_000);
    assert_eq!(second.billing(&own).await["state"], "open");
    eventually("the other is noticed", async || lane(&second).await != "ok").await;
    let refused = post(&town, &second, 1).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    assert_eq!(second.billing(&own).await["state"], "open");
    assert_eq!(town.payments(&town.people[1]).await, 1, "by the other, whose charge is not final");
}

/// The other bills on, and what waits in the pool lands in a block behind all that had to be read for its first bill.
#[tokio::test]
async fn on_tron_the_other_is_learnt_though_it_lands_when_all_before_it_is_read() {
    let town = town(Family::Tron).await;
    let elsewhere = another(&town);
    let (first, second) = (elsewhere.start().await, town.signer().await);
    for signer in [&first, &second] {
        eventually("both are open", async || lane(signer).await == "ok").await;
    }
    town.tron().solidify_at(unix_ms() + 9_000);
    town.noticed().await;
    let one = post(&town, &first, 0).await.tx_hash();
    town.anvil.mine(1).await;
    eventually("the other is noticed", async || lane(&second).await != "ok").await;
    let began = town.tron().now_ms();
    town.tron().solidify_at(began + 35_000);
    town.noticed().await;
    let two = post(&town, &first, 1).await.tx_hash();
    first.terminate().await;
    town.noticed().await;
    town.tron().solidify_without_the_pool(began + 80_000);
    town.noticed().await;
    assert_ne!(lane(&second).await, "ok", "something waits in the pool");
    town.anvil.mine(1).await;
    town.noticed().await;
    town.tron().solidify_at(town.tron().now_ms());
    town.noticed().await;
    town.noticed().await;
    outlive(&town).await;
    opens(&town, &second).await;
    for (place, hash) in [one, two].into_iter().enumerate() {
        assert_eq!(post(&town, &second, place).await.tx_hash(), hash, "{place}");
    }
    town.assert_paid(&[1, 1, 0]).await;
}

/// On TRON with transactions that live for a minute, and time to outlive them.
async fn town(family: Family) -> Town {
    use crate::world::anvil::Mining;
    use crate::world::town::Founding;
    let chain_keys = match family {
        Family::Evm => String::new(),
        Family::Tron => {
            "expiry = \"1m\"\nclock_tolerance = \"1d\"\nrebroadcast_interval = \"10m\"".to_owned()
        }
    };
    Town::with(Founding { mining: Mining::OnRequest, chain_keys, ..Founding::on(family) }).await
}

/// The other has the key of one account alone, and charges somebody who falls to the other account here.
#[tokio::test]
async fn where_one_account_is_used_elsewhere_no_other_signs_before_it_is_known_for_what() {
    let town = of_two(Family::Evm).await;
    let elsewhere = another(&town);
    elsewhere.edit("keys = [\"file:evm.key\", \"file:second.key\"]", "key = \"file:evm.key\"");
    let (first, second) = (elsewhere.start().await, town.signer().await);
    eventually("both are open", async || lane(&first).await == "ok" && lane(&second).await == "ok")
        .await;
    let [_, of_the_second] = parts(&town, &second).await;
    let theirs = post(&town, &first, of_the_second[0]).await.tx_hash();
    town.anvil.mine(1).await;
    eventually("both accounts have noticed", async || {
        let told = second.scheduler.get("/health/ready").await.body;
        let mut accounts = told["chains"][0]["accounts"].as_array().unwrap().iter();
        accounts.all(|account| account["status"] != "ok")
    })
    .await;
    for person in &of_the_second {
        let heard = post(&town, &second, *person).await;
        assert_eq!((heard.code(), heard.status), (0, 503), "{heard:?}");
    }
    town.quiet(&first).await;
    opens(&town, &second).await;
    assert_eq!(post(&town, &second, of_the_second[0]).await.tx_hash(), theirs);
    post(&town, &second, of_the_second[1]).await.tx_hash();
    town.quiet(&second).await;
    only_these_paid(&town, &of_the_second[..2]).await;
}
