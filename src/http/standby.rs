//! The answers of a process that stands by: alive, not ready, and the name of the instance that serves. A caller's
//! request hears 503, and nothing here knows a lane.

use super::health::{certificate, live, openapi, readable};
use super::instances::{shown, state};
use super::page::file;
use super::rejection::Rejection;
use crate::telemetry::stands_by;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use config::HttpConfig;
use host::clock::Clock;
use host::tls::Tls;
use journal::{Instance, StandbySight};
use serde_json::json;
use std::sync::Arc;

/// The state that the handlers of a standby share.
#[derive(Clone, Debug)]
pub struct StandbyState {
    sight: Arc<StandbySight>,
    page: bool,
    /// The certificate of the port of callers, where that has one.
    tls: Option<Arc<Tls>>,
}

impl StandbyState {
    /// Of a process that sees this.
    pub fn new(sight: Arc<StandbySight>, limits: &HttpConfig) -> Self {
        Self { sight, page: limits.page, tls: limits.tls.clone() }
    }

    /// The routes of a port.
    pub fn router(&self) -> Router {
        let router = Router::new()
            .route("/openapi.json", get(openapi))
            .route("/health/live", get(live))
            .route("/health/ready", get(ready))
            .route("/health/serving", get(ready))
            .route("/health/chains/{id}", get(ready))
            .route("/metrics", get(metrics));
        let router = if self.page { router.route("/", get(page)) } else { router };
        router.fallback(rejected).with_state(self.clone())
    }
}

/// 503: it takes no requests, and says who does.
async fn ready(State(state): State<StandbyState>) -> Response {
    let (said, instances) = (state.sight.sentence(), shown(&state.sight.instances()));
    let now = Clock::MACHINE.unix_ms().div_euclid(1000);
    let tls = state.tls.as_ref().map(|tls| certificate(tls, now));
    let told = json!({"status": "standby", "journal": said, "instances": instances, "tls": tls, "chains": []});
    let json = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::SERVICE_UNAVAILABLE, json, told.to_string()).into_response()
}

async fn metrics(State(state): State<StandbyState>, headers: HeaderMap) -> Response {
    let until = state.tls.as_ref().map(|tls| tls.until());
    readable(stands_by(&state.sight, until), &headers)
}

/// For a person who came to the wrong machine.
async fn page(State(state): State<StandbyState>) -> Response {
    file("text/html", page_of(&state.sight.sentence(), &state.sight.instances()))
}

/// Builds the page. Text that another machine has written to the server is shown as text, and nothing else.
fn page_of(said: &str, instances: &[Instance]) -> String {
    let rows = instances.iter().map(|instance| {
        let Instance { name, start, program, silent, .. } = instance;
        let [name, start, program] = [name, start, program].map(|text| escaped(text));
        let (state, silent) = (state(instance), silent.as_secs());
        format!("<tr><td>{name}<td>{start}<td>{program}<td>{state}<td>{silent} s ago</tr>")
    });
    let said = escaped(said);
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=5>\
         <title>Signer: standing by</title><h1>Standing by</h1><p>{said}</p>\
         <table><tr><th>instance<th>start<th>version<th>state<th>last heard of</tr>{}</table></html>",
        rows.collect::<String>()
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// 503 with code 0: nothing was signed. A balancer or the caller finds the instance that serves by `/health/ready`.
async fn rejected(State(state): State<StandbyState>) -> Response {
    Rejection::StandsBy(state.sight.sentence()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_another_machine_has_written_is_text_on_the_page() {
        let script = "<script>alert(1)</script>".to_owned();
        let instance = Instance {
            name: script.clone(),
            start: script.clone(),
            program: script.clone(),
            serves: true,
            is_this: false,
            silent: Duration::ZERO,
            ahead_ms: 0,
            unfit: Some(script.clone()),
            differs: vec![script.clone()],
        };
        let page = page_of(&script, &[instance]);
        assert!(!page.contains("<script"), "{page}");
        assert_eq!(page.matches("&lt;script&gt;alert(1)&lt;/script&gt;").count(), 4);
        let told = file("text/html", page);
        let policy = told.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("default-src 'none'"), "{policy}");
    }
}
