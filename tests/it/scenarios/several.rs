//! Several Signers on one journal: one serves, the others stand by, and another takes over when it is gone. They
//! need the server of tests/postgres.sh.

mod by_tls;
mod differing;
mod giving_way;
mod rung;

use crate::world::patience::eventually;
use crate::world::proxy::{Act, Proxy, SIMULATE};
use crate::world::signer::{EVM_PATH, Installation, Scheduler, Signer, hear, unix_seconds};
use crate::world::town::Town;
use serde_json::json;
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// A town whose journal is on the server, and two machines that may serve it. Each sees the chain through a node of
/// its own.
async fn two_machines() -> (Town, [Installation; 2], Proxy) {
    let mut town = Town::found().await;
    assert!(town.installation.database.is_some(), "run with SIGNER_TEST_JOURNAL=server");
    town.installation = town.installation.env("SIGNER__JOURNAL__TAKEOVER_AFTER", "3s");
    let node = Proxy::before(&town.anvil.url).await;
    let first = town.installation.clone().env("SIGNER__JOURNAL__INSTANCE", "first");
    // What it has asked is not given up for having been stopped meanwhile.
    let first = first.env("SIGNER__CHAINS__139__RPC_TIMEOUT", "60s");
    let second = first.beside("second").env("SIGNER__CHAINS__139__RPC", &node.url);
    (town, [first, second], node)
}

/// What readiness says of the journal.
async fn said(signer: &Signer) -> (u16, String) {
    let heard = signer.scheduler.get("/health/ready").await;
    (heard.status, heard.body["journal"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn who_stands_by_lives_signs_nothing_names_who_serves_and_takes_over() {
    let (town, [one, other], _) = two_machines().await;
    let first = one.start().await;
    first.ready().await;
    let second = other.start().await;
    assert_eq!(second.scheduler.get("/health/live").await.status, 200);
    eventually("it names who serves", async || {
        said(&second).await.1.starts_with("standing by: first (")
    })
    .await;
    assert_eq!(said(&second).await.0, 503);
    let refused = second.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    assert!(refused.text.contains("another does: standing by: first ("), "{refused:?}");
    let metrics = second.scheduler.get("/metrics").await.text;
    assert!(metrics.contains("signer_serves 0"), "{metrics}");
    assert!(metrics.contains(r#"instance_name="second",start="#), "{metrics}");
    let hash = first.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    eventually("the one that serves knows the other", async || {
        let told = first.scheduler.get("/health/ready").await;
        told.body["instances"].as_array().is_some_and(|all| all.len() == 2)
    })
    .await;
    for (asked, told) in [(&one, "first serves"), (&other, "standing by: first (")] {
        let server = if told == "first serves" { &first } else { &second };
        let told_now = asked.run(&["status", "--server", &server.scheduler.url]).await;
        let told_now = String::from_utf8_lossy(&told_now.stdout).into_owned();
        assert!(told_now.contains(told), "{told_now}");
        assert!(told_now.contains("second stands by"), "{told_now}");
    }

    first.kill();
    second.ready().await;
    second.wrote("ready for requests").await;
    let again = second.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.tx_hash(), hash, "nobody is charged twice");
    let next = second.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    assert_eq!(town.settled(&second, &hash).await["state"], "charged");
    assert_eq!(town.settled(&second, &next).await["state"], "charged");
    let first = one.start().await;
    eventually("it stands by now", async || {
        said(&first).await.1.starts_with("standing by: second (")
    })
    .await;
    first.terminate().await;
    town.assert_paid(&[1, 1, 0]).await;
    town.nothing_is_stuck(second).await;
}

/// Its request had found no claim before it was stopped. Meanwhile another process has charged the subscription,
/// and so the chain refuses it: that is no refusal of a charge, and must not be told as one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn who_wakes_up_when_another_serves_says_nothing_untrue_and_ends() {
    let (town, [one, other], _) = two_machines().await;
    let first = one.start().await;
    first.ready().await;
    let second = other.start().await;
    town.proxy.fault(SIMULATE, Act::Hold);
    let (scheduler, body) = (first.scheduler.clone(), json!(town.entries([0, 1])));
    let (heard, second) = tokio::join!(scheduler.try_bill(&body), async {
        town.proxy.struck().await;
        first.freeze();
        second.ready().await;
        let hash = second.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
        assert_eq!(town.settled(&second, &hash).await["state"], "charged");
        town.proxy.heal();
        first.thaw();
        second
    });
    assert!(heard.as_ref().is_none_or(|heard| heard.code() == 0), "{heard:?}");
    let (ended, log) = first.left().await;
    assert!(!ended.success(), "a supervisor starts it again");
    assert!(log.contains("must not be used any more"), "{log}");
    town.assert_paid(&[1, 0, 0]).await;
    town.nothing_is_stuck(second).await;
}

/// Where nobody listens yet.
async fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// The same machines, and each knows where the other listens.
async fn who_reach_each_other(scheme: &str) -> (Town, [Installation; 2], Proxy) {
    let (town, [one, other], node) = two_machines().await;
    let [first, second] = [free_port().await, free_port().await];
    let known = |installation: Installation, at: &SocketAddr| {
        let of = |at: &SocketAddr| format!("{scheme}://{at}");
        let installation = installation.env("SIGNER__HTTP__LISTEN", &at.to_string());
        let installation = installation.env("SIGNER__JOURNAL__PEERS__FIRST", &of(&first));
        installation.env("SIGNER__JOURNAL__PEERS__SECOND", &of(&second))
    };
    (town, [known(one, &first), known(other, &second)], node)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn whoever_asks_a_standby_is_answered_by_the_one_that_serves_once() {
    let (town, [one, other], _) = who_reach_each_other("http").await;
    let first = one.start().await;
    first.ready().await;
    let second = other.start().await;
    second.knows("first").await;
    let body = json!(town.entries([0])).to_string();
    let letter =
        |asked: &Signer| asked.scheduler.letter("POST", EVM_PATH, body.as_bytes(), unix_seconds());
    // The same signed bytes at one machine, at the other, and passed on before.
    let (there, here) = (letter(&second), letter(&first));
    let billed = hear(there.try_clone().unwrap()).await.unwrap();
    let hash = billed.tx_hash();
    assert_eq!(hear(here).await.unwrap().tx_hash(), hash);
    let twice = hear(there.header("x-pay-forwarded", "1")).await.unwrap();
    assert_eq!((twice.status, twice.code()), (503, 0), "{twice:?}");
    let again = second.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!((again.tx_hash(), &again.body["data"]["repeated"]), (hash.clone(), &json!(true)));
    assert_eq!(town.settled(&second, &hash).await["state"], "charged", "a question goes on too");
    // Who signs with something else is turned away by the one that serves, in its words.
    let stranger =
        Scheduler { secret: "none that is known".to_owned(), ..second.scheduler.clone() };
    let refused = stranger.bill(&json!(town.entries([1]))).await;
    assert_eq!((refused.status, refused.code()), (401, 0), "{refused:?}");
    assert!(refused.text.contains("signature or key is wrong"), "{refused:?}");
    assert!(second.scheduler.get("/page/numbers").await.text.contains("standing by"));
    town.assert_paid(&[1, 0, 0]).await;
    town.nothing_is_stuck(first).await;
}

/// The one that serves is stopped with a request of the other's in its hands: nobody knows what became of it, until
/// the other serves and says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn what_was_passed_on_before_a_takeover_is_not_known_and_billed_once_after_it() {
    let (town, [one, other], _) = who_reach_each_other("http").await;
    // Whoever waits is not told when an answer is late, but when the other serves.
    let patience = |machine: Installation| machine.env("SIGNER__HTTP__REQUEST_DEADLINE", "60s");
    let (one, other) = (patience(one), patience(other));
    let first = one.start().await;
    first.ready().await;
    let second = other.start().await;
    second.knows("first").await;
    town.proxy.fault(SIMULATE, Act::Hold);
    let (scheduler, body) = (second.scheduler.clone(), json!(town.entries([0])));
    let (heard, ()) = tokio::join!(scheduler.bill(&body), async {
        town.proxy.struck().await;
        first.freeze();
    });
    assert_eq!((heard.status, heard.code()), (504, 0), "{heard:?}");
    assert!(heard.text.contains("first does not serve any more"), "{heard:?}");
    second.ready().await;
    let hash = second.scheduler.bill(&body).await.tx_hash();
    assert_eq!(town.settled(&second, &hash).await["state"], "charged");
    town.proxy.heal();
    first.thaw();
    first.left().await;
    town.assert_paid(&[1, 0, 0]).await;
    town.nothing_is_stuck(second).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn nothing_is_passed_on_to_a_peer_that_is_gone() {
    let (town, [one, other], _) = who_reach_each_other("http").await;
    let nobody = format!("http://{}", free_port().await);
    let first = one.start().await;
    first.ready().await;
    let other = other.env("SIGNER__JOURNAL__PEERS__FIRST", &nobody);
    let second = other.start().await;
    second.knows("first").await;
    let refused = second.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    assert!(refused.text.contains("nothing was passed on"), "{refused:?}");
    second.wrote("nothing is passed on to it").await;
    first.kill();
    second.ready().await;
    let hash = second.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&second, &hash).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
    town.nothing_is_stuck(second).await;
}

impl Signer {
    /// Waits until it stands by and knows who serves.
    async fn knows(&self, name: &str) {
        let words = format!("standing by: {name} (");
        eventually("it names who serves", async || said(self).await.1.starts_with(&words)).await;
    }
}
