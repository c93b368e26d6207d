//! Many callers at once. The claim is the idempotency key, and the first to commit has it.

use crate::world::anvil::Family;
use crate::world::patience::{ASKED_AT_MOST, Dice};
use crate::world::signer::{Heard, Scheduler, Signer};
use crate::world::town::{Founding, Town};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

on_both_families![
    the_same_request_fifty_times_at_once_is_one_payment_and_one_hash,
    a_crowd_at_a_narrow_door_is_turned_away_and_charged_once_when_it_comes_back,
    overlapping_batches_of_sixteen_callers_charge_everybody_once,
    a_caller_that_hangs_up_does_not_lose_the_charge,
];

async fn crowd(family: Family, people: u64) -> Town {
    Town::with(Founding { people, ..Founding::on(family) }).await
}

/// Posts until there is a verdict: "busy" and "not now" are answered by asking again.
async fn verdict(scheduler: &Scheduler, body: &Value) -> Heard {
    for _ in 0..ASKED_AT_MOST {
        let heard = scheduler.bill(body).await;
        match (heard.code(), heard.status) {
            (1 | 2, 200) => return heard,
            (0, 429 | 503) => tokio::time::sleep(Duration::from_millis(20)).await,
            _ => panic!("{heard:?}"),
        }
    }
    panic!("no verdict on {body}")
}

/// A counter of the Signer.
async fn counted(signer: &Signer, name: &str) -> u64 {
    let page = signer.scheduler.get("/metrics").await.body;
    let line = page.as_str().unwrap().lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("{name} is not in {page}")).trim().parse().unwrap()
}

async fn the_same_request_fifty_times_at_once_is_one_payment_and_one_hash(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    let body = json!(town.entries(0..3));
    let heard = join_all((0..50).map(|_| verdict(&signer.scheduler, &body))).await;
    let hashes: BTreeSet<String> = heard.iter().map(Heard::tx_hash).collect();
    assert_eq!(hashes.len(), 1, "{hashes:?}");
    town.quiet(&signer).await;
    assert_eq!(town.transactions().await, 1);
    town.assert_paid(&[1, 1, 1]).await;
}

async fn a_crowd_at_a_narrow_door_is_turned_away_and_charged_once_when_it_comes_back(
    family: Family,
) {
    let mut town = Town::on(family).await;
    let narrow = "SIGNER__HTTP__MAX_CONCURRENT_REQUESTS";
    town.installation = town.installation.env(narrow, "2");
    let signer = town.signer().await;
    let body = json!(town.entries(0..3));
    let heard = join_all((0..20).map(|_| signer.scheduler.bill(&body))).await;
    assert!(heard.iter().any(|heard| heard.status == 429), "{heard:?}");
    let heard = join_all((0..20).map(|_| verdict(&signer.scheduler, &body))).await;
    let hashes: BTreeSet<String> = heard.iter().map(Heard::tx_hash).collect();
    assert_eq!(hashes.len(), 1, "{hashes:?}");
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 1]).await;
}

async fn overlapping_batches_of_sixteen_callers_charge_everybody_once(family: Family) {
    let town = crowd(family, 40).await;
    let signer = town.signer().await;
    let callers = (0..16).map(|seed| pay_for_everybody(&town, &signer.scheduler, seed));
    join_all(callers).await;
    town.quiet(&signer).await;
    town.assert_paid(&[1; 40]).await;
}

/// One of several schedulers that do not know of each other: asks for everybody, a few at a time in
/// an order of its own, until each is charged or being charged.
async fn pay_for_everybody(town: &Town, scheduler: &Scheduler, seed: u64) {
    let mut dice = Dice::new(seed);
    let mut waiting: Vec<usize> = (0..town.people.len()).collect();
    for _ in 0..400 {
        if waiting.is_empty() {
            return;
        }
        let some: BTreeSet<usize> = (0..5).map(|_| waiting[dice.place(waiting.len())]).collect();
        let mode = if seed.is_multiple_of(2) { "all" } else { "partial" };
        let body = json!({"mode": mode, "list": town.entries(some.iter().copied())});
        let heard = verdict(scheduler, &body).await;
        assert_eq!((heard.code(), heard.failures()), (1, vec![]), "{heard:?}");
        waiting.retain(|place| !some.contains(place));
    }
    panic!("caller {seed} still waits for {waiting:?}");
}

// On TRON few calls are simulated at a time, so that requests do not arrive together.
#[tokio::test]
async fn requests_that_arrive_together_share_an_fsync() {
    let town = crowd(Family::Evm, 12).await;
    let signer = town.signer().await;
    let before = counted(&signer, "signer_journal_commits_total ").await;
    town.proxy.hold_billings_of(&town.people);
    let bodies: Vec<Value> = (0..12).map(|place| json!(town.entries([place]))).collect();
    let (heard, ()) =
        tokio::join!(join_all(bodies.iter().map(|body| signer.scheduler.bill(body))), async {
            town.proxy.struck_times(12).await;
            town.proxy.heal();
        });
    let hashes: BTreeSet<String> = heard.iter().map(Heard::tx_hash).collect();
    assert_eq!(hashes.len(), 12, "one transaction each");
    let commits = counted(&signer, "signer_journal_commits_total ").await - before;
    println!("{commits} commits for 12 requests");
    assert!(commits < 12, "{commits} commits");
    town.quiet(&signer).await;
    town.assert_paid(&[1; 12]).await;
}

async fn a_caller_that_hangs_up_does_not_lose_the_charge(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    town.proxy.hold_billings_of(&town.people);
    let body = json!({"requestId": "hung-up", "list": town.entries([0])});
    tokio::select! {
        heard = signer.scheduler.bill(&body) => panic!("answered too early: {heard:?}"),
        () = town.proxy.struck() => {}
    }
    town.proxy.heal();
    let billing = town.settled(&signer, "hung-up").await;
    assert_eq!(signer.scheduler.bill(&body).await.tx_hash(), billing["txHash"]);
    assert_eq!(town.transactions().await, 1);
    town.assert_paid(&[1, 0, 0]).await;
}
