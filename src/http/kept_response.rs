//! An answer that can be given more than once, and its proof.

use crate::auth::{Proven, SIGN_HEADER, TIMESTAMP_HEADER};
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use std::sync::Arc;

/// An answer that can be given more than once.
#[derive(Debug)]
pub(super) struct KeptResponse {
    status: StatusCode,
    headers: Box<[(HeaderName, HeaderValue)]>,
    body: Bytes,
}

impl KeptResponse {
    pub(super) async fn of(response: Response) -> Arc<Self> {
        let (parts, body) = response.into_parts();
        // The body was made from text in memory: nothing can fail.
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        // A copy takes as much room as the text: the text itself has grown in twice as much.
        let body = Bytes::copy_from_slice(&body);
        let headers = parts.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        Arc::new(Self { status: parts.status, headers: headers.collect(), body })
    }

    /// Length of the body, bytes.
    pub(super) fn len(&self) -> usize {
        self.body.len()
    }

    pub(super) fn response(self: &Arc<Self>) -> Response {
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.headers.iter().cloned());
        response
    }

    /// The response with the proof that it is the Signer's answer to that request.
    pub(super) fn signed(self: &Arc<Self>, proven: &Proven, now: i64) -> Response {
        let mut response = self.response();
        let sign = proven.sign_answer(now, self.status.as_u16(), &self.body);
        for (name, value) in [(TIMESTAMP_HEADER, now.to_string()), (SIGN_HEADER, sign)] {
            let name = HeaderName::try_from(name);
            if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}
