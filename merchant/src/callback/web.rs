//! Callbacks over axum: an extractor that lets nothing through that is not verified, and a router
//! that answers `success` once a handler has taken the event.

use super::{Callback, CallbackError, Receiver};
use crate::sign::{Arrived, KEY_HEADER, Presented, SIGN_HEADER, TIMESTAMP_HEADER};
use crate::transport::only;
use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http_body_util::BodyExt as _;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// The longest body that is looked at; a callback has a few hundred bytes.
pub const LONGEST_BODY: usize = 64 << 10;
/// Number of bytes of a longer body that are thrown away, so that its sender hears the answer.
const LONGEST_DRAIN: usize = 16 << 20;
/// Longest time that a body may take to arrive.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// The answer that the platform wants; any other makes the platform send again.
pub const ACKNOWLEDGEMENT: &str = "success";

/// Why a callback was not taken. None of these makes the platform stop sending.
#[derive(Debug, Error)]
pub enum Rejection {
    /// 401 for a signature that does not hold, 400 for a body that is no event.
    #[error(transparent)]
    Callback(#[from] CallbackError),
    /// 413.
    #[error("the body is longer than {LONGEST_BODY} bytes")]
    TooLong,
    /// 408.
    #[error("the body did not arrive within {} s", BODY_TIMEOUT.as_secs())]
    TooSlow,
    /// 400.
    #[error("the body could not be read to its end")]
    Broken,
    /// 503: the callback is genuine, but the handler could not keep it.
    #[error("the event could not be kept; send it again")]
    NotKept,
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::Callback(CallbackError::Signature(_)) => StatusCode::UNAUTHORIZED,
            Self::Callback(CallbackError::NotAnEvent(_)) | Self::Broken => StatusCode::BAD_REQUEST,
            Self::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::NotKept => StatusCode::SERVICE_UNAVAILABLE,
        };
        // The rest of the body is not waited for.
        (status, [(header::CONNECTION, "close")], self.to_string()).into_response()
    }
}

/// The extractor: `async fn handler(callback: Callback) -> &'static str`, in a router whose state
/// has a [`Receiver`]. Read-ahead limits of axum do not apply to it; [`LONGEST_BODY`] does.
impl<S> FromRequest<S> for Callback
where
    Receiver: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Rejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, Rejection> {
        let receiver = Receiver::from_ref(state);
        let (head, body) = request.into_parts();
        let body = tokio::time::timeout(BODY_TIMEOUT, read(body))
            .await
            .unwrap_or(Err(Rejection::TooSlow))?;
        let path = head.uri.path();
        let arrived = Arrived {
            method: head.method.as_str(),
            path_and_query: head.uri.path_and_query().map_or(path, |whole| whole.as_str()),
            body: &body,
        };
        Ok(receiver.check(&presented(&head.headers), &arrived)?)
    }
}

/// A router that takes callbacks on `path` and gives each to `keep`. It answers `success` when `keep`
/// is done, and asks for the event again when `keep` fails: so `keep` must have stored the event
/// when it returns, and must know a repeat when it sees one ([`Event::key`](super::Event::key)).
pub fn router<F, R, E>(path: &str, receiver: Receiver, keep: F) -> Router
where
    F: Fn(Callback) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), E>> + Send,
    E: Send,
{
    let keep = Arc::new(keep);
    let handler = move |callback: Callback| async move {
        match keep(callback).await {
            Ok(()) => ACKNOWLEDGEMENT.into_response(),
            Err(_) => Rejection::NotKept.into_response(),
        }
    };
    Router::new().route(path, post(handler)).with_state(receiver)
}

/// The three headers; one that is there twice counts as missing.
pub fn presented(headers: &HeaderMap) -> Presented<'_> {
    let only = |name| only(headers, name);
    Presented { key: only(KEY_HEADER), timestamp: only(TIMESTAMP_HEADER), sign: only(SIGN_HEADER) }
}

/// The body, if it is short enough. Of a longer one nothing is kept.
async fn read(mut body: Body) -> Result<Vec<u8>, Rejection> {
    let (mut kept, mut length) = (vec![], 0_usize);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Rejection::Broken)?.into_data() else { continue };
        length = length.saturating_add(data.len());
        if length > LONGEST_DRAIN {
            break;
        }
        if length <= LONGEST_BODY {
            kept.extend_from_slice(&data);
        } else {
            kept = vec![];
        }
    }
    if length > LONGEST_BODY { Err(Rejection::TooLong) } else { Ok(kept) }
}
