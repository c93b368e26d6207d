//! A journal that moves to a PostgreSQL server and back with billings open, as docs/postgres.md has it.

use crate::world::anvil::Family;
use crate::world::signer::database::Database;
use crate::world::town::Town;
use serde_json::json;
use std::fs;

#[tokio::test]
#[ignore = "needs a server, which ./test --only postgres starts"]
async fn a_journal_moves_to_a_server_and_back_with_open_billings_on_evm() {
    a_journal_moves_to_a_server_and_back_with_open_billings(Family::Evm).await;
}

#[tokio::test]
#[ignore = "needs a server, which ./test --only postgres starts"]
async fn a_journal_moves_to_a_server_and_back_with_open_billings_on_tron() {
    a_journal_moves_to_a_server_and_back_with_open_billings(Family::Tron).await;
}

async fn a_journal_moves_to_a_server_and_back_with_open_billings(family: Family) {
    let town = Town::on_request(family).await;
    let room = town.installation.path();
    let (config, next) = (room.join("signer.toml"), room.join("next.toml"));
    let in_a_file = fs::read_to_string(&config).unwrap();
    let database = Database::new(room);
    database.write_owner(room);
    let file = format!("path = \"{}\"", town.installation.journal().display());
    let mark = room.join("server.mark");
    let url = format!("url = \"{}\"\nmark_path = \"{}\"", database.url(), mark.display());
    let on_the_server = in_a_file.replace(&file, &url);
    assert_ne!(on_the_server, in_a_file);
    let copied = async |arguments: &[&str]| {
        let whole = [["journal", "copy", "--to", "next.toml"].as_slice(), arguments].concat();
        let ended = town.installation.run(&whole).await;
        let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
        (ended.status.success(), said)
    };

    let signer = town.signer().await;
    let first = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.terminate().await;
    fs::write(&next, &on_the_server).unwrap();
    let owner = ["--owner-url-file", "owner"];
    let (done, said) = copied(&owner).await;
    assert!(done, "{said}");
    let (again, said) = copied(&owner).await;
    assert!(!again, "a journal is never replaced: {said}");
    fs::rename(town.installation.journal(), room.join("left.sqlite")).unwrap();

    fs::write(&config, &on_the_server).unwrap();
    let signer = town.signer().await;
    let repeated = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(repeated.tx_hash(), first, "it knows whom it charges: {repeated:?}");
    let second = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    signer.terminate().await;
    fs::write(&next, &in_a_file).unwrap();
    let (done, said) = copied(&[]).await;
    assert!(done, "{said}");

    fs::write(&config, &in_a_file).unwrap();
    let signer = town.signer().await;
    let third = signer.scheduler.bill(&json!(town.entries([2]))).await.tx_hash();
    for hash in [first, second, third] {
        assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    }
    town.assert_paid(&[1, 1, 1]).await;
    town.nothing_is_stuck(signer).await;
}
