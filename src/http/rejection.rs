//! Why a request does not reach the engine.

use super::used_up::{CallerBudget, UsedUp};
use super::visible::Visible;
use super::wire::Malformed;
use crate::auth::AuthError;
use crate::certificates::NoCertificate;
use axum::http::StatusCode;
use billing::{Family, NotAdmitted, PlanId, PlatformChainId};
use door::NotRead;
use journal::OtherPause;
use ledger::LedgerError;

/// Why a request did not reach the engine. Every variant means: nothing was signed or sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum Rejection {
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
    #[error("{0}: post it again, when less is under way")]
    UsedUp(UsedUp),
    #[error(
        "these signed bytes were answered before, and the answer is not kept any more: sign them again"
    )]
    AnsweredBefore,
    #[error(
        "this Signer signs nothing at present, and another does; /health/serving of each tells which: {0}"
    )]
    StandsBy(String),
    #[error("these signed bytes are being answered elsewhere, and that takes long: ask again")]
    StillJudged,
    #[error("no {} chain is configured", common_name(*.0))]
    NoChain(Family),
    #[error("chainId is missing, and no default chain is configured")]
    NoDefaultChain,
    #[error("chain {chain} is no {family} chain: post it to the other path")]
    WrongFamily { chain: PlatformChainId, family: Family },
    #[error("the query is wrong: {}", Visible(.0))]
    Ledger(String),
    #[error("the query is wrong: {}", Visible(.0))]
    Events(String),
    #[error("the query is wrong: {}", Visible(.0))]
    Page(String),
    #[error(
        "after is a place that is not known here: {}. Begin without it, and leave out what you know",
        Visible(.0)
    )]
    LostPlace(String),
    #[error("{0}")]
    NoCertificate(NoCertificate),
    /// The ledger cannot be read.
    #[error(transparent)]
    Unread(LedgerError),
    #[error("{0}")]
    NotFound(&'static str),
    #[error("this path does not take this method")]
    WrongMethod,
    #[error(
        "{0}: requests that nobody signs are taken from programs on this machine alone, and this looks like \
         a page in a browser, or like another machine; describe a caller and sign them"
    )]
    FromAPage(&'static str),
    #[error("this path takes no query: options go into the body")]
    Query,
    #[error("this caller may not {0}: its rights in the configuration do not say so")]
    NoRight(&'static str),
    #[error("this caller may ask for nothing on chain {0}: see its `chains` in the configuration")]
    NotItsChain(PlatformChainId),
    #[error("this caller may not bill plan {}: see its `plans` in the configuration", .0.0)]
    NotItsPlan(PlanId),
    #[error(
        "this caller may not pause and resume chains: give one `control = true` in the \
         configuration, and sign with its secret"
    )]
    NoControl,
    #[error(
        "the body must be empty, or {{\"chainId\": n, \"why\": \"…\"}} with a platform chain id, either of them \
         left out at will: {}",
        Visible(.0)
    )]
    Control(String),
    #[error(
        "the body must be {{\"pauses\": {{\"139\": n}}}}, with the pausedSince of each chain from GET \
         /PayTool/control: {}",
        Visible(.0)
    )]
    Resume(String),
    #[error(transparent)]
    OtherPause(OtherPause),
}

impl From<NotRead> for Rejection {
    fn from(why: NotRead) -> Self {
        match why {
            NotRead::TooLarge { limit } => Self::TooLarge { limit },
            NotRead::Unreadable => Self::Unreadable,
            NotRead::Slow => Self::Slow,
            NotRead::Evicted(by) => Self::UsedUp(UsedUp { what: CallerBudget::Bodies, by }),
        }
    }
}

fn common_name(family: Family) -> &'static str {
    match family {
        Family::Evm => "EVM",
        Family::Tvm => "TRON",
    }
}

impl Rejection {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Malformed(_)
            | Self::NotAdmitted(NotAdmitted::Empty)
            | Self::Unauthenticated(AuthError::Ambiguous | AuthError::NoObject)
            | Self::Unreadable
            | Self::Query
            | Self::Ledger(_)
            | Self::Events(_)
            | Self::Page(_)
            | Self::Control(_)
            | Self::Resume(_)
            | Self::NoDefaultChain => StatusCode::BAD_REQUEST,
            Self::NotAdmitted(NotAdmitted::TooMany { .. }) | Self::TooLarge { .. } => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            Self::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
            Self::FromAPage(_)
            | Self::NoControl
            | Self::NoRight(_)
            | Self::NotItsChain(_)
            | Self::NotItsPlan(_) => StatusCode::FORBIDDEN,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::UsedUp(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::AnsweredBefore | Self::OtherPause(_) | Self::LostPlace(_) => StatusCode::CONFLICT,
            Self::NoCertificate(why) => match why {
                NoCertificate::Unknown | NoCertificate::NoChain => StatusCode::NOT_FOUND,
                NoCertificate::NotCharged(_) | NoCertificate::Contradicted(_) => {
                    StatusCode::CONFLICT
                }
                NoCertificate::Journal(_) | NoCertificate::NotShown(_) => {
                    StatusCode::SERVICE_UNAVAILABLE
                }
            },
            Self::StillJudged | Self::StandsBy(_) | Self::Unread(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            // Nothing is wrong with any entry: whoever looks for the one that spoils the rest looks in vain.
            Self::NoChain(_) | Self::WrongFamily { .. } | Self::NotFound(_) => {
                StatusCode::NOT_FOUND
            }
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        }
    }
}
