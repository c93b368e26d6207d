//! Requests as they come over the wire: a line with method and path, lines of headers, an empty line, a body. The
//! service answers without chains, to whoever asks.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use config::HttpConfig;
use engine::{Engine, LaneSet};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use journal::Journal;
use merchant_signer::http::{AppState, router};
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

struct Server {
    runtime: Runtime,
    state: Arc<AppState>,
    _room: TempDir,
}

thread_local! {
    static SERVER: OnceCell<Server> = const { OnceCell::new() };
}

/// Every request has an answer: a status that is no fault of the server's, and JSON where it says so.
pub fn answer(data: &[u8]) {
    let Some(request) = read(data) else { return };
    SERVER.with(|server| server.get_or_init(Server::begin).ask(request));
}

fn read(data: &[u8]) -> Option<Request> {
    let end = data.windows(2).position(|two| two == b"\n\n")?;
    let (head, body) = (std::str::from_utf8(&data[..end]).ok()?, &data[end + 2..]);
    let mut lines = head.lines();
    let (method, path) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(path);
    for line in lines {
        let (name, value) = line.split_once(": ")?;
        request = request.header(name, value);
    }
    request.body(Body::from(body.to_vec())).ok()
}

impl Server {
    fn begin() -> Self {
        let room = tempfile::tempdir().unwrap();
        let config = journal_test_support::config(&room);
        Journal::initialise(&config.path).unwrap();
        let engine = Engine::new(LaneSet::default(), Journal::open(&config).unwrap());
        let state = AppState::new(Arc::new(engine), None, limits(), None, CancellationToken::new());
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, state: Arc::new(state), _room: room }
    }

    fn ask(&self, request: Request) {
        let asked = format!("{} {}", request.method(), request.uri());
        self.runtime.block_on(async {
            let router = TowerToHyperService::new(router(&self.state));
            let response = router.call(request).await.unwrap();
            let (status, head) = (response.status(), response.headers().clone());
            assert!(status.as_u16() != 500, "{asked}: {status}");
            let body = to_bytes(response.into_body(), 1 << 24).await.unwrap();
            if head.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json") {
                let read = serde_json::from_slice::<serde_json::Value>(&body);
                assert!(read.is_ok(), "{asked}: {}", String::from_utf8_lossy(&body));
            }
        });
    }
}

fn limits() -> HttpConfig {
    let second = Duration::from_secs(1);
    HttpConfig {
        listen: "127.0.0.1:0".parse().unwrap(),
        body_limit_bytes: 1 << 17,
        max_entries: 1000,
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
        max_concurrent_requests: 16,
    }
}
