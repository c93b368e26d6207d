//! The roads between the programs: each request of one to another goes over one, where it has a name, and where the test can
//! step in before it arrives and after it was answered.

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Response, header};
use parking_lot::RwLock;
use serde_json::Value;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// When the test steps in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Moment {
    /// The request has left, and has not arrived.
    Before,
    /// It was answered, and the answer has not arrived.
    After,
}

/// Called at both moments of every request, with the name of its step. True: the connection breaks here.
pub(crate) type Hook = Arc<dyn Fn(&str, Moment) -> bool + Send + Sync>;

/// One road.
#[derive(Clone)]
pub(crate) struct Road {
    /// Where it begins: the address that the caller is told.
    pub(crate) url: String,
    /// Where it leads now.
    pub(crate) to: Arc<RwLock<String>>,
    name: &'static str,
    hook: Hook,
    client: reqwest::Client,
}

impl Road {
    /// Builds a road, which leads nowhere yet.
    pub(crate) async fn open(name: &'static str, hook: Hook) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        // A connection that outlives its program would be one more thing that fails.
        let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0);
        let client = client.build().unwrap();
        let road = Self { url, to: Arc::default(), name, hook, client };
        let router = Router::new().fallback(travel).with_state(road.clone());
        TaskTracker::new().spawn(async move { axum::serve(listener, router).await });
        road
    }
}

async fn travel(State(road): State<Road>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else { return broken() };
    let step = format!("{}: {}", road.name, what(&head, &body));
    if (road.hook)(&step, Moment::Before) {
        return broken();
    }
    let Some((status, headers, answer)) = forward(&road, head, body).await else { return broken() };
    if (road.hook)(&step, Moment::After) {
        return broken();
    }
    let mut response = Response::new(Body::from(answer));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

type Came = (axum::http::StatusCode, HeaderMap, Bytes);

/// What is of one connection alone.
const OF_A_CONNECTION: [HeaderName; 4] =
    [header::HOST, header::CONTENT_LENGTH, header::CONNECTION, header::TRANSFER_ENCODING];

/// The headers that go on: an answer's own prove it.
fn passed_on(mut headers: HeaderMap) -> HeaderMap {
    for name in &OF_A_CONNECTION {
        headers.remove(name);
    }
    headers
}

async fn forward(road: &Road, head: Parts, body: Bytes) -> Option<Came> {
    // A road may lead to an address with a path of its own.
    let path = head.uri.path_and_query().map_or("/", |whole| whole.as_str());
    let path = if path == "/" { "" } else { path };
    let url = format!("{}{path}", road.to.read());
    let request = road.client.request(head.method, url).headers(passed_on(head.headers)).body(body);
    let answer = request.send().await.ok()?;
    let (status, headers) = (answer.status(), passed_on(answer.headers().clone()));
    Some((status, headers, answer.bytes().await.ok()?))
}

/// What a request is about, without anything that is new each time.
fn what(head: &Parts, body: &[u8]) -> String {
    let path = head.uri.path();
    if path == "/" || path == "/jsonrpc" {
        let call: Value = serde_json::from_slice(body).unwrap_or_default();
        let first = call.as_array().and_then(|all| all.first()).unwrap_or(&call);
        return first["method"].as_str().unwrap_or_default().to_owned();
    }
    let shown = path.strip_prefix("/PayTool/billings/").map_or(path, |_| "/PayTool/billings/*");
    format!("{} {shown}", head.method)
}

/// An answer that breaks off.
fn broken() -> Response<Body> {
    let cut = futures_util::stream::iter([Err::<Vec<u8>, _>(std::io::Error::other("cut"))]);
    Response::new(Body::from_stream(cut))
}
