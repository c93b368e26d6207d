//! Why a request does not reach the engine.

use super::wire::Malformed;
use crate::auth::AuthError;
use crate::billing::{Family, NotAdmitted, PlatformChainId};
use axum::http::StatusCode;

/// Why a request did not reach the engine. Every variant means: nothing was signed or sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum TurnedAway {
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
    #[error(transparent)]
    Unauthenticated(#[from] AuthError),
    #[error("the body is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the body could not be read to its end")]
    Unreadable,
    #[error("the body did not arrive in time")]
    Slow,
    #[error("too many bodies are on their way: send it in one piece")]
    Crowd,
    #[error("too many requests at once: post it again")]
    Busy,
    #[error(
        "these signed bytes were answered before, and the answer is not kept any more: sign them again"
    )]
    AnsweredBefore,
    #[error("these signed bytes are being answered elsewhere, and that takes long: ask again")]
    StillJudged,
    #[error("no {} chain is configured", common_name(*.0))]
    NoChain(Family),
    #[error("chainId is missing, and no default chain is configured")]
    NoDefaultChain,
    #[error("chain {chain} is no {family} chain: post it to the other path")]
    WrongFamily { chain: PlatformChainId, family: Family },
    #[error("{0}")]
    NotFound(&'static str),
    #[error("this path does not take this method")]
    WrongMethod,
    #[error("this path takes no query: options go into the body")]
    Query,
    #[error(
        "this caller may not pause and resume chains: give one `control = true` in the \
         configuration, and sign with its secret"
    )]
    NoControl,
    #[error("the body must be empty, or {{\"chainId\": n}} with a platform chain id: {0}")]
    Control(String),
}

fn common_name(family: Family) -> &'static str {
    match family {
        Family::Evm => "EVM",
        Family::Tvm => "TRON",
    }
}

impl TurnedAway {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Malformed(_)
            | Self::NotAdmitted(NotAdmitted::Empty)
            | Self::Unauthenticated(AuthError::Ambiguous)
            | Self::Unreadable
            | Self::Query
            | Self::Control(_)
            | Self::NoDefaultChain
            | Self::WrongFamily { .. } => StatusCode::BAD_REQUEST,
            Self::NotAdmitted(NotAdmitted::TooMany { .. }) | Self::TooLarge { .. } => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            Self::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
            Self::NoControl => StatusCode::FORBIDDEN,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Busy | Self::Crowd => StatusCode::TOO_MANY_REQUESTS,
            Self::AnsweredBefore => StatusCode::CONFLICT,
            Self::StillJudged => StatusCode::SERVICE_UNAVAILABLE,
            Self::NoChain(_) | Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        }
    }
}
