//! Restarts as systemd makes them that holds the socket: whoever comes meanwhile waits in it and is answered
//! by the next process. This test is systemd.

use crate::world::anvil::{Family, Mining};
use crate::world::patience::ASKED_AT_MOST;
use crate::world::signer::{Heard, Installation, Scheduler, Signer, hear, unix_seconds};
use crate::world::town::{Founding, Town, entry};
use parking_lot::Mutex;
use serde_json::json;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

on_both_families![a_restart_refuses_nobody_and_every_request_is_answered_once];

/// How many ask at the same time, and how many subscribers each of them has.
const CALLERS: usize = 4;
const EACH: usize = 12;

async fn started(installation: &Installation, socket: &TcpListener) -> Signer {
    let started = installation.try_start_on(socket).await;
    started.unwrap_or_else(|log| panic!("the Signer did not start:\n{log}"))
}

async fn a_restart_refuses_nobody_and_every_request_is_answered_once(family: Family) {
    let people = u64::try_from(CALLERS * EACH).unwrap();
    let mining = Mining::EverySeconds(1);
    let mut town = Town::with(Founding { mining, people, ..Founding::on(family) }).await;
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    town.installation = town.installation.env("SIGNER__HTTP__LISTEN", &address);
    let town = Arc::new(town);
    let mut signer = started(&town.installation, &socket).await;
    let begun = Arc::new(Mutex::new(Vec::new()));
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        // Half of them keep their connections.
        let idle = if caller % 2 == 0 { 0 } else { 4 };
        let client = reqwest::Client::builder().pool_max_idle_per_host(idle).build().unwrap();
        let scheduler = Scheduler { client, ..signer.scheduler.clone() };
        let (town, begun) = (Arc::clone(&town), Arc::clone(&begun));
        callers.spawn(async move {
            for place in caller * EACH..(caller + 1) * EACH {
                let body = json!([entry(&town.people[place], 1)]).to_string();
                billed(&scheduler, &body, &begun).await;
                tokio::time::sleep(Duration::from_millis(150)).await;
            }
        });
    }
    let mut gaps = Vec::new();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let from = Instant::now();
        signer.terminate().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        signer = started(&town.installation, &socket).await;
        gaps.push(from..Instant::now());
    }
    while let Some(done) = callers.join_next().await {
        done.unwrap();
    }
    let begun = begun.lock().clone();
    for gap in &gaps {
        assert!(begun.iter().any(|at| gap.contains(at)), "somebody came while nobody was there");
    }
    town.quiet(&signer).await;
    town.assert_paid(&[1; CALLERS * EACH]).await;
    signer.terminate().await;
}

/// Posts until it is billed. Every message is answered, by whichever process, and none as one of another time.
async fn billed(scheduler: &Scheduler, body: &str, begun: &Mutex<Vec<Instant>>) {
    for _ in 0..ASKED_AT_MOST {
        begun.lock().push(Instant::now());
        let letter = scheduler.letter("POST", scheduler.path, body.as_bytes(), unix_seconds());
        let Some(Heard { status, body, .. }) = hear(letter).await else {
            panic!("a request was refused, or not answered");
        };
        match (status, body["code"].as_i64()) {
            (200, Some(1)) => return,
            // The chain was not seen yet, or no room is left in it: asked again, in another second.
            (503, Some(0)) => tokio::time::sleep(Duration::from_millis(1100)).await,
            other => panic!("{other:?}: {body}"),
        }
    }
    panic!("it was never billed");
}

#[tokio::test]
async fn a_socket_that_nobody_would_listen_to_is_refused() {
    let town = Town::found().await;
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let said = town.installation.try_start_on(&socket).await.unwrap_err();
    let address = socket.local_addr().unwrap();
    assert!(
        said.contains(&format!("a socket was handed over that listens on {address}")),
        "{said}"
    );
}
