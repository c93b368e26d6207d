#![doc = include_str!("../README.md")]

use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{
    FutureExt as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _,
    TraceFlags, TraceId, TraceState, Tracer as _,
};
use opentelemetry::{Context, KeyValue, Value, trace::WithContext};
use std::cell::Cell;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// The receiver of this process's spans.
static TRACER: OnceLock<BoxedTracer> = OnceLock::new();

thread_local! {
    /// The id of the trace that is begun on this thread.
    static BEGUN: Cell<Option<TraceId>> = const { Cell::new(None) };
}

/// Has spans be sent from now on. The first call in a process counts.
pub fn send_to(tracer: BoxedTracer) {
    drop(TRACER.set(tracer));
}

/// Returns true if spans are sent anywhere.
pub fn are_sent() -> bool {
    TRACER.get().is_some()
}

/// The id that the trace which is begun on this thread is to have; none where any will do.
pub fn wanted_id() -> Option<TraceId> {
    BEGUN.take()
}

/// The trace that a request is part of, as the request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTrace {
    /// Its id: the caller's, or one by chance.
    pub id: [u8; 16],
    /// The caller's span, and whether the caller has it sampled.
    pub parent: Option<([u8; 8], bool)>,
}

/// A span that was sampled, as it is kept: the ids of its trace and of itself, in hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanPlace {
    trace: [u8; 16],
    span: [u8; 8],
}

impl fmt::Display for SpanPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", hex::encode(self.trace), hex::encode(self.span))
    }
}

/// The text names no span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not the place of a span: 32 hex digits, - and 16 more")]
pub struct NotASpanPlace;

impl FromStr for SpanPlace {
    type Err = NotASpanPlace;

    fn from_str(text: &str) -> Result<Self, NotASpanPlace> {
        let (trace_text, span_text) = text.split_once('-').ok_or(NotASpanPlace)?;
        let (mut trace, mut span) = ([0; 16], [0; 8]);
        hex::decode_to_slice(trace_text, &mut trace).map_err(|_| NotASpanPlace)?;
        hex::decode_to_slice(span_text, &mut span).map_err(|_| NotASpanPlace)?;
        Ok(Self { trace, span })
    }
}

/// A span of somebody else, or of another time.
fn remote(trace: [u8; 16], span: [u8; 8], flags: TraceFlags) -> Context {
    let (trace, span) = (TraceId::from_bytes(trace), SpanId::from_bytes(span));
    let context = SpanContext::new(trace, span, flags, true, TraceState::default());
    Context::new().with_remote_span_context(context)
}

/// Does the work of a request, as a span that goes on with the caller's trace or begins one.
pub async fn request<W: Future>(name: &'static str, asked: RequestTrace, work: W) -> W::Output {
    let mut around = Context::new();
    if let Some(tracer) = TRACER.get() {
        if let Some((span, sampled)) = asked.parent {
            around = remote(asked.id, span, TraceFlags::default().with_sampled(sampled));
        } else {
            BEGUN.set(Some(TraceId::from_bytes(asked.id)));
        }
        let begun = SpanBuilder::from_name(name).with_kind(SpanKind::Server);
        let span = begun.start_with_context(tracer, &around);
        BEGUN.set(None);
        around = around.with_span(span);
    }
    work.with_context(around).await
}

/// Does a part of the work, as a span within the one that is current. Without one there is none.
pub async fn within<W: Future>(name: &'static str, work: W) -> W::Output {
    let mut around = Context::current();
    let tracer = TRACER.get().filter(|_| around.span().is_recording());
    if let Some(tracer) = tracer {
        let span = tracer.start_with_context(name, &around);
        around = around.with_span(span);
    }
    work.with_context(around).await
}

/// Does what happens to a billing later, as a span below the request that it was signed for.
pub async fn after<W: Future>(place: Option<SpanPlace>, name: &'static str, work: W) -> W::Output {
    let mut around = Context::new();
    if let (Some(tracer), Some(place)) = (TRACER.get(), place) {
        around = remote(place.trace, place.span, TraceFlags::SAMPLED);
        let span = tracer.start_with_context(name, &around);
        around = around.with_span(span);
    }
    work.with_context(around).await
}

/// A span below the request at `place` that began at `since_ms`, Unix ms, and ends now.
pub fn ended(
    place: SpanPlace,
    name: &'static str,
    since_ms: i64,
    said: impl IntoIterator<Item = (&'static str, Value)>,
) {
    let Some(tracer) = TRACER.get() else { return };
    let since = Duration::from_millis(u64::try_from(since_ms).unwrap_or(0));
    let began = SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH);
    let said = said.into_iter().map(|(key, value)| KeyValue::new(key, value));
    let span = SpanBuilder::from_name(name).with_start_time(began).with_attributes(said);
    // Dropped, it ends.
    drop(span.start_with_context(tracer, &remote(place.trace, place.span, TraceFlags::SAMPLED)));
}

/// Work that goes on with the span that is current now, on whatever task it is done.
pub fn carried<W: Future>(work: W) -> WithContext<W> {
    work.with_current_context()
}

/// Says something of the span that is current.
pub fn tell(key: &'static str, value: impl Into<Value>) {
    Context::current().span().set_attribute(KeyValue::new(key, value));
}

/// Says that the span that is current came to nothing.
pub fn failed() {
    Context::current().span().set_status(Status::error(""));
}

/// The span that is current, to be kept; none where it is not sampled.
pub fn here() -> Option<SpanPlace> {
    let context = Context::current();
    let span = context.span();
    let known = span.span_context();
    let kept = SpanPlace { trace: known.trace_id().to_bytes(), span: known.span_id().to_bytes() };
    (span.is_recording() && known.is_sampled()).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let text = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
        assert_eq!(text.parse::<SpanPlace>().unwrap().to_string(), text);
        for bad in ["", "-", "4bf9-00f067aa0ba902b7", &text[1..], &format!("{text}0")] {
            assert_eq!(bad.parse::<SpanPlace>(), Err(NotASpanPlace), "{bad}");
        }
    }

    #[tokio::test]
    async fn where_nothing_receives_spans_there_are_none() {
        let asked = RequestTrace { id: [1; 16], parent: None };
        let here = request("asked", asked, within("part", async { here() })).await;
        assert_eq!((here, are_sent()), (None, false));
    }
}
