//! Restarts as systemd makes them that holds the socket: whoever comes meanwhile waits in it and is answered
//! by the next process. This test is systemd.

use crate::world::anvil::{Family, Mining};
use crate::world::signer::{Installation, Scheduler, Signer, hear, unix_seconds};
use crate::world::town::{Founding, Town, entry};
use serde_json::json;
use std::net::TcpListener;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

on_both_families![a_restart_refuses_nobody_and_every_request_is_answered_once];

/// The number of callers at the same time, and of subscribers of each: more than a caller bills before the last
/// restart is over.
const CALLERS: usize = 4;
const EACH: usize = 40;

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
    let over = Arc::new(AtomicBool::new(false));
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        // Half of them keep their connections.
        let idle = if caller % 2 == 0 { 0 } else { 4 };
        let client = reqwest::Client::builder().pool_max_idle_per_host(idle).build().unwrap();
        let scheduler = Scheduler { client, ..signer.scheduler.clone() };
        let (town, over) = (Arc::clone(&town), Arc::clone(&over));
        callers.spawn(async move {
            let mut waits = Vec::new();
            // Each has a pause of its own, so that no two stay in step.
            let pause = Duration::from_millis(120 + 20 * u64::try_from(caller).unwrap());
            for place in (caller..CALLERS * EACH).step_by(CALLERS) {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let body = json!([entry(&town.people[place], 1)]).to_string();
                waits.push(billed(&scheduler, &body).await);
                tokio::time::sleep(pause).await;
            }
            (caller, waits)
        });
    }
    let mut gaps = Vec::new();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let from = Instant::now();
        signer.terminate().await;
        signer = started(&town.installation, &socket).await;
        gaps.push(from..Instant::now());
    }
    over.store(true, Ordering::Relaxed);
    let of_callers = callers.join_all().await;
    let mut paid = [0; CALLERS * EACH];
    for (caller, waits) in &of_callers {
        paid[*caller..].iter_mut().step_by(CALLERS).take(waits.len()).for_each(|times| *times = 1);
    }
    let waits: Vec<_> = of_callers.into_iter().flat_map(|(_, waits)| waits).collect();
    // A restart can be over before anybody comes; three are not.
    let mut came = 0;
    for gap in &gaps {
        let during = waits.iter().filter(|wait| gap.contains(&wait.start));
        let longest = during.map(|wait| wait.end - wait.start).max();
        println!("{family:?}: a restart of {:?}, a wait of {longest:?}", gap.end - gap.start);
        came += usize::from(longest.is_some());
    }
    assert_ne!(came, 0, "somebody comes while nobody is there");
    town.quiet(&signer).await;
    town.assert_paid(&paid).await;
    signer.terminate().await;
}

/// Posts once; the answer is the verdict on the charge, from whichever process. Returns the time the caller waited.
async fn billed(scheduler: &Scheduler, body: &str) -> Range<Instant> {
    let letter = scheduler.letter("POST", scheduler.path, body.as_bytes(), unix_seconds());
    let from = Instant::now();
    let heard = hear(letter).await.expect("no request is refused or left without an answer");
    assert_eq!((heard.status, heard.code()), (200, 1), "{heard:?}");
    from..Instant::now()
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
