//! `{base_url}`: the merchant's API, part 4 of the interface, behind the signatures of part 5.

mod envelope;
mod input;
mod lists;
mod money;
mod subscribe;

use crate::auth::{self, Headers, Signed};
use crate::platform::Platform;
use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::response::Response;
use envelope::Fault;
use input::Query;
pub(crate) use input::is_web_address;
pub(crate) use lists::clocks;
use serde_json::Value;

/// The longest body that is read (bytes).
const BODY: usize = 64 * 1024;

/// The API of a platform.
pub(crate) fn router(platform: Platform) -> Router {
    Router::new().fallback(answer).with_state(platform)
}

async fn answer(State(platform): State<Platform>, request: Request) -> Response {
    let (method, path) = (request.method().clone(), request.uri().to_string());
    let done = handle(&platform, request).await;
    let said = match &done {
        Ok(_) => "200".to_owned(),
        Err(fault) => format!("{} {fault}", fault.code()),
    };
    platform.say(format!("api       {method} {path}: {said}"));
    envelope::answer(done)
}

async fn handle(platform: &Platform, request: Request) -> Result<Value, Fault> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY).await;
    let body = body.map_err(|_| {
        Fault::Invalid(format!("the body is longer than {BODY} bytes or broke off"))
    })?;
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let headers = Headers {
        key: header(auth::KEY),
        timestamp: header(auth::TIMESTAMP),
        sign: header(auth::SIGN),
    };
    let signed = Signed { method: parts.method.as_str(), path, body: &body };
    let now_s = platform.clock().machine_ms() / 1000;
    platform.credentials().verify(headers, signed, now_s)?;
    if parts.method == Method::POST {
        let kind = header(header::CONTENT_TYPE.as_str()).unwrap_or_default();
        if !kind.trim_start().to_ascii_lowercase().starts_with("application/json") {
            return Err(Fault::Invalid(
                "POST requests carry Content-Type application/json".to_owned(),
            ));
        }
    }
    let query = Query::new(parts.uri.query().unwrap_or_default())?;
    route(platform, (&parts.method, parts.uri.path()), &query, &body)
}

/// The one table of the endpoints.
fn route(
    platform: &Platform,
    asked: (&Method, &str),
    query: &Query,
    body: &Bytes,
) -> Result<Value, Fault> {
    let post = || input::object(body);
    match (asked.0.as_str(), asked.1) {
        ("POST", "/api/mer/subscribe/payment/create") => subscribe::create(platform, &post()?),
        ("POST", "/api/mer/subscribe/cancel/create") => subscribe::cancel(platform, &post()?),
        ("GET", "/api/mer/subscribe/chargeable/list") => lists::chargeable(platform, query),
        ("GET", "/api/mer/subscribe/list") => lists::subscriptions(platform, query),
        ("GET", "/api/mer/conf/list/chain") => Ok(lists::chains(platform)),
        ("GET", "/api/mer/conf/list/currency") => lists::currencies(platform, query),
        ("POST", "/api/mer/user/create") => money::create_user(platform, &post()?),
        ("GET", "/api/mer/user/detail") => money::user(platform, query),
        ("GET", "/api/mer/recharge/detail") => money::recharge(platform, query),
        ("POST", "/api/mer/withdraw/apply") => money::apply(platform, &post()?),
        ("GET", "/api/mer/withdraw/detail") => money::withdrawal(platform, query),
        (method, path) => Err(Fault::NotFound(format!("there is no {method} {path}"))),
    }
}
