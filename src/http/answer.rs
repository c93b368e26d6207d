//! The answers to callers: one envelope, and one exhaustive match from every outcome to its code.

use super::rejection::Rejection;
use alloy::primitives::{B256, U256};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use billing::{Digits, Family, Refused, Satisfied, spell_address};
use chain::ChainError;
use engine::{Answer, DryRun, NoVerdict, Progress, Sent};
use journal::JournalError;
use ledger::LedgerError;
use serde::Serialize;
use serde::ser::Serializer;
use serde_json::value::RawValue;

/// `{code, msg, description, data}`; `description` is always null.
#[derive(Debug, Serialize)]
pub(super) struct Envelope<T> {
    pub(super) code: u8,
    pub(super) msg: String,
    pub(super) description: (),
    pub(super) data: T,
    /// Beside code 2: subscriptions of the request that earlier transactions charge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) earlier: Vec<Earlier>,
}

/// Everything that a request can come to.
#[derive(Debug)]
pub(super) enum HttpReply {
    /// The engine's answer about charges on a chain of this family.
    Answer(Family, Answer),
    NoVerdict(NoVerdict),
    Rejected(Rejection),
}

impl From<Rejection> for HttpReply {
    fn from(why: Rejection) -> Self {
        Self::Rejected(why)
    }
}

impl From<JournalError> for HttpReply {
    fn from(error: JournalError) -> Self {
        Self::NoVerdict(error.into())
    }
}

impl From<LedgerError> for HttpReply {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Journal(error) => error.into(),
            LedgerError::Refusals(_) => Self::Rejected(Rejection::Unread(error)),
        }
    }
}

impl HttpReply {
    /// 1, 2 or 0, computed from what happened and from nothing else.
    pub(super) fn code(&self) -> u8 {
        match self {
            Self::Answer(_, Answer::Sent(_)) => 1,
            Self::Answer(_, Answer::Refused(..)) => 2,
            Self::Answer(_, Answer::DryRun(_)) | Self::NoVerdict(_) | Self::Rejected(_) => 0,
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Answer(..) => StatusCode::OK,
            Self::NoVerdict(why) => status_of(why),
            Self::Rejected(why) => why.status(),
        }
    }

    /// The subscriptions that the reply refuses. A dry run asks to charge nobody, and refuses nobody.
    pub(super) fn refused(&self) -> &[Refused] {
        match self {
            Self::Answer(_, Answer::Sent(sent)) => &sent.failed,
            Self::Answer(_, Answer::Refused(refused, _))
            | Self::NoVerdict(NoVerdict::Policy { refused, .. }) => refused,
            Self::Answer(_, Answer::DryRun(_)) | Self::NoVerdict(_) | Self::Rejected(_) => &[],
        }
    }

    /// When it makes sense to post the same again, s.
    fn come_back(&self) -> u64 {
        match self {
            Self::NoVerdict(NoVerdict::LaneFull { again, .. }) => again.as_secs(),
            Self::NoVerdict(_) | Self::Rejected(_) | Self::Answer(..) => 1,
        }
    }

    fn msg(&self) -> String {
        match self {
            Self::Answer(_, Answer::Sent(sent)) => happened(sent),
            Self::Answer(_, Answer::Refused(refused, earlier)) => {
                let what = format!("{} cannot be charged", count(refused.len()));
                match earlier.len() {
                    0 => format!("{what}; nothing was signed or sent"),
                    more => format!(
                        "{what}, {} in earlier transactions; nothing more was signed or sent",
                        are(more)
                    ),
                }
            }
            Self::Answer(_, Answer::DryRun(_)) => "Dry run: nothing was signed or sent".to_owned(),
            Self::NoVerdict(why) => why.to_string(),
            Self::Rejected(why) => why.to_string(),
        }
    }
}

fn status_of(why: &NoVerdict) -> StatusCode {
    match why {
        NoVerdict::UnknownChain(_) => StatusCode::NOT_FOUND,
        NoVerdict::OnePerRequest => StatusCode::BAD_REQUEST,
        NoVerdict::RequestTaken(_) => StatusCode::CONFLICT,
        NoVerdict::Policy { .. } => StatusCode::FORBIDDEN,
        NoVerdict::Chain(ChainError::BatchTooLarge { .. } | ChainError::ChargeTooSlow(_)) => {
            StatusCode::PAYLOAD_TOO_LARGE
        }
        NoVerdict::LaneClosed(_)
        | NoVerdict::LaneOpening(_)
        | NoVerdict::NotAccepted(_)
        | NoVerdict::LaneFull { .. }
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

/// Says the state of a transaction to the caller: sent now, or its present result.
fn happened(sent: &Sent) -> String {
    let what = match sent.progress {
        Progress::New => "Billing transaction sent".to_owned(),
        Progress::Open => {
            "Already sent: the transaction is open, nothing more was signed".to_owned()
        }
        Progress::Charged(block) => {
            format!("Already sent: charged in block {}, nothing more was signed", block.number)
        }
    };
    match sent.earlier.len() {
        0 => what,
        more => format!("{what}; {} in earlier transactions", are(more)),
    }
}

fn are(subscriptions: usize) -> String {
    format!("{} {}", count(subscriptions), if subscriptions == 1 { "is" } else { "are" })
}

fn count(subscriptions: usize) -> String {
    if subscriptions == 1 {
        "1 subscription".to_owned()
    } else {
        format!("{subscriptions} subscriptions")
    }
}

impl IntoResponse for HttpReply {
    fn into_response(self) -> Response {
        let (code, status, msg) = (self.code(), self.status(), self.msg());
        let mut response = match &self {
            Self::Answer(_, Answer::Sent(sent)) => envelope(status, code, msg, sent_data(sent)),
            Self::Answer(family, Answer::Refused(refused, satisfied)) => {
                let (data, earlier) = (failures(*family, refused), earlier(*family, satisfied));
                whole(status, &Envelope { code, msg, description: (), data, earlier })
            }
            Self::Answer(_, Answer::DryRun(dry)) => envelope(status, code, msg, rehearsal(dry)),
            Self::NoVerdict(NoVerdict::Chain(
                ChainError::BatchTooLarge { max } | ChainError::BatchTooSlow { max, .. },
            )) => envelope(status, code, msg, Fits { max_batch: *max }),
            Self::NoVerdict(_) | Self::Rejected(_) => envelope(status, code, msg, ()),
        };
        if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            response.headers_mut().insert(header::RETRY_AFTER, self.come_back().into());
        }
        response
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        HttpReply::Rejected(self).into_response()
    }
}

/// The size that would fit, if a batch does not.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Fits {
    max_batch: usize,
}

/// Code 1 with this data.
#[derive(Debug)]
pub(super) struct Success<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Success<T> {
    fn into_response(self) -> Response {
        envelope(StatusCode::OK, 1, "success".to_owned(), self.0)
    }
}

/// An envelope as a response.
pub(super) fn envelope<T: Serialize>(
    status: StatusCode,
    code: u8,
    msg: String,
    data: T,
) -> Response {
    whole(status, &Envelope { code, msg, description: (), data, earlier: vec![] })
}

fn whole<T: Serialize>(status: StatusCode, envelope: &Envelope<T>) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    match serde_json::to_string(envelope) {
        Ok(body) => (status, json, body).into_response(),
        // Strings, integers and lists of them cannot fail; if they do, say nothing rather than half.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// A subscription of the request that an earlier transaction charges.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Earlier {
    subscribe_id: Echo,
    tx_hash: String,
    state: &'static str,
}

fn earlier(family: Family, satisfied: &[Satisfied]) -> Vec<Earlier> {
    satisfied
        .iter()
        .map(|one| Earlier {
            subscribe_id: Echo::of(&one.spelling),
            tx_hash: spell_hash(family, one.by.hash),
            state: one.by.state.word(),
        })
        .collect()
}

/// A number as the caller wrote it.
#[derive(Debug)]
struct Echo(Digits);

impl Echo {
    fn of(digits: &Digits) -> Self {
        Self(digits.clone())
    }
}

impl Serialize for Echo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits = self.0.digits();
        if self.0.is_quoted() {
            return serializer.serialize_str(digits);
        }
        // An integer as it was posted. If it could not be written, the rest of the answer would still have to be told.
        serde_json::from_str::<&RawValue>(digits).ok().serialize(serializer)
    }
}

/// The success object of the interface document, part 2.5, with our additions at the end.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SentData {
    address: String,
    chain_id: u32,
    /// None, like the bytes, of a transaction that was learnt from the chain.
    gas_required: Option<String>,
    signed_transaction_data: Option<String>,
    subscription_ids: Vec<Echo>,
    tx_hash: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failure>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<Earlier>,
}

fn sent_data(sent: &Sent) -> SentData {
    let (family, lane, signed) = (sent.family, sent.origin.lane, sent.transaction.signed());
    SentData {
        address: spell_address(family, lane.signer),
        chain_id: lane.chain.0,
        gas_required: signed.map(|signed| signed.gas_required.to_string()),
        signed_transaction_data: signed.map(|signed| spell_bytes(family, &signed.raw)),
        subscription_ids: sent.subscriptions.iter().map(Echo::of).collect(),
        tx_hash: spell_hash(family, sent.transaction.hash()),
        repeated: sent.progress != Progress::New,
        failed: failures(family, &sent.failed),
        earlier: earlier(family, &sent.earlier),
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
    amount: Option<Echo>,
    fail_reason: String,
    plan_id: Echo,
    subscribe_id: Echo,
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
            amount: amount(refused),
            fail_reason: refused.reason(),
            plan_id: Echo::of(&refused.spelling.plan),
            subscribe_id: Echo::of(&refused.spelling.subscribe),
            token_allowance: refused.allowance.map(|n| n.to_string()),
            token_balance: refused.balance.map(|n| n.to_string()),
            user_hash: refused.spelling.user.to_string(),
            fail_code: refused.code.token(),
            retry: refused.code.retry().token(),
            tx_hash: refused.tx_hash.map(|hash| spell_hash(family, hash)),
        })
        .collect()
}

/// As the caller stated it. One that the chain supplied is written as the subscription is.
fn amount(refused: &Refused) -> Option<Echo> {
    let Refused { spelling, .. } = refused;
    let digits =
        |amount| spelling.amount.clone().unwrap_or_else(|| spelling.subscribe.like(amount));
    refused.amount.map(digits).map(Echo)
}

/// An exact JSON integer of any size.
pub(super) fn integer(number: U256) -> Option<Box<RawValue>> {
    RawValue::from_string(number.to_string()).ok()
}

/// The answer to a dry run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rehearsal {
    dry_run: bool,
    address: String,
    would_charge: Vec<Echo>,
    failed: Vec<Failure>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<Earlier>,
    gas_required: Option<String>,
}

fn rehearsal(dry: &DryRun) -> Rehearsal {
    Rehearsal {
        dry_run: true,
        address: spell_address(dry.facts.family, dry.facts.signer),
        would_charge: dry.would_charge.iter().map(Echo::of).collect(),
        failed: failures(dry.facts.family, &dry.refused),
        earlier: earlier(dry.facts.family, &dry.earlier),
        gas_required: dry.gas_required.map(|gas| gas.to_string()),
    }
}
