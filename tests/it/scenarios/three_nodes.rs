//! Three nodes, as the documentation recommends, and everything that they may do to a charge: answers
//! cut, late and false, refusals that are none, one liar, forgetful pools, blocks undone, a journal
//! that is an old copy. Everybody is paid for once at most, whoever was promised is charged in the
//! end, no place in the line is lost, and nobody has to help.

use super::strangers::{lane, opens, transfer_elsewhere};
use crate::world::anvil::Mining;
use crate::world::lies;
use crate::world::patience::eventually;
use crate::world::proxy::{ANYTHING, Act, Proxy};
use crate::world::signer::{Heard, Signer};
use crate::world::town::{Founding, Town};
use alloy::consensus::{Transaction as _, TxEnvelope};
use alloy::eips::Decodable2718 as _;
use alloy::primitives::{Bytes, U256};
use evm_testimony::errors::known_messages;
use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::{Value, json};
use std::time::Duration;

const SEND: &str = "eth_sendRawTransaction";
const RECEIPT: &str = "eth_getTransactionReceipt";
const NONCE: &str = "eth_getTransactionCount";
const BLOCK: &str = "eth_getBlockByNumber";
const GWEI: u128 = 1_000_000_000;

/// Blocks are made on request.
async fn three(people: u64, chain_keys: &str) -> (Town, Vec<Proxy>) {
    let (mining, chain_keys) = (Mining::OnRequest, chain_keys.to_owned());
    let founding = Founding { mining, people, chain_keys, ..Founding::default() };
    Town::with_nodes(3, founding).await
}

fn all(proxies: &[Proxy], method: &'static str, act: &Act) {
    for proxy in proxies {
        proxy.fault(method, act.clone());
    }
}

fn heal(proxies: &[Proxy]) {
    proxies.iter().for_each(Proxy::heal);
}

/// What is said of a billing. Whoever was given a hash is always told something.
async fn status(signer: &Signer, hash: &str) -> Value {
    let heard = signer.scheduler.billings(hash).await;
    assert_eq!(heard.code(), 1, "a hash that was answered is known: {heard:?}");
    let billing = heard.body["data"][0].clone();
    assert!(billing["txHashes"].as_array().unwrap().contains(&json!(hash)), "{billing}");
    billing
}

/// Bills one person, and has a promise of it.
async fn promised(town: &Town, signer: &Signer, person: usize, what: &str) -> String {
    let heard = signer.scheduler.bill(&json!(town.entries([person]))).await;
    assert_eq!(heard.code(), 1, "{what}: {heard:?}");
    status(signer, &heard.tx_hash()).await;
    heard.tx_hash()
}

async fn is_charged(town: &Town, signer: &Signer, hash: &str, what: &str) {
    let ended = town.settled(signer, hash).await;
    assert_eq!(ended["state"], "charged", "{what}: {ended}");
}

/// Everybody has paid once, and the journal and the chain are at one place.
async fn all_paid_once(town: &Town, signer: Signer) {
    town.quiet(&signer).await;
    town.assert_paid(&vec![1; town.people.len()]).await;
    town.nothing_is_stuck(signer).await;
}

#[tokio::test]
async fn whatever_all_nodes_do_to_a_send_it_is_one_payment_and_a_promise() {
    let acts = [
        ("never answered", Act::PassOnAndHang),
        ("connection cut", Act::PassOnAndBreak),
        ("HTTP 502", Act::PassOnAndFail),
        ("passed on too late", Act::Delay(Duration::from_millis(1_700))),
        ("not passed on, never answered", Act::Swallow),
        ("not passed on, and called accepted", Act::Pretend),
        ("refused for no reason", Act::Refuse("the moon is full")),
    ];
    let (town, proxies) = three(7, "rpc_timeout = \"1s\"").await;
    let signer = town.signer().await;
    for (person, (what, act)) in acts.iter().enumerate() {
        all(&proxies, SEND, act);
        let hash = insists(&town, &signer, person).await;
        status(&signer, &hash).await;
        let again = signer.scheduler.bill(&json!(town.entries([person]))).await;
        assert_eq!(again.tx_hash(), hash, "{what}");
        heal(&proxies);
        is_charged(&town, &signer, &hash, what).await;
    }
    assert_eq!(town.transactions().await, 7);
    all_paid_once(&town, signer).await;
}

#[tokio::test]
async fn a_deadline_that_passes_before_the_commit_is_no_promise_and_after_it_is_no_excuse() {
    let (mut town, proxies) = three(3, "").await;
    town.installation = town.installation.env("SIGNER__HTTP__REQUEST_DEADLINE", "1s");
    let signer = town.signer().await;
    signer.ready().await;
    let late = Act::Delay(Duration::from_millis(1500));
    all(&proxies, SEND, &late);
    let hash = insists(&town, &signer, 0).await;
    heal(&proxies);
    for method in ["eth_call", "eth_simulateV1", "eth_estimateGas"] {
        all(&proxies, method, &late);
    }
    let body = json!({"requestId": "late", "list": town.entries([1])});
    let heard = signer.scheduler.bill(&body).await;
    assert_eq!((heard.code(), heard.status), (0, 503), "{heard:?}");
    heal(&proxies);
    assert_eq!(signer.scheduler.billings("late").await.status, 404, "nothing was signed");
    is_charged(&town, &signer, &hash, "sent late").await;
    for person in 1..3 {
        insists(&town, &signer, person).await;
    }
    all_paid_once(&town, signer).await;
    assert_eq!(town.transactions().await, 3);
}

/// Every transaction is refused in the words that its nonce has in the table of known messages.
fn words_of_its_nonce(question: &Value) -> &'static str {
    let raw: Bytes = question["params"][0].as_str().unwrap().parse().unwrap();
    let nonce = TxEnvelope::decode_2718(&mut raw.as_ref()).unwrap().nonce();
    let place = usize::try_from(nonce).unwrap() % known_messages().count();
    known_messages().nth(place).unwrap()
}

/// Bills until there is a promise. Until then nothing was signed, and nobody may be refused.
async fn insists(town: &Town, signer: &Signer, person: usize) -> String {
    let body = json!(town.entries([person]));
    for _ in 0..400 {
        let heard: Heard = signer.scheduler.bill(&body).await;
        match (heard.code(), heard.status) {
            (1, 200) => return heard.tx_hash(),
            (0, 429 | 503) => tokio::time::sleep(Duration::from_millis(50)).await,
            _ => panic!("{person}: {heard:?}"),
        }
    }
    panic!("no promise for {person}:\n{}", signer.log())
}

/// All nodes answer every send with words of the table, one text for each transaction. How many of
/// them were cancelled: a cancel may win where the words say that no node can take the bytes.
async fn refused_in_every_known_way(act: Act) -> usize {
    let people = known_messages().count();
    let keys = "max_in_flight = 500\nreplace_after = \"1s\"";
    let (town, proxies) = three(u64::try_from(people).unwrap(), keys).await;
    let signer = town.signer().await;
    signer.ready().await;
    all(&proxies, SEND, &act);
    let bill = async |person: usize| {
        if person.is_multiple_of(12) {
            town.anvil.mine(1).await;
        }
        insists(&town, &signer, person).await
    };
    let hashes: Vec<String> = stream::iter(0..people).map(bill).buffered(8).collect().await;
    town.noticed().await;
    heal(&proxies);
    town.quiet(&signer).await;
    let mut cancelled = 0;
    for (person, hash) in hashes.iter().enumerate() {
        let state = status(&signer, hash).await["state"].clone();
        let expected = match town.payments(&town.people[person]).await {
            0 => "cancelled",
            1 => "charged",
            paid => panic!("{person} paid {paid} times"),
        };
        assert_eq!(state, expected, "{person}");
        if state == "cancelled" {
            cancelled += 1;
            insists(&town, &signer, person).await;
        }
    }
    all_paid_once(&town, signer).await;
    cancelled
}

#[tokio::test]
async fn what_is_refused_in_any_known_words_and_lands_all_the_same_is_paid_once() {
    refused_in_every_known_way(Act::PassOnAndRefuseAs(words_of_its_nonce)).await;
}

#[tokio::test]
async fn what_is_refused_in_any_known_words_for_a_while_is_paid_once_after_it() {
    let cancelled = refused_in_every_known_way(Act::RefuseAs(words_of_its_nonce)).await;
    assert!(cancelled > 0, "what no node can take is cancelled");
}

#[tokio::test]
async fn one_liar_among_three_changes_nothing_whatever_it_lies_about() {
    let told = [
        ("nobody has anything", "eth_call", Act::Rewrite(lies::nobody_has_anything)),
        ("no gas money", "eth_getBalance", Act::Rewrite(lies::zero)),
        ("a nonce from the future", NONCE, Act::Rewrite(lies::a_thousand)),
        ("a nonce from the past", NONCE, Act::Rewrite(lies::zero)),
        ("a revert", RECEIPT, Act::Rewrite(lies::reverted)),
        ("another block", RECEIPT, Act::Rewrite(lies::in_another_block)),
        ("no receipt", RECEIPT, Act::Rewrite(lies::nothing)),
        (
            "all is final",
            "eth_getBlockByNumber finalized",
            Act::Rewrite(lies::a_thousand_blocks_ahead),
        ),
        ("dear gas", BLOCK, Act::Rewrite(lies::a_hundred_times_dearer)),
        ("accepted", SEND, Act::Pretend),
        ("another hash", SEND, Act::Rewrite(lies::another_hash)),
        ("nonce too low", SEND, Act::Refuse("nonce too low")),
    ];
    let (town, proxies) = three(12, "replace_after = \"1s\"").await;
    for (person, (what, method, act)) in told.into_iter().enumerate() {
        let liar = &proxies[person % proxies.len()];
        // From the start of a Signer that holds nothing against it, and finds it the fastest.
        for other in proxies.iter().filter(|_| method == "eth_call") {
            other.fault_billings_of(&town.people, Act::Delay(Duration::from_secs(1)));
        }
        all(&proxies, ANYTHING, &Act::Delay(Duration::from_millis(30)));
        liar.heal();
        liar.fault(method, act);
        let signer = town.signer().await;
        signer.ready().await;
        let hash = promised(&town, &signer, person, what).await;
        is_charged(&town, &signer, &hash, what).await;
        let sent: Value = town.anvil.call("eth_getTransactionByHash", json!([hash])).await;
        let bid: U256 = serde_json::from_value(sent["maxFeePerGas"].clone()).unwrap();
        assert!(bid < U256::from(50 * GWEI), "{what}: {bid} wei");
        liar.struck().await;
        let lied_of_people = method != "eth_call" || liar.asked_about(method, &town.people) > 0;
        assert!(lied_of_people, "{what}: the contract is asked for the Signer's own sake as well");
        heal(&proxies);
        signer.kill();
    }
    assert_eq!(town.transactions().await, 12);
    all_paid_once(&town, town.signer().await).await;
}

#[tokio::test]
async fn answers_that_are_old_now_and_then_cost_nothing_but_time() {
    let (town, proxies) = three(8, "replace_after = \"1s\"").await;
    town.anvil.mine(10).await;
    let signer = town.signer().await;
    signer.ready().await;
    let stale = |proxies: &[Proxy]| {
        all(proxies, BLOCK, &Act::Rewrite(lies::now_and_then_an_older_block));
        all(proxies, NONCE, &Act::Rewrite(lies::now_and_then_one_less));
        all(proxies, RECEIPT, &Act::Rewrite(lies::now_and_then_nothing));
    };
    for person in 0..8 {
        heal(&proxies);
        // One of them, and then all of them.
        stale(if person < 4 { &proxies[..1] } else { &proxies });
        let hash = insists(&town, &signer, person).await;
        is_charged(&town, &signer, &hash, "old answers").await;
    }
    heal(&proxies);
    assert_eq!(town.transactions().await, 8);
    all_paid_once(&town, signer).await;
}

#[tokio::test]
async fn one_trouble_after_another_ends_with_everybody_charged_once() {
    let (town, proxies) = three(12, "replace_after = \"1s\"").await;
    let signer = town.signer().await;

    let pooled = [0, 1, 2].map(async |person| promised(&town, &signer, person, "pool").await);
    let pooled = futures_util::future::join_all(pooled).await;
    town.anvil.call::<Value>("anvil_dropAllTransactions", json!([])).await;
    for hash in pooled {
        is_charged(&town, &signer, &hash, "the pool was emptied").await;
    }

    let (undone, after) =
        (promised(&town, &signer, 3, "undone").await, promised(&town, &signer, 4, "undone").await);
    town.anvil.mine(1).await;
    town.noticed().await;
    town.anvil.reorg(1).await;
    is_charged(&town, &signer, &undone, "its block was undone").await;
    is_charged(&town, &signer, &after, "its block was undone").await;

    let cheap = promised(&town, &signer, 5, "cheap").await;
    let dear = json!([U256::from(100 * GWEI)]);
    town.anvil.call::<Value>("anvil_setNextBlockBaseFeePerGas", dear).await;
    town.anvil.mine(1).await;
    eventually("it is replaced", async || {
        status(&signer, &cheap).await["txHashes"].as_array().unwrap().len() > 1
    })
    .await;
    is_charged(&town, &signer, &cheap, "a fee spike").await;

    all(&proxies, RECEIPT, &Act::Rewrite(lies::nothing));
    let unseen = promised(&town, &signer, 6, "no receipts").await;
    town.anvil.mine(4).await;
    town.noticed().await;
    assert_eq!(
        status(&signer, &unseen).await["state"],
        "open",
        "receipts that vanish prove nothing"
    );
    heal(&proxies);
    is_charged(&town, &signer, &unseen, "no receipts").await;

    proxies[1].fault(ANYTHING, Act::Break);
    let without = insists(&town, &signer, 7).await;
    is_charged(&town, &signer, &without, "two nodes are enough").await;
    all(&proxies, ANYTHING, &Act::Break);
    let refused = signer.scheduler.bill(&json!(town.entries([8]))).await;
    assert_eq!((refused.code(), refused.status), (0, 503), "{refused:?}");
    heal(&proxies);
    let back = insists(&town, &signer, 8).await;
    is_charged(&town, &signer, &back, "all nodes are back").await;

    all(&proxies, SEND, &Act::Refuse("not now"));
    let usurped = promised(&town, &signer, 9, "usurped").await;
    transfer_elsewhere(&town).await;
    town.anvil.mine(1).await;
    heal(&proxies);
    assert_eq!(town.settled(&signer, &usurped).await["state"], "usurped");
    for person in 9..12 {
        let hash = insists(&town, &signer, person).await;
        is_charged(&town, &signer, &hash, "after a stranger").await;
    }
    all_paid_once(&town, signer).await;
}

fn two(answer: &mut Value) {
    *answer = json!("0x2");
}

#[tokio::test]
async fn an_old_copy_stays_closed_while_a_single_pool_holds_what_it_has_forgotten() {
    let (town, proxies) = three(4, "").await;
    let (journal, copy) = (town.installation.journal(), town.installation.path().join("copy"));
    let signer = town.signer().await;
    let known = promised(&town, &signer, 0, "known").await;
    town.quiet(&signer).await;
    signer.terminate().await;
    std::fs::copy(&journal, &copy).unwrap();
    let signer = town.signer().await;
    let landed = promised(&town, &signer, 1, "landed").await;
    town.quiet(&signer).await;
    let pooled = promised(&town, &signer, 2, "pooled").await;
    signer.terminate().await;
    std::fs::copy(&copy, &journal).unwrap();

    // The pools of the other two have forgotten it.
    all(&proxies[1..], "eth_getTransactionCount pending", &Act::Rewrite(two));
    let signer = town.signer().await;
    eventually("the pool that holds it is named", async || {
        let reason = lane(&signer).await;
        reason.contains("1 transactions") && reason.contains("says 127.0.0.1[0]:")
    })
    .await;
    for person in [2, 3] {
        let refused = signer.scheduler.bill(&json!(town.entries([person]))).await;
        assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    }
    opens(&town, &signer).await;
    for (person, hash) in [known, landed, pooled].into_iter().enumerate() {
        let again = signer.scheduler.bill(&json!(town.entries([person]))).await;
        assert_eq!(again.tx_hash(), hash, "{person}");
    }
    promised(&town, &signer, 3, "new").await;
    heal(&proxies);
    all_paid_once(&town, signer).await;
}

#[tokio::test]
async fn a_pool_that_is_made_up_delays_after_trouble_and_no_beginning() {
    let (mut town, proxies) = three(2, "").await;
    proxies[1].fault("eth_getTransactionCount pending", Act::Rewrite(lies::a_thousand));
    let signer = town.signer().await;
    signer.ready().await;
    let first = promised(&town, &signer, 0, "a lane that begins").await;
    assert_eq!(town.sent().await[1], U256::ONE, "it began at the account's first nonce");
    is_charged(&town, &signer, &first, "a lane that begins").await;

    transfer_elsewhere(&town).await;
    eventually("the liar is named", async || {
        town.anvil.mine(1).await;
        let reason = lane(&signer).await;
        reason.contains("998 transactions") && reason.contains("says 127.0.0.1[1]:")
    })
    .await;
    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    signer.terminate().await;
    let honest = format!("{} {}", proxies[0].url, proxies[2].url);
    town.installation = town.installation.env("SIGNER__CHAINS__139__RPC", &honest);
    let signer = town.signer().await;
    opens(&town, &signer).await;
    promised(&town, &signer, 1, "without the liar").await;
    all_paid_once(&town, signer).await;
}
