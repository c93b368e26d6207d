//! Two machines whose configurations differ in what money depends on.

use super::{said, two_machines};
use crate::world::patience::eventually;
use serde_json::json;
use std::time::Duration;

/// Nothing but claims keeps a subscription from being charged through both contracts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_machine_with_another_contract_takes_nothing_over_and_nobody_pays_twice() {
    let (town, [one, other], _) = two_machines().await;
    other.edit(&town.spell(town.contract), &town.spell(town.token.address));
    let first = one.start().await;
    first.ready().await;
    let hash = first.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let second = other.start().await;
    eventually("it says so", async || said(&second).await.1.contains("will not take over")).await;
    let differs = r#"signer_instance_differs{instance_name="second""#;
    eventually("its metrics count the difference", async || {
        let metrics = second.scheduler.get("/metrics").await.text;
        metrics.lines().any(|line| line.starts_with(differs) && !line.ends_with(" 0"))
    })
    .await;
    first.kill();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let refused = second.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    let first = one.start().await;
    first.ready().await;
    let again = first.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.tx_hash(), hash, "nobody is charged twice");
    assert_eq!(town.settled(&first, &hash).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}
