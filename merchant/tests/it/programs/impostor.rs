//! Somebody else in the Signer's place, who answers every batch with code 1 and every question with `charged`. His
//! word counts for nothing, whatever he puts beside it.

use super::book_keeping::{CHAIN, Ledger};
use super::inbox::{command as inbox, event, feed, send};
use super::peers::Peers;
use super::process::{SECRET, ended, start_inbox};
use super::schedule::{everybody_paid_once, once, settle};
use crate::proofs::prove;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::Response;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;

const HASH: &str = "0x00000000000000000000000000000000000000000000000000000000000000ab";

/// What he puts beside his words.
#[derive(Clone, Copy, Debug)]
enum Forgery {
    Nothing,
    AnotherSecret,
    AnotherRequest,
    TheRequestItself,
}

const FORGERIES: [Forgery; 4] =
    [Forgery::Nothing, Forgery::AnotherSecret, Forgery::AnotherRequest, Forgery::TheRequestItself];

#[derive(Clone)]
struct Impostor {
    forgery: Forgery,
    answers: Arc<AtomicUsize>,
}

/// His address, and how often he has answered.
async fn impostor(forgery: Forgery) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let impostor = Impostor { forgery, answers: Arc::default() };
    let answers = Arc::clone(&impostor.answers);
    let router = Router::new().fallback(lie).with_state(impostor);
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, answers)
}

async fn lie(State(impostor): State<Impostor>, request: Request) -> Response<Body> {
    impostor.answers.fetch_add(1, Ordering::SeqCst);
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let posted: Value = serde_json::from_slice(&body).unwrap_or_default();
    let ids = posted["list"].as_array().into_iter().flatten().map(|entry| &entry["subscribeId"]);
    let lines: Vec<Value> = (1..=9)
        .map(|id| json!({"subscribeId": id, "planId": 5, "amount": 7, "state": "charged"}))
        .collect();
    let data = if posted.is_null() {
        json!([{"txHash": HASH, "txHashes": [HASH], "state": "charged", "chainId": CHAIN, "subscriptions": lines}])
    } else {
        json!({"txHash": HASH, "chainId": CHAIN, "subscriptionIds": ids.collect::<Vec<_>>(), "failed": []})
    };
    let text = json!({"code": 1, "msg": "success", "description": null, "data": data}).to_string();
    let mut response = Response::new(Body::from(text.clone()));
    let headers = response.headers_mut();
    let request_sign = head.headers["x-pay-sign"].to_str().unwrap();
    let body = text.as_bytes();
    match impostor.forgery {
        Forgery::Nothing => {}
        Forgery::AnotherSecret => prove(headers, "his own secret", request_sign, 200, body),
        Forgery::AnotherRequest => prove(headers, SECRET, &"A".repeat(44), 200, body),
        Forgery::TheRequestItself => {
            for name in ["x-pay-timestamp", "x-pay-sign"] {
                headers.insert(name, head.headers[name].clone());
            }
        }
    }
    response
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scheduler_takes_no_charge_for_accepted_and_makes_it_when_the_signer_is_back() {
    for forgery in FORGERIES {
        let folder = tempfile::tempdir().unwrap();
        let peers = Peers::start(Ledger::of(7)).await;
        let (url, answers) = impostor(forgery).await;
        let mut command = once(folder.path(), &peers.url);
        command.env("MERCHANT__SIGNER__URL", &url);
        let child = command.spawn().unwrap();
        let (_, said) = tokio::task::spawn_blocking(move || ended(child)).await.unwrap();
        assert!(answers.load(Ordering::SeqCst) > 0, "{forgery:?}: {said}");
        assert!(said.contains(": 0 accepted"), "{forgery:?}: {said}");
        assert!(said.contains("without the Signer's proof"), "{forgery:?}: {said}");
        let told = peers.ledger.lock().letters.clone();
        let granted = told.values().find(|letter| letter["payload"]["type"] == "charged");
        assert_eq!(granted, None, "{forgery:?}");
        settle(folder.path(), &peers).await;
        everybody_paid_once(&peers, 7);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inbox_tells_no_merchant_to_grant_anything() {
    for forgery in FORGERIES {
        let folder = tempfile::tempdir().unwrap();
        let (url, answers) = impostor(forgery).await;
        let inbox = start_inbox(inbox(folder.path(), &url));
        let body = event("SubscriptionBilling", "unpaid", HASH);
        assert_eq!(send(&inbox.callbacks, &body, SECRET, 0).await.0, 200);
        while answers.load(Ordering::SeqCst) < 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(feed(&inbox).await, Vec::<Value>::new(), "{forgery:?}: it waits for the Signer");
    }
}
