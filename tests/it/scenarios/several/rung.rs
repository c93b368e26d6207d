//! What is rung for in a pair: scrapes of both machines, played to the alert rules.

use super::{said, two_machines};
use crate::scenarios::drills::played::{Played, firing_of};
use crate::world::patience::eventually;
use crate::world::signer::Signer;

/// Whether a scrape has a line that begins and ends so.
async fn tells(signer: &Signer, begins: &str, ends: &str) -> bool {
    let metrics = signer.scheduler.get("/metrics").await.text;
    metrics.lines().any(|line| line.starts_with(begins) && line.ends_with(ends))
}

/// What is rung for besides the head: the chain of this town makes a block for each transaction and no other.
fn rung(all: &[(&str, Played, Played)]) -> Vec<String> {
    firing_of(all).into_keys().filter(|alert| alert != "SignerHeadStalled").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_standby_that_differs_and_nobody_who_serves_are_rung_for() {
    let (town, [one, other], _) = two_machines().await;
    other.edit(&town.spell(town.contract), &town.spell(town.token.address));
    let first = one.start().await;
    first.ready().await;
    let second = other.start().await;
    eventually("it says so", async || said(&second).await.1.contains("will not take over")).await;
    eventually("the first knows it", async || {
        tells(&first, "signer_instance_fit{instance_name=\"second\"", " 0").await
    })
    .await;
    let [a, b] = [Played::scrape(&first).await, Played::scrape(&second).await];
    let both = rung(&[("a", a.clone(), a.clone()), ("b", b.clone(), b.clone())]);
    assert_eq!(both, ["SignerCannotTakeOver", "SignerInstanceDiffers", "SignerStandbyUnfit"]);
    first.kill();
    eventually("nobody serves", async || {
        let metrics = second.scheduler.get("/metrics").await.text;
        !metrics.contains("state=\"serves\"")
    })
    .await;
    let alone = Played::scrape(&second).await;
    let alone = rung(&[("a", a, Played::nothing()), ("b", b, alone)]);
    assert!(alone.iter().any(|alert| alert == "SignerNobodyServes"), "{alone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn the_last_standby_that_goes_is_rung_for() {
    let (_town, [one, other], _) = two_machines().await;
    let first = one.start().await;
    first.ready().await;
    let second = other.start().await;
    eventually("one stands by", async || tells(&first, "signer_standbys ", " 1").await).await;
    let [a, b] = [Played::scrape(&first).await, Played::scrape(&second).await];
    let well = rung(&[("a", a.clone(), a.clone()), ("b", b.clone(), b.clone())]);
    assert!(well.is_empty(), "{well:?}");
    second.terminate().await;
    eventually("none stands by", async || tells(&first, "signer_standbys ", " 0").await).await;
    let alone = Played::scrape(&first).await;
    let gone = rung(&[("a", a, alone), ("b", b, Played::nothing())]);
    assert_eq!(gone, ["SignerNoStandby"]);
}
