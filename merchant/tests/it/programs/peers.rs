//! The platform, the Signer and the inbox on one address, strict about signatures, with a hook at
//! every exchange.

use super::book_keeping::Ledger;
use super::process::{KEY, SECRET};
use crate::proofs::prove;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response, StatusCode};
use merchant::callback::web::presented;
use merchant::clock::{Clock as _, SystemClock};
use merchant::sign::{Arrived, Credentials, verify};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::net::TcpListener;

/// What happens at an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// It has arrived, and nothing was done.
    Before,
    /// It was done, and nothing was answered.
    After,
}

/// Called at both moments of every exchange, with its number. True: the connection breaks here.
pub(super) type Hook = Box<dyn FnMut(usize, Moment) -> bool + Send>;

/// The counterparts.
#[derive(Clone)]
pub(super) struct Peers {
    pub(super) url: String,
    pub(super) ledger: Arc<Mutex<Ledger>>,
    hook: Arc<Mutex<Hook>>,
    count: Arc<Mutex<usize>>,
    kinds: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Peers {
    pub(super) async fn start(ledger: Ledger) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let peers = Self {
            url,
            ledger: Arc::new(Mutex::new(ledger)),
            hook: Arc::new(Mutex::new(Box::new(|_, _| false))),
            count: Arc::default(),
            kinds: Arc::default(),
        };
        let router = Router::new().fallback(exchange).with_state(peers.clone());
        let serving = async move { axum::serve(listener, router).await };
        tokio::task::spawn(serving);
        peers
    }

    /// Sets the hook, and counts exchanges from 0 again.
    pub(super) fn hook(&self, hook: impl FnMut(usize, Moment) -> bool + Send + 'static) {
        *self.count.lock() = 0;
        self.kinds.lock().clear();
        *self.hook.lock() = Box::new(hook);
    }

    /// How many exchanges of each kind there were since the hook was set.
    pub(super) fn kinds(&self) -> BTreeMap<String, usize> {
        self.kinds.lock().clone()
    }

    /// How many exchanges there were since the hook was set.
    pub(super) fn exchanges(&self) -> usize {
        *self.count.lock()
    }
}

async fn exchange(State(peers): State<Peers>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let number = {
        let mut count = peers.count.lock();
        *count = count.saturating_add(1);
        count.saturating_sub(1)
    };
    if (peers.hook.lock())(number, Moment::Before) {
        return broken();
    }
    let kind = head.uri.path().split("/0").next().unwrap_or_default().to_owned();
    *peers.kinds.lock().entry(kind).or_default() += 1;
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let path = head.uri.path_and_query().map_or("/", |whole| whole.as_str()).to_owned();
    let (status, answer) = if signed(&head.headers, head.method.as_str(), &path, &body) {
        answer(&peers, head.uri.path(), head.uri.query().unwrap_or_default(), &body)
    } else {
        peers.ledger.lock().offences.push(format!("{path} is not signed"));
        (401, json!({"code": 401, "msg": "signature", "data": null}))
    };
    if (peers.hook.lock())(number, Moment::After) {
        return broken();
    }
    let mut response = Response::new(Body::from(answer.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    // Of the three the Signer alone signs what it answers.
    if path.starts_with("/PayTool/") {
        let text = answer.to_string();
        let request = presented(&head.headers).sign.unwrap_or_default();
        prove(response.headers_mut(), SECRET, request, status, text.as_bytes());
    }
    response
}

/// An answer that breaks off.
fn broken() -> Response<Body> {
    let chunk = futures_util::stream::iter([Err::<Vec<u8>, _>(std::io::Error::other("cut"))]);
    Response::new(Body::from_stream(chunk))
}

fn signed(headers: &HeaderMap, method: &str, path: &str, body: &[u8]) -> bool {
    let arrived = Arrived { method, path_and_query: path, body };
    let known = [Credentials::new(KEY, SECRET)];
    verify(&known, &presented(headers), &arrived, SystemClock.now()).is_ok()
}

fn answer(peers: &Peers, path: &str, query: &str, body: &[u8]) -> (u16, Value) {
    let mut ledger = peers.ledger.lock();
    let number = |name: &str| -> i64 {
        let pairs: BTreeMap<&str, &str> =
            query.split('&').filter_map(|p| p.split_once('=')).collect();
        pairs.get(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    };
    if path == "/api/mer/subscribe/chargeable/list" {
        let (page, size) = (number("page").max(1), number("size").max(1));
        let skip = usize::try_from((page - 1) * size).unwrap_or(0);
        let list: Vec<Value> = ledger
            .due
            .iter()
            .skip(skip)
            .take(usize::try_from(size).unwrap_or(0))
            .map(|(id, period)| Ledger::entry(*id, *period))
            .collect();
        let data = json!({"count": ledger.due.len(), "page": page, "size": size, "list": list});
        return (200, json!({"code": 200, "msg": "success", "data": data}));
    }
    if path == "/api/mer/subscribe/list" {
        let (page, size) = (number("page").max(1), number("size").max(1));
        let (all, skip) = (ledger.subscriptions(), usize::try_from((page - 1) * size).unwrap_or(0));
        let one = |id: &i64| json!({"subscriptionId": id, "outTradeNo": format!("order-{id}")});
        let shown = all.iter().skip(skip).take(usize::try_from(size).unwrap_or(0));
        let list: Vec<Value> = shown.map(one).collect();
        let data = json!({"count": all.len(), "page": page, "size": size, "list": list});
        return (200, json!({"code": 200, "msg": "success", "data": data}));
    }
    if path.ends_with("/signProcessSubscribePlan") {
        return ledger.bill(std::str::from_utf8(body).unwrap_or_default());
    }
    if let Some(hash) = path.strip_prefix("/PayTool/billings/") {
        return ledger.status(hash);
    }
    if path == "/events" {
        let after = query.split('&').find_map(|pair| pair.strip_prefix("after="));
        return ledger.feed(after.unwrap_or_default());
    }
    if path == "/notices" {
        let letters: Vec<Value> = serde_json::from_slice(body).unwrap_or_default();
        for letter in letters {
            let id = letter["id"].as_str().unwrap_or_default().to_owned();
            let known = ledger.letters.entry(id).or_insert_with(|| letter.clone()).clone();
            if known != letter {
                ledger.offences.push(format!("a letter changed: {known} {letter}"));
            }
        }
        return (200, json!({"code": 200, "msg": "success", "data": null}));
    }
    (404, json!({"code": 404, "msg": "no such path", "data": null}))
}
