//! Backups of a running journal, made under load and killed, put in the place of one that is lost, and billed on.

use super::signals::value;
use crate::world::anvil::{Family, Mining};
use crate::world::patience::{eventually, unix_ms};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use serde_json::json;
use std::time::Duration;

on_both_families![
    a_backup_of_a_running_journal_is_restored_and_billed_on_and_nobody_pays_twice,
    a_regular_backup_of_a_lost_journal_is_restored_and_nobody_pays_twice,
    a_backup_that_is_killed_leaves_nothing_half_and_the_signer_bills_on,
    a_copy_of_no_use_is_refused_and_says_what_to_do,
];

const PEOPLE: usize = 10;

/// How many are billed before the copy that is restored is complete; the others after it.
const BEFORE: usize = 6;

/// A town whose journal is backed up every second, in a second directory.
async fn with_backups(family: Family) -> Town {
    let chain_keys = match family {
        Family::Evm => String::new(),
        Family::Tron => "expiry = \"1m\"\nclock_tolerance = \"1d\"".to_owned(),
    };
    let people = u64::try_from(PEOPLE).unwrap();
    let founding =
        Founding { mining: Mining::OnRequest, people, chain_keys, ..Founding::on(family) };
    let mut town = Town::with(founding).await;
    std::fs::create_dir(town.installation.path().join("second")).unwrap();
    for (key, value) in [("DIR", "second"), ("EVERY", "1s"), ("KEEP", "1")] {
        town.installation = town.installation.env(&format!("SIGNER__JOURNAL__BACKUP_{key}"), value);
    }
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

/// Waits until a backup was begun after everything that was committed before now.
async fn backed_up(signer: &Signer) {
    let now = unix_ms() / 1000;
    eventually("a backup holds it", async || {
        let metrics = signer.scheduler.get("/metrics").await.text;
        value(&metrics, "signer_backup_timestamp_seconds").unwrap()
            > Duration::from_secs(now).as_secs_f64()
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
    let town = with_backups(family).await;
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

async fn a_regular_backup_of_a_lost_journal_is_restored_and_nobody_pays_twice(family: Family) {
    let town = with_backups(family).await;
    let signer = town.signer().await;
    let mut billed = bill(&town, &signer, 0..BEFORE).await;
    backed_up(&signer).await;
    let held = town.installation.run(&["claims", "export"]).await;
    let said = String::from_utf8_lossy(&held.stderr);
    assert!(said.contains("another process holds"), "a backup has let go of the journal: {said}");
    // The disk of the backups is gone for a while: what comes now is in none of them.
    let (second, away) =
        (town.installation.path().join("second"), town.installation.path().join("away"));
    std::fs::rename(&second, &away).unwrap();
    signer.wrote("the journal was not backed up").await;
    billed.extend(bill(&town, &signer, BEFORE..PEOPLE - 1).await);
    signer.kill();
    std::fs::rename(&away, &second).unwrap();
    let backups = std::fs::read_dir(&second).unwrap();
    let backups = backups
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "sqlite"));
    let newest = backups.max().unwrap();
    goes_on(&town, newest.to_str().unwrap(), &billed).await;
}

async fn a_backup_that_is_killed_leaves_nothing_half_and_the_signer_bills_on(family: Family) {
    let town = with_backups(family).await;
    let signer = town.signer().await;
    for round in 0..BEFORE {
        let to = town.installation.path().join("killed.sqlite");
        let mut backup =
            town.installation.command().args(["backup", "killed.sqlite"]).spawn().unwrap();
        bill(&town, &signer, round..round + 1).await;
        tokio::time::sleep(Duration::from_millis(25 * u64::try_from(round).unwrap())).await;
        backup.kill().ok();
        backup.wait().unwrap();
        if to.exists() {
            succeeds(&town, &["audit", "--file", "killed.sqlite"]).await;
            std::fs::remove_file(&to).unwrap();
        }
    }
    succeeds(&town, &["backup", "killed.sqlite"]).await;
    succeeds(&town, &["audit", "--file", "killed.sqlite"]).await;
    let beside = std::fs::read_dir(town.installation.path()).unwrap();
    let names = beside.map(|file| file.unwrap().file_name().into_string().unwrap());
    let left: Vec<_> = names.filter(|name| name.starts_with("killed.sqlite.")).collect();
    assert_eq!(left, [""; 0], "what a killed one has left goes with the next one");
    bill(&town, &signer, BEFORE..PEOPLE).await;
    eventually("every batch is decided", async || {
        town.anvil.mine(1).await;
        signer.scheduler.get("/health/ready").await.body["chains"][0]["undecided"] == 0
    })
    .await;
    town.assert_paid(&[1; PEOPLE]).await;
}

/// The worst hour: what is wrong with a copy is said of the file that was named, and which one is meant.
async fn a_copy_of_no_use_is_refused_and_says_what_to_do(family: Family) {
    let town = with_backups(family).await;
    let signer = town.signer().await;
    bill(&town, &signer, 0..1).await;
    succeeds(&town, &["backup", "second/journal-early.sqlite"]).await;
    bill(&town, &signer, 1..BEFORE).await;
    backed_up(&signer).await;
    signer.terminate().await;
    succeeds(&town, &["backup", "late.sqlite"]).await;
    let output = town.installation.run(&["backup", "no/a.sqlite"]).await;
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no/a.sqlite cannot be made: there is no directory no"), "{said}");
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
