//! A name for each request, in every line that is logged for it and in its answer: the trace id of its
//! `traceparent` header, or one by chance.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use spans::RequestTrace;
use tracing::{Instrument as _, info_span};

/// The header of an answer that tells it.
pub(super) const TRACE_HEADER: HeaderName = HeaderName::from_static("x-trace-id");

/// Of a request: its only `traceparent`, or a trace by chance.
fn of(headers: &HeaderMap) -> RequestTrace {
    let mut stated = headers.get_all("traceparent").iter();
    let only = stated.next().filter(|_| stated.next().is_none());
    only.and_then(|value| parse(value.to_str().ok()?)).unwrap_or_else(by_chance)
}

/// A `traceparent` of version 00: <https://www.w3.org/TR/trace-context/>.
fn parse(text: &str) -> Option<RequestTrace> {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags] = parts.as_slice() else { return None };
    let plain = |part: &str, length: usize| {
        let digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        part.len() == length && part.bytes().all(digit)
    };
    let well = *version == "00" && plain(trace, 32) && plain(parent, 16) && plain(flags, 2);
    let (mut id, mut span) = ([0; 16], [0; 8]);
    hex::decode_to_slice(trace, &mut id).ok().filter(|()| well)?;
    hex::decode_to_slice(parent, &mut span).ok()?;
    let sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
    let named = id != [0; 16] && span != [0; 8];
    named.then_some(RequestTrace { id, parent: Some((span, sampled)) })
}

fn by_chance() -> RequestTrace {
    let mut id = [0; 16];
    // Without chance all requests share a name, which harms nobody but who reads the log.
    getrandom::getrandom(&mut id).unwrap_or_default();
    RequestTrace { id, parent: None }
}

/// Names a request, its log lines and its answer.
pub(super) async fn name(mut request: Request, next: Next) -> Response {
    let trace = of(request.headers());
    request.extensions_mut().insert(trace);
    let id = hex::encode(trace.id);
    let span = info_span!("request", trace = id);
    let mut answer = next.run(request).instrument(span).await;
    if let Ok(id) = HeaderValue::try_from(id) {
        answer.headers_mut().insert(TRACE_HEADER, id);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_taken_up_and_what_is_no_trace_is_none() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let of = |text: &str| parse(text).map(|trace| (hex::encode(trace.id), trace.parent));
        let span = [0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7];
        for (flags, sampled) in [("01", true), ("00", false), ("03", true), ("02", false)] {
            let read = of(&format!("00-{id}-00f067aa0ba902b7-{flags}"));
            assert_eq!(read, Some((id.to_owned(), Some((span, sampled)))), "{flags}");
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
