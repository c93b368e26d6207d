//! Whatever a caller does, it changes no other caller's answer to 429; and a stranger without a secret changes
//! nobody's. A slice of it here, and the whole under `./test --siege`.

use super::door::{head, plausible};
use crate::world::besiegers::{churn, far_away};
use crate::world::signer::{EVM_PATH, Heard, Scheduler, Signer, hear, unix_seconds};
use crate::world::town::Town;
use futures_util::future::join_all;
use serde_json::json;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How hard it is tried.
#[derive(Clone, Copy)]
pub(super) struct Force {
    /// Connections that the Signer takes.
    connections: u32,
    /// Strangers a second.
    strangers: u32,
    /// How long a byte of the caller takes, either way.
    away: Duration,
    /// How long it goes on.
    lasts: Duration,
}

/// What a machine with other tests on it can do.
const SLICE: Force = Force {
    connections: 64,
    strangers: 500,
    away: Duration::from_millis(200),
    lasts: Duration::from_secs(6),
};

pub(super) const SIEGE: Force = Force {
    connections: 512,
    strangers: 3000,
    away: Duration::from_millis(200),
    lasts: Duration::from_mins(1),
};

const VIEWERS_SECRET: &str = "the viewer's own secret";
const OPERATORS_SECRET: &str = "the operator's own secret";

/// A Signer with a scheduler, an operator, and a viewer who may only read.
async fn founded(force: Force) -> (Town, Signer, Scheduler, Scheduler) {
    let mut town = Town::found().await;
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let more = format!(
        "[callers.operator]\nkey = \"operator\"\nsecret = {OPERATORS_SECRET:?}\nbill = false\ncontrol = true\n\
         [callers.viewer]\nkey = \"viewer\"\nsecret = {VIEWERS_SECRET:?}\nbill = false\n"
    );
    std::fs::write(&path, format!("{before}\n{more}")).unwrap();
    let connections = force.connections.to_string();
    let here = town.installation.env("SIGNER__HTTP__MAX_CONNECTIONS", &connections);
    // A busy machine answers late: that is no answer of its own.
    town.installation = here
        .env("SIGNER__HTTP__MAX_CONNECTIONS_PER_ADDRESS", &connections)
        .env("SIGNER__HTTP__REQUEST_DEADLINE", "25s")
        .env("SIGNER__CHAINS__139__RPC_TIMEOUT", "30s");
    let signer = town.signer().await;
    let caller = |key: &str, secret: &str| Scheduler {
        key: key.to_owned(),
        secret: secret.to_owned(),
        ..signer.scheduler.clone()
    };
    let (operator, viewer) =
        (caller("operator", OPERATORS_SECRET), caller("viewer", VIEWERS_SECRET));
    (town, signer, operator, viewer)
}

fn address(signer: &Signer) -> SocketAddr {
    signer.scheduler.url.strip_prefix("http://").unwrap().parse().unwrap()
}

/// One who opens a connection for each request, and is far away.
async fn remote(signer: &Signer, force: Force) -> Scheduler {
    let line = far_away(address(signer), force.away).await;
    let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
    Scheduler { url: format!("http://{line}"), client, ..signer.scheduler.clone() }
}

/// Asks again and again for as long as it lasts, and a few times at least; everything that was answered otherwise than with `status`.
async fn otherwise(
    asks: impl AsyncFn(u32) -> Option<Heard>,
    status: u16,
    lasts: Duration,
) -> (u32, Vec<Option<Heard>>) {
    let (began, mut asked, mut other) = (Instant::now(), 0, vec![]);
    while began.elapsed() < lasts || asked < 3 {
        let heard = asks(asked).await;
        asked += 1;
        if heard.as_ref().is_none_or(|heard| heard.status != status) {
            other.push(heard);
        }
    }
    (asked, other)
}

/// What a viewer's secret can do: long polls, pages, and billings that it may not make, as fast as they go.
async fn floods(viewer: Scheduler, stop: CancellationToken) {
    let polls = (0..60).map(|_| "/PayTool/events?after=newest&wait=5");
    let pages = (0..60).map(|_| "/PayTool/charges?limit=1000");
    let asks = polls.chain(pages).map(async |path| {
        while !stop.is_cancelled() {
            drop(viewer.send("GET", path, b"", unix_seconds()).await);
        }
    });
    let bills = (0..8).map(async |line: u32| {
        for number in 0_u32.. {
            if stop.is_cancelled() {
                return;
            }
            let body = format!("[{line},{number}]");
            let at = unix_seconds() + u64::from(number % 4);
            drop(hear(viewer.letter("POST", EVM_PATH, body.as_bytes(), at)).await);
        }
    });
    tokio::join!(join_all(asks), join_all(bills));
}

pub(super) async fn a_viewer_floods(force: Force) {
    let (town, signer, operator, viewer) = founded(Force { connections: 512, ..force }).await;
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    tasks.spawn(floods(viewer, stop.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let controls = async |_| operator.send("GET", "/PayTool/control", b"", unix_seconds()).await;
    let rehearsals = async |number| {
        let body =
            json!({"dryRun": true, "requestId": format!("r{number}"), "list": town.entries([0])});
        signer.scheduler.try_bill(&body).await
    };
    let ((controlled, not_controlled), (rehearsed, not_rehearsed)) = tokio::join!(
        otherwise(controls, 200, force.lasts),
        otherwise(rehearsals, 200, force.lasts)
    );
    println!("{controlled} of the operator, {rehearsed} of the scheduler");
    assert!(
        not_controlled.is_empty(),
        "{} of {controlled}: {not_controlled:?}",
        not_controlled.len()
    );
    assert!(not_rehearsed.is_empty(), "{} of {rehearsed}: {not_rehearsed:?}", not_rehearsed.len());
    assert_eq!(operator.post("/PayTool/control/pause", b"").await.unwrap().code(), 1);
    assert_eq!(operator.resume().await.code(), 1);
    let metrics = signer.scheduler.get("/metrics").await.text;
    let named = metrics.lines().filter(|line| line.starts_with("signer_budget_used_up_total"));
    let used_up: Vec<_> = named.filter(|line| !line.ends_with(" 0")).collect();
    assert!(used_up.iter().all(|line| line.contains("caller=\"viewer\"")), "{used_up:?}");
    assert!(!used_up.is_empty(), "whoever has filled what is named");
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    let lines = signer.log().matches("turned away").count();
    assert!(lines < 2000, "{lines} lines of one viewer");
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.settled(&signer, &hash).await;
}

pub(super) async fn strangers_come_and_come(force: Force) {
    let (town, signer, ..) = founded(force).await;
    let caller = remote(&signer, force).await;
    let asks = async |number| {
        let body =
            json!({"dryRun": true, "requestId": format!("r{number}"), "list": town.entries([0])});
        caller.try_bill(&body).await
    };
    let (_, calm) = otherwise(&asks, 200, Duration::from_secs(2)).await;
    assert!(calm.is_empty(), "{calm:?}");
    for (kind, words) in [("silence", String::new()), ("half a body", head(&plausible()))] {
        let strangers = churn(address(&signer), words.into_bytes(), force.strangers);
        tokio::time::sleep(Duration::from_millis(500)).await;
        let (asked, other) = otherwise(&asks, 200, force.lasts).await;
        println!("{kind}: {asked} asked, {} in vain", other.len());
        assert!(asked > 2 && other.is_empty(), "{kind}: {} of {asked}: {other:?}", other.len());
        drop(strangers);
    }
    let hash = caller.bill(&json!(town.entries([0]))).await.tx_hash();
    town.settled(&signer, &hash).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_whatever_it_does_changes_no_other_callers_answer() {
    a_viewer_floods(SLICE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_who_come_and_come_keep_no_caller_out_who_is_far_away() {
    strangers_come_and_come(SLICE).await;
}
