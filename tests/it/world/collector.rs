//! What receives spans: OTLP over HTTP, decoded. Or it takes connections and never answers.

use super::patience::eventually;
use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Said;
use opentelemetry_proto::tonic::trace::v1::Span;
use parking_lot::Mutex;
use prost::Message as _;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// A running receiver.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<ReceivedSpan>>>,
    raw: Arc<Mutex<Vec<u8>>>,
}

/// A span, its ids in hex.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedSpan {
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) name: String,
    /// Unix ms.
    pub(crate) from: u64,
    pub(crate) until: u64,
    attributes: Vec<(String, String)>,
}

impl ReceivedSpan {
    fn of(span: Span) -> Self {
        let said = |value: Option<Said>| match value {
            Some(Said::StringValue(text)) => text,
            Some(Said::IntValue(number)) => number.to_string(),
            other => format!("{other:?}"),
        };
        let attributes = span.attributes.into_iter();
        Self {
            trace: hex::encode(span.trace_id),
            id: hex::encode(span.span_id),
            parent: hex::encode(span.parent_span_id),
            name: span.name,
            from: span.start_time_unix_nano / 1_000_000,
            until: span.end_time_unix_nano / 1_000_000,
            attributes: attributes
                .map(|one| (one.key, said(one.value.and_then(|value| value.value))))
                .collect(),
        }
    }

    /// What it says of `key`.
    pub(crate) fn told(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

impl Collector {
    /// One that takes what it gets.
    pub(crate) async fn begin() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        let (heard, raw) = (Arc::default(), Arc::default());
        let this = Self { url, heard, raw };
        let taking = this.clone();
        let take = async move |body: Bytes| taking.take(&body);
        let router = Router::new().route("/v1/traces", post(take));
        TaskTracker::new().spawn(async move { axum::serve(listener, router).await });
        this
    }

    /// The address of one that lets everybody connect, and says nothing for ever.
    pub(crate) async fn silent() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        (listener, url)
    }

    fn take(&self, body: &[u8]) {
        let asked = ExportTraceServiceRequest::decode(body).expect("OTLP as protobuf");
        let mut scopes = asked.resource_spans.into_iter().flat_map(|one| one.scope_spans);
        let spans = scopes.by_ref().flat_map(|scope| scope.spans);
        self.heard.lock().extend(spans.map(ReceivedSpan::of));
        self.raw.lock().extend_from_slice(body);
    }

    /// Everything that came, as it came.
    pub(crate) fn raw(&self) -> Vec<u8> {
        self.raw.lock().clone()
    }

    /// The spans that came.
    pub(crate) fn spans(&self) -> Vec<ReceivedSpan> {
        self.heard.lock().clone()
    }

    /// The spans of a trace.
    pub(crate) fn trace(&self, id: &str) -> Vec<ReceivedSpan> {
        self.heard.lock().iter().filter(|span| span.trace == id).cloned().collect()
    }

    /// Waits until one with this name has come in that trace.
    pub(crate) async fn wait(&self, trace: &str, name: &str) -> ReceivedSpan {
        let found = || self.trace(trace).into_iter().find(|span| span.name == name);
        eventually(name, async || found().is_some()).await;
        found().unwrap()
    }
}
