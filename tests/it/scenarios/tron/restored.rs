//! An old copy of the journal in the journal's place. Nothing on TRON tells how many transactions it
//! has forgotten: it reads the irrevocable blocks until none of them can land any more.

use super::super::lanes::{change_key, introduce_the_new_key};
use super::*;
use crate::world::proxy::Act;
use sandbox_chains::faults::{Fault, On};
use std::path::PathBuf;

/// Where the mark is.
fn mark(town: &Town) -> PathBuf {
    let mut path = town.installation.journal().into_os_string();
    path.push(".mark");
    path.into()
}

/// A copy of the journal, made while the Signer was stopped.
struct Copy(PathBuf);

impl Scene {
    /// Stops the Signer, does something, and starts another.
    async fn stopped(self, act: impl FnOnce(&Town)) -> Self {
        let Self { town, signer } = self;
        signer.terminate().await;
        act(&town);
        let signer = town.signer().await;
        Self { town, signer }
    }

    async fn copied(self) -> (Self, Copy) {
        let copy = self.town.installation.path().join("copy");
        let scene = self.stopped(|town| {
            std::fs::copy(town.installation.journal(), &copy).unwrap();
        });
        (scene.await, Copy(copy))
    }

    /// A copy of the journal with its mark, as a snapshot of a volume has it.
    async fn snapshot(self) -> (Self, Copy) {
        let copy = Copy(self.town.installation.path().join("copy"));
        let scene = self.stopped(|town| {
            std::fs::copy(town.installation.journal(), &copy.0).unwrap();
            std::fs::copy(mark(town), copy.0.with_extension("mark")).unwrap();
        });
        (scene.await, copy)
    }

    async fn put_back(self, copy: &Copy) -> Self {
        let scene = self.stopped(|town| {
            std::fs::copy(&copy.0, town.installation.journal()).unwrap();
            std::fs::copy(copy.0.with_extension("mark"), mark(town)).unwrap();
        });
        scene.await
    }

    async fn restored(self, copy: &Copy) -> Self {
        let scene = self.stopped(|town| {
            std::fs::copy(&copy.0, town.installation.journal()).unwrap();
        });
        scene.await
    }

    /// The lane's status, as `/health/ready` tells it.
    async fn lane(&self) -> String {
        let heard = self.signer.scheduler.get("/health/ready").await;
        heard.body["chains"][0]["status"].as_str().unwrap().to_owned()
    }

    /// Waits until the Signer has looked, and still takes no new work.
    async fn stays_closed(&self) {
        self.town.noticed().await;
        let reason = self.lane().await;
        assert!(reason.contains("an old copy"), "{reason}");
    }

    async fn opens(&self) {
        eventually("the lane is open", async || self.lane().await == "ok").await;
    }

    /// Waits until a forgotten billing is known again.
    async fn learns(&self, hash: &str) {
        eventually("it is learnt", async || self.billing(hash).await["state"] == "charged").await;
    }

    /// The last moment that something signed before now can land at (Unix ms).
    fn last_expiry(&self) -> u64 {
        self.world().now_ms().max(unix_ms()) + 60_000
    }

    /// That the account was used without the journal is noticed, what it did learnt, and nobody charged again.
    async fn finds(self, forgotten: &str) {
        self.learns(forgotten).await;
        assert!(self.signer.log().contains("used without this journal"), "{}", self.signer.log());
        self.world().solidify_at(self.last_expiry());
        self.opens().await;
        assert_eq!(self.post(1).await.tx_hash(), forgotten);
        assert_eq!(self.landed(), 2);
        self.town.assert_paid(&[1, 1, 0]).await;
        self.audited().await;
    }

    async fn audited(self) {
        let Self { town, signer } = self;
        signer.terminate().await;
        let audit = town.installation.run(&["audit"]).await;
        assert!(audit.status.success(), "{audit:?}");
    }
}

#[tokio::test]
async fn an_old_copy_learns_what_was_billed_and_opens_when_nothing_more_can_land() {
    let scene = Scene::set(4).await;
    let known = scene.bill(0).await;
    assert_eq!(scene.settled(&known).await, "charged");
    let (scene, copy) = scene.copied().await;
    let landed = scene.bill(1).await;
    assert_eq!(scene.settled(&landed).await, "charged");
    let waiting = scene.bill(2).await;
    scene.pooled(&waiting).await;
    scene.node().faults().set(On::Broadcast, Fault::ActThenDrop);
    let lost = scene.bill(3).await;
    let scene = scene.restored(&copy).await;
    scene.node().faults().clear();

    scene.learns(&landed).await;
    scene.stays_closed().await;
    assert_eq!(scene.post(1).await.tx_hash(), landed, "what is learnt is answered already");
    for forgotten in [2, 3] {
        let refused = scene.post(forgotten).await;
        assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    }
    scene.world().solidify_at(scene.world().now_ms() + 3_000);
    scene.learns(&waiting).await;
    scene.stays_closed().await;
    // A restart forgets nothing of what it has to wait for.
    let scene = scene.stopped(|_| {}).await;
    scene.stays_closed().await;
    let until = scene.last_expiry();
    scene.world().solidify_at(until);
    scene.opens().await;
    for (place, hash) in [&known, &landed, &waiting].into_iter().enumerate() {
        assert_eq!(&scene.post(place).await.tx_hash(), hash, "{place}");
    }
    assert_eq!(scene.signer.scheduler.billings(&lost).await.code(), 0, "it has never landed");
    assert_eq!(scene.landed(), 3);
    scene.town.assert_paid(&[1, 1, 1, 0]).await;
    scene.audited().await;
}

#[tokio::test]
async fn a_batch_that_was_renewed_after_the_copy_is_not_renewed_again() {
    // Two transactions expire here, so the head runs ahead of this machine's clock.
    let scene = Scene::with(1, "clock_tolerance = \"1d\"").await;
    scene.node().faults().set(On::Broadcast, Fault::ActThenDrop);
    let hash = scene.bill(0).await;
    let expires = scene.world().now_ms() + 60_000;
    let (scene, copy) = scene.copied().await;
    scene.world().solidify_at(expires);
    scene.node().faults().clear();
    let renewed = scene.attempt(&hash, 2).await;
    assert_eq!(scene.settled(&renewed).await, "charged");
    let scene = scene.restored(&copy).await;
    scene.becomes(&hash, "expired").await;
    scene.learns(&renewed).await;
    scene.stays_closed().await;
    scene.world().solidify_at(scene.last_expiry());
    scene.opens().await;
    assert_eq!(scene.billing(&hash).await["txHashes"], json!([hash]), "it got no second one");
    assert_eq!(scene.post(0).await.tx_hash(), renewed);
    assert_eq!(scene.landed(), 1);
    scene.town.assert_paid(&[1]).await;
    scene.audited().await;
}

/// What a snapshot of a volume puts back: the journal and all that lies beside it.
#[tokio::test]
async fn a_copy_that_was_restored_with_its_mark_is_noticed_by_the_accounts_last_use() {
    let scene = Scene::set(3).await;
    let known = scene.bill(0).await;
    assert_eq!(scene.settled(&known).await, "charged");
    let (scene, snapshot) = scene.snapshot().await;
    let forgotten = scene.bill(1).await;
    assert_eq!(scene.settled(&forgotten).await, "charged");
    scene.world().approach(BEHIND_MS);
    let scene = scene.put_back(&snapshot).await;
    let refused = scene.post(1).await;
    let learnt = refused.code() == 1 && refused.tx_hash() == forgotten;
    assert!(learnt || (refused.status, refused.code()) == (503, 0), "{refused:?}");
    scene.learns(&forgotten).await;
    scene.world().solidify_at(scene.last_expiry());
    scene.opens().await;
    assert_eq!(scene.post(1).await.tx_hash(), forgotten);
    assert_eq!(scene.landed(), 2);
    // What was learnt is known from now on: the next start opens at once.
    let scene = scene.killed().await;
    scene.opens().await;
    assert!(!scene.signer.log().contains("used without this journal"), "{}", scene.signer.log());
    scene.town.assert_paid(&[1, 1, 0]).await;
    scene.audited().await;
}

/// The last use of the account tells nothing of what landed beside, or before, what the copy knows.
#[tokio::test]
async fn what_landed_beside_an_open_batch_of_a_copy_with_its_mark_is_noticed() {
    let scene = Scene::set(3).await;
    let open = scene.bill(0).await;
    scene.pooled(&open).await;
    let (scene, snapshot) = scene.snapshot().await;
    let forgotten = scene.bill(1).await;
    scene.pooled(&forgotten).await;
    for hash in [&open, &forgotten] {
        assert_eq!(scene.settled(hash).await, "charged");
    }
    let block = async |hash: &str| scene.billing(hash).await["block"].clone();
    assert_eq!(block(&open).await, block(&forgotten).await, "one block holds both");
    scene.world().approach(BEHIND_MS);
    let scene = scene.put_back(&snapshot).await;
    scene.finds(&forgotten).await;
}

/// The Signer takes no new work, for whomever: what it has forgotten would be charged again.
async fn bills_nobody(scene: &Scene, people: &[usize]) {
    for place in people {
        let refused = scene.post(*place).await;
        assert_eq!((refused.status, refused.code()), (503, 0), "{place}: {refused:?}");
    }
}

/// It was in no irrevocable block when the process began, so the last use that is irrevocable does not tell of it.
#[tokio::test]
async fn what_was_on_its_way_when_a_copy_with_its_mark_began_is_noticed() {
    let scene = Scene::set(3).await;
    let known = scene.bill(0).await;
    assert_eq!(scene.settled(&known).await, "charged");
    let (scene, snapshot) = scene.snapshot().await;
    let forgotten = scene.bill(1).await;
    scene.pooled(&forgotten).await;
    scene.world().approach(BEHIND_MS);
    let scene = scene.put_back(&snapshot).await;
    bills_nobody(&scene, &[2, 1]).await;
    scene.stays_closed().await;
    bills_nobody(&scene, &[2, 1]).await;
    scene.node().steps(5);
    scene.finds(&forgotten).await;
}

#[tokio::test]
async fn what_is_in_a_block_that_can_be_undone_when_a_copy_with_its_mark_began_is_noticed() {
    let scene = Scene::set(3).await;
    let known = scene.bill(0).await;
    assert_eq!(scene.settled(&known).await, "charged");
    let (scene, snapshot) = scene.snapshot().await;
    let forgotten = scene.bill(1).await;
    scene.pooled(&forgotten).await;
    scene.node().steps(1);
    scene.world().approach(BEHIND_MS);
    let scene = scene.put_back(&snapshot).await;
    bills_nobody(&scene, &[2, 1]).await;
    scene.stays_closed().await;
    bills_nobody(&scene, &[2, 1]).await;
    scene.node().steps(5);
    scene.finds(&forgotten).await;
}

/// The batch's first transaction is dead, and the one that renewed it is in a block that can still be undone.
#[tokio::test]
async fn a_renewal_that_a_copy_with_its_mark_has_forgotten_is_not_signed_again() {
    let scene = Scene::with(1, "clock_tolerance = \"1d\"").await;
    scene.node().faults().set(On::Broadcast, Fault::ActThenDrop);
    let hash = scene.bill(0).await;
    let expires = scene.world().now_ms() + 60_000;
    let (scene, snapshot) = scene.snapshot().await;
    scene.world().solidify_at(expires);
    scene.node().faults().clear();
    let renewed = scene.attempt(&hash, 2).await;
    scene.pooled(&renewed).await;
    scene.node().steps(1);
    let scene = scene.put_back(&snapshot).await;
    scene.stays_closed().await;
    scene.town.noticed().await;
    assert_eq!(scene.billing(&hash).await["txHashes"], json!([hash]), "it got no second one");
    scene.node().steps(5);
    scene.becomes(&hash, "expired").await;
    scene.learns(&renewed).await;
    scene.world().solidify_at(scene.last_expiry());
    scene.opens().await;
    assert_eq!(scene.post(0).await.tx_hash(), renewed);
    assert_eq!(scene.landed(), 1);
    scene.town.assert_paid(&[1]).await;
    scene.audited().await;
}

/// What waits is what the journal has open: nothing that another would have to be waited for.
#[tokio::test]
async fn a_signer_that_was_killed_with_charges_on_their_way_opens_at_once() {
    let scene = Scene::set(3).await;
    let included = scene.bill(0).await;
    scene.pooled(&included).await;
    scene.node().steps(1);
    let waiting = scene.bill(1).await;
    scene.pooled(&waiting).await;
    let scene = scene.killed().await;
    scene.opens().await;
    assert!(!scene.signer.log().contains("used without this journal"), "{}", scene.signer.log());
    scene.bill(2).await;
    scene.ends_with(&[1, 1, 1]).await;
}

/// A pool that is not shown may hold what a copy of a running Signer has forgotten.
#[tokio::test]
async fn a_signer_that_was_killed_waits_where_a_pool_with_something_of_it_is_not_shown() {
    let scene = Scene::set(2).await;
    let waiting = scene.bill(0).await;
    scene.pooled(&waiting).await;
    scene.town.proxy.fault("gettransactionlistfrompending", Act::Refuse("not here"));
    let scene = scene.killed().await;
    scene.town.noticed().await;
    bills_nobody(&scene, &[1]).await;
    scene.node().steps(1);
    scene.opens().await;
    assert!(!scene.signer.log().contains("used without this journal"), "{}", scene.signer.log());
    scene.bill(1).await;
    scene.ends_with(&[1, 1]).await;
}

#[tokio::test]
async fn a_restart_with_open_batches_that_have_landed_is_no_old_copy() {
    let scene = Scene::set(2).await;
    let open = scene.bill(0).await;
    scene.pooled(&open).await;
    let scene = scene
        .stopped(|town| {
            town.tron().node.steps(8);
            town.tron().approach(BEHIND_MS);
        })
        .await;
    assert_eq!(scene.settled(&open).await, "charged");
    scene.opens().await;
    assert!(!scene.signer.log().contains("used without this journal"), "{}", scene.signer.log());
    assert_eq!(scene.settled(&scene.bill(1).await).await, "charged");
    scene.town.assert_paid(&[1, 1]).await;
}

/// Minutes after its last use, which the time of the lane's opening does not show any more.
#[tokio::test]
async fn a_copy_from_before_the_lane_was_known_is_noticed() {
    let scene = Scene::behind(founded(3, "clock_tolerance = \"1d\"").await, 300_000).await;
    introduce_the_new_key(&scene.town).await;
    let known = scene.bill(0).await;
    assert_eq!(scene.settled(&known).await, "charged");
    let (scene, snapshot) = scene.snapshot().await;
    let scene = scene.stopped(|town| change_key(town, "")).await;
    let forgotten = scene.bill(1).await;
    assert_eq!(scene.settled(&forgotten).await, "charged");
    // As if the snapshot were ten minutes old.
    let copy = rusqlite::Connection::open(&snapshot.0).unwrap();
    scene.town.installation.forge();
    copy.execute("UPDATE history SET at_ms = at_ms - 600000", []).unwrap();
    drop(copy);
    let scene = scene.put_back(&snapshot).await;
    scene.learns(&forgotten).await;
    scene.world().solidify_at(scene.last_expiry());
    scene.opens().await;
    assert_eq!(scene.post(1).await.tx_hash(), forgotten);
    scene.town.assert_paid(&[1, 1, 0]).await;
}
