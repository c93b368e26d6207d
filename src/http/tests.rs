//! The routes, and the document that describes them to machines.

mod billings;
mod events;
mod figures;
mod ledger;
mod operators;
mod pages;
mod spelling;

use super::answer::HttpReply;
use super::*;
use alloy::primitives::{Address, B256, U256};
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse as _;
use billing::{
    BatchId, BatchState, BlockRef, ChargeKey, ChargeTerms, ClaimState, ClaimedBy, Digits, Entry,
    FailCode, InBlocks, Item, NamedRequest, Period, PeriodNaming, PlanId, Refused, RequestId,
    Retry, Satisfied, Scalar, Signed, SubscribeId, UserHash,
};
use chain::Facts;
use config::JournalConfig;
use engine::{Answer, DryRun, LaneSet, NamedTransaction, Progress, Sent};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use journal::{Binding, Journal, LaneId, Network, Origin, Proposal, Sealed};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use strum::IntoEnumIterator;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const CHAIN: PlatformChainId = PlatformChainId(139);
const SIGNER: Address = Address::repeat_byte(0x51);

/// Handlers without chains, before a journal of their own.
struct TestServer {
    state: Arc<AppState>,
    _room: TempDir,
}

impl TestServer {
    fn new() -> Self {
        Self::with(limits())
    }

    fn with(limits: HttpConfig) -> Self {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("journal.db");
        Journal::initialise(&path).unwrap();
        let config = JournalConfig {
            path,
            mark_path: None,
            backups: None,
            min_free_bytes: 1,
            queue_length: 8,
            keep_refusals: Some(Duration::from_hours(24)),
        };
        let journal = Journal::open(&config).unwrap();
        let engine = Engine::new(LaneSet::default(), journal);
        let state = AppState::new(Arc::new(engine), None, limits, None, CancellationToken::new());
        Self { state: Arc::new(state), _room: room }
    }

    async fn ask(&self, method: Method, path: &str) -> (StatusCode, String) {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let router = TowerToHyperService::new(router(&self.state));
        text(router.call(request).await.unwrap()).await
    }

    async fn ask_json(&self, path: &str) -> (StatusCode, Value) {
        let (status, body) = self.ask(Method::GET, path).await;
        (status, serde_json::from_str(&body).unwrap_or_else(|e| panic!("{path}: {body}: {e}")))
    }

    /// Accepts a batch of one subscription.
    async fn accept(&self, request_id: &str, hash: B256) {
        let terms = ChargeTerms::default();
        self.accept_of(request_id, hash, terms, &[i64::from(hash[31])]).await;
    }

    /// Accepts a batch of these subscriptions.
    async fn accept_of(
        &self,
        request_id: &str,
        hash: B256,
        terms: ChargeTerms,
        subscribes: &[i64],
    ) -> BatchId {
        let journal = &self.state.engine.journal;
        let network = Network { family: Family::Evm, id: 31337 };
        let naming = PeriodNaming::Field("period".to_owned());
        let binding = Binding { chain: CHAIN, network, contract: SIGNER, naming };
        journal.bind(binding, 0).await.unwrap();
        let lane = LaneId { chain: CHAIN, signer: SIGNER };
        let position = journal.lane(lane).open(0, 0).await.unwrap();
        let signed = Signed { hash, raw: vec![1], gas_required: 1 };
        let user = UserHash(hash);
        let item = |subscribe: &i64| {
            let (plan, period) = (PlanId(*subscribe), Period::Numbered(U256::from(4)));
            let key = ChargeKey { plan, user, period };
            Item { subscribe: SubscribeId(*subscribe), key, amount: U256::MAX, terms }
        };
        let items: Vec<Item> = subscribes.iter().map(item).collect();
        let proposal = Proposal {
            origin: Origin { lane, contract: SIGNER },
            profile: "{}".into(),
            request: Some(NamedRequest {
                id: RequestId::parse(request_id).unwrap(),
                caller: None,
                digest: hash,
            }),
            earlier: vec![],
            caller: None,
            in_blocks: InBlocks::Below(0),
            window: 1000,
            counts: vec![],
            chain_time: 0,
            at_ms: 1000,
            sealed: Sealed::new(position, &items, signed),
        };
        journal.accept(proposal).await.unwrap().batch
    }
}

/// The least of everything.
pub(super) fn limits() -> HttpConfig {
    let second = Duration::from_secs(1);
    HttpConfig {
        listen: "127.0.0.1:0".parse().unwrap(),
        body_limit_bytes: 1024,
        max_entries: 10,
        request_deadline: second,
        header_timeout: second,
        body_timeout: second,
        write_timeout: second,
        connection_lifetime: second,
        max_connections: 16,
        max_connections_per_address: 16,
        health_listen: None,
        page: true,
        tls: None,
        shutdown_grace: second,
        max_concurrent_requests: 1,
    }
}

async fn text(response: axum::response::Response) -> (StatusCode, String) {
    let status = response.status();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

fn document() -> Value {
    serde_json::from_str(include_str!("openapi.json")).unwrap()
}

/// What `$ref` points to.
fn at<'a>(document: &'a Value, reference: &str) -> &'a Value {
    let pointer = reference.strip_prefix('#').unwrap();
    document.pointer(pointer).unwrap_or_else(|| panic!("{reference} points nowhere"))
}

fn schema<'a>(document: &'a Value, name: &str) -> &'a Value {
    at(document, &format!("#/components/schemas/{name}"))
}

fn names(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

/// The object has every field that its schema requires, and none that it does not describe.
fn fits(object: &Value, name: &str) {
    let document = document();
    let schema = schema(&document, name);
    let (has, described) = (names(object), names(&schema["properties"]));
    let required: BTreeSet<&str> = words(&schema["required"]).into_iter().collect();
    assert!(has.is_subset(&described), "{name}: {has:?} of {described:?}");
    assert!(required.is_subset(&has), "{name}: {required:?} in {has:?}");
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get("$ref").map(|to| to.as_str().unwrap().to_owned()));
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| references(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn the_document_describes_every_route_and_no_other() {
    let document = document();
    let routed = include_str!("../http.rs").split(".route(\"").skip(1);
    let routed: BTreeSet<&str> = routed.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(names(&document["paths"]), routed);
    let server = TestServer::new();
    for path in routed {
        let operations = &document["paths"][path];
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE] {
            let (status, body) = server.ask(method.clone(), &path.replace("{id}", "x")).await;
            let operation = &operations[method.as_str().to_lowercase()];
            if operation.is_null() {
                assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            } else {
                let described = &operation["responses"][status.as_str()];
                assert!(!described.is_null(), "{method} {path} answers {status}");
                assert!(!body.contains("nothing at this path"), "{method} {path}");
            }
        }
    }
    let (status, body) = server.ask_json("/PayTool/billing").await;
    assert_eq!((status, &body["code"]), (StatusCode::NOT_FOUND, &json!(0)));
}

#[tokio::test]
async fn the_document_is_served_and_every_reference_in_it_leads_somewhere() {
    let (status, served) = TestServer::new().ask_json("/openapi.json").await;
    assert_eq!((status, &served), (StatusCode::OK, &document()));
    assert_eq!(served["info"]["version"], env!("CARGO_PKG_VERSION"));
    let mut found = vec![];
    references(&served, &mut found);
    assert!(!found.is_empty());
    for reference in found {
        at(&served, &reference);
    }
    let headers = ["key", "timestamp", "sign"];
    let schemes = headers.map(|name| served["components"]["securitySchemes"][name]["name"].clone());
    assert_eq!(schemes, [KEY_HEADER, TIMESTAMP_HEADER, SIGN_HEADER]);
}

#[test]
fn the_document_knows_every_reason_and_every_state() {
    let document = document();
    let codes: Vec<_> = FailCode::iter().map(FailCode::token).collect();
    assert_eq!(words(&schema(&document, "FailCode")["enum"]), codes);
    let retries =
        [Retry::User, Retry::Wait, Retry::Done, Retry::Lost, Retry::Stop, Retry::Fix, Retry::Retry];
    let earlier = words(&schema(&document, "Earlier")["properties"]["state"]["enum"]);
    assert_eq!(earlier, [ClaimState::Open, ClaimState::Charged].map(ClaimState::word));
    let described = &schema(&document, "Failure")["properties"]["retry"]["enum"];
    assert_eq!(words(described), retries.map(Retry::token));
    let states = words(&schema(&document, "Report")["properties"]["state"]["enum"]);
    assert_eq!(states, BatchState::iter().map(BatchState::word).collect::<Vec<_>>());
}

fn facts() -> Facts {
    Facts {
        id: CHAIN,
        name: "test".to_owned(),
        family: Family::Evm,
        network: 31337,
        contract: SIGNER,
        signer: SIGNER,
        max_in_flight: 1,
        poll_interval: Duration::from_secs(3),
        idle_poll_interval: Duration::from_mins(1),
    }
}

/// An entry whose ids are in quotes.
fn entry() -> Entry {
    let fields = [
        ("subscribeId", Scalar::Text("9007199254740993".into())),
        ("planId", Scalar::Number("3".into())),
        ("userHash", Scalar::Text("AB".repeat(32).into())),
        ("amount", Scalar::Number(U256::MAX.to_string().into())),
    ];
    Entry::parse(fields.map(|(name, value)| (name.into(), value)).into()).unwrap()
}

fn refused() -> Refused {
    let (allowance, balance) = (Some(U256::MAX), Some(U256::ZERO));
    Refused { allowance, balance, ..entry().refused(FailCode::BalanceInsufficient) }
}

fn asked() -> Vec<Digits> {
    vec![entry().spelling.subscribe.clone()]
}

fn satisfied(state: ClaimState) -> Satisfied {
    let by = ClaimedBy { batch: BatchId(1), state, hash: B256::repeat_byte(0xCD) };
    Satisfied { subscribe: SubscribeId(7), spelling: entry().spelling.plan.clone(), by }
}

fn sent(progress: Progress) -> Sent {
    let lane = LaneId { chain: CHAIN, signer: SIGNER };
    let signed = Signed { hash: B256::ZERO, raw: vec![0xAB], gas_required: 21_000 };
    Sent {
        family: Family::Evm,
        origin: Origin { lane, contract: SIGNER },
        transaction: NamedTransaction::Signed(signed),
        progress,
        subscriptions: asked(),
        failed: vec![],
        earlier: vec![],
    }
}

async fn told(answer: Answer) -> Value {
    told_on(Family::Evm, answer).await
}

async fn told_on(family: Family, answer: Answer) -> Value {
    let (status, body) = text(HttpReply::Answer(family, answer).into_response()).await;
    assert_eq!(status, StatusCode::OK);
    assert!(!body.contains("amount") || body.contains(&format!("\"amount\":{}", U256::MAX)));
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn every_answer_is_as_the_document_describes_it() {
    let answer = Sent {
        failed: vec![refused().claimed_by(B256::ZERO)],
        earlier: vec![satisfied(ClaimState::Open)],
        ..sent(Progress::New)
    };
    let heard = told(Answer::Sent(answer)).await;
    assert_eq!((&heard["code"], &heard["description"]), (&json!(1), &Value::Null));
    assert_eq!(heard["msg"], "Billing transaction sent; 1 subscription is in earlier transactions");
    fits(&heard["data"], "Success");
    fits(&heard["data"]["failed"][0], "Failure");
    fits(&heard["data"]["earlier"][0], "Earlier");
    assert_eq!(heard["data"]["signedTransactionData"], "0xab");
    assert_eq!(heard["data"]["subscriptionIds"], json!(["9007199254740993"]), "as it was written");

    let earlier = vec![satisfied(ClaimState::Charged)];
    let code_2 = told(Answer::Refused(vec![refused()], earlier)).await;
    assert_eq!((&code_2["code"], &code_2["description"]), (&json!(2), &Value::Null));
    fits(&code_2["data"][0], "Failure");
    assert_eq!(code_2["data"][0]["failReason"], "Balance insufficient");
    assert_eq!(code_2["data"][0]["subscribeId"], "9007199254740993", "as it was written");
    let charged = json!({"subscribeId": 3, "txHash": B256::repeat_byte(0xCD), "state": "charged"});
    assert_eq!(code_2["earlier"], json!([charged]));
    assert!(told(Answer::Refused(vec![refused()], vec![])).await["earlier"].is_null());

    let gas_required = Some(1);
    let (would_charge, earlier) = (asked(), vec![satisfied(ClaimState::Open)]);
    let rehearsed = DryRun { facts: facts(), would_charge, refused: vec![], earlier, gas_required };
    let dry = told(Answer::DryRun(rehearsed)).await;
    assert_eq!(dry["code"], 0, "a rehearsal is not taken for a charge");
    fits(&dry["data"], "DryRun");

    let (_, nothing) = text(HttpReply::Rejected(Rejection::Slow).into_response()).await;
    fits(&serde_json::from_str(&nothing).unwrap(), "NoVerdict");
    let (status, ready) = TestServer::new().ask_json("/health/ready").await;
    assert_eq!(status, StatusCode::OK);
    fits(&ready, "Readiness");
}

#[tokio::test]
async fn a_repeat_says_what_has_become_of_the_transaction() {
    let block = BlockRef { number: 7, time: 0, hash: None };
    for (progress, msg) in [
        (Progress::Open, "Already sent: the transaction is open, nothing more was signed"),
        (Progress::Charged(block), "Already sent: charged in block 7, nothing more was signed"),
    ] {
        let heard = told(Answer::Sent(sent(progress))).await;
        assert_eq!((&heard["msg"], &heard["data"]["repeated"]), (&json!(msg), &json!(true)));
        fits(&heard["data"], "Success");
    }
    let learnt = Sent { transaction: NamedTransaction::Learnt(B256::ZERO), ..sent(Progress::Open) };
    let heard = told(Answer::Sent(learnt)).await;
    assert_eq!(heard["data"]["signedTransactionData"], Value::Null, "nobody here knows its bytes");
    let anew = told(Answer::Sent(sent(Progress::New))).await;
    assert!(anew["data"]["repeated"].is_null(), "the success object as the platform has it");
}
