//! Energy, TRX and fee limits: what cannot be paid for is refused before it is signed, since a call
//! that runs out of energy burns all of its fee limit and charges nobody.

use super::*;
use sandbox_chains::faults::{Fault, On};

#[tokio::test]
async fn an_account_that_cannot_pay_for_the_energy_signs_nothing() {
    let scene = Scene::set(1).await;
    for sun in [0, 1_000_000] {
        scene.node().fund(signer_address(), sun);
        scene.town.noticed().await;
        let heard = scene.post(0).await;
        assert_eq!((heard.code(), heard.status), (0, 503), "{sun} {heard:?}");
        let said = heard.body["msg"].as_str().unwrap();
        assert!(said.contains("sun") || said.contains("TRX"), "{said}");
        assert_eq!(scene.world().transactions_of(signer_address()), (vec![], vec![]));
    }
    scene.node().fund(signer_address(), 1_000_000_000);
    scene.town.noticed().await;
    let hash = scene.bill(0).await;
    assert_eq!(scene.settled(&hash).await, "charged");
    scene.ends_with(&[1]).await;
}

#[tokio::test]
async fn staked_energy_pays_where_there_is_hardly_any_trx() {
    let scene = Scene::set(1).await;
    scene.node().fund(signer_address(), 5_000_000);
    scene.node().stake(signer_address(), 0, 1_000_000_000_000);
    scene.town.noticed().await;
    let hash = scene.bill(0).await;
    assert_eq!(scene.settled(&hash).await, "charged");
    scene.ends_with(&[1]).await;
}

#[tokio::test]
async fn a_fee_limit_above_the_ceiling_is_not_signed() {
    let mut town = founded(40, "").await;
    town.installation = town.installation.env("SIGNER__CHAINS__139__FEES__MAX_FEE_LIMIT", "1 TRX");
    let signer = town.signer().await;
    town.tron().approach(20_000);
    town.noticed().await;
    let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(heard.code(), 0, "{heard:?}");
    signer.terminate().await;
    town.installation = town.installation.env("SIGNER__CHAINS__139__FEES__MAX_FEE_LIMIT", "90 TRX");
    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&json!(town.entries(0..40))).await;
    assert_eq!((heard.code(), heard.status), (0, 413), "{heard:?}");
    let words = heard.body["msg"].as_str().unwrap().split("post at most ").nth(1).unwrap();
    let fit: usize = words.split(' ').next().unwrap().parse().unwrap();
    let hash = signer.scheduler.bill(&json!(town.entries(0..fit))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged", "{fit}");
    let paid: Vec<u128> = (0..40).map(|place| u128::from(place < fit)).collect();
    town.assert_paid(&paid).await;
}

#[tokio::test]
async fn a_call_that_ran_out_of_energy_on_chain_charged_nobody_and_frees_its_claim() {
    let scene = Scene::set(1).await;
    let hash = scene.bill(0).await;
    scene.pooled(&hash).await;
    // Somebody empties the account before the block: the call's energy shrinks to what is left.
    scene.node().fund(signer_address(), 1_500_000);
    scene.node().step();
    assert_eq!(scene.landed(), 1);
    assert_eq!(scene.settled(&hash).await, "reverted");
    let told = scene.signer.scheduler.billings(&hash).await.body["data"][0]["execution"].clone();
    assert_eq!(told["result"], "OUT_OF_ENERGY", "{told}");
    assert!(told["fee"].as_u64().unwrap() > 0 && !told["message"].is_null(), "{told}");
    scene.town.assert_paid(&[0]).await;
    scene.node().fund(signer_address(), 1_000_000_000);
    scene.ends_with(&[0]).await;
    assert_eq!(scene.landed(), 2);
}

#[tokio::test]
async fn a_price_that_changed_since_the_start_is_the_one_that_counts() {
    let scene = Scene::set(1).await;
    let before = scene.dry().await;
    scene.node().set_param("getEnergyFee", 210);
    // An answer is broken: whoever gives the next one may be another node.
    scene.node().faults().add(On::Path("getaccountresource".to_owned()), Fault::status(502, ""));
    eventually("the new price counts", async || scene.dry().await == before / 100 * 210).await;
    let hash = scene.bill(0).await;
    assert_eq!(scene.settled(&hash).await, "charged");
    scene.ends_with(&[1]).await;
}

#[tokio::test]
async fn what_is_merely_too_old_says_so_and_what_is_dead_waits_for_money_in_sight() {
    let scene = Scene::set(1).await;
    scene.node().faults().set(On::Broadcast, Fault::ActThenDrop);
    let hash = scene.bill(0).await;
    let held_up = async || scene.billing(&hash).await["heldUp"].as_str().unwrap_or("").to_owned();
    let dead_ms = scene.world().now_ms() + 60_000;
    while scene.world().now_ms() < dead_ms {
        scene.node().step();
    }
    eventually("it is too old", async || held_up().await.starts_with("its time is over")).await;
    scene.node().fund(signer_address(), 0);
    scene.world().solidify_at(dead_ms);
    let starved = "the signing account cannot pay for it: top it up";
    eventually("it waits for money", async || held_up().await == starved).await;
    let ready = scene.signer.scheduler.get("/health/ready").await;
    assert_eq!(ready.body["chains"][0]["heldUp"][0]["why"], starved, "{ready:?}");
    assert_eq!(ready.status, 503, "no ordinary batch could be paid: {ready:?}");
    scene.node().faults().clear();
    scene.node().fund(signer_address(), 1_000_000_000);
    scene.attempt(&hash, 2).await;
    assert_eq!(scene.settled(&hash).await, "charged");
    scene.ends_with(&[1]).await;
}

impl Scene {
    /// The fee limit that a dry run names (sun).
    async fn dry(&self) -> u64 {
        let dry = json!({"dryRun": true, "list": self.town.entries([0])});
        let heard = self.signer.scheduler.bill(&dry).await;
        let said = heard.body["data"]["gasRequired"].as_str();
        said.map_or(0, |sun| sun.parse().unwrap())
    }
}

/// Without configured tokens `check` tells what a charge takes with tokens as they may be; otherwise it asks the chain
/// how dear each of them is.
#[tokio::test]
async fn check_tells_what_a_charge_takes_with_the_token_that_is_billed_in() {
    // Without a lookup nothing holds the contract to a token, and none may be listed.
    let town = Town::with(Founding { lookup: true, ..Founding::on(Family::Tron) }).await;
    let check = async |town: &Town| {
        let told = town.installation.run(&["check"]).await;
        String::from_utf8([told.stdout, told.stderr].concat()).unwrap()
    };
    let of = |energy: u64, trx: &str| format!("takes about {energy} energy, {trx}");
    let (cold, hot) = (of(28_710, "2.871"), of(80_526, "8.0526"));
    let both = check(&town).await;
    assert!(both.contains(&cold) && both.contains(&hot), "{both}");
    let config = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    let named = town.spell(town.token.address);
    let tokens = format!("[chains.139.policy.tokens]\nUSDT = {named:?}");
    std::fs::write(&config, format!("{before}\n{tokens}\n")).unwrap();
    let told = check(&town).await;
    assert!(told.contains("USDT, energy factor 0: ") && told.contains(&cold), "{told}");
    town.tron().node.set_energy_factor(town.token.address, 34_000);
    let told = check(&town).await;
    assert!(told.contains("USDT, energy factor 34000: ") && told.contains(&hot), "{told}");
}
