//! Access to the pages, the controls and the nodes: for a person at this machine, and for nobody who only lured
//! their browser here.
//!
//! A foreign name that resolves to this machine (DNS rebinding) is told by `Host`, and a foreign page that posts here by
//! `Origin`. Programs send no `Origin`.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

/// The names of this machine for itself.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Lets through what is asked of this machine by a name of its own, and, if it changes something, from a page of its own.
pub async fn only(request: Request, next: Next) -> Response {
    match refusal(request.method(), request.headers()) {
        Some(refused) => refused.into_response(),
        None => next.run(request).await,
    }
}

/// Why such a request is not let through, in a status and words.
pub(crate) fn refusal(method: &Method, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let Some(host) = one(headers, &header::HOST).filter(|host| is_local(host)) else {
        let words = "this is a sandbox on one machine: open it as http://127.0.0.1 with its port\n";
        return Some((StatusCode::MISDIRECTED_REQUEST, words));
    };
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let own = format!("http://{host}");
    let foreign =
        headers.contains_key(header::ORIGIN) && one(headers, &header::ORIGIN) != Some(&own);
    (!reads && foreign)
        .then_some((StatusCode::FORBIDDEN, "a page of another host asked for this\n"))
}

/// The value of a header that is there once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}

fn is_local(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        Some(_) | None => (host, ""),
    };
    NAMES.contains(&name) && port.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_three_names() {
        for host in ["127.0.0.1:7102", "localhost:7102", "localhost", "[::1]:7102", "[::1]"] {
            assert!(is_local(host), "{host}");
        }
        for host in [
            "evil.example:7102",
            "localhost.evil.example",
            "127.0.0.1.evil.example:1",
            "localhost:x",
            "",
            "::1",
        ] {
            assert!(!is_local(host), "{host}");
        }
    }
}
