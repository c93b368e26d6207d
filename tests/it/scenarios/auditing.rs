//! A journal that somebody has changed is contradicted by what the Signer told outside of it.

use crate::world::anvil::Family;
use crate::world::town::Town;
use rusqlite::Connection;
use serde_json::json;

on_both_families![the_head_is_told_outside_of_the_journal_and_looked_for,];

async fn the_head_is_told_outside_of_the_journal_and_looked_for(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    signer.wrote("the history goes so far").await;
    let metrics = signer.scheduler.get("/metrics").await.text;
    let gauge = |name: &str| -> u64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    };
    let from_metrics =
        format!("{}:{:012x}", gauge("signer_history_rows "), gauge("signer_history_digest "));
    let heard = signer.scheduler.bill(&json!(town.entries([0, 1]))).await;
    town.settled(&signer, &heard.tx_hash()).await;
    let log = signer.terminate().await;

    let audit = async |kept: &str| {
        let ended = town.installation.run(&["audit", "--kept", kept]).await;
        (ended.status.success(), String::from_utf8(ended.stdout).unwrap())
    };
    let (sound, said) = audit(&from_metrics).await;
    assert!(sound && said.contains("0 faults"), "{from_metrics}: {said}");
    let head = said.trim().rsplit(' ').next().unwrap().to_owned();
    assert!(log.contains(&head), "the last one is in the log: {head}\n{log}");

    // The newest row is cut off, and the batch put back to what it was before.
    town.installation.forge();
    let journal = Connection::open(town.installation.journal()).unwrap();
    let last = "DELETE FROM history WHERE seq = (SELECT max(seq) FROM history)";
    journal.execute_batch(last).unwrap();
    drop(journal);
    let (sound, said) = audit(&head).await;
    assert!(!sound && said.contains("was kept, but the history ends with row"), "{said}");
    assert!(audit(&from_metrics).await.1.contains("ended batches"), "a fault without it, too");
    let no_head = town.installation.run(&["audit", "--kept", "12"]).await;
    let said = String::from_utf8(no_head.stderr).unwrap();
    assert!(!no_head.status.success() && said.contains("ROW:DIGEST"), "{said}");
}
