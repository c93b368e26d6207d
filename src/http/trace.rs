//! A name for each request, in every line that is logged for it and in its answer: the trace id of its
//! `traceparent` header, or one by chance.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use opentelemetry::Context;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use tracing::{Instrument as _, Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// The header of an answer that tells it.
pub(super) const TRACE_HEADER: HeaderName = HeaderName::from_static("x-trace-id");

/// Returns the trace of a request: its only `traceparent`, or a trace by chance, without a span.
fn of(headers: &HeaderMap) -> SpanContext {
    let mut stated = headers.get_all("traceparent").iter();
    let only = stated.next().filter(|_| stated.next().is_none());
    only.and_then(|value| parse(value.to_str().ok()?)).unwrap_or_else(by_chance)
}

/// A `traceparent` of version 00: <https://www.w3.org/TR/trace-context/>.
fn parse(text: &str) -> Option<SpanContext> {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, span, flags] = parts.as_slice() else { return None };
    let plain = |part: &str, length: usize| {
        let digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        part.len() == length && part.bytes().all(digit)
    };
    let well = *version == "00" && plain(trace, 32) && plain(span, 16) && plain(flags, 2);
    let trace = TraceId::from_hex(trace).ok().filter(|_| well)?;
    let span = SpanId::from_hex(span).ok()?;
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let stated = SpanContext::new(trace, span, flags, true, TraceState::NONE);
    stated.is_valid().then_some(stated)
}

fn by_chance() -> SpanContext {
    let mut id = [0; 16];
    // Without chance all requests share a name, which harms nobody but who reads the log.
    getrandom::getrandom(&mut id).unwrap_or_default();
    let id = TraceId::from_bytes(id);
    SpanContext::new(id, SpanId::INVALID, TraceFlags::default(), false, TraceState::NONE)
}

/// Names a request, its log lines and its answer.
pub(super) async fn name(mut request: Request, next: Next) -> Response {
    let trace = of(request.headers());
    let id = trace.trace_id().to_string();
    request.extensions_mut().insert(trace);
    let span = info_span!("request", trace = id);
    let mut answer = next.run(request).instrument(span).await;
    if let Ok(id) = HeaderValue::try_from(id) {
        answer.headers_mut().insert(TRACE_HEADER, id);
    }
    answer
}

/// Has the span of a request go on with its caller's trace, or begin the trace that the request is named by.
pub(super) fn begin(span: &Span, trace: &SpanContext) {
    if trace.is_valid() {
        drop(span.set_parent(Context::new().with_remote_span_context(trace.clone())));
    } else {
        // `telemetry::otlp` reads the id where the trace begins.
        let _named = Context::new().with_value(trace.trace_id()).attach();
        drop(span.context());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_taken_up_and_what_is_no_trace_is_none() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let of = |text: &str| {
            parse(text)
                .map(|trace| (trace.trace_id().to_string(), trace.span_id(), trace.is_sampled()))
        };
        let span = SpanId::from_bytes([0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7]);
        for (flags, sampled) in [("01", true), ("00", false), ("03", true), ("02", false)] {
            let read = of(&format!("00-{id}-00f067aa0ba902b7-{flags}"));
            assert_eq!(read, Some((id.to_owned(), span, sampled)), "{flags}");
        }
        for bad in [
            "",
            id,
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
        assert_ne!(by_chance(), by_chance());
    }
}
