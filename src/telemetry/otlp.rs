//! Sends spans to a receiver of OTLP over HTTP.
//!
//! Nothing waits for the receiver: spans queue up to a length, a thread of the library sends them, and what
//! finds no room or is not taken is counted and lost.

use super::scrape::Scrape;
use async_trait::async_trait;
use config::{OutboundConfig, TracesConfig};
use engine::SPAN_TARGET;
use opentelemetry::Context;
use opentelemetry::trace::{SpanId, TraceId, TracerProvider as _};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, IdGenerator, RandomIdGenerator, Sampler,
    SdkTracerProvider, Span, SpanData, SpanExporter, SpanProcessor,
};
use reqwest::{Client, redirect};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::Handle;
use tracing::{Subscriber, info, warn};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

/// Number of spans that wait to be sent. A charge has about ten.
const QUEUE: usize = 4096;

/// Most spans sent at once.
const AT_ONCE: usize = 512;

/// Time that spans wait for others.
const EVERY: Duration = Duration::from_secs(2);

/// Time the receiver may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Time the process waits for the receiver at its end.
const LAST: Duration = Duration::from_secs(2);

/// The counts of this process's spans.
#[derive(Debug, Default)]
struct SpanFigures {
    sent: AtomicU64,
    lost: AtomicU64,
}

/// They are counted from the first sender on.
static FIGURES: OnceLock<SpanFigures> = OnceLock::new();

fn figures() -> &'static SpanFigures {
    FIGURES.get_or_init(SpanFigures::default)
}

/// Tells how many were sent and lost; nothing where none are made.
pub(super) fn tell(scrape: &mut Scrape) {
    let count = |word: &str, count: &AtomicU64| {
        ([("result", word.to_owned())], count.load(Ordering::Relaxed))
    };
    let counts = FIGURES.get().map_or_else(Vec::new, |figures| {
        vec![count("sent", &figures.sent), count("lost", &figures.lost)]
    });
    let help = "Spans of charges, by whether the receiver of [traces] took them";
    scrape.counters(("spans", help), counts);
}

/// The way of spans to their receiver.
#[derive(Debug)]
pub struct SpanSender(SdkTracerProvider);

/// Why spans cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum SpansUnsent {
    /// The client cannot be made.
    #[error("traces: {0}")]
    Client(#[from] reqwest::Error),
    /// The exporter cannot be made.
    #[error("traces: {0}")]
    Exporter(#[from] ExporterBuildError),
}

fn provider(
    config: &TracesConfig,
    outbound: OutboundConfig,
) -> Result<SdkTracerProvider, SpansUnsent> {
    let client = Client::builder().timeout(TIMEOUT).redirect(redirect::Policy::none());
    let client = if outbound.environment_proxies { client } else { client.no_proxy() };
    let client = client.build()?;
    let receiver = Receiver {
        client,
        runtime: Handle::current(),
        name: config.url.to_string(),
        fails: AtomicBool::new(false),
    };
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_http_client(receiver)
        .with_endpoint(config.url.expose())
        .with_timeout(TIMEOUT)
        .build()?;
    let waiting = Arc::new(AtomicUsize::new(0));
    let counted = CountedExporter { exporter, waiting: Arc::clone(&waiting) };
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(QUEUE)
        .with_max_export_batch_size(AT_ONCE)
        .with_scheduled_delay(EVERY)
        .build();
    let queue = BatchSpanProcessor::builder(counted).with_batch_config(batches).build();
    let resource = Resource::builder()
        .with_service_name(env!("CARGO_PKG_NAME"))
        .with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(SdkTracerProvider::builder()
        .with_span_processor(Bounded { queue, waiting })
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(share(
            config.sample_percent,
        )))))
        .with_id_generator(Ids(RandomIdGenerator::default()))
        .with_resource(resource)
        .build())
}

#[expect(clippy::float_arithmetic, reason = "a share of traces")]
fn share(percent: u8) -> f64 {
    f64::from(percent) / 100.0
}

impl SpanSender {
    /// Returns the way of spans to the receiver of `config`. To be called within the runtime.
    pub fn new(config: &TracesConfig, outbound: OutboundConfig) -> Result<Self, SpansUnsent> {
        figures();
        provider(config, outbound).map(Self)
    }

    /// Returns the layer that takes the spans of charges, and nothing else.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let tracer = self.0.tracer(env!("CARGO_PKG_NAME"));
        tracing_opentelemetry::layer()
            .with_location(false)
            .with_target(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_tracer(tracer)
            .with_filter(Targets::new().with_target(SPAN_TARGET, LevelFilter::INFO))
    }

    /// Sends what waits, for a moment.
    pub async fn finish(self) {
        let Self(provider) = self;
        let ended = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(LAST)).await;
        if !matches!(ended, Ok(Ok(()))) {
            info!("the last spans were not sent in time");
        }
    }
}

/// Trace ids by chance, but for a request that is named already (`http::trace`).
#[derive(Debug)]
struct Ids(RandomIdGenerator);

impl IdGenerator for Ids {
    fn new_trace_id(&self) -> TraceId {
        let named = Context::map_current(|context| context.get::<TraceId>().copied());
        named.unwrap_or_else(|| self.0.new_trace_id())
    }

    fn new_span_id(&self) -> SpanId {
        self.0.new_span_id()
    }
}

/// The queue, with what finds no room in it counted.
#[derive(Debug)]
struct Bounded {
    queue: BatchSpanProcessor,
    waiting: Arc<AtomicUsize>,
}

impl SpanProcessor for Bounded {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.queue.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) < QUEUE {
            self.queue.on_end(span);
        } else {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            figures().lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.queue.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.queue.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.queue.set_resource(resource);
    }
}

/// The exporter, with what became of spans counted.
#[derive(Debug)]
struct CountedExporter {
    exporter: opentelemetry_otlp::SpanExporter,
    waiting: Arc<AtomicUsize>,
}

impl SpanExporter for CountedExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        self.waiting.fetch_sub(spans, Ordering::Relaxed);
        let result = self.exporter.export(batch).await;
        let count = if result.is_ok() { &figures().sent } else { &figures().lost };
        count.fetch_add(u64::try_from(spans).unwrap_or(u64::MAX), Ordering::Relaxed);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// Posts to the receiver, on the runtime of the process: the thread that sends has none.
struct Receiver {
    client: Client,
    runtime: Handle,
    name: String,
    fails: AtomicBool,
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("name", &self.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpClient for Receiver {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (client, (head, body)) = (self.client.clone(), request.into_parts());
        let asked = async move {
            let request = client.post(head.uri.to_string()).headers(head.headers).body(body);
            let answer = request.send().await?;
            let status = answer.status();
            // The rest of the answer is not read: it may be long.
            Ok::<_, reqwest::Error>(status)
        };
        let answered = self.runtime.spawn(asked).await?;
        let trouble = match &answered {
            Ok(status) if status.is_success() => None,
            Ok(status) => Some(format!("HTTP {}", status.as_u16())),
            // Its own text holds the URL.
            Err(error) if error.is_timeout() => Some("timed out".to_owned()),
            Err(error) if error.is_connect() => Some("no connection".to_owned()),
            Err(_) => Some("connection broken".to_owned()),
        };
        self.note(trouble.as_deref());
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = answered.map_err(|_| trouble.unwrap_or_default())?;
        Ok(response)
    }
}

impl Receiver {
    /// Says once that it does not take spans, and once that it does again.
    fn note(&self, trouble: Option<&str>) {
        let failed = self.fails.swap(trouble.is_some(), Ordering::Relaxed);
        let receiver = &self.name;
        match trouble {
            Some(why) if !failed => {
                warn!(receiver, why, "spans are lost: their receiver does not take them");
            }
            None if failed => info!(receiver, "spans are taken again"),
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::RpcUrl;
    use opentelemetry::trace::Tracer as _;
    use std::time::Instant;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_finds_no_room_is_lost_and_counted_and_nobody_waits() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/traces", silent.local_addr().unwrap());
        let config = TracesConfig { url: RpcUrl::parse(&url).unwrap(), sample_percent: 100 };
        let provider = provider(&config, OutboundConfig { environment_proxies: false }).unwrap();
        let (tracer, begun) = (provider.tracer("flood"), Instant::now());
        for _ in 0..3 * QUEUE {
            drop(tracer.start("one"));
        }
        assert!(begun.elapsed() < TIMEOUT, "{:?}", begun.elapsed());
        let lost = figures().lost.load(Ordering::Relaxed);
        assert!(
            lost > u64::try_from(QUEUE).unwrap() && figures().sent.load(Ordering::Relaxed) == 0,
            "{lost}"
        );
        let begun = Instant::now();
        SpanSender(provider).finish().await;
        assert!(begun.elapsed() < 2 * LAST, "{:?}", begun.elapsed());
    }
}
