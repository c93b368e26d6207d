//! The one that serves is cut off from its chains, and is of no use: another that could bill takes its place. Two that
//! are both cut off change nothing.

use super::two_machines;
use crate::world::patience::eventually;
use crate::world::proxy::{ANYTHING, Act};
use crate::world::signer::Signer;
use serde_json::{Value, json};
use std::time::Duration;

/// Who is said to be able to bill, by the scrape of `asked`.
async fn fit(asked: &Signer, name: &str) -> bool {
    let metrics = asked.scheduler.get("/metrics").await.text;
    let of = format!("signer_instance_fit{{instance_name=\"{name}\"");
    metrics.lines().any(|line| line.starts_with(&of) && line.ends_with(" 1"))
}

/// Posts a list until it is taken: nothing is signed while a node answers too late. Tells the hash.
async fn billed(signer: &Signer, list: Value) -> String {
    eventually("it is billed", async || signer.scheduler.bill(&list).await.code() == 1).await;
    signer.scheduler.bill(&list).await.tx_hash()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn who_reaches_no_chain_gives_way_to_who_does_and_to_nobody_else() {
    let (town, [one, other], node) = two_machines().await;
    let one = one.env("SIGNER__CHAINS__139__RPC_TIMEOUT", "4s");
    let other = other.env("SIGNER__CHAINS__139__RPC_TIMEOUT", "4s");
    let first = one.start().await;
    first.ready().await;
    let hash = billed(&first, json!(town.entries([0]))).await;
    assert_eq!(town.settled(&first, &hash).await["state"], "charged");
    let second = other.start().await;
    eventually("it could bill", async || fit(&first, "second").await).await;

    node.fault(ANYTHING, Act::Swallow);
    town.proxy.fault(ANYTHING, Act::Swallow);
    eventually("neither could bill", async || {
        !fit(&first, "first").await && !fit(&first, "second").await
    })
    .await;
    // Three times as long as takeover_after, and more.
    tokio::time::sleep(Duration::from_secs(13)).await;
    let told = second.scheduler.get("/health/ready").await.text;
    assert!(told.contains("standing by: first ("), "{told}");
    assert!(told.contains("could bill nothing now"), "{told}");

    node.heal();
    second.ready().await;
    let (ended, log) = first.left().await;
    assert!(!ended.success(), "a supervisor starts it again");
    assert!(log.contains("it gives way"), "{log}");
    let again = billed(&second, json!(town.entries([0]))).await;
    assert_eq!(again, hash, "nobody is charged twice");
    let next = billed(&second, json!(town.entries([1]))).await;
    assert_eq!(town.settled(&second, &next).await["state"], "charged");
    let first = one.start().await;
    eventually("it stands by, and says that it could bill nothing", async || {
        let told = first.scheduler.get("/health/ready").await.text;
        told.contains("standing by: second (") && told.contains("could bill nothing now")
    })
    .await;
    town.proxy.heal();
    eventually("it could again", async || fit(&second, "first").await).await;
    first.terminate().await;
    town.assert_paid(&[1, 1, 0]).await;
    town.nothing_is_stuck(second).await;
}
