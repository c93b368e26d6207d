//! Events, posted to a webhook: in order, at least once, signed, whatever the receiver does meanwhile.

use super::signals::value;
use crate::world::anvil::Family;
use crate::world::patience::{eventually, unix_ms};
use crate::world::port::KeptPort;
use crate::world::signer::{Heard, Signer, WEBHOOK_SECRET};
use crate::world::town::{Founding, Town};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use parking_lot::Mutex;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use webhooks::{ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, WebhookSecret};

on_both_families![
    a_receiver_that_was_down_hears_everything_in_order_though_the_signer_was_killed_meanwhile,
    an_event_that_is_refused_is_sent_until_it_is_taken_and_later_ones_wait,
    killed_again_and_again_no_event_is_lost_or_skipped,
];

const PLACE: &str = "/told?by=signer";

/// What a receiver does with what it is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Takes,
    Refuses(&'static str),
    Hangs,
}

/// A merchant's receiver.
struct Receiver {
    heard: Mutex<Vec<Value>>,
    mood: Mutex<Mood>,
}

impl Receiver {
    fn new() -> Arc<Self> {
        Arc::new(Self { heard: Mutex::default(), mood: Mutex::new(Mood::Takes) })
    }

    fn is(&self, mood: Mood) {
        *self.mood.lock() = mood;
    }

    fn heard(&self) -> Vec<Value> {
        self.heard.lock().clone()
    }

    /// Listens until the answer is dropped.
    async fn listen(self: &Arc<Self>, at: SocketAddr) -> Listening {
        let listener = TcpListener::bind(at).await.unwrap();
        let router = Router::new().route("/told", post(told)).with_state(Arc::clone(self));
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let stopped = stop.clone().cancelled_owned();
        tasks.spawn(async move {
            tokio::select! {
                served = axum::serve(listener, router).into_future() => served.unwrap(),
                () = stopped => {}
            }
        });
        Listening(stop)
    }
}

struct Listening(CancellationToken);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

async fn told(
    State(receiver): State<Arc<Receiver>>,
    headers: HeaderMap,
    body: String,
) -> StatusCode {
    let header = |name: &str| headers[name].to_str().unwrap();
    let event: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(header(ID_HEADER), event["cursor"].as_str().unwrap().replace('.', "-"));
    let at: i64 = header(TIMESTAMP_HEADER).parse().unwrap();
    assert!((unix_ms() / 1000).abs_diff(at.try_into().unwrap()) < 60, "signed at {at}");
    let secret = WebhookSecret::read(&SecretString::from(WEBHOOK_SECRET)).unwrap();
    assert_eq!(header(SIGNATURE_HEADER), secret.sign(header(ID_HEADER), at, &body));
    let mood = *receiver.mood.lock();
    match mood {
        Mood::Hangs => {
            tokio::time::sleep(Duration::from_mins(1)).await;
            StatusCode::OK
        }
        Mood::Refuses(kind) if event["event"] == kind => StatusCode::IM_A_TEAPOT,
        Mood::Takes | Mood::Refuses(_) => {
            receiver.heard.lock().push(event);
            StatusCode::NO_CONTENT
        }
    }
}

/// Time that the Signer gives the receiver; a billing that waits for no receiver takes less than [`AT_ONCE`].
const WEBHOOK_TIMEOUT: &str = "20s";
const AT_ONCE: Duration = Duration::from_secs(15);

async fn town(family: Family, receiver: SocketAddr) -> Town {
    let town = Town::with(Founding { people: 6, ..Founding::on(family) }).await;
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let more = format!(
        "[webhook]\nurl = \"http://{receiver}{PLACE}\"\nsecret = {WEBHOOK_SECRET:?}\n\
         timeout = {WEBHOOK_TIMEOUT:?}\n"
    );
    std::fs::write(&path, format!("{before}\n{more}")).unwrap();
    town
}

/// Waits until the webhook knows from where on it sends.
async fn begun(town: &Town) {
    let cursor = town.installation.path().join("journal.sqlite.webhook");
    eventually("it knows from where on", async || cursor.exists()).await;
}

async fn bill(town: &Town, signer: &Signer, place: usize) -> String {
    signer.scheduler.bill(&json!(town.entries([place]))).await.tx_hash()
}

/// The kinds of what was heard of one transaction.
fn of(heard: &[Value], hash: &str) -> Vec<String> {
    let kind = |event: &Value| event["event"].as_str().unwrap().to_owned();
    heard.iter().filter(|event| event["txHash"] == hash).map(kind).collect()
}

/// Asks in the scheduler's name.
async fn ask(signer: &Signer, path: &str) -> Heard {
    signer.scheduler.send("GET", path, b"", unix_ms() / 1000).await.unwrap()
}

async fn metric(signer: &Signer, series: &str) -> Option<f64> {
    value(&signer.scheduler.get("/metrics").await.text, series)
}

/// What was heard is the feed: each event of these transactions, in order, some perhaps twice.
async fn all_is_told_in_order(signer: &Signer, receiver: &Receiver, hashes: &[String]) {
    let heard = receiver.heard();
    let rows: Vec<i64> = heard.iter().map(|event| event["row"].as_i64().unwrap()).collect();
    assert!(rows.is_sorted(), "in order: {rows:?}");
    for hash in hashes {
        let mut kinds = of(&heard, hash);
        kinds.dedup();
        assert_eq!(kinds, ["accepted", "charged"], "{hash}");
    }
    // What is asked for is the same as what was told.
    let first = rows.first().copied().unwrap();
    eventually("the same is told and asked", async || {
        let asked = ask(signer, "/PayTool/events?limit=100").await;
        let events = asked.body["data"]["events"].as_array().unwrap().clone();
        let since = events.into_iter().filter(|event| event["row"].as_i64() >= Some(first));
        let mut told = receiver.heard();
        told.dedup_by_key(|event| event["row"].as_i64());
        since.collect::<Vec<_>>() == told
    })
    .await;
}

async fn a_receiver_that_was_down_hears_everything_in_order_though_the_signer_was_killed_meanwhile(
    family: Family,
) {
    let port = KeptPort::new();
    let at = port.at();
    let town = town(family, at).await;
    let receiver = Receiver::new();
    let signer = town.signer().await;
    signer.wrote("events are sent to a webhook").await;
    begun(&town).await;
    let mut hashes = vec![];
    for place in 0..2 {
        hashes.push(bill(&town, &signer, place).await);
    }
    town.quiet(&signer).await;
    signer.wrote("does not take an event").await;
    let waiting = metric(&signer, "signer_webhook_waiting_timestamp_seconds").await;
    assert!(waiting.is_some_and(|since| since > 0.0), "{waiting:?}");
    signer.kill();
    let signer = town.signer().await;
    signer.ready().await;
    hashes.push(bill(&town, &signer, 2).await);
    let listening = receiver.listen(at).await;
    town.quiet(&signer).await;
    let all_told = async || {
        hashes.iter().all(|hash| of(&receiver.heard(), hash).contains(&"charged".to_owned()))
    };
    eventually("everything is told", all_told).await;
    // It hangs, and is gone: billing does not wait for it.
    receiver.is(Mood::Hangs);
    let begun = Instant::now();
    hashes.push(bill(&town, &signer, 3).await);
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    drop(listening);
    tokio::time::sleep(Duration::from_millis(500)).await;
    receiver.is(Mood::Takes);
    let _listening = receiver.listen(at).await;
    town.quiet(&signer).await;
    let all_told = async || {
        hashes.iter().all(|hash| of(&receiver.heard(), hash).contains(&"charged".to_owned()))
    };
    eventually("the rest is told", all_told).await;

    all_is_told_in_order(&signer, &receiver, &hashes).await;
    town.assert_paid(&[1, 1, 1, 1]).await;
}

async fn an_event_that_is_refused_is_sent_until_it_is_taken_and_later_ones_wait(family: Family) {
    let port = KeptPort::new();
    let at = port.at();
    let town = town(family, at).await;
    let receiver = Receiver::new();
    receiver.is(Mood::Refuses("accepted"));
    let _listening = receiver.listen(at).await;
    let signer = town.signer().await;
    signer.ready().await;
    begun(&town).await;
    let hash = bill(&town, &signer, 0).await;
    town.quiet(&signer).await;
    let refused = "signer_webhook_sends_total{result=\"refused\"}";
    eventually("it was sent again", async || metric(&signer, refused).await >= Some(2.0)).await;
    assert_eq!(of(&receiver.heard(), &hash), [""; 0], "later ones wait");
    let waiting = metric(&signer, "signer_webhook_waiting_timestamp_seconds").await;
    assert!(waiting.is_some_and(|since| since > 0.0), "{waiting:?}");
    receiver.is(Mood::Takes);
    eventually("all is taken", async || of(&receiver.heard(), &hash) == ["accepted", "charged"])
        .await;
    eventually("nothing waits", async || {
        metric(&signer, "signer_webhook_waiting_timestamp_seconds").await.is_none()
    })
    .await;
    all_is_told_in_order(&signer, &receiver, &[hash]).await;
    town.assert_paid(&[1]).await;
}

async fn killed_again_and_again_no_event_is_lost_or_skipped(family: Family) {
    let port = KeptPort::new();
    let at = port.at();
    let town = town(family, at).await;
    let receiver = Receiver::new();
    let _listening = receiver.listen(at).await;
    let mut signer = town.signer().await;
    begun(&town).await;
    let mut hashes = vec![];
    for place in 0..4 {
        hashes.push(bill(&town, &signer, place).await);
        // Each time at another moment: events are under way, or the cursor is written.
        tokio::time::sleep(Duration::from_millis(40 * u64::try_from(place).unwrap())).await;
        signer.kill();
        signer = town.signer().await;
        signer.ready().await;
    }
    town.quiet(&signer).await;
    let all_told = async || {
        hashes.iter().all(|hash| of(&receiver.heard(), hash).contains(&"charged".to_owned()))
    };
    eventually("everything is told", all_told).await;
    all_is_told_in_order(&signer, &receiver, &hashes).await;
    town.assert_paid(&[1, 1, 1, 1]).await;
}
