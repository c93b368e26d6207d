//! The program from an empty directory to money that arrived: `init`, `check`, one billing, `audit`.
//!
//! `./test` runs this also on the program as it is shipped, built by itself: a build of the whole
//! workspace gives its dependencies the features that any member wants.

use crate::world::anvil::Family;
use crate::world::town::Town;
use serde_json::json;

on_both_families![the_program_goes_from_init_to_a_charge_that_it_can_account_for,];

async fn the_program_goes_from_init_to_a_charge_that_it_can_account_for(family: Family) {
    let town = Town::on(family).await;
    let run = async |command: &'static str| {
        let ended = town.installation.run(&[command]).await;
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        (ended.status.success(), said + &String::from_utf8_lossy(&ended.stderr))
    };
    let (again, said) = run("init").await;
    assert!(!again && said.contains("never replaced"), "a journal is made once: {said}");
    let (passed, said) = run("check").await;
    assert!(passed, "{said}");

    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&json!(town.entries([0, 2]))).await;
    assert_eq!(town.settled(&signer, &heard.tx_hash()).await["state"], "charged");
    let again = signer.scheduler.bill(&json!(town.entries([0, 2]))).await;
    assert_eq!(again.tx_hash(), heard.tx_hash(), "a repeat is answered with the same transaction");
    drop(signer);

    let (sound, said) = run("audit").await;
    assert!(sound && said.contains("1 batches"), "{said}");
    town.assert_paid(&[1, 0, 1]).await;
}
