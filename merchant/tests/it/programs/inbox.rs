//! `merchant inbox`: nothing that is not verified is kept, and nothing that was acknowledged is lost.

use super::book_keeping::{CHAIN, Ledger};
use super::peers::Peers;
use super::process::{KEY, RunningInbox, SECRET, merchant, start_inbox};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use merchant::clock::{Clock as _, SystemClock};
use merchant::sign::{Credentials, KEY_HEADER, SIGN_HEADER, Signable, TIMESTAMP_HEADER, sign};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:9";

fn start(folder: &Path, peers: &str) -> RunningInbox {
    start_inbox(command(folder, peers))
}

pub(super) fn command(folder: &Path, peers: &str) -> std::process::Command {
    let arguments = [
        "inbox",
        "--listen",
        "127.0.0.1:0",
        "--private",
        "127.0.0.1:0",
        "--pace",
        "1000",
        "--patience",
        "1",
    ];
    merchant(folder, peers, &arguments)
}

pub(super) fn event(kind: &str, order: &str, hash: &str) -> String {
    json!({"subscriptionType": kind, "outTradeNo": order, "chainId": CHAIN, "planId": 5,
        "transferHash": hash, "blockTime": 1})
    .to_string()
}

/// Sends a callback as the platform does, and answers (status, text); status 0 for no answer.
pub(super) async fn send(url: &str, body: &str, secret: &str, ahead_s: i64) -> (u16, String) {
    let timestamp = (SystemClock.now().0 + ahead_s).to_string();
    let path_and_query = "/callbacks";
    let what =
        Signable { timestamp: &timestamp, method: "POST", path_and_query, body: body.as_bytes() };
    let sign = sign(&Credentials::new(KEY, secret).secret, &what);
    let request = reqwest::Client::new()
        .post(format!("{url}{path_and_query}"))
        .header(KEY_HEADER, KEY)
        .header(TIMESTAMP_HEADER, &timestamp)
        .header(SIGN_HEADER, sign)
        .body(body.to_owned());
    match request.send().await {
        Ok(answer) => (answer.status().as_u16(), answer.text().await.unwrap_or_default()),
        Err(_) => (0, String::new()),
    }
}

/// The whole feed, as a program that pulls reads it.
pub(super) async fn feed(inbox: &RunningInbox) -> Vec<Value> {
    let (mut all, mut after) = (vec![], "0".to_owned());
    loop {
        let path = format!("/events?after={after}&limit=100");
        let timestamp = SystemClock.now().0.to_string();
        let what =
            Signable { timestamp: &timestamp, method: "GET", path_and_query: &path, body: b"" };
        let answer = reqwest::Client::new()
            .get(format!("{}{path}", inbox.feed))
            .header(KEY_HEADER, KEY)
            .header(TIMESTAMP_HEADER, &timestamp)
            .header(SIGN_HEADER, sign(&Credentials::new(KEY, SECRET).secret, &what))
            .send()
            .await
            .unwrap();
        let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        let events = answer["data"]["events"].as_array().unwrap().clone();
        if events.is_empty() {
            return all;
        }
        answer["data"]["next"].as_str().unwrap().clone_into(&mut after);
        all.extend(events);
    }
}

/// Waits until the feed has so many events.
async fn fed(inbox: &RunningInbox, count: usize) -> Vec<Value> {
    for _ in 0..3000 {
        let events = feed(inbox).await;
        if events.len() >= count {
            return events;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the feed has {:?}", feed(inbox).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_not_verified_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let inbox = start(folder.path(), NOWHERE);
    let body = event("SubscriptionRegister", "a", "");
    let url = inbox.callbacks.as_str();
    assert_eq!(send(url, &body, "another secret", 0).await.0, 401);
    assert_eq!(send(url, &body, SECRET, -62).await.0, 401);
    assert_eq!(send(url, &body, SECRET, 62).await.0, 401);
    assert_eq!(send(url, "[]", SECRET, 0).await.0, 400);
    let (status, _) = send(url, &"x".repeat(10 << 20), SECRET, 0).await;
    assert_eq!(status, 413);
    let unsigned = reqwest::get(format!("{}/events?after=0", inbox.feed)).await.unwrap();
    assert_eq!(unsigned.status(), 401);
    assert_eq!(feed(&inbox).await, Vec::<Value>::new());
    assert_eq!(send(url, &body, SECRET, 0).await, (200, "success".to_owned()));
    assert_eq!(send(url, &body, SECRET, -58).await, (200, "success".to_owned()));
    let events = feed(&inbox).await;
    assert_eq!((events.len(), &events[0]["deliveries"]), (1, &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_never_ends_their_headers_is_let_go() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let folder = tempfile::tempdir().unwrap();
    let inbox = start(folder.path(), NOWHERE);
    let address = inbox.callbacks.strip_prefix("http://").unwrap();
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    socket.write_all(b"POST /callbacks HTTP/1.1\r\nHost: shop\r\nX-PAY-").await.unwrap();
    let mut answer = vec![];
    let closed = socket.read_to_end(&mut answer);
    tokio::time::timeout(Duration::from_mins(1), closed).await.expect("it is let go").unwrap();
    assert!(!String::from_utf8_lossy(&answer).contains("200"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_any_kill_and_is_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let address = Arc::new(Mutex::new(String::new()));
    let (acknowledged, done) = (Arc::new(Mutex::new(BTreeSet::new())), Arc::new(Mutex::new(false)));
    let mut senders = tokio::task::JoinSet::new();
    for sender in 0..4 {
        let (address, acknowledged, done) =
            (Arc::clone(&address), Arc::clone(&acknowledged), Arc::clone(&done));
        senders.spawn(async move {
            for number in 0.. {
                let order = format!("{sender}-{number}");
                let body = event("SubscriptionApprove", &order, "0xab");
                loop {
                    if *done.lock() {
                        return;
                    }
                    let url = address.lock().clone();
                    if send(&url, &body, SECRET, 0).await == (200, "success".to_owned()) {
                        acknowledged.lock().insert(order);
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
        });
    }
    for round in 0..12_u64 {
        let inbox = start(folder.path(), NOWHERE);
        inbox.callbacks.clone_into(&mut address.lock());
        let wanted = acknowledged.lock().len() + 5;
        while acknowledged.lock().len() < wanted {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(3 * (round % 7))).await;
        inbox.program.kill();
    }
    *done.lock() = true;
    senders.join_all().await;
    let inbox = start(folder.path(), NOWHERE);
    let mut kept: BTreeMap<String, u32> = BTreeMap::new();
    for event in feed(&inbox).await {
        *kept.entry(event["payload"]["outTradeNo"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    let acknowledged = acknowledged.lock().clone();
    assert!(kept.values().all(|count| *count == 1));
    let lost: Vec<_> = acknowledged.iter().filter(|order| !kept.contains_key(*order)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_billing_is_told_when_the_chain_has_decided_and_holds_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::of(4);
    ledger.reverting.insert(1);
    ledger.bill(
        &json!({"requestId": "a", "mode": "partial", "list": [Ledger::entry(1, 1)]}).to_string(),
    );
    ledger.bill(
        &json!({"requestId": "b", "mode": "partial", "list": [Ledger::entry(2, 1)]}).to_string(),
    );
    let peers = Peers::start(ledger).await;
    let inbox = start(folder.path(), &peers.url);
    let url = inbox.callbacks.as_str();
    let hash = |number: u32| format!("0x{number:064x}");
    send(url, &event("SubscriptionBilling", "order-1", &hash(0)), SECRET, 0).await;
    send(url, &event("SubscriptionCancel", "order-1", ""), SECRET, 0).await;
    send(url, &event("SubscriptionBilling", "order-2", &hash(1)), SECRET, 0).await;
    // No such transaction, one that bills somebody else alone, and an order that nobody knows.
    send(url, &event("SubscriptionBilling", "order-3", &hash(99)), SECRET, 0).await;
    send(url, &event("SubscriptionBilling", "order-4", &hash(0)), SECRET, 0).await;
    send(url, &event("SubscriptionBilling", "a lie", &hash(0)), SECRET, 0).await;
    let events = fed(&inbox, 6).await;
    let told: BTreeMap<&str, &Value> = events
        .iter()
        .filter(|event| event["type"] == "SubscriptionBilling")
        .map(|event| (event["payload"]["outTradeNo"].as_str().unwrap(), &event["outcome"]["state"]))
        .collect();
    assert_eq!(told["order-1"], "charged");
    assert_eq!(told["order-2"], "notCharged");
    assert_eq!(told["order-3"], "unknown");
    assert_eq!(told["order-4"], "unproven");
    assert_eq!(told["a lie"], "unproven");
    let paid = events.iter().filter(|event| event["payload"]["outTradeNo"] == "order-1");
    let order: Vec<&Value> = paid.map(|event| &event["type"]).collect();
    assert_eq!(order, ["SubscriptionBilling", "SubscriptionCancel"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_waits_for_as_long_as_the_platform_does_not_say_whose_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::of(1);
    ledger.bill(
        &json!({"requestId": "a", "mode": "partial", "list": [Ledger::entry(1, 1)]}).to_string(),
    );
    let peers = Peers::start(ledger).await;
    let mut command = command(folder.path(), &peers.url);
    command.env("MERCHANT__PLATFORM__BASE_URL", NOWHERE);
    let inbox = start_inbox(command);
    let hash = format!("0x{:064x}", 0);
    send(&inbox.callbacks, &event("SubscriptionBilling", "order-1", &hash), SECRET, 0).await;
    // Thrice as long as the patience with what the platform does not know.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(feed(&inbox).await, Vec::<Value>::new());
    inbox.program.kill();
    let inbox = start(folder.path(), &peers.url);
    assert_eq!(fed(&inbox, 1).await[0]["outcome"]["state"], "charged");
}

/// The merchant's own address: what it was sent, and what it answers next; to 0 it never answers.
#[derive(Clone, Default)]
struct Shop {
    got: Arc<Mutex<Vec<(String, Value)>>>,
    bodies: Arc<Mutex<Vec<String>>>,
    answers: Arc<Mutex<BTreeMap<String, Vec<u16>>>>,
}

async fn take(State(shop): State<Shop>, headers: HeaderMap, body: String) -> StatusCode {
    let id = headers["webhook-id"].to_str().unwrap().to_owned();
    // A number may be none that fits here.
    let event: Value = serde_json::from_str(&body).unwrap_or_default();
    assert!(headers["webhook-signature"].to_str().unwrap().starts_with("v1,"));
    let order = event["payload"]["outTradeNo"].as_str().unwrap_or_default().to_owned();
    let status = shop.answers.lock().get_mut(&order).and_then(Vec::pop).unwrap_or(200);
    if status == 0 {
        return std::future::pending().await;
    }
    shop.bodies.lock().push(body);
    if status == 200 {
        shop.got.lock().push((id, event));
    }
    StatusCode::from_u16(status).unwrap()
}

/// An inbox that hands events on to a shop.
async fn start_beside(shop: &Shop, folder: &Path) -> RunningInbox {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/hook", listener.local_addr().unwrap());
    let router = Router::new().route("/hook", post(take)).with_state(shop.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let mut command = command(folder, NOWHERE);
    command.env("MERCHANT__INBOX__ONWARD_URL", &address);
    command.env("MERCHANT__INBOX__ONWARD_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    start_inbox(command)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_is_handed_on_letter_by_letter() {
    let (shop, folder) = (Shop::default(), tempfile::tempdir().unwrap());
    let inbox = start_beside(&shop, folder.path()).await;
    let body = r#"{ "outTradeNo":"\u0061\ud83d\ude00",  "novel": [1e400, 18446744073709551617, 1.10],
        "subscriptionType" : "SubscriptionApprove","chainId":139 }"#;
    assert_eq!(send(&inbox.callbacks, body, SECRET, 0).await, (200, "success".to_owned()));
    for _ in 0..3000 {
        if !shop.bodies.lock().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let whole = format!(r#""payload":{body}"#);
    assert!(shop.bodies.lock()[0].contains(&whole), "{:?}", shop.bodies.lock());
    let shown = merchant(folder.path(), NOWHERE, &["events", "show", "1", "--json"]);
    let shown = String::from_utf8({ shown }.output().unwrap().stdout).unwrap();
    assert!(shown.contains(body), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_never_answered_holds_up_nobody_else() {
    let (shop, folder) = (Shop::default(), tempfile::tempdir().unwrap());
    shop.answers.lock().insert("stuck".to_owned(), vec![0; 9]);
    let inbox = start_beside(&shop, folder.path()).await;
    send(&inbox.callbacks, &event("SubscriptionApprove", "stuck", "0xab"), SECRET, 0).await;
    for round in 0..4 {
        for order in 0..5 {
            let body = event("SubscriptionApprove", &format!("{round}-{order}"), "0xab");
            send(&inbox.callbacks, &body, SECRET, 0).await;
        }
        let began = std::time::Instant::now();
        while shop.got.lock().len() < 5 * (round + 1) {
            assert!(began.elapsed() < Duration::from_secs(14), "{:?}", shop.got.lock());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_go_on_in_order_whatever_the_address_says() {
    let shop = Shop::default();
    shop.answers.lock().insert("slow".to_owned(), vec![500, 301, 503]);
    shop.answers.lock().insert("gone".to_owned(), vec![410]);
    let folder = tempfile::tempdir().unwrap();
    let inbox = start_beside(&shop, folder.path()).await;
    let kinds = ["SubscriptionRegister", "SubscriptionApprove", "SubscriptionCancel"];
    for kind in kinds {
        for order in ["slow", "gone", "quick"] {
            send(&inbox.callbacks, &event(kind, order, "0xab"), SECRET, 0).await;
        }
    }
    let got = |order: &str| -> Vec<Value> {
        let all = shop.got.lock().clone();
        let mine = all.into_iter().filter(|(_, e)| e["payload"]["outTradeNo"] == order);
        mine.map(|(_, e)| e["type"].clone()).collect()
    };
    for _ in 0..3000 {
        if got("slow").len() == 3 && got("quick").len() == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(got("slow"), kinds);
    assert_eq!(got("quick"), kinds);
    assert_eq!(got("gone"), Vec::<Value>::new(), "a dead event holds its stream");
    let dead = merchant(folder.path(), NOWHERE, &["events", "list", "--dead", "--json"]);
    let dead: Value = serde_json::from_slice(&{ dead }.output().unwrap().stdout).unwrap();
    let id = dead[0]["id"].to_string();
    assert!(
        merchant(folder.path(), NOWHERE, &["events", "replay", &id]).status().unwrap().success()
    );
    for _ in 0..3000 {
        if got("gone").len() == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(got("gone"), kinds);
    let shown = merchant(folder.path(), NOWHERE, &["events", "show", &id]).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("SubscriptionRegister"));
}
