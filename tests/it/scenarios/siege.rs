//! A thousand strangers of every kind at once, under 512 MiB of memory and 1,024 open files, while a
//! signed caller goes on: it is answered, its billings land, and nothing is lost. `./test --siege`; a
//! short slice of it is `door.rs`.

use super::bulkheads::{SIEGE, a_viewer_floods, strangers_come_and_come};
use super::door::{head, plausible, stranger};
use crate::world::anvil::Family;
use crate::world::patience::eventually;
use crate::world::signer::{EVM_PATH, Scheduler, Signer, hear, unix_seconds};
use crate::world::town::{Founding, Town};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

/// So many of each kind.
const MANY: usize = 1000;

/// The data segment and the heap of the process, KiB.
const MEMORY: u64 = 512 << 10;

/// Within this an honest request has to be answered, 99 times of 100.
const SOON: Duration = Duration::from_millis(200);

/// What a stranger says when he has connected.
fn kinds() -> Vec<(&'static str, String)> {
    let deep = "[".repeat(60_000);
    let twice = format!("[{}]", "{\"a\":1,\"a\":1},".repeat(4_000).trim_end_matches(','));
    let whole = |body: &str| {
        let (headers, length) = (plausible(), body.len());
        format!(
            "POST {EVM_PATH} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\n\r\n{body}"
        )
    };
    let large = format!("{{{}", " ".repeat(900_000));
    vec![
        ("silent connections", String::new()),
        ("unfinished heads", format!("POST {EVM_PATH} HTTP/1.1\r\nx: {}", "y".repeat(12_000))),
        ("half-sent bodies", head("")),
        ("half-sent bodies with a caller's key", head(&plausible())),
        (
            "large bodies that never end",
            whole(&large).replace("content-length: 900001", "content-length: 900002"),
        ),
        ("deep JSON", whole(&deep)),
        ("duplicate JSON", whole(&twice)),
        ("readers that never read", "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(100)),
    ]
}

/// Keeps so many strangers of one kind connected, until it is dropped.
async fn besiege(signer: &Signer, words: &str) -> Vec<TcpStream> {
    let mut held = Vec::with_capacity(MANY);
    for _ in 0..MANY {
        held.extend(stranger(signer, "").await);
        if let Some(last) = held.last_mut() {
            // Those that are cut off meanwhile are cut off.
            drop(tokio::time::timeout(SOON, last.write_all(words.as_bytes())).await);
        }
    }
    held
}

/// How long each of so many honest questions took, sorted.
async fn waits(honest: &Scheduler, questions: usize) -> Vec<Duration> {
    let mut waits = Vec::with_capacity(questions);
    for _ in 0..questions {
        let begun = Instant::now();
        let heard = honest.send("GET", "/PayTool/billings/x", b"", unix_seconds()).await;
        assert_eq!(heard.expect("an honest caller is answered").status, 404);
        waits.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    waits.sort();
    waits
}

async fn withstands(family: Family) {
    let people = kinds().len() + 1;
    let founding = Founding { people: u64::try_from(people).unwrap(), ..Founding::on(family) };
    let mut town = Town::with(founding).await;
    town.installation = town.installation.files(1024).memory(MEMORY);
    let signer = town.signer().await;
    for (place, (kind, words)) in kinds().into_iter().enumerate() {
        let calm = waits(&signer.scheduler, 100).await;
        let siege = besiege(&signer, &words);
        let (held, during) = tokio::join!(siege, waits(&signer.scheduler, 400));
        let (before, at_most) = (calm[98], during[395]);
        println!("{kind}: {} held, p99 {before:?} before, {at_most:?} during", held.len());
        assert!(at_most <= SOON, "{kind}: {at_most:?}");
        let hash = signer.scheduler.bill(&json!(town.entries([place]))).await.tx_hash();
        town.settled(&signer, &hash).await;
    }
    let hung_up = (0..MANY).map(|n| {
        let body = json!({"dryRun": true, "requestId": format!("x{n}"), "list": town.entries([people - 1])});
        let path = signer.scheduler.path;
        signer.scheduler.letter("POST", path, body.to_string().as_bytes(), unix_seconds())
    });
    for letter in hung_up {
        drop(tokio::time::timeout(Duration::from_millis(1), hear(letter)).await);
    }
    // What nobody waits for is done all the same, and has its places until it is.
    let last = json!(town.entries([people - 1]));
    eventually("there is room again", async || signer.scheduler.bill(&last).await.code() == 1)
        .await;
    let hash = signer.scheduler.bill(&last).await.tx_hash();
    town.settled(&signer, &hash).await;
    town.assert_paid(&vec![1; people]).await;
    signer.terminate().await;
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stdout));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes, and a machine of its own: ./test --siege"]
async fn a_callers_answers_are_its_own_for_a_minute_of_strangers_and_of_another_caller() {
    strangers_come_and_come(SIEGE).await;
    a_viewer_floods(SIEGE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes, and a machine of its own: ./test --siege"]
async fn an_evm_chain_bills_while_a_thousand_strangers_of_each_kind_besiege_the_door() {
    withstands(Family::Evm).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes, and a machine of its own: ./test --siege"]
async fn tron_bills_while_a_thousand_strangers_of_each_kind_besiege_the_door() {
    withstands(Family::Tron).await;
}
