//! The same subscription asked for again. The claim is the idempotency key, not the request: every
//! row of the table of repeats, in both modes, while the first batch is open and after it.

use crate::world::anvil::{Family, Mining};
use crate::world::contracts::{AnyToken, Subscriber, somebody};
use crate::world::proxy::{Act, SIMULATE};
use crate::world::signer::{Heard, Signer};
use crate::world::town::{Founding, PRICE, Town, entry, failure, refusals, signer_address};
use alloy::primitives::U256;
use serde_json::{Value, json};
use std::time::Duration;

on_both_families![
    the_same_entries_or_some_of_them_hear_the_hash_of_their_batch,
    what_is_free_of_an_overlapping_batch_is_charged_and_the_rest_hears_of_its_own,
    entries_of_two_batches_hear_of_both,
    after_a_lost_answer_nobody_who_pays_is_called_a_failure,
    a_charge_that_is_stated_otherwise_for_a_claimed_period_is_a_conflict,
    an_item_that_failed_inside_a_batch_is_free_while_the_others_stay_claimed,
    a_request_waits_for_the_one_that_builds_the_same_batch,
    a_refusal_is_no_verdict_on_the_next_request,
];

const MODES: [&str; 2] = ["all", "partial"];

/// Four subscribers on a chain that makes a block only when told to.
struct Scene {
    town: Town,
    signer: Signer,
}

impl Scene {
    async fn set(family: Family) -> Self {
        Self::of(Founding::on(family)).await
    }

    async fn of(founding: Founding) -> Self {
        let town = Town::with(Founding { mining: Mining::OnRequest, people: 4, ..founding }).await;
        let signer = town.signer().await;
        Self { town, signer }
    }

    async fn bill(&self, mode: &str, places: &[usize]) -> Heard {
        self.post(mode, self.town.entries(places.iter().copied())).await
    }

    async fn post(&self, mode: &str, list: Vec<Value>) -> Heard {
        self.signer.scheduler.bill(&json!({"mode": mode, "list": list})).await
    }

    /// How often the chain was asked about anybody.
    fn asked(&self) -> usize {
        self.town.proxy.asked_about(SIMULATE, &self.town.people)
    }

    async fn settled(&self, hash: &str) -> Value {
        self.town.settled(&self.signer, hash).await
    }

    /// Asserts that an answer names just these as earlier ones, with their transactions and states.
    fn assert_earlier(&self, heard: &Heard, rows: &[(usize, &str, &str)]) {
        let beside = if heard.code() == 2 { &heard.body } else { &heard.body["data"] };
        let row = |(who, hash, state): &(usize, &str, &str)| {
            let id = self.town.people[*who].subscribe_id;
            json!({"subscribeId": id, "txHash": hash, "state": state})
        };
        let rows: Vec<Value> = rows.iter().map(row).collect();
        assert_eq!(beside["earlier"], json!(rows), "{heard:?}");
    }

    /// Asserts that a transaction is named for just these.
    fn assert_named(&self, heard: &Heard, hash: &str, places: &[usize]) {
        assert_eq!(heard.tx_hash(), hash);
        let ids: Vec<u64> = places.iter().map(|who| self.town.people[*who].subscribe_id).collect();
        assert_eq!(heard.body["data"]["subscriptionIds"], json!(ids), "{heard:?}");
    }

    /// Asserts that these are refused in the name of these transactions.
    fn assert_refused(&self, heard: &Heard, rows: &[(usize, &str, Option<&str>)]) {
        let people = &self.town.people;
        let codes: Vec<_> = rows.iter().map(|(who, code, _)| (&people[*who], *code)).collect();
        assert_eq!(heard.failures(), refusals(&codes));
        for (who, _, hash) in rows {
            assert_eq!(failure(heard, &people[*who])["txHash"], json!(hash), "{heard:?}");
        }
    }
}

async fn the_same_entries_or_some_of_them_hear_the_hash_of_their_batch(family: Family) {
    let scene = Scene::set(family).await;
    let hash = scene.bill("all", &[0, 1, 2]).await.tx_hash();
    let sent = scene.town.sent().await;
    for (end, told) in [
        (false, "Already sent: the transaction is open"),
        (true, "Already sent: charged in block "),
    ] {
        if end {
            scene.settled(&hash).await;
        }
        for mode in MODES {
            for places in [&[0, 1, 2][..], &[2, 0, 1], &[1], &[2, 1]] {
                let heard = scene.bill(mode, places).await;
                scene.assert_named(&heard, &hash, places);
                assert_eq!(heard.body["data"]["repeated"], true, "{heard:?}");
                assert_eq!(heard.body["data"]["address"], scene.town.spell(signer_address()));
                assert!(heard.body["msg"].as_str().unwrap().starts_with(told), "{heard:?}");
            }
        }
    }
    assert_eq!(scene.town.sent().await[1], sent[1], "nothing else was signed");
    scene.town.assert_paid(&[1, 1, 1, 0]).await;
}

async fn what_is_free_of_an_overlapping_batch_is_charged_and_the_rest_hears_of_its_own(
    family: Family,
) {
    let scene = Scene::set(family).await;
    let first = scene.bill("all", &[0]).await.tx_hash();
    let heard = scene.bill("all", &[0, 1]).await;
    let second = heard.tx_hash();
    assert_ne!(second, first);
    scene.assert_named(&heard, &second, &[1]);
    scene.assert_earlier(&heard, &[(0, &first, "open")]);
    assert!(heard.body["data"]["repeated"].is_null(), "{heard:?}");
    scene.settled(&second).await;
    let heard = scene.bill("partial", &[1, 2, 0]).await;
    let third = heard.tx_hash();
    scene.assert_named(&heard, &third, &[2]);
    scene.assert_earlier(&heard, &[(1, &second, "charged"), (0, &first, "charged")]);
    scene.settled(&third).await;
    scene.town.assert_paid(&[1, 1, 1, 0]).await;
}

async fn entries_of_two_batches_hear_of_both(family: Family) {
    let scene = Scene::set(family).await;
    let hashes = [scene.bill("all", &[0]).await.tx_hash(), scene.bill("all", &[1]).await.tx_hash()];
    for state in ["open", "charged"] {
        for mode in MODES {
            let heard = scene.bill(mode, &[0, 1]).await;
            scene.assert_named(&heard, &hashes[1], &[1]);
            scene.assert_earlier(&heard, &[(0, &hashes[0], state)]);
            assert_eq!(heard.body["data"]["repeated"], true, "{heard:?}");
        }
        scene.settled(&hashes[1]).await;
        scene.settled(&hashes[0]).await;
    }
    scene.town.assert_paid(&[1, 1, 0, 0]).await;
}

async fn after_a_lost_answer_nobody_who_pays_is_called_a_failure(family: Family) {
    let scene = Scene::set(family).await;
    let poor = &scene.town.people[1];
    scene.town.token.set_balance(poor.wallet, 5).await;
    let heard = scene.bill("partial", &[0, 1, 2]).await;
    let hash = heard.tx_hash();
    scene.assert_named(&heard, &hash, &[0, 2]);
    scene.assert_refused(&heard, &[(1, "BALANCE_INSUFFICIENT", None)]);
    for state in ["open", "charged"] {
        for mode in MODES {
            let heard = scene.bill(mode, &[0, 1, 2]).await;
            assert_eq!(heard.code(), 2, "{heard:?}");
            scene.assert_refused(&heard, &[(1, "BALANCE_INSUFFICIENT", None)]);
            scene.assert_earlier(&heard, &[(0, &hash, state), (2, &hash, state)]);
        }
        scene.settled(&hash).await;
    }
    scene.town.token.set_balance(poor.wallet, PRICE * 100).await;
    let heard = scene.bill("all", &[0, 1, 2]).await;
    scene.assert_named(&heard, &heard.tx_hash(), &[1]);
    scene.settled(&heard.tx_hash()).await;
    scene.town.assert_paid(&[1, 1, 1, 0]).await;
}

async fn a_charge_that_is_stated_otherwise_for_a_claimed_period_is_a_conflict(family: Family) {
    let scene = Scene::set(family).await;
    let [first, second] = &scene.town.people[..2] else { panic!() };
    let hash = scene.bill("all", &[0]).await.tx_hash();
    let differs = [
        ("amount", json!(1)),
        ("planId", json!(8)),
        ("userHash", json!(second.user_hash)),
        ("subscribeId", json!(second.subscribe_id)),
        ("planVersion", json!(9)),
        ("userWallet", json!(scene.town.spell(second.wallet))),
        ("tokenAddress", json!(scene.town.spell(second.wallet))),
    ];
    for end in [false, true] {
        if end {
            scene.settled(&hash).await;
        }
        for (field, value) in &differs {
            let mut entry = entry(first, 1);
            entry[field] = value.clone();
            for mode in MODES {
                let heard = scene.post(mode, vec![entry.clone()]).await;
                assert_eq!(heard.body["data"][0]["failCode"], "CONFLICT", "{field} {heard:?}");
                assert_eq!(heard.body["data"][0]["txHash"], hash);
            }
        }
    }
    scene.town.assert_paid(&[1, 0, 0, 0]).await;
}

#[tokio::test]
async fn a_batch_that_reverted_is_free_to_be_billed_again() {
    let scene = Scene::set(Family::Evm).await;
    for mode in MODES {
        let hash = scene.bill(mode, &[0, 1]).await.tx_hash();
        // The block comes an hour late, after the deadline in the calldata.
        scene.town.anvil.pass(3600).await;
        let billing = scene.settled(&hash).await;
        assert_eq!(billing["state"], "reverted", "{billing}");
        assert_eq!(billing["subscriptions"][1]["state"], "reverted", "{billing}");
    }
    let hash = scene.bill("all", &[0, 1]).await.tx_hash();
    assert_eq!(scene.settled(&hash).await["state"], "charged");
    scene.town.assert_paid(&[1, 1, 0, 0]).await;
}

async fn an_item_that_failed_inside_a_batch_is_free_while_the_others_stay_claimed(family: Family) {
    let scene = Scene::set(family).await;
    let Town { anvil, token, people, .. } = &scene.town;
    let anybody = somebody("anybody");
    anvil.fund(&[anybody]).await;
    // Ahead of the billing in the next block: no simulation can know.
    let block = AnyToken::setBlackListedCall { who: people[1].wallet, blocked: true };
    anvil.submit(anybody, token.address, &block).await;
    let hash = scene.bill("all", &[0, 1]).await.tx_hash();
    let billing = scene.settled(&hash).await;
    assert_eq!(billing["state"], "charged");
    assert_eq!(billing["subscriptions"][0]["state"], "charged");
    assert_eq!(billing["subscriptions"][1]["failCode"], "HOLDER_BLOCKED");
    assert_eq!(scene.bill("all", &[0]).await.tx_hash(), hash, "still claimed");
    let both = scene.bill("all", &[0, 1]).await;
    scene.assert_refused(&both, &[(1, "HOLDER_BLOCKED", None)]);
    scene.assert_earlier(&both, &[(0, &hash, "charged")]);
    let heard = scene.bill("all", &[1]).await;
    scene.assert_refused(&heard, &[(1, "HOLDER_BLOCKED", None)]);

    let unblock = AnyToken::setBlackListedCall { who: people[1].wallet, blocked: false };
    anvil.submit(anybody, token.address, &unblock).await;
    anvil.mine(1).await;
    let heard = scene.bill("partial", &[0, 1]).await;
    scene.assert_earlier(&heard, &[(0, &hash, "charged")]);
    scene.settled(&heard.tx_hash()).await;
    scene.town.assert_paid(&[1, 1, 0, 0]).await;
}

async fn a_request_waits_for_the_one_that_builds_the_same_batch(family: Family) {
    let scene = Scene::set(family).await;
    let late = Act::Delay(Duration::from_millis(500));
    scene.town.proxy.take_asked();
    scene.town.proxy.fault_billings_of(&scene.town.people, late);
    let (first, second) = tokio::join!(scene.bill("all", &[0, 1]), async {
        scene.town.proxy.struck().await;
        scene.bill("all", &[1]).await
    });
    assert_eq!(first.tx_hash(), second.tx_hash());
    // One look, in two questions on TRON.
    let look = if family == Family::Evm { 1 } else { 2 };
    assert_eq!(scene.asked(), look, "the second asked the chain nothing");
    scene.settled(&first.tx_hash()).await;
    scene.town.assert_paid(&[1, 1, 0, 0]).await;
}

async fn a_refusal_is_no_verdict_on_the_next_request(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    let (who, billing) = (&town.people[0], town.merchant.billing);
    let batch = json!(town.entries([0]));
    for mode in MODES {
        let batch = json!({"mode": mode, "list": batch});
        town.token.approve(who.wallet, billing, U256::ZERO).await;
        let heard = signer.scheduler.bill(&batch).await;
        assert_eq!(heard.failures(), refusals(&[(who, "ALLOWANCE_INSUFFICIENT")]));
    }
    town.token.approve(who.wallet, billing, U256::MAX).await;
    let heard = signer.scheduler.bill(&batch).await;
    town.settled(&signer, &heard.tx_hash()).await;
    town.assert_paid(&[1]).await;
}

/// What a caller may leave out when the chain supplies it.
fn short(who: &Subscriber) -> Value {
    let mut entry = entry(who, 1);
    for supplied in ["period", "amount", "planVersion", "userWallet", "tokenAddress"] {
        entry.as_object_mut().unwrap().remove(supplied);
    }
    entry
}

#[tokio::test]
async fn without_a_period_the_open_batch_answers_and_then_the_period_on_chain_decides() {
    let scene = Scene::of(Founding { lookup: true, ..Founding::default() }).await;
    let people = &scene.town.people;
    let hash = scene.bill("all", &[0]).await.tx_hash();
    scene.town.proxy.take_asked();
    for mode in MODES {
        assert_eq!(scene.post(mode, vec![short(&people[0])]).await.tx_hash(), hash);
    }
    assert_eq!(scene.asked(), 0, "the chain was not asked");
    let heard = scene.post("all", vec![short(&people[0]), short(&people[1])]).await;
    scene.assert_earlier(&heard, &[(0, &hash, "open")]);
    scene.assert_named(&heard, &heard.tx_hash(), &[1]);

    scene.settled(&hash).await;
    for mode in MODES {
        let heard = scene.post(mode, vec![short(&people[0])]).await;
        scene.assert_named(&heard, &hash, &[0]);
    }
    let month = people[0].plan.terms.interval;
    scene.town.anvil.pass(month.into()).await;
    scene.town.noticed().await;
    let next = scene.post("all", vec![short(&people[0])]).await.tx_hash();
    assert_ne!(next, hash, "the next period");
    scene.settled(&next).await;
    scene.town.assert_paid(&[2, 1, 0, 0]).await;
}

#[tokio::test]
async fn an_open_batch_answers_for_the_next_period_too() {
    let scene = Scene::of(Founding { lookup: true, ..Founding::default() }).await;
    let who = &scene.town.people[0];
    let hash = scene.bill("all", &[0]).await.tx_hash();
    // In a block, but not in a final one, when the next period begins.
    scene.town.anvil.mine(1).await;
    scene.town.anvil.pass(who.plan.terms.interval.into()).await;
    scene.town.noticed().await;
    assert_eq!(scene.post("all", vec![short(who)]).await.tx_hash(), hash);
    scene.settled(&hash).await;
    let next = scene.post("all", vec![short(who)]).await.tx_hash();
    assert_ne!(next, hash);
    scene.settled(&next).await;
    scene.town.assert_paid(&[2]).await;
}
