//! The console's pages and forms. A form does what the control of its name does; who presses the button is known by a cookie.

use super::{Desk, control, view};
use crate::chain::ADMINS;
use crate::pages::{self, Html};
use axum::Router;
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The cookie with the name of the admin account.
const COOKIE: &str = "admin";

/// Fields that are whole numbers in a control.
const NUMBERS: [&str; 14] = [
    "chainId",
    "planId",
    "version",
    "withdrawId",
    "id",
    "depth",
    "months",
    "days",
    "seconds",
    "count",
    "price",
    "intervalSeconds",
    "periods",
    "delaySeconds",
];
/// Fields that are yes or no.
const FLAGS: [&str; 4] = ["approve", "on", "keep", "newVersion"];

/// The pages of the console.
pub(super) fn router() -> Router<Desk> {
    pages::shared(Router::new())
        .route("/", get(async || Redirect::to("/plans")))
        .route("/login", get(login_page).post(login))
        .route("/do/{control}", post(press))
        .route("/{page}", get(show))
}

/// Returns the name of the admin who is logged in.
fn admin(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get(header::COOKIE)?.to_str().ok()?;
    let named = cookies.split(';').filter_map(|cookie| cookie.trim().split_once('='));
    let name = named.into_iter().find(|(name, _)| *name == COOKIE)?.1;
    ADMINS.iter().any(|(account, _)| *account == name).then(|| name.to_owned())
}

async fn login_page(headers: HeaderMap) -> Html {
    view::login(admin(&headers).as_deref())
}

async fn login(Form(fields): Form<HashMap<String, String>>) -> Response {
    let name = fields.get("account").map(String::as_str).unwrap_or_default();
    let known = ADMINS.iter().any(|(account, _)| *account == name);
    if !known {
        return (StatusCode::FORBIDDEN, view::login(None)).into_response();
    }
    let cookie = format!("{COOKIE}={name}; Path=/; HttpOnly; SameSite=Strict");
    ([(header::SET_COOKIE, cookie)], Redirect::to("/plans")).into_response()
}

async fn show(
    State(desk): State<Desk>,
    Path(page): Path<String>,
    Query(asked): Query<HashMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    let Some(admin) = admin(&headers) else { return Redirect::to("/login").into_response() };
    let sought = asked.get("q").map(|text| text.trim()).unwrap_or_default();
    page_of(&desk, &page, &admin, sought, None)
}

/// A page; 404 if there is none of that name.
fn page_of(desk: &Desk, page: &str, admin: &str, sought: &str, error: Option<String>) -> Response {
    match view::page(desk, page, admin, sought, error) {
        Ok(Some(page)) => page.into_response(),
        Ok(None) => StatusCode::NOT_FOUND.into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// A button of the console: the control of that name, and back to the page that it stands on.
async fn press(
    State(desk): State<Desk>,
    Path(name): Path<String>,
    headers: HeaderMap,
    Form(fields): Form<HashMap<String, String>>,
) -> Response {
    let Some(admin) = admin(&headers) else { return Redirect::to("/login").into_response() };
    let page = fields.get("page").cloned().unwrap_or_else(|| "plans".to_owned());
    let body = object(&fields, &admin);
    match control::act(&desk, &name, &body).await {
        Ok(_) => {
            desk.platform.say(format!("console   {admin}: {name}"));
            let known = page.bytes().all(|byte| byte.is_ascii_lowercase());
            Redirect::to(&if known { format!("/{page}") } else { "/".to_owned() }).into_response()
        }
        Err(error) => page_of(&desk, &page, &admin, "", Some(error)),
    }
}

/// The fields of a form as the object that a control is given. Empty fields are left out.
fn object(fields: &HashMap<String, String>, admin: &str) -> Value {
    let filled = fields.iter().filter(|(_, value)| !value.trim().is_empty());
    let typed = filled.map(|(name, value)| {
        let value = value.trim();
        let typed = match name.as_str() {
            name if NUMBERS.contains(&name) => {
                value.parse::<u64>().map_or_else(|_| json!(value), |number| json!(number))
            }
            name if FLAGS.contains(&name) => json!(value == "true"),
            _ => json!(value),
        };
        (name.clone(), typed)
    });
    let mut object: Map<String, Value> = typed.collect();
    object.insert("admin".to_owned(), json!(admin));
    Value::Object(object)
}
