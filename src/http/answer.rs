//! What callers are told: one envelope, and one exhaustive match from every outcome to its code.

use crate::auth::AuthError;
use crate::billing::{Family, NotAdmitted, PlatformChainId, Refused, spell_address};
use crate::chain::ChainError;
use crate::engine::{Answer, NoVerdict, Rehearsed, Sent};
use crate::http::wire::Malformed;
use alloy::primitives::{B256, U256};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::value::RawValue;

/// `{code, msg, description, data}`; `description` is always null.
#[derive(Debug, Serialize)]
pub(super) struct Envelope<T> {
    pub(super) code: u8,
    pub(super) msg: String,
    pub(super) description: (),
    pub(super) data: T,
}

/// Everything that a request can come to.
#[derive(Debug)]
pub(super) enum Reply {
    /// What the engine says about charges on a chain of this family.
    Answer(Family, Answer),
    NoVerdict(NoVerdict),
    TurnedAway(TurnedAway),
}

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
    #[error("too many requests at once: post it again")]
    Busy,
    #[error("no {} chain configured", common_name(*.0))]
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
    fn status(&self) -> StatusCode {
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
            Self::Busy => StatusCode::TOO_MANY_REQUESTS,
            Self::NoChain(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        }
    }
}

impl Reply {
    /// 1, 2 or 0, computed from what happened and from nothing else.
    pub(super) fn code(&self) -> u8 {
        match self {
            Self::Answer(_, Answer::Sent(_)) => 1,
            Self::Answer(_, Answer::Refused(_)) => 2,
            Self::Answer(_, Answer::Rehearsed(_)) | Self::NoVerdict(_) | Self::TurnedAway(_) => 0,
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Answer(..) => StatusCode::OK,
            Self::NoVerdict(why) => status_of(why),
            Self::TurnedAway(why) => why.status(),
        }
    }

    fn msg(&self) -> String {
        match self {
            Self::Answer(_, Answer::Sent(_)) => "Billing transaction sent".to_owned(),
            Self::Answer(_, Answer::Refused(refused)) => {
                format!("{} cannot be charged; nothing was signed or sent", count(refused.len()))
            }
            Self::Answer(_, Answer::Rehearsed(_)) => {
                "Dry run: nothing was signed or sent".to_owned()
            }
            Self::NoVerdict(why) => why.to_string(),
            Self::TurnedAway(why) => why.to_string(),
        }
    }
}

fn status_of(why: &NoVerdict) -> StatusCode {
    match why {
        NoVerdict::UnknownChain(_) => StatusCode::NOT_FOUND,
        NoVerdict::OnePerRequest => StatusCode::BAD_REQUEST,
        NoVerdict::Policy(_) => StatusCode::FORBIDDEN,
        NoVerdict::Chain(ChainError::BatchTooLarge { .. } | ChainError::ChargeTooSlow(_)) => {
            StatusCode::PAYLOAD_TOO_LARGE
        }
        NoVerdict::LaneClosed(_)
        | NoVerdict::LaneOpening(_)
        | NoVerdict::NotAccepted(_)
        | NoVerdict::Deadline
        | NoVerdict::Chain(
            ChainError::Unavailable(_)
            | ChainError::Node { .. }
            | ChainError::GasFunds { .. }
            | ChainError::Unready(_)
            | ChainError::NoKey { .. }
            | ChainError::FeeTooHigh(_)
            | ChainError::BatchTooSlow { .. }
            | ChainError::Stays(_)
            | ChainError::CallFails(_),
        )
        | NoVerdict::Journal(_)
        | NoVerdict::Seal(_)
        | NoVerdict::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn count(subscriptions: usize) -> String {
    if subscriptions == 1 {
        "1 subscription".to_owned()
    } else {
        format!("{subscriptions} subscriptions")
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let (code, status, msg) = (self.code(), self.status(), self.msg());
        let mut response = match &self {
            Self::Answer(_, Answer::Sent(sent)) => envelope(status, code, msg, success(sent)),
            Self::Answer(family, Answer::Refused(refused)) => {
                envelope(status, code, msg, failures(*family, refused))
            }
            Self::Answer(_, Answer::Rehearsed(dry)) => envelope(status, code, msg, rehearsal(dry)),
            Self::NoVerdict(NoVerdict::Chain(
                ChainError::BatchTooLarge { max } | ChainError::BatchTooSlow { max, .. },
            )) => envelope(status, code, msg, Fits { max_batch: *max }),
            Self::NoVerdict(_) | Self::TurnedAway(_) => envelope(status, code, msg, ()),
        };
        if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl IntoResponse for TurnedAway {
    fn into_response(self) -> Response {
        Reply::TurnedAway(self).into_response()
    }
}

/// What would fit, where a batch does not.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Fits {
    max_batch: usize,
}

/// An envelope as a response.
pub(super) fn envelope<T: Serialize>(
    status: StatusCode,
    code: u8,
    msg: String,
    data: T,
) -> Response {
    let body = serde_json::to_string(&Envelope { code, msg, description: (), data });
    let json = [(header::CONTENT_TYPE, "application/json")];
    match body {
        Ok(body) => (status, json, body).into_response(),
        // Strings, integers and lists of them cannot fail; if they do, say nothing rather than half.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The success object of the interface document, part 2.5.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Success {
    address: String,
    chain_id: u32,
    gas_required: String,
    signed_transaction_data: String,
    subscription_ids: Vec<i64>,
    tx_hash: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failure>,
}

fn success(sent: &Sent) -> Success {
    let family = sent.facts.family;
    Success {
        address: spell_address(family, sent.facts.signer),
        chain_id: sent.facts.id.0,
        gas_required: sent.signed.gas_required.to_string(),
        signed_transaction_data: spell_bytes(family, &sent.signed.raw),
        subscription_ids: sent.subscriptions.iter().map(|id| id.0).collect(),
        tx_hash: spell_hash(family, sent.signed.hash),
        failed: failures(family, &sent.failed),
    }
}

/// The id of a transaction as the family's own tools write it: TRON's know no 0x.
pub(super) fn spell_hash(family: Family, hash: B256) -> String {
    spell_bytes(family, hash.as_slice())
}

fn spell_bytes(family: Family, bytes: &[u8]) -> String {
    match family {
        Family::Evm => format!("0x{}", hex::encode(bytes)),
        Family::Tvm => hex::encode(bytes),
    }
}

/// The failure object of the interface document, part 2.5, with our additions at the end.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure {
    amount: Option<Box<RawValue>>,
    fail_reason: String,
    plan_id: i64,
    subscribe_id: i64,
    token_allowance: Option<String>,
    token_balance: Option<String>,
    user_hash: String,
    fail_code: &'static str,
    retry: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tx_hash: Option<String>,
}

fn failures(family: Family, refused: &[Refused]) -> Vec<Failure> {
    refused
        .iter()
        .map(|refused| Failure {
            amount: refused.amount.and_then(integer),
            fail_reason: refused.reason(),
            plan_id: refused.plan.0,
            subscribe_id: refused.subscribe.0,
            token_allowance: refused.allowance.map(|n| n.to_string()),
            token_balance: refused.balance.map(|n| n.to_string()),
            user_hash: refused.user_spelling.clone(),
            fail_code: refused.code.token(),
            retry: refused.code.retry().token(),
            tx_hash: refused.tx_hash.map(|hash| spell_hash(family, hash)),
        })
        .collect()
}

/// An exact JSON integer of any size.
pub(super) fn integer(number: U256) -> Option<Box<RawValue>> {
    RawValue::from_string(number.to_string()).ok()
}

/// What a dry run says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rehearsal {
    dry_run: bool,
    address: String,
    would_charge: Vec<i64>,
    failed: Vec<Failure>,
    gas_required: Option<String>,
}

fn rehearsal(dry: &Rehearsed) -> Rehearsal {
    Rehearsal {
        dry_run: true,
        address: spell_address(dry.facts.family, dry.facts.signer),
        would_charge: dry.would_charge.iter().map(|id| id.0).collect(),
        failed: failures(dry.facts.family, &dry.refused),
        gas_required: dry.gas_required.map(|gas| gas.to_string()),
    }
}
