//! `{payment_url}`: the pages that a merchant's user sees.
//!
//! Server-rendered; everything works without script and with a built-in test wallet. A wallet in the browser needs
//! `wallet.js`. Each form goes back to the page that it came from, which shows where the user stands by the chain.

mod authorise;
mod form;
mod offer;
mod page;

use crate::pages::{self, Html};
use crate::platform::{Case, Platform, StepError};
use crate::store::subscriptions::Purpose;
use axum::Router;
use axum::extract::{Form, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use serde::Deserialize;

/// The address of a link.
#[derive(Debug, Deserialize)]
struct Address {
    #[serde(rename = "apiSign", default)]
    token: String,
}

/// The pages of a platform.
pub(crate) fn router(platform: Platform) -> Router {
    pages::shared(Router::new())
        .route("/", get(home))
        .route("/subscribe", get(subscribe).post(subscribe_step))
        .route("/unsubscribe", get(unsubscribe).post(unsubscribe_step))
        .route("/wallet.js", get(script))
        .with_state(platform)
}

async fn home() -> Html {
    page::home()
}

async fn script() -> Response {
    let kind = [(header::CONTENT_TYPE, "text/javascript; charset=utf-8")];
    (kind, include_str!("pay/wallet.js")).into_response()
}

async fn subscribe(State(platform): State<Platform>, Query(address): Query<Address>) -> Html {
    match platform.case(&address.token, Purpose::Subscribe) {
        Ok(case) => page::subscribe(&platform, &case, None),
        Err(error) => page::dead_end(&error),
    }
}

async fn subscribe_step(
    State(platform): State<Platform>,
    Query(address): Query<Address>,
    Form(sent): Form<form::Sent>,
) -> Response {
    let step = |case: &mut Case| form::subscribe(&platform, case, &sent);
    take(&platform, &address.token, Purpose::Subscribe, &sent, step)
}

async fn unsubscribe(State(platform): State<Platform>, Query(address): Query<Address>) -> Html {
    match platform.case(&address.token, Purpose::Cancel) {
        Ok(case) => page::unsubscribe(&platform, &case, None),
        Err(error) => page::dead_end(&error),
    }
}

async fn unsubscribe_step(
    State(platform): State<Platform>,
    Query(address): Query<Address>,
    Form(sent): Form<form::Sent>,
) -> Response {
    let step = |case: &mut Case| form::unsubscribe(&platform, case, &sent);
    take(&platform, &address.token, Purpose::Cancel, &sent, step)
}

/// Takes a step and goes back to the page; what went wrong is shown on it, beside what was sent.
fn take(
    platform: &Platform,
    token: &str,
    purpose: Purpose,
    sent: &form::Sent,
    step: impl FnOnce(&mut Case) -> Result<(), StepError>,
) -> Response {
    let error = match platform.step(token, purpose, step) {
        Ok(case) => return Redirect::to(&case.link.path()).into_response(),
        Err(error) => error,
    };
    let shown = match (platform.case(token, purpose), purpose) {
        (Ok(case), Purpose::Subscribe) => page::subscribe(platform, &case, Some((&error, sent))),
        (Ok(case), Purpose::Cancel) => page::unsubscribe(platform, &case, Some(&error)),
        (Err(_), _) => page::dead_end(&error),
    };
    shown.into_response()
}
