//! CPU time: a block that stops a transaction because it takes too long keeps the whole fee limit and
//! charges nobody, and no simulation foretells it.

use super::*;
use sandbox_chains::tron::Cpu;

/// More than any call takes, and less than any takes.
const PLENTY: [u64; 2] = [u64::MAX; 2];
const NONE: [u64; 2] = [10; 2];

impl Scene {
    fn limits(&self, block: [u64; 2], call: [u64; 2]) {
        self.node().node().chain().family_mut().cpu = Cpu { block, call, seed: 7 };
    }

    async fn post_first(&self, people: usize) -> Heard {
        self.signer.scheduler.bill(&json!(self.town.entries(0..people))).await
    }

    /// Posts the first so many, which a block stops.
    async fn burn(&self, people: usize) {
        let hash = self.post_first(people).await.tx_hash();
        assert_eq!(self.settled(&hash).await, "reverted");
        self.world().approach(BEHIND_MS);
        self.town.noticed().await;
    }

    /// How long a call that charges these computes, in steps.
    async fn steps_of(&self, people: std::ops::Range<usize>) -> u64 {
        let heard = self.signer.scheduler.bill(&json!(self.town.entries(people))).await;
        let hash = heard.tx_hash();
        let tx = self.pooled(&hash).await;
        let Action::Trigger(call) = &tx.action else { panic!("{tx:?}") };
        let contract = self.town.contract;
        let outcome = crate::world::tron::peek(
            self.node(),
            signer_address(),
            contract,
            call.data.clone().into(),
        );
        assert_eq!(self.settled(&hash).await, "charged");
        outcome.steps
    }
}

/// The refusal of a batch that takes too long, and the size that is said to fit.
fn too_slow(heard: &Heard) -> u64 {
    assert_eq!((heard.code(), heard.status), (0, 503), "{heard:?}");
    let said = heard.body["msg"].as_str().unwrap();
    assert!(said.contains("CPU time") && !said.contains("gas"), "{said}");
    heard.body["data"]["maxBatch"].as_u64().unwrap()
}

#[tokio::test]
async fn what_a_block_stopped_is_not_signed_again_in_that_size_not_even_by_another_process() {
    let scene = Scene::set(8).await;
    scene.limits(NONE, PLENTY);
    scene.burn(8).await;
    scene.limits(PLENTY, PLENTY);
    assert_eq!(too_slow(&scene.post_first(8).await), 4);
    let scene = scene.killed().await;
    scene.world().approach(BEHIND_MS);
    scene.town.noticed().await;
    assert_eq!(too_slow(&scene.post_first(5).await), 4, "{}", scene.signer.log());
    let hash = scene.post_first(4).await.tx_hash();
    assert_eq!(scene.settled(&hash).await, "charged");
    scene.town.assert_paid(&[1, 1, 1, 1, 0, 0, 0, 0]).await;
    assert_eq!(scene.landed(), 2);
}

#[tokio::test]
async fn a_size_of_which_one_simulation_was_stopped_is_not_signed_though_another_would_pass() {
    let scene = Scene::set(20).await;
    let [few, all] = [scene.steps_of(8..12).await, scene.steps_of(12..20).await];
    scene.world().approach(BEHIND_MS);
    scene.town.noticed().await;
    let before = scene.world().transactions_of(signer_address());
    // About every second call of all eight is stopped, and each would be stopped in a block.
    scene.limits([few, few + 1], [few + 1, 2 * all - few]);
    let dry = json!({"dryRun": true, "list": scene.town.entries(0..8)});
    let mut heard = scene.signer.scheduler.bill(&dry).await;
    while heard.status == 200 {
        heard = scene.signer.scheduler.bill(&dry).await;
    }
    assert_eq!(too_slow(&heard), 4);
    for _ in 0..8 {
        assert_eq!(too_slow(&scene.post_first(8).await), 4);
    }
    assert_eq!(scene.world().transactions_of(signer_address()), before);
}

#[tokio::test]
async fn after_three_in_a_row_nothing_is_signed_until_a_simulation_has_passed() {
    let scene = Scene::with(3, "").await;
    scene.limits(NONE, PLENTY);
    for _ in 0..3 {
        scene.burn(1).await;
    }
    scene.limits(NONE, NONE);
    let heard = scene.post(1).await;
    assert_eq!((heard.code(), heard.status), (0, 503), "{heard:?}");
    assert!(heard.body["msg"].as_str().unwrap().contains("stopped 3"), "{heard:?}");
    let ready = scene.signer.scheduler.get("/health/ready").await;
    assert_eq!(ready.status, 503, "{ready:?}");
    assert!(ready.body.to_string().contains("stopped 3"), "{ready:?}");
    assert_eq!(scene.landed(), 3, "no more was burnt");
    scene.limits(PLENTY, PLENTY);
    eventually("the lane opens by itself", async || {
        scene.world().approach(BEHIND_MS);
        scene.post(1).await.code() == 1
    })
    .await;
    scene.town.quiet(&scene.signer).await;
    scene.town.assert_paid(&[0, 1, 0]).await;
}

#[tokio::test]
async fn what_failures_burn_in_a_day_has_a_limit_that_a_restart_remembers() {
    let mut town = founded(2, "").await;
    let burnt = "SIGNER__CHAINS__139__FEES__MAX_BURNT_PER_DAY";
    town.installation = town.installation.env(burnt, "1 TRX");
    let scene = Scene::in_town(town).await;
    scene.limits(NONE, PLENTY);
    scene.burn(1).await;
    scene.limits(PLENTY, PLENTY);
    let closed = async |scene: &Scene| {
        let heard = scene.post(1).await;
        assert_eq!((heard.code(), heard.status), (0, 503), "{heard:?}");
        let said = heard.body["msg"].as_str().unwrap();
        assert!(said.contains("max_burnt_per_day"), "{said}");
    };
    closed(&scene).await;
    let scene = scene.killed().await;
    scene.world().approach(BEHIND_MS);
    scene.town.noticed().await;
    closed(&scene).await;
    assert_eq!(scene.landed(), 1);
}

#[tokio::test]
async fn one_charge_that_takes_too_long_is_refused_for_good() {
    let scene = Scene::set(1).await;
    // Enough to read what the customer holds.
    scene.limits(PLENTY, [3_000; 2]);
    let heard = scene.post(0).await;
    assert_eq!((heard.code(), heard.status), (0, 413), "{heard:?}");
    assert!(heard.body["msg"].as_str().unwrap().contains("CPU time"), "{heard:?}");
}
