//! Copies of a running journal, taken under load, put in the place of one that is lost, and billed on.

use super::signals::value;
use crate::world::anvil::{Family, Mining};
use crate::world::patience::{eventually, unix_ms};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use serde_json::json;
use std::time::Duration;

on_both_families![
    a_backup_of_a_running_journal_is_restored_and_billed_on_and_nobody_pays_twice,
    a_kept_copy_of_a_killed_signers_journal_is_restored_and_nobody_pays_twice,
    a_copy_of_no_use_is_refused_and_says_what_to_do,
];

const PEOPLE: usize = 10;

/// How many are billed before the copy that is restored is complete; the others after it.
const BEFORE: usize = 6;

/// A town whose journal is copied to a second directory.
async fn with_copies(family: Family) -> Town {
    let chain_keys = match family {
        Family::Evm => String::new(),
        Family::Tron => "expiry = \"1m\"\nclock_tolerance = \"1d\"".to_owned(),
    };
    let people = u64::try_from(PEOPLE).unwrap();
    let founding =
        Founding { mining: Mining::OnRequest, people, chain_keys, ..Founding::on(family) };
    let mut town = Town::with(founding).await;
    std::fs::create_dir(town.installation.path().join("second")).unwrap();
    town.installation = town.installation.env("SIGNER__JOURNAL__COPY_DIR", "second");
    town
}

/// Bills people one after another, a block now and then.
async fn bill(town: &Town, signer: &Signer, places: std::ops::Range<usize>) -> Vec<String> {
    let mut hashes = vec![];
    for place in places {
        let heard = signer.scheduler.bill(&json!(town.entries([place]))).await;
        hashes.push(heard.tx_hash());
        if place % 2 == 0 {
            town.anvil.mine(1).await;
        }
    }
    hashes
}

/// Waits until the copy holds everything that was committed before now.
async fn copied(signer: &Signer) {
    let now = Duration::from_millis(unix_ms()).as_secs_f64();
    eventually("the copy holds it", async || {
        let metrics = signer.scheduler.get("/metrics").await.text;
        value(&metrics, "signer_copy_timestamp_seconds").unwrap() > now
    })
    .await;
}

async fn succeeds(town: &Town, arguments: &[&str]) -> String {
    let output = town.installation.run(arguments).await;
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

/// The journal is gone and the copy in its place: everybody that was billed is known again, and everybody is
/// charged once, whoever is billed again.
async fn goes_on(town: &Town, from: &str, billed: &[String]) {
    let left = town.installation.run(&["restore", from]).await;
    assert!(!left.status.success(), "a journal that is there is not replaced: {left:?}");
    for ending in ["", "-wal"] {
        let mut gone = town.installation.journal().into_os_string();
        gone.push(ending);
        std::fs::remove_file(gone).ok();
    }
    let said = succeeds(town, &["restore", from]).await;
    assert!(said.contains("Start the Signer"), "{said}");
    let signer = town.signer().await;
    for hash in billed {
        eventually("it is learnt", async || {
            town.anvil.mine(1).await;
            signer.scheduler.billings(hash).await.body["data"][0]["state"] == "charged"
        })
        .await;
    }
    if town.family() == Family::Tron {
        let closed = signer.scheduler.get("/health/ready").await.text;
        assert!(closed.contains("an old copy"), "{closed}");
        town.tron().solidify_at(town.tron().now_ms().max(unix_ms()) + 60_000);
    }
    signer.ready().await;
    for (place, hash) in billed.iter().enumerate() {
        let again = signer.scheduler.bill(&json!(town.entries([place]))).await;
        assert_eq!(&again.tx_hash(), hash, "{again:?}");
    }
    bill(town, &signer, billed.len()..PEOPLE).await;
    eventually("every batch is decided", async || {
        town.anvil.mine(1).await;
        signer.scheduler.get("/health/ready").await.body["chains"][0]["undecided"] == 0
    })
    .await;
    town.assert_paid(&[1; PEOPLE]).await;
    signer.terminate().await;
    succeeds(town, &["audit"]).await;
}

async fn a_backup_of_a_running_journal_is_restored_and_billed_on_and_nobody_pays_twice(
    family: Family,
) {
    let town = with_copies(family).await;
    let signer = town.signer().await;
    let (mut billed, said) = tokio::join!(
        bill(&town, &signer, 0..BEFORE),
        succeeds(&town, &["backup", "backup.sqlite"])
    );
    assert!(said.contains("copied to backup.sqlite"), "{said}");
    let again = town.installation.run(&["backup", "backup.sqlite"]).await;
    assert!(!again.status.success(), "a backup replaces nothing: {again:?}");
    let held = town.installation.run(&["claims", "export"]).await;
    let said = String::from_utf8_lossy(&held.stderr);
    assert!(said.contains("another process holds"), "copying has let go of the journal: {said}");
    billed.extend(bill(&town, &signer, BEFORE..PEOPLE - 1).await);
    signer.kill();
    goes_on(&town, "backup.sqlite", &billed).await;
}

async fn a_kept_copy_of_a_killed_signers_journal_is_restored_and_nobody_pays_twice(family: Family) {
    let town = with_copies(family).await;
    let signer = town.signer().await;
    let mut billed = bill(&town, &signer, 0..BEFORE).await;
    copied(&signer).await;
    let held = town.installation.run(&["claims", "export"]).await;
    let said = String::from_utf8_lossy(&held.stderr);
    assert!(said.contains("another process holds"), "copying has let go of the journal: {said}");
    billed.extend(bill(&town, &signer, BEFORE..PEOPLE - 1).await);
    // The last of them may be in the copy or not.
    signer.kill();
    goes_on(&town, "second", &billed).await;
}

/// The worst hour: what is wrong with a copy is said of the file that was named, and which one is meant.
async fn a_copy_of_no_use_is_refused_and_says_what_to_do(family: Family) {
    let town = with_copies(family).await;
    let signer = town.signer().await;
    bill(&town, &signer, 0..1).await;
    succeeds(&town, &["backup", "second/journal-early.sqlite"]).await;
    bill(&town, &signer, 1..BEFORE).await;
    copied(&signer).await;
    signer.terminate().await;
    succeeds(&town, &["backup", "late.sqlite"]).await;
    for ending in ["", "-wal"] {
        let mut gone = town.installation.journal().into_os_string();
        gone.push(ending);
        std::fs::remove_file(gone).ok();
    }
    let refused = async |arguments: &[&str]| {
        let output = town.installation.run(arguments).await;
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!output.status.success(), "{arguments:?}: {said}");
        said
    };
    let said = refused(&["restore", "nowhere.sqlite"]).await;
    assert!(said.contains("no file at nowhere.sqlite") && !said.contains("init"), "{said}");
    std::fs::write(town.installation.path().join("junk"), "no journal").unwrap();
    let said = refused(&["restore", "junk"]).await;
    assert!(said.contains("junk") && !said.contains(".part"), "{said}");
    let said = refused(&["restore", "second"]).await;
    let (longest, early) = said.split_once("journal-early.sqlite").unwrap();
    assert!(longest.contains("second/journal-") && longest.contains(" rows until 20"), "{said}");
    assert!(early.contains(" rows until 20") && early.contains("head "), "{said}");

    let other = Town::on(if family == Family::Evm { Family::Tron } else { Family::Evm }).await;
    let theirs = town.installation.path().join("theirs.sqlite");
    let started = other.signer().await;
    started.ready().await;
    started.terminate().await;
    succeeds(&other, &["backup", theirs.to_str().unwrap()]).await;
    let said = refused(&["restore", "theirs.sqlite"]).await;
    assert!(said.contains("of another installation") && said.contains("--foreign"), "{said}");
    assert!(!town.installation.journal().exists(), "nothing was put in place");
    succeeds(&town, &["restore", "--foreign", "theirs.sqlite"]).await;
    std::fs::remove_file(town.installation.journal()).unwrap();
    succeeds(&town, &["restore", "late.sqlite"]).await;
}
