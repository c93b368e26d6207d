//! The process dies, at the worst moments and at any moment. The next one, on the same directory and
//! with nobody's help, leaves every charge paid once or free to be asked for again.

use crate::world::anvil::{Family, Mining};
use crate::world::lies;
use crate::world::patience::{Dice, eventually};
use crate::world::proxy::{ANYTHING, Act, OUTCOME, Proxy, SEND};
use crate::world::signer::{Heard, Scheduler, Signer, unix_seconds};
use crate::world::town::{Founding, Town};
use alloy::primitives::B256;
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

on_both_families![
    killed_before_the_commit_nobody_is_charged_and_the_claim_is_free,
    killed_after_the_commit_the_charge_is_sent_by_the_next_process,
    killed_after_the_send_the_charge_is_not_sent_as_another_one,
    killed_while_it_waits_for_finality_the_charge_is_settled_by_the_next_process,
    a_transaction_that_the_node_forgot_after_the_answer_is_sent_again_by_the_next_process,
    a_request_that_has_begun_is_finished_before_the_process_stops,
    whatever_the_moment_of_the_kill_nobody_pays_twice_and_promises_are_kept,
];

/// The first subscriber, under a name that finds the billing when no answer came.
fn request(town: &Town) -> Value {
    json!({"requestId": "the-one", "list": town.entries([0])})
}

/// Posts to a Signer whose node is `troubled`, and kills it when the billing meets that. The caller hears nothing.
async fn killed_at(town: &Town, troubled: impl FnOnce(&Proxy)) {
    let signer = town.signer().await;
    troubled(&town.proxy);
    let (scheduler, body) = (signer.scheduler.clone(), request(town));
    let (heard, _) = tokio::join!(scheduler.try_bill(&body), async {
        town.proxy.struck().await;
        signer.kill()
    });
    assert_eq!(heard, None, "the answer cannot have arrived");
    town.proxy.heal();
}

/// The next process: the charge lands once, its end is told, and asking again changes nothing.
async fn lands_once(town: &Town) {
    let signer = town.signer().await;
    let billing = town.settled(&signer, "the-one").await;
    assert_eq!(billing["state"], "charged", "{billing}");
    let again = signer.scheduler.bill(&request(town)).await;
    assert_eq!(again.tx_hash(), billing["txHash"]);
    assert_eq!(town.transactions().await, 1);
    town.assert_paid(&[1, 0, 0]).await;
}

async fn killed_before_the_commit_nobody_is_charged_and_the_claim_is_free(family: Family) {
    let town = Town::on(family).await;
    killed_at(&town, |node| node.fault_billings_of(&town.people, Act::Swallow)).await;
    let signer = town.signer().await;
    assert_eq!(signer.scheduler.billings("the-one").await.status, 404);
    assert_eq!(town.transactions().await, 0);
    let heard = signer.scheduler.bill(&request(&town)).await;
    assert_eq!(town.settled(&signer, &heard.tx_hash()).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}

async fn killed_after_the_commit_the_charge_is_sent_by_the_next_process(family: Family) {
    let town = Town::on(family).await;
    killed_at(&town, |node| node.fault(SEND, Act::Swallow)).await;
    assert_eq!(town.transactions().await, 0, "nothing was sent");
    lands_once(&town).await;
}

async fn killed_after_the_send_the_charge_is_not_sent_as_another_one(family: Family) {
    let town = Town::on(family).await;
    killed_at(&town, |node| node.fault(SEND, Act::PassOnAndHang)).await;
    eventually("it was sent", async || town.transactions().await == 1).await;
    lands_once(&town).await;
}

async fn killed_while_it_waits_for_finality_the_charge_is_settled_by_the_next_process(
    family: Family,
) {
    let town = Town::on_request(family).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&request(&town)).await.tx_hash();
    town.anvil.mine(1).await;
    town.proxy.fault(OUTCOME, Act::Swallow);
    signer.kill();
    let signer = town.signer().await;
    assert_eq!(signer.scheduler.billings(&hash).await.body["data"][0]["state"], "open");
    town.anvil.mine(3).await;
    town.proxy.struck().await;
    signer.kill();
    town.proxy.heal();
    lands_once(&town).await;
}

async fn a_transaction_that_the_node_forgot_after_the_answer_is_sent_again_by_the_next_process(
    family: Family,
) {
    let town = Town::on_request(family).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&request(&town)).await.tx_hash();
    signer.kill();
    town.anvil.drop_transaction(hash.parse::<B256>().unwrap()).await;
    town.anvil.mine(1).await;
    assert_eq!(town.transactions().await, 0, "the node forgot it");
    lands_once(&town).await;
}

async fn a_request_that_has_begun_is_finished_before_the_process_stops(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    town.proxy.hold_billings_of(&town.people);
    let (scheduler, body) = (signer.scheduler.clone(), request(&town));
    let (heard, ()) = tokio::join!(scheduler.bill(&body), async {
        town.proxy.struck().await;
        signer.ask_to_stop();
        signer.wrote("shutting down").await;
        town.proxy.heal();
        signer.ended().await;
    });
    assert_eq!(heard.code(), 1, "{heard:?}");
    lands_once(&town).await;
}

const ROUNDS: u32 = 12;
const PEOPLE: u64 = 200;

/// What callers were promised.
type Promised = Mutex<BTreeSet<u64>>;

async fn whatever_the_moment_of_the_kill_nobody_pays_twice_and_promises_are_kept(family: Family) {
    let seed = number("SEED").unwrap_or_else(unix_seconds);
    let kills = number("KILLS").unwrap_or(ROUNDS.into());
    for town in 0..kills.div_ceil(ROUNDS.into()) {
        let seed = seed.wrapping_add(town);
        println!("SEED={seed} KILLS={ROUNDS}");
        println!("{}", a_town_of_sudden_deaths(family, seed).await);
    }
    println!("{kills} kills");
}

fn number(variable: &str) -> Option<u64> {
    std::env::var_os(variable).and_then(|text| text.to_str()?.parse().ok())
}

/// What one of the three nodes may be up to while a Signer lives.
const TROUBLES: [(&str, Act); 14] = [
    (ANYTHING, Act::Break),
    (ANYTHING, Act::Delay(Duration::from_millis(60))),
    ("eth_call", Act::Rewrite(lies::nobody_has_anything)),
    ("eth_getBalance", Act::Rewrite(lies::zero)),
    ("eth_getTransactionCount", Act::Rewrite(lies::a_thousand)),
    ("eth_getTransactionCount", Act::Rewrite(lies::now_and_then_one_less)),
    ("eth_getTransactionReceipt", Act::Rewrite(lies::reverted)),
    ("eth_getTransactionReceipt", Act::Rewrite(lies::nothing)),
    ("eth_getBlockByNumber", Act::Rewrite(lies::a_hundred_times_dearer)),
    ("eth_getBlockByNumber", Act::Rewrite(lies::now_and_then_an_older_block)),
    ("eth_getBlockByNumber finalized", Act::Rewrite(lies::a_thousand_blocks_ahead)),
    ("eth_sendRawTransaction", Act::Pretend),
    ("eth_sendRawTransaction", Act::Rewrite(lies::another_hash)),
    ("eth_sendRawTransaction", Act::Refuse("intrinsic gas too low")),
];

/// What may happen to a send while it is under way.
const MISHAPS: [Act; 4] =
    [Act::Swallow, Act::PassOnAndHang, Act::PassOnAndFail, Act::PassOnAndBreak];

/// A life of this length; the last one until somebody was promised something.
async fn lived(life: Duration, promised: &Promised, is_last: bool) {
    tokio::time::sleep(life).await;
    if is_last {
        eventually("a caller is answered", async || !promised.lock().is_empty()).await;
    }
}

async fn a_town_of_sudden_deaths(family: Family, seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let mining = Mining::EverySeconds(1);
    let founding = Founding { mining, people: PEOPLE, ..Founding::on(family) };
    // A TRON chain is seen through one node.
    let (town, proxies) = match family {
        Family::Evm => Town::with_nodes(3, founding).await,
        Family::Tron => {
            let town = Town::with(founding).await;
            let node = town.proxy.clone();
            (town, vec![node])
        }
    };
    let promised = Promised::default();
    for round in 1..=ROUNDS {
        if proxies.len() > 1 {
            let (method, act) = TROUBLES[dice.place(TROUBLES.len())].clone();
            proxies[dice.place(proxies.len())].fault(method, act);
        }
        let signer = town.signer().await;
        let life = lived(Duration::from_millis(dice.below(600)), &promised, round == ROUNDS);
        let mut callers: Vec<_> = (0..6).map(|_| Dice::new(dice.below(u64::MAX))).collect();
        let busy = callers
            .iter_mut()
            .map(|dice| keep_asking(&town, signer.scheduler.clone(), dice, &promised));
        if dice.below(2) == 0 {
            let mishap = MISHAPS[dice.place(MISHAPS.len())].clone();
            for node in &proxies {
                node.fault(SEND, mishap.clone());
            }
        }
        tokio::select! { () = life => {}, _ = join_all(busy) => {} }
        signer.kill();
        proxies.iter().for_each(Proxy::heal);
        if dice.below(3) == 0 {
            town.anvil.call::<Value>("anvil_dropAllTransactions", json!([])).await;
        }
    }
    let signer = town.signer().await;
    town.quiet(&signer).await;
    for (who, place) in town.people.iter().zip(0_u64..) {
        let paid = town.payments(who).await;
        let promised = promised.lock().contains(&place);
        assert!(paid == 1 || (paid == 0 && !promised), "{place} paid {paid}, seed {seed}");
    }
    let promises = promised.lock().len();
    let told = format!("{promises} promises in {} transactions", town.transactions().await);
    assert!(promises > 0, "no caller was ever answered, seed {seed}");
    everybody_pays(&town, &signer).await;
    town.nothing_is_stuck(signer).await;
    told
}

/// Asks for a few subscribers at a time, and notes who was promised to be charged.
async fn keep_asking(town: &Town, scheduler: Scheduler, dice: &mut Dice, promised: &Promised) {
    loop {
        let who: BTreeSet<usize> = (0..3).map(|_| dice.place(town.people.len())).collect();
        let body = json!({"mode": "partial", "list": town.entries(who.iter().copied())});
        let Some(heard) = scheduler.try_bill(&body).await else { return };
        let asked: BTreeSet<u64> = who.iter().map(|place| u64::try_from(*place).unwrap()).collect();
        promised.lock().extend(asked.iter().filter(|place| charges(town, &heard, **place)));
    }
}

fn charges(town: &Town, heard: &Heard, place: u64) -> bool {
    let id = town.people[usize::try_from(place).unwrap()].subscribe_id;
    let charged = heard.body["data"]["subscriptionIds"].as_array();
    heard.code() == 1 && charged.is_some_and(|ids| ids.contains(&json!(id)))
}

async fn everybody_pays(town: &Town, signer: &Signer) {
    let everybody: Vec<usize> = (0..town.people.len()).collect();
    for some in everybody.chunks(50) {
        let body = json!({"mode": "partial", "list": town.entries(some.iter().copied())});
        signer.scheduler.bill(&body).await;
    }
    town.quiet(signer).await;
    town.assert_paid(&vec![1; town.people.len()]).await;
}
