//! Several Signers on one journal: one serves, the others stand by, and another takes over when it is gone. They
//! need the server of tests/postgres.sh.

mod by_tls;
mod differing;
mod giving_way;
mod rung;

use crate::world::patience::eventually;
use crate::world::proxy::Proxy;
use crate::world::signer::{Installation, Signer};
use crate::world::town::Town;
use serde_json::json;

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
    assert!(refused.text.contains("standing by: first ("), "{refused:?}");
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
    town.proxy.hold_billings_of(&town.people);
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

impl Signer {
    /// Waits until it stands by and knows who serves.
    async fn knows(&self, name: &str) {
        let words = format!("standing by: {name} (");
        eventually("it names who serves", async || said(self).await.1.starts_with(&words)).await;
    }
}
