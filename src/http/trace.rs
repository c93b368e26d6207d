//! A name for each request, in every line that is logged for it and in its answer: the trace id of its
//! `traceparent` header, or one by chance.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use std::fmt;
use tracing::{Instrument as _, info_span};

/// The header of an answer that tells it.
const TRACE_HEADER: HeaderName = HeaderName::from_static("x-trace-id");

/// 16 bytes, not all of them 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TraceId([u8; 16]);

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl TraceId {
    /// Of a request.
    fn of(headers: &HeaderMap) -> Self {
        let mut stated = headers.get_all("traceparent").iter();
        let only = stated.next().filter(|_| stated.next().is_none());
        only.and_then(|value| Self::parse(value.to_str().ok()?)).unwrap_or_else(Self::by_chance)
    }

    /// The trace id in a `traceparent` of version 00: <https://www.w3.org/TR/trace-context/>.
    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('-').collect();
        let [version, trace, parent, flags] = parts.as_slice() else { return None };
        let plain = |part: &str, length: usize| {
            let digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            part.len() == length && part.bytes().all(digit)
        };
        let well = *version == "00" && plain(trace, 32) && plain(parent, 16) && plain(flags, 2);
        let mut id = [0; 16];
        hex::decode_to_slice(trace, &mut id).ok().filter(|()| well)?;
        let named = id != [0; 16] && parent.bytes().any(|digit| digit != b'0');
        named.then_some(Self(id))
    }

    fn by_chance() -> Self {
        let mut id = [0; 16];
        // Without chance all requests share a name, which harms nobody but who reads the log.
        getrandom::getrandom(&mut id).unwrap_or_default();
        Self(id)
    }
}

/// Names a request, its log lines and its answer.
pub(super) async fn name(request: Request, next: Next) -> Response {
    let id = TraceId::of(request.headers()).to_string();
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
        let of = |text: &str| TraceId::parse(text).map(|id| id.to_string());
        assert_eq!(of(&format!("00-{id}-00f067aa0ba902b7-01")).as_deref(), Some(id));
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
        assert_ne!(TraceId::by_chance(), TraceId::by_chance());
    }
}
