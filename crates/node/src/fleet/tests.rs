use super::*;
use crate::NodeError;
use crate::retries::Retries;
use crate::{Http, JsonRpc, NoAgreement, NodeGroup as _, Request, Trust};
use alloy::primitives::B256;
use axum::Router;
use axum::extract::State as Shared;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use config::RpcUrl;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::future::IntoFuture as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;

/// What a node of these tests does with a question.
#[derive(Clone)]
enum Does {
    Says(Value),
    Fails(&'static str),
    Breaks,
    Hangs,
}

/// A node that does one thing whatever it is asked, but for its chain id, and counts.
#[derive(Clone)]
struct Double {
    does: Does,
    chain: Arc<AtomicU64>,
    asked: Arc<Mutex<Vec<String>>>,
}

async fn answer(Shared(double): Shared<Double>, question: String) -> Response {
    let question: Value = serde_json::from_str(&question).unwrap();
    let method = question["method"].as_str().unwrap_or_default().to_owned();
    let says =
        |result: Value| json!({"id": question["id"], "result": result}).to_string().into_response();
    double.asked.lock().push(method.clone());
    if method == "eth_chainId" {
        return says(json!(format!("0x{:x}", double.chain.load(Ordering::Relaxed))));
    }
    match double.does {
        Does::Says(result) => says(result),
        Does::Fails(message) => {
            let error = json!({"code": -32000, "message": message});
            json!({"id": question["id"], "error": error}).to_string().into_response()
        }
        Does::Breaks => axum::http::StatusCode::BAD_GATEWAY.into_response(),
        Does::Hangs => std::future::pending().await,
    }
}

/// A fleet of these nodes, whose chain is known already, and what each of them was asked.
async fn fleet(nodes: &[(u64, Does)]) -> (Arc<Fleet<JsonRpc>>, Vec<Arc<Mutex<Vec<String>>>>) {
    let doubles: Vec<Double> =
        nodes.iter().map(|(chain, does)| Double::new(*chain, does)).collect();
    let asked = doubles.iter().map(|double| Arc::clone(&double.asked)).collect();
    (fleet_of(doubles).await, asked)
}

impl Double {
    fn new(chain: u64, does: &Does) -> Self {
        let chain = Arc::new(AtomicU64::new(chain));
        Self { does: does.clone(), chain, asked: Arc::default() }
    }
}

async fn fleet_of(doubles: Vec<Double>) -> Arc<Fleet<JsonRpc>> {
    let mut urls = Vec::new();
    for double in doubles {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        urls.push(RpcUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap());
        let router = Router::new().route("/", post(answer)).with_state(double);
        #[expect(clippy::disallowed_methods, reason = "lives as long as the test")]
        tokio::spawn(axum::serve(listener, router).into_future());
    }
    let passing = |error: &NodeError| error.message == "busy";
    let rules = FleetRules {
        chain: RealChain::Eip155(1),
        timeout: Duration::from_secs(20),
        passing,
        a_day: None,
        seed: 0,
    };
    let fleet = Arc::new(Fleet::dial(&Http::default(), &urls, &[], rules).unwrap());
    drop(fleet.verify_all().await);
    fleet
}

const SEND: &str = "eth_sendRawTransaction";

fn question(method: &'static str) -> Request {
    Request::of(method, json!([]))
}

fn says(result: &str) -> (u64, Does) {
    (1, Does::Says(json!(result)))
}

async fn ask(fleet: &Fleet<JsonRpc>) -> Result<String, AskError> {
    fleet.best().ask("eth_test", json!([])).await
}

#[tokio::test]
async fn a_read_is_answered_by_another_node_when_the_first_fails_is_busy_or_says_nothing() {
    for trouble in [Does::Breaks, Does::Fails("busy"), Does::Hangs] {
        let (fleet, asked) = fleet(&[(1, trouble), says("b"), says("c")]).await;
        // Of equally good nodes the first one is asked.
        fleet.dissented(NodeId(1), "");
        fleet.dissented(NodeId(2), "");
        assert!(["b", "c"].contains(&ask(&fleet).await.unwrap().as_str()));
        assert!(asked[0].lock().contains(&"eth_test".to_owned()), "the first was asked");
    }
}

#[tokio::test]
async fn a_node_that_has_not_seen_the_block_of_two_others_is_asked_last() {
    let (fleet, _) = fleet(&[says("a"), says("b"), says("c")]).await;
    fleet.dissented(NodeId(1), "");
    fleet.dissented(NodeId(2), "");
    assert_eq!(fleet.fit()[0], NodeId(0));
    let head = |number| HeadSeen { number, time: 0 };
    fleet.note_heads(&[(NodeId(0), head(9)), (NodeId(1), head(10)), (NodeId(2), head(10))]);
    assert_eq!(fleet.fit()[2], NodeId(0));
    assert_eq!(fleet.heads().len(), 3);
}

#[tokio::test]
async fn what_a_node_says_of_the_question_is_an_answer_and_not_asked_again() {
    let (fleet, asked) = fleet(&[(1, Does::Fails("execution reverted")), says("b")]).await;
    fleet.dissented(NodeId(1), "");
    assert!(matches!(ask(&fleet).await.unwrap_err().fault, Fault::Node(_)));
    assert_eq!(*asked[1].lock(), ["eth_chainId"]);
}

#[tokio::test]
async fn a_lone_node_that_fails_is_asked_three_times_and_no_more() {
    let (fleet, asked) = fleet(&[(1, Does::Breaks)]).await;
    assert_eq!(ask(&fleet).await.unwrap_err().fault, Fault::Http(502));
    assert_eq!(asked[0].lock().iter().filter(|method| *method == "eth_test").count(), 3);
}

#[tokio::test]
async fn two_who_say_the_same_are_an_agreement_and_the_third_is_not_waited_for() {
    let agreed = async |nodes: &[(u64, Does)]| {
        let (fleet, _) = fleet(nodes).await;
        let told = |id| {
            let asker = fleet.only(id);
            async move { asker.ask::<String>("eth_test", json!([])).await.ok() }
        };
        fleet.agreed("about a test", told).await
    };
    assert_eq!(agreed(&[says("a"), (1, Does::Hangs), says("a")]).await.unwrap(), "a");
    assert_eq!(agreed(&[says("lie"), says("a"), says("a")]).await.unwrap(), "a");
    assert_eq!(agreed(&[says("a")]).await.unwrap(), "a", "a fleet of one believes it");
    let (needed, asked) = (2, 2);
    let about = "about a test";
    let none = Err(NoAgreement { about, needed, asked });
    assert_eq!(agreed(&[says("a"), says("b")]).await, none);
    assert_eq!(agreed(&[says("a"), (1, Does::Breaks)]).await, none);
    let one = Err(NoAgreement { about, needed, asked: 1 });
    assert_eq!(agreed(&[says("a"), (56, Does::Says(json!("a")))]).await, one, "of another chain");
}

#[tokio::test]
async fn each_fit_node_is_asked_and_none_of_another_chain() {
    let (fleet, asked) = fleet(&[says("a"), (56, Does::Says(json!("x"))), says("c")]).await;
    let mut answers: Vec<_> = fleet.each::<String>(question("eth_test")).await;
    answers.sort_by_key(|(id, _)| *id);
    assert_eq!(answers, [(NodeId(0), Ok("a".to_owned())), (NodeId(2), Ok("c".to_owned()))]);
    assert_eq!(*asked[1].lock(), ["eth_chainId"]);
}

#[tokio::test]
async fn a_fleet_on_the_wrong_chain_is_asked_nothing() {
    let (fleet, asked) = fleet(&[(56, Does::Says(json!("x")))]).await;
    let wrong =
        Fault::WrongChain { answered: RealChain::Eip155(56), configured: RealChain::Eip155(1) };
    assert_eq!(ask(&fleet).await.unwrap_err().fault, wrong);
    let said = fleet.broadcast::<B256, _>(question(SEND), |_, said| said.is_ok()).await;
    assert!(matches!(&said[..], [(NodeId(0), Err(error))] if error.fault == wrong));
    assert_eq!(*asked[0].lock(), ["eth_chainId"]);
}

#[tokio::test]
async fn a_node_that_has_left_the_wrong_chain_is_used_again_after_ten_minutes() {
    let double = Double::new(56, &Does::Says(json!("x")));
    let (chain, asked) = (Arc::clone(&double.chain), Arc::clone(&double.asked));
    let fleet = fleet_of(vec![double]).await;
    assert!(fleet.watched().is_empty());
    chain.store(1, Ordering::Relaxed);
    for minute in 1..=10 {
        assert_eq!(fleet.all_on_wrong_chain(), Some(RealChain::Eip155(56)), "minute {minute}");
        tokio::time::pause();
        tokio::time::advance(Duration::from_mins(1)).await;
        tokio::time::resume();
        let watched = fleet.watched();
        assert_eq!(watched, [NodeId(0)], "it is looked at when it is time to ask");
        assert_eq!(fleet.verify_when_due(NodeId(0)).await.is_ok(), minute == 10);
        assert_eq!(fleet.verify_when_due(NodeId(0)).await.is_ok(), minute == 10);
    }
    assert_eq!(ask(&fleet).await.unwrap(), "x");
    assert_eq!(asked.lock().len(), 12, "once a minute, and what was asked then: {asked:?}");
}

#[tokio::test]
async fn a_broadcast_ends_with_the_first_acceptance_and_reaches_all_though_nobody_waits() {
    let hash = json!(B256::ZERO);
    let (fleet, asked) = fleet(&[(1, Does::Hangs), (1, Does::Says(hash)), (1, Does::Hangs)]).await;
    let heard = fleet.broadcast::<B256, _>(question(SEND), |_, said| said.is_ok()).await;
    assert_eq!(heard, [(NodeId(1), Ok(B256::ZERO))]);
    let sent = |asked: &Arc<Mutex<Vec<String>>>| asked.lock().contains(&SEND.to_owned());
    while !asked.iter().all(sent) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_stop_a_broadcast() {
    let (fleet, asked) = fleet(&[(1, Does::Hangs), (1, Does::Hangs)]).await;
    let sending = fleet.broadcast::<B256, _>(question(SEND), |_, said| said.is_ok());
    assert!(futures_util::FutureExt::now_or_never(sending).is_none(), "it is dropped");
    while asked.iter().any(|asked| asked.lock().len() < 2) {
        tokio::task::yield_now().await;
    }
}

#[test]
fn nodes_are_told_apart_by_host_and_by_place_where_they_share_one() {
    let hosts = ["a.example", "b.example", "a.example"].map(str::to_owned);
    assert_eq!(labels(&hosts), ["a.example[0]", "b.example", "a.example[2]"]);
}

#[test]
fn retries_are_a_tenth_of_all_questions_once_the_savings_are_spent() {
    let retries = Retries::new(0);
    let spent = (0..1000).filter(|_| retries.take()).count();
    assert_eq!(spent, 30);
    let mut more = 0;
    for _ in 0..1000 {
        retries.earn();
        more += usize::from(retries.take());
    }
    assert_eq!(more, 100);
}

/// Fleets of nodes at these URLs, of which none is ever asked.
fn at(urls: &[&str]) -> Fleet<JsonRpc> {
    let urls: Vec<RpcUrl> = urls.iter().map(|url| RpcUrl::parse(url).unwrap()).collect();
    let chain = RealChain::Eip155(1);
    let timeout = Duration::from_secs(1);
    let rules = FleetRules { chain, timeout, passing: |_| false, a_day: None, seed: 0 };
    Fleet::dial(&Http::default(), &urls, &[], rules).unwrap()
}

#[test]
fn a_provider_with_two_urls_counts_once_and_is_named() {
    let one = at(&["https://eth.a.example/1", "https://polygon.a.example/2"]);
    assert_eq!((one.needed(), one.trust()), (1, Trust::Alone));
    let labels = vec!["eth.a.example".to_owned(), "polygon.a.example".to_owned()];
    assert_eq!(one.repeated_providers(), [("a.example".to_owned(), labels)]);
    let two = at(&["https://eth.a.example", "https://eth2.a.example", "https://b.example"]);
    assert_eq!((two.needed(), two.trust()), (2, Trust::Two));
    assert_eq!(two.repeated_providers().len(), 1);
    assert!(at(&["https://a.example", "https://b.example"]).repeated_providers().is_empty());
}

#[tokio::test]
async fn two_nodes_are_needed_whichever_of_them_can_be_reached() {
    let (fleet, _) = fleet(&[says("a"), (56, Does::Says(json!("a")))]).await;
    assert_eq!((fleet.fit().len(), fleet.needed()), (1, 2));
    assert!(!fleet.is_quorate());
}
