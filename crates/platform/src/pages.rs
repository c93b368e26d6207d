//! The parts that all pages share: the frame, the style, and small pieces of markup.

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{DOCTYPE, Markup, html};

/// A page that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Html(String);

impl IntoResponse for Html {
    fn into_response(self) -> Response {
        let policy = "default-src 'self'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
        let headers = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CONTENT_SECURITY_POLICY, policy),
            // Under `no-referrer` browsers post forms with `Origin: null`, as a foreign page does.
            (header::REFERRER_POLICY, "same-origin"),
            (header::CACHE_CONTROL, "no-store"),
        ];
        (headers, self.0).into_response()
    }
}

/// The frame of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// The title.
    pub(crate) title: &'a str,
    /// After how many seconds it is loaded again, or which page then, as a `refresh` has it.
    pub(crate) refresh: Option<&'a str>,
    /// A script of its own.
    pub(crate) script: Option<&'a str>,
    /// True if the page's head stands beside it on a wide screen.
    pub(crate) beside: bool,
}

impl<'a> Frame<'a> {
    /// A page that stands still.
    pub(crate) fn new(title: &'a str) -> Self {
        Self { title, refresh: None, script: None, beside: false }
    }
}

/// A whole page.
pub(crate) fn page(frame: Frame<'_>, head: &Markup, body: &Markup) -> Html {
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (frame.title) }
                link rel="stylesheet" href="/style.css";
                link rel="icon" href=(looks::MARK);
                @if let Some(refresh) = frame.refresh {
                    meta http-equiv="refresh" content=(refresh);
                }
                script src="/copy.js" defer {}
                @if let Some(script) = frame.script {
                    script src=(script) defer {}
                }
            }
            body class=[frame.beside.then_some("side")] {
                a class="skip" href="#main" { "Skip to the content" }
                header class="bar" { (head) }
                main id="main" { (body) }
                footer { p { "Sandbox: everything here is on this machine, and none of it is worth anything." } }
            }
        }
    };
    Html(whole.into_string())
}

/// The files that every page has.
pub(crate) fn shared<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    let file = |kind: &'static str, text: &'static str| {
        get(async move || ([(header::CONTENT_TYPE, kind)], text))
    };
    router
        .route("/style.css", file("text/css; charset=utf-8", looks::STYLE))
        .route("/copy.js", file("text/javascript; charset=utf-8", looks::COPY))
}

/// Shows an error, for the eyes and for screen readers.
pub(crate) fn alert(words: Option<String>) -> Markup {
    html! {
        @if let Some(words) = words {
            p id="error" class="alert" role="alert" { (words) }
        }
    }
}

/// An address or a hash: shortened, and whole for whoever takes it away.
pub(crate) fn hash(text: &str) -> Markup {
    html! { span class="hash" { code title=(text) { (looks::short(text)) }
    button class="copy" type="button" data-copy=(text) aria-label=(format!("Copy {text}")) {} } }
}

/// A long text that breaks anywhere: an address that somebody compares letter by letter.
pub(crate) fn long(text: &str) -> Markup {
    html! { code class="long" { (text) } }
}

/// A word for how something stands.
pub(crate) fn badge(kind: &str, word: &str) -> Markup {
    html! { span class=(format!("badge {kind}")) { (word) } }
}
