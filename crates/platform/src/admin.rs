//! `{admin_url}`: the console of the merchant's admins, and the sandbox's own controls.

mod console;
mod control;
mod input;
mod view;

use crate::platform::Platform;
use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

/// The state that the hosts share with the pages: the platform, and the place of the user's pages.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    pub(crate) platform: Platform,
    pub(crate) payment_url: String,
}

/// The console of a platform.
pub(crate) fn router(platform: Platform, payment_url: &str) -> Router {
    let desk = Desk { platform, payment_url: payment_url.to_owned() };
    console::router()
        .route("/sandbox", get(state))
        .route("/sandbox/{control}", post(act))
        .with_state(desk)
}

async fn state(State(desk): State<Desk>) -> Response {
    said(Ok(control::state(&desk)))
}

/// A control as an HTTP call: a JSON object in, a JSON object out. Only JSON is taken.
async fn act(
    State(desk): State<Desk>,
    Path(control): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("application/json")) {
        return said(Err("send JSON, with Content-Type application/json".to_owned()));
    }
    let body = if body.is_empty() { Ok(json!({})) } else { serde_json::from_slice::<Value>(&body) };
    let done = match body {
        Ok(body) => match control::refuse_others(&control, &body) {
            Ok(()) => control::act(&desk, &control, &body).await,
            refused => refused.map(Value::from),
        },
        Err(error) => Err(format!("the body is not JSON: {error}")),
    };
    let shown =
        done.as_ref().map_or_else(|error| format!("refused, {error}"), |_| "done".to_owned());
    desk.platform.say(format!("sandbox   {control}: {shown}"));
    said(done)
}

fn said(done: Result<Value, String>) -> Response {
    match done {
        Ok(value) => Json(value).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, Json(json!({"error": error}))).into_response(),
    }
}
