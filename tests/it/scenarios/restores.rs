//! Files of the journal that are put back, with and without the mark, and a disk that is full: the
//! procedures of docs/journal.md, as they are written there.

use super::lanes::{change_key, introduce_the_new_key};
use super::strangers::{opens, transfer_elsewhere};
use crate::world::anvil::{Family, Mining};
use crate::world::patience::eventually;
use crate::world::proxy::{ANYTHING, Act, Proxy};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use serde_json::json;
use std::path::PathBuf;

on_both_families![
    yesterdays_copy_is_noticed_with_its_mark_left_and_without_any,
    a_newer_file_that_is_put_back_is_noticed,
    with_a_batch_open_a_copy_learns_what_it_forgot_and_ends_what_it_has,
    a_snapshot_from_before_the_key_was_changed_learns_what_both_accounts_billed,
    a_snapshot_from_before_two_changes_learns_what_a_retired_key_billed,
];

/// What is put back, by the procedures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PutBack {
    /// The file, under the mark that is there.
    LeavingTheMark,
    /// The file, and no mark.
    WithoutMark,
    /// A snapshot of the disk: the file and its mark.
    WholeDirectory,
}

async fn lane(signer: &Signer) -> String {
    let heard = signer.scheduler.get("/health/ready").await;
    heard.body["chains"][0]["status"].as_str().unwrap().to_owned()
}

fn beside(town: &Town, name: &str) -> PathBuf {
    town.installation.path().join(name)
}

/// Bills one and waits for the end.
async fn billed(town: &Town, signer: &Signer, place: usize) -> String {
    let hash = signer.scheduler.bill(&json!(town.entries([place]))).await.tx_hash();
    assert_eq!(town.settled(signer, &hash).await["state"], "charged");
    hash
}

/// The forgotten billing is known again, and nobody pays twice for it.
async fn learns(town: &Town, signer: &Signer, place: usize, hash: &str) {
    eventually("it is learnt", async || {
        town.anvil.mine(1).await;
        let heard = signer.scheduler.billings(hash).await;
        heard.body["data"][0]["state"] == "charged"
    })
    .await;
    let again = signer.scheduler.bill(&json!(town.entries([place]))).await;
    assert_eq!(again.tx_hash(), hash, "{again:?}");
}

async fn yesterdays_copy_is_noticed_with_its_mark_left_and_without_any(family: Family) {
    for without_mark in [false, true] {
        let town = Town::on_request(family).await;
        let signer = town.signer().await;
        billed(&town, &signer, 0).await;
        signer.terminate().await;
        std::fs::copy(town.installation.journal(), beside(&town, "copy")).unwrap();
        let signer = town.signer().await;
        let forgotten = billed(&town, &signer, 1).await;
        signer.terminate().await;
        std::fs::copy(beside(&town, "copy"), town.installation.journal()).unwrap();
        if without_mark {
            std::fs::remove_file(beside(&town, "journal.sqlite.mark")).unwrap();
        }
        let signer = town.signer().await;
        learns(&town, &signer, 1, &forgotten).await;
        town.assert_paid(&[1, 1, 0]).await;
    }
}

/// The copy has a batch open, and so has what came after it: both land in one block.
async fn with_a_batch_open_a_copy_learns_what_it_forgot_and_ends_what_it_has(family: Family) {
    // Blocks are made faster than time passes.
    let chain_keys = "clock_tolerance = \"1d\"".to_owned();
    let founding = Founding { mining: Mining::OnRequest, chain_keys, ..Founding::on(family) };
    for how in [PutBack::LeavingTheMark, PutBack::WithoutMark, PutBack::WholeDirectory] {
        let town = Town::with(founding.clone()).await;
        let (journal, mark) = (town.installation.journal(), beside(&town, "journal.sqlite.mark"));
        let signer = town.signer().await;
        let open = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
        signer.terminate().await;
        std::fs::copy(&journal, beside(&town, "copy")).unwrap();
        std::fs::copy(&mark, beside(&town, "copy.mark")).unwrap();
        let signer = town.signer().await;
        let forgotten = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
        signer.terminate().await;
        std::fs::copy(beside(&town, "copy"), &journal).unwrap();
        match how {
            PutBack::LeavingTheMark => {}
            PutBack::WithoutMark => std::fs::remove_file(&mark).unwrap(),
            PutBack::WholeDirectory => drop(std::fs::copy(beside(&town, "copy.mark"), &mark)),
        }
        let signer = town.signer().await;
        learns(&town, &signer, 1, &forgotten).await;
        let ended = town.settled(&signer, &open).await;
        assert_eq!(ended["state"], "charged", "{how:?}: {ended}");
        town.assert_paid(&[1, 1, 0]).await;
        signer.terminate().await;
        let audit = town.installation.run(&["audit"]).await;
        assert!(audit.status.success(), "{how:?}: {audit:?}");
    }
}

/// What a snapshot of the disk brings back: the journal, and the mark that was beside it then.
struct Snapshot([(&'static str, Vec<u8>); 2]);

impl Snapshot {
    fn of(town: &Town) -> Self {
        let read = |name| (name, std::fs::read(beside(town, name)).unwrap());
        Self(["journal.sqlite", "journal.sqlite.mark"].map(read))
    }

    fn put_back(self, town: &Town) {
        for (name, bytes) in self.0 {
            std::fs::write(beside(town, name), bytes).unwrap();
        }
    }
}

/// A town whose blocks are made faster than time passes, and in which a second key may bill.
async fn town_of_two_keys(family: Family) -> Town {
    let chain_keys = "clock_tolerance = \"1d\"".to_owned();
    let founding = Founding { mining: Mining::OnRequest, chain_keys, ..Founding::on(family) };
    let town = Town::with(founding).await;
    introduce_the_new_key(&town).await;
    town
}

async fn audited(town: &Town, signer: Signer) {
    signer.terminate().await;
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{audit:?}");
}

/// One account bills no more and has nothing open, and the copy has never heard of the other.
async fn a_snapshot_from_before_the_key_was_changed_learns_what_both_accounts_billed(
    family: Family,
) {
    let town = town_of_two_keys(family).await;
    let signer = town.signer().await;
    billed(&town, &signer, 0).await;
    signer.terminate().await;
    let snapshot = Snapshot::of(&town);
    let signer = town.signer().await;
    let by_the_old = billed(&town, &signer, 1).await;
    signer.terminate().await;
    change_key(&town, "");
    let signer = town.signer().await;
    let by_the_new = billed(&town, &signer, 2).await;
    signer.terminate().await;
    snapshot.put_back(&town);
    let signer = town.signer().await;
    for (place, forgotten) in [(1, &by_the_old), (2, &by_the_new)] {
        let heard = signer.scheduler.bill(&json!(town.entries([place]))).await;
        let learnt = heard.code() == 1 && heard.tx_hash() == *forgotten;
        assert!(learnt || (heard.status, heard.code()) == (503, 0), "{heard:?}");
    }
    learns(&town, &signer, 1, &by_the_old).await;
    learns(&town, &signer, 2, &by_the_new).await;
    town.assert_paid(&[1, 1, 1]).await;
    audited(&town, signer).await;
}

/// The copy has never heard of the account, and its key does not sign any more: it is retired.
async fn a_snapshot_from_before_two_changes_learns_what_a_retired_key_billed(family: Family) {
    let town = town_of_two_keys(family).await;
    let signer = town.signer().await;
    billed(&town, &signer, 0).await;
    signer.terminate().await;
    let snapshot = Snapshot::of(&town);
    change_key(&town, "");
    let signer = town.signer().await;
    let forgotten = billed(&town, &signer, 1).await;
    signer.terminate().await;
    let keys = "key = \"file:evm.key\"\nretired_keys = [\"file:new.key\"]";
    town.installation.edit("key = \"file:new.key\"", keys);
    snapshot.put_back(&town);
    let signer = town.signer().await;
    learns(&town, &signer, 1, &forgotten).await;
    town.assert_paid(&[1, 1, 0]).await;
    audited(&town, signer).await;
}

/// Places that are taken twice are charged once, but a copy may hand out the place after them: it stays
/// closed until what the pool holds has landed.
#[tokio::test]
async fn what_waits_in_a_pool_keeps_a_snapshot_closed_until_it_has_landed() {
    let town = Town::on_request(Family::Evm).await;
    let signer = town.signer().await;
    billed(&town, &signer, 0).await;
    signer.terminate().await;
    let snapshot = Snapshot::of(&town);
    let signer = town.signer().await;
    let waiting = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    signer.terminate().await;
    snapshot.put_back(&town);
    let signer = town.signer().await;
    let why = lane(&signer).await;
    assert!(
        why.contains("1 transactions of the account") && why.contains("wait in a pool"),
        "{why}"
    );
    let refused = signer.scheduler.bill(&json!(town.entries([2]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    learns(&town, &signer, 1, &waiting).await;
    opens(&town, &signer).await;
    billed(&town, &signer, 2).await;
    town.assert_paid(&[1, 1, 1]).await;
    audited(&town, signer).await;
}

/// Of three nodes one is down and one hides what waits in its pool: the third alone knows of it.
#[tokio::test]
async fn what_one_of_three_nodes_alone_tells_of_its_pool_keeps_a_snapshot_closed() {
    let founding = Founding { mining: Mining::OnRequest, ..Founding::on(Family::Evm) };
    let (town, nodes) = Town::with_nodes(3, founding).await;
    let signer = town.signer().await;
    billed(&town, &signer, 0).await;
    signer.terminate().await;
    let snapshot = Snapshot::of(&town);
    let signer = town.signer().await;
    let waiting = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    signer.terminate().await;
    snapshot.put_back(&town);
    nodes[1].fault("eth_getTransactionCount", Act::Rewrite(|answer| *answer = json!("0x1")));
    nodes[2].fault(ANYTHING, Act::Break);
    let signer = town.signer().await;
    for _ in 0..3 {
        town.noticed().await;
        let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
        assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    }
    let why = lane(&signer).await;
    assert!(why.contains("wait in a pool"), "{why}");
    nodes.iter().for_each(Proxy::heal);
    learns(&town, &signer, 1, &waiting).await;
    opens(&town, &signer).await;
    billed(&town, &signer, 2).await;
    town.assert_paid(&[1, 1, 1]).await;
    audited(&town, signer).await;
}

/// Nobody is kept waiting for an account that has moved its coins elsewhere, but to see that it did.
#[tokio::test]
async fn an_account_that_bills_no_more_may_send_what_it_likes() {
    let town = town_of_two_keys(Family::Evm).await;
    let signer = town.signer().await;
    billed(&town, &signer, 0).await;
    signer.terminate().await;
    change_key(&town, "");
    let signer = town.signer().await;
    billed(&town, &signer, 1).await;
    signer.terminate().await;
    transfer_elsewhere(&town).await;
    let signer = town.signer().await;
    let why = lane(&signer).await;
    assert!(why.contains("which has signed here before"), "{why}");
    let health = signer.scheduler.get("/health/ready").await;
    let following = &health.body["chains"][0]["following"];
    let told = following[0]["status"].as_str().unwrap();
    assert!(told.contains("wait in a pool") || told.contains("has sent"), "{following}");
    opens(&town, &signer).await;
    let health = signer.scheduler.get("/health/ready").await;
    assert_eq!(health.body["chains"][0]["following"], json!([]), "there is nothing to tell of it");
    billed(&town, &signer, 2).await;
    town.assert_paid(&[1, 1, 1]).await;
    audited(&town, signer).await;
}

async fn a_newer_file_that_is_put_back_is_noticed(family: Family) {
    let town = Town::on_request(family).await;
    let signer = town.signer().await;
    signer.terminate().await;
    std::fs::copy(town.installation.journal(), beside(&town, "old")).unwrap();
    let signer = town.signer().await;
    let first = billed(&town, &signer, 0).await;
    let open = signer.scheduler.bill(&json!(town.entries([2]))).await.tx_hash();
    signer.terminate().await;
    std::fs::rename(town.installation.journal(), beside(&town, "newer")).unwrap();
    std::fs::copy(beside(&town, "old"), town.installation.journal()).unwrap();
    let signer = town.signer().await;
    learns(&town, &signer, 0, &first).await;
    learns(&town, &signer, 2, &open).await;
    if family == Family::Evm {
        eventually("the lane is open", async || {
            town.anvil.mine(1).await;
            lane(&signer).await == "ok"
        })
        .await;
        let between = billed(&town, &signer, 1).await;
        signer.terminate().await;
        std::fs::rename(beside(&town, "newer"), town.installation.journal()).unwrap();
        let signer = town.signer().await;
        assert_eq!(town.settled(&signer, &open).await["state"], "charged", "what it had open");
        learns(&town, &signer, 1, &between).await;
    } else {
        signer.terminate().await;
        std::fs::rename(beside(&town, "newer"), town.installation.journal()).unwrap();
        let signer = town.signer().await;
        let reason = lane(&signer).await;
        assert!(reason.contains("an old copy"), "another process wrote last: {reason}");
        let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
        assert_eq!(refused.status, 503, "{refused:?}");
        assert_eq!(town.settled(&signer, &open).await["state"], "charged", "what it had open");
    }
    let paid = if family == Family::Evm { [1, 1, 1] } else { [1, 0, 1] };
    town.assert_paid(&paid).await;
}

/// What `mount` makes, gone with it.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mounted(at: PathBuf) -> Self {
        std::fs::create_dir(&at).unwrap();
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"])
            .arg(&at)
            .status();
        assert!(mount.unwrap().success(), "run this as root");
        Self(at)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(std::process::Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

#[tokio::test]
#[ignore = "mounts a file system of 3 MiB: needs root"]
async fn with_a_full_disk_a_process_starts_follows_what_is_open_and_heals_by_itself() {
    let mut town = Town::on_request(Family::Evm).await;
    let disk = SmallDisk::mounted(beside(&town, "disk"));
    let journal = disk.0.join("journal.sqlite");
    town.installation = town.installation.env("SIGNER__JOURNAL__PATH", journal.to_str().unwrap());
    assert!(town.installation.run(&["init"]).await.status.success());
    let signer = town.signer().await;
    let open = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    drop(signer.kill());
    // As if the pool had lost it: whoever follows it offers it again.
    town.anvil.call::<serde_json::Value>("anvil_dropTransaction", json!([open])).await;
    let ballast = disk.0.join("ballast");
    let fill = std::process::Command::new("dd")
        .args(["if=/dev/zero", "bs=4k"])
        .arg(format!("of={}", ballast.display()))
        .status();
    assert!(!fill.unwrap().success(), "the disk is full");

    let signer = town.signer().await;
    let ready = signer.scheduler.get("/health/ready").await;
    assert_eq!(ready.status, 503);
    assert!(ready.body["journal"].as_str().unwrap().contains("make room"), "{ready:?}");
    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.tx_hash(), open, "what is open is known");
    eventually("it is offered again", async || {
        town.anvil.mine(1).await;
        town.transactions().await == 1
    })
    .await;

    std::fs::remove_file(&ballast).unwrap();
    assert_eq!(town.settled(&signer, &open).await["state"], "charged");
    eventually("it is ready", async || signer.scheduler.get("/health/ready").await.status == 200)
        .await;
    billed(&town, &signer, 1).await;
    signer.terminate().await;
    assert!(town.installation.run(&["audit"]).await.status.success());
    town.assert_paid(&[1, 1, 0]).await;
}
