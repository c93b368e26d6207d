//! A journal that moves to a PostgreSQL server and back with billings open, as docs/postgres.md has it.

use super::strangers::opens;
use crate::world::anvil::Family;
use crate::world::patience::eventually;
use crate::world::signer::Signer;
use crate::world::signer::database::Database;
use crate::world::town::Town;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

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
    assert!(!again && said.contains("the copy is whole"), "a journal is never replaced: {said}");
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

/// Bills one and waits for the end.
async fn billed(town: &Town, signer: &Signer, place: usize) -> String {
    let hash = signer.scheduler.bill(&json!(town.entries([place]))).await.tx_hash();
    assert_eq!(town.settled(signer, &hash).await["state"], "charged");
    hash
}

/// What becomes of the COMMIT of a copy whose process is killed there.
#[derive(Clone, Copy, Debug)]
enum Ending {
    /// The server never hears of it.
    Lost,
    /// The server does it.
    Done,
}

impl Ending {
    /// What is said to whoever copies again.
    fn advice(self) -> &'static str {
        match self {
            Self::Lost => "start the Signer on it once",
            Self::Done => "the copy is whole. Start the Signer with the configuration of the copy",
        }
    }
}

/// A line to the server on which a COMMIT is the last thing that passes, or is not: then `true` is told.
async fn line_that_ends(server: u16, ending: Ending) -> (u16, watch::Receiver<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, (reached, seen)) = (listener.local_addr().unwrap().port(), watch::channel(false));
    TaskTracker::new().spawn(async move {
        let lines = TaskTracker::new();
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
            let (mut asked, mut answered) = client.into_split();
            let (mut answers, mut asks) = server.into_split();
            let told = lines.spawn(async move { copy(&mut answers, &mut answered).await });
            let reached = reached.clone();
            lines.spawn(async move {
                let mut bytes = vec![0; 1 << 14];
                while let Ok(length @ 1..) = asked.read(&mut bytes).await {
                    let asked = &bytes[..length];
                    let commits = asked.windows(7).any(|part| part == b"COMMIT;");
                    if commits {
                        told.abort();
                    }
                    if !commits || matches!(ending, Ending::Done) {
                        asks.write_all(asked).await.unwrap();
                    }
                    if commits {
                        reached.send_replace(true);
                    }
                }
            });
        }
    });
    (port, seen)
}

/// The mark of the original is taken away just before, so that there are never two journals with one: the original
/// is an old copy then, and so is the copy, if there is one. Both learn from the chain, and neither charges twice.
#[tokio::test]
#[ignore = "needs a server, which ./test --only postgres starts"]
async fn a_copy_that_is_killed_at_its_commit_leaves_no_half_journal_and_nobody_pays_twice() {
    for ending in [Ending::Lost, Ending::Done] {
        let mut town = Town::on_request(Family::Evm).await;
        let room = town.installation.path().to_owned();
        let (config, next) = (room.join("signer.toml"), room.join("next.toml"));
        let in_a_file = fs::read_to_string(&config).unwrap();
        let database = Database::new(&room);
        let (port, mut reached) = line_that_ends(database.port, ending).await;
        fs::write(room.join("owner"), database.url_of("postgres", port)).unwrap();
        fs::set_permissions(room.join("owner"), fs::Permissions::from_mode(0o600)).unwrap();
        let file = format!("path = \"{}\"", town.installation.journal().display());
        let mark = room.join("server.mark");
        let url = format!("url = \"{}\"\nmark_path = \"{}\"", database.url(), mark.display());
        let on_the_server = in_a_file.replace(&file, &url);
        fs::write(&next, &on_the_server).unwrap();

        let signer = town.signer().await;
        let first = billed(&town, &signer, 0).await;
        signer.terminate().await;
        let copy = ["journal", "copy", "--to", "next.toml", "--owner-url-file", "owner"];
        let mut killed = town.installation.command().args(copy).spawn().unwrap();
        reached.wait_for(|reached| *reached).await.unwrap();
        assert!(!room.join("journal.sqlite.mark").exists(), "{ending:?}");
        killed.kill().unwrap();
        killed.wait().unwrap();
        let batches = format!("SELECT count(*) FROM {}.batch", database.schema());
        eventually("the server has all of it or nothing", async || {
            match (ending, database.try_run(&batches)) {
                (Ending::Lost, found) => found.is_none(),
                (Ending::Done, found) => found.is_some_and(|found| found == ["1"]),
            }
        })
        .await;
        let again = town.installation.run(&copy).await;
        let said = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(said.contains(ending.advice()), "{ending:?}: {said}");

        // Where the copy came about it is the journal from now on; otherwise the original still is.
        if matches!(ending, Ending::Done) {
            fs::write(&config, &on_the_server).unwrap();
        }
        let signer = town.signer().await;
        if matches!(ending, Ending::Done) {
            assert!(signer.log().contains("may have forgotten something"), "{}", signer.log());
        }
        opens(&town, &signer).await;
        let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
        assert_eq!(again.tx_hash(), first, "{ending:?}: {again:?}");
        billed(&town, &signer, 1).await;
        signer.terminate().await;
        if matches!(ending, Ending::Lost) {
            fs::write(room.join("owner"), database.owner_url()).unwrap();
            let done = town.installation.run(&copy).await;
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            fs::write(&config, &on_the_server).unwrap();
        }
        let signer = town.signer().await;
        assert!(!signer.log().contains("may have forgotten something"), "{}", signer.log());
        billed(&town, &signer, 2).await;
        town.installation.database = Some(database);
        town.assert_paid(&[1, 1, 1]).await;
        town.nothing_is_stuck(signer).await;
    }
}
