//! The envelope of every answer, and the shape of a refusal: `code`, `msg`, `description`.

use crate::auth::Refusal;
use crate::platform::LinkError;
use crate::store;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

/// Why a call is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// Part 5 was not kept: HTTP 401.
    #[error("{0}")]
    Unauthorised(#[from] Refusal),
    /// A parameter is wrong or missing: HTTP 200, code 400.
    #[error("{0}")]
    Invalid(String),
    /// There is no such thing: HTTP 404.
    #[error("{0}")]
    NotFound(String),
    /// It contradicts what there is: HTTP 200, code 409.
    #[error("{0}")]
    Conflict(String),
    /// The platform itself fails: HTTP 200, code 500.
    #[error("the platform's database: {0}")]
    Internal(#[from] store::Error),
}

impl Fault {
    /// The code of the envelope.
    pub(crate) fn code(&self) -> u16 {
        match self {
            Self::Unauthorised(_) => 401,
            Self::Invalid(_) => 400,
            Self::NotFound(_) => 404,
            Self::Conflict(_) => 409,
            Self::Internal(_) => 500,
        }
    }

    fn msg(&self) -> &'static str {
        match self {
            Self::Unauthorised(Refusal::Clock { .. }) => "timestamp expired",
            Self::Unauthorised(_) => "signature verification failed",
            Self::Invalid(_) => "invalid parameter",
            Self::NotFound(_) => "not found",
            Self::Conflict(_) => "conflict",
            Self::Internal(_) => "internal error",
        }
    }

    /// The statuses that the platform documents are 200, 201, 401, 403 and 404.
    fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorised(_) => StatusCode::UNAUTHORIZED,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Invalid(_) | Self::Conflict(_) | Self::Internal(_) => StatusCode::OK,
        }
    }
}

impl From<LinkError> for Fault {
    fn from(error: LinkError) -> Self {
        let words = error.to_string();
        match error {
            LinkError::Store(error) => Self::Internal(error),
            LinkError::NoChain(_) => Self::Invalid(words),
            LinkError::NoPlan { .. } | LinkError::NoSubscription(_) => Self::NotFound(words),
            LinkError::Subscribed { .. } | LinkError::NotActive { .. } => Self::Conflict(words),
        }
    }
}

/// The answer to a call.
pub(crate) fn answer(done: Result<Value, Fault>) -> Response {
    match done {
        Ok(data) => Json(json!({"code": 200, "msg": "success", "data": data})).into_response(),
        Err(fault) => {
            let body =
                json!({"code": fault.code(), "msg": fault.msg(), "description": fault.to_string()});
            (fault.status(), Json(body)).into_response()
        }
    }
}
