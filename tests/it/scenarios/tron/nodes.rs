//! Several TRON nodes before one chain, one of which lies. Whatever it says, no claim is released for a
//! charge that landed, nobody is charged twice, and `/health/ready` names it.

use super::*;
use crate::world::lies::{
    a_word_of_its_own, an_empty_block, failed_on_tron, nothing_at_all, without_a_result,
};
use crate::world::proxy::{ANYTHING, Act, LOOK, Proxy};
use crate::world::town::KEY;
use std::time::Instant;

const INFO: &str = "gettransactioninfobyid";
const BY_ID: &str = "gettransactionbyid";
const SOLID_BLOCK: &str = "walletsolidity/getblock";

/// A lie: what is asked, and what becomes of the answer.
pub(super) type Lie = &'static [(&'static str, fn(&mut Value))];

/// That the call failed, by every way in which a node can say so.
const IT_FAILED: Lie = &[(INFO, failed_on_tron)];
/// That nothing is known of it, and that the blocks are empty.
const NEVER_SEEN: Lie =
    &[(INFO, nothing_at_all), (BY_ID, nothing_at_all), (SOLID_BLOCK, an_empty_block)];

pub(super) async fn with_nodes(nodes: usize, keys: &str) -> (Scene, Vec<Proxy>) {
    for_people(2, nodes, keys).await
}

pub(super) async fn for_people(people: u64, nodes: usize, keys: &str) -> (Scene, Vec<Proxy>) {
    let founding = Founding {
        mining: Mining::OnRequest,
        people,
        chain_keys: format!("expiry = \"1m\"\nrpc_timeout = \"4s\"\n{keys}"),
        behind: Duration::from_mins(10),
        ..Founding::on(Family::Tron)
    };
    let (town, proxies) = Town::with_nodes(nodes, founding).await;
    (Scene::in_town(town).await, proxies)
}

pub(super) fn tell(proxy: &Proxy, lie: Lie) {
    for (question, change) in lie {
        proxy.fault(question, Act::Rewrite(*change));
    }
}

impl Scene {
    /// What `/health/ready` says of the chain.
    pub(super) async fn health(&self) -> Value {
        self.signer.scheduler.get("/health/ready").await.body["chains"][0].clone()
    }

    /// What `/health/ready` says that a node was caught at.
    pub(super) async fn caught(&self, node: usize) -> String {
        self.health().await["nodes"][node]["caught"].as_str().unwrap_or_default().to_owned()
    }
}

/// Waits until the Signer has looked at this node, which it does though it may have caught the other.
async fn looked_at(honest: &Proxy) {
    let now = Instant::now();
    let looks = async || honest.asked_since(LOOK, now) >= 2;
    eventually("the Signer looks at the honest node", looks).await;
}

/// One of `nodes` tells this lie about a charge that lands, until its time is over.
async fn lied_about(nodes: usize, liar: usize, lie: Lie) {
    let (scene, proxies) = with_nodes(nodes, "max_attempts = 1").await;
    let hash = scene.bill(0).await;
    scene.pooled(&hash).await;
    tell(&proxies[liar], lie);
    let begun = Instant::now();
    let honest = &proxies[(liar + 1) % nodes];
    scene.node().steps(5);
    looked_at(honest).await;
    scene.world().solidify_at(scene.world().now_ms() + 66_000);
    for _ in 0..3 {
        looked_at(honest).await;
    }
    proxies[liar].struck().await;
    if lie.iter().any(|(question, _)| *question == INFO) {
        // Blocks, of which it may lie as well, are asked for anyway. Once it is caught at one it is asked no more.
        let told = async || {
            proxies[liar].asked_since(INFO, begun) > 0 || !scene.caught(liar).await.is_empty()
        };
        eventually("it lies about the charge itself", told).await;
    }
    let state = scene.state(&hash).await;
    if nodes > 2 {
        scene.becomes(&hash, "charged").await;
        eventually("the liar is named", async || !scene.caught(liar).await.is_empty()).await;
    } else {
        assert!(matches!(&*state, "open" | "charged"), "{state}: {}", scene.signer.log());
    }
    let again = scene.post(0).await;
    assert!([1, 2].contains(&again.code()), "{again:?}");
    assert_eq!(scene.landed(), 1, "nothing else was sent");
    proxies[liar].heal();
    // Who was caught is not believed for an hour, and one of two providers alone ends nothing; a new
    // process asks both again.
    let caught = nodes == 2 && !scene.caught(liar).await.is_empty();
    let scene = if caught { scene.killed().await } else { scene };
    scene.becomes(&hash, "charged").await;
    scene.town.assert_paid(&[1, 0]).await;
}

#[tokio::test]
async fn of_two_providers_one_that_calls_a_charge_failed_releases_nothing() {
    lied_about(2, 1, IT_FAILED).await;
    lied_about(2, 0, &[("walletsolidity/gettransactioninfobyid", failed_on_tron)]).await;
}

#[tokio::test]
async fn of_two_providers_one_that_has_never_seen_a_charge_releases_nothing() {
    lied_about(2, 1, NEVER_SEEN).await;
    lied_about(2, 0, NEVER_SEEN).await;
}

#[tokio::test]
async fn of_two_providers_one_without_results_or_without_anything_releases_nothing() {
    lied_about(2, 0, &[(INFO, without_a_result), (BY_ID, without_a_result)]).await;
    lied_about(2, 1, &[(ANYTHING, nothing_at_all)]).await;
}

#[tokio::test]
async fn of_three_providers_one_liar_delays_nothing_and_is_named() {
    lied_about(3, 1, IT_FAILED).await;
    lied_about(3, 2, &[(SOLID_BLOCK, an_empty_block), (INFO, failed_on_tron)]).await;
}

#[tokio::test]
async fn a_lone_provider_that_leaves_results_out_or_invents_words_releases_nothing() {
    const UNTOLD: [Lie; 2] = [
        &[(INFO, without_a_result), (BY_ID, without_a_result)],
        &[(INFO, a_word_of_its_own), (BY_ID, without_a_result)],
    ];
    for lie in UNTOLD {
        let (scene, proxies) = with_nodes(1, "max_attempts = 1").await;
        let hash = scene.bill(0).await;
        scene.pooled(&hash).await;
        tell(&proxies[0], lie);
        scene.world().solidify_at(scene.world().now_ms() + 300_000);
        scene.town.noticed().await;
        scene.stays(&hash, "open").await;
        proxies[0].heal();
        scene.becomes(&hash, "charged").await;
        assert_eq!(scene.landed(), 1);
        scene.town.assert_paid(&[1, 0]).await;
    }
}

#[tokio::test]
async fn a_death_is_proven_by_two_providers_and_the_claim_is_free_again() {
    let (scene, proxies) = with_nodes(2, "max_attempts = 1").await;
    scene
        .node()
        .faults()
        .set(sandbox_chains::faults::On::Broadcast, sandbox_chains::faults::Fault::ActThenDrop);
    let hash = scene.bill(0).await;
    proxies[1].fault(SOLID_BLOCK, Act::Break);
    scene.world().solidify_at(scene.world().now_ms() + 66_000);
    scene.stays(&hash, "open").await;
    proxies[1].heal();
    scene.becomes(&hash, "expired").await;
    assert_eq!(scene.landed(), 0);
    scene.town.assert_paid(&[0, 0]).await;
}

/// The liar says that nobody holds anything.
fn no_tokens(answer: &mut Value) {
    if let Some(word) = answer["constant_result"][0].as_str() {
        answer["constant_result"][0] = json!("00".repeat(word.len() / 2));
    }
}

#[tokio::test]
async fn nobody_is_refused_on_the_word_of_one_of_two_whether_the_other_is_up_or_not() {
    let (scene, proxies) = with_nodes(2, "").await;
    proxies[0].fault("triggerconstantcontract", Act::Rewrite(no_tokens));
    for _ in 0..3 {
        let heard = scene.post(0).await;
        assert!(heard.status == 503 || heard.code() == 1, "{heard:?}");
    }
    proxies[1].fault(ANYTHING, Act::Break);
    let heard = scene.post(1).await;
    assert_ne!(heard.code(), 2, "nobody is told to be poor: {heard:?}");
    scene.town.assert_paid(&[0, 0]).await;
}

#[tokio::test]
async fn health_says_on_whose_word_claims_are_released_and_which_node_is_dead() {
    let (alone, proxies) = with_nodes(1, "").await;
    let told = alone.health().await;
    assert_eq!(told["trust"], "one provider: claims are released on its word alone");
    assert!(alone.signer.log().contains("claims are released on its word alone"));
    assert_eq!(told["nodes"].as_array().unwrap().len(), 1, "one node, however many endpoints");
    assert_eq!(told["nodes"][0]["state"], "alive");
    proxies[0].fault(ANYTHING, Act::Break);
    eventually("it is known to be dead", async || {
        alone.health().await["nodes"][0]["state"] != "alive"
    })
    .await;
    assert_eq!(alone.signer.scheduler.get("/health/ready").await.status, 503);

    let (two, proxies) = with_nodes(2, "").await;
    assert_eq!(two.health().await["trust"], "claims are released when two providers agree");
    proxies[1].fault(ANYTHING, Act::Break);
    eventually("the second is known to be dead", async || {
        let told = two.health().await;
        told["nodes"][0]["state"] == "alive" && told["nodes"][1]["state"] == "busy"
    })
    .await;
    assert!(!two.signer.log().contains(KEY));
}
