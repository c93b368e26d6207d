//! `GET /PayTool/billings/{any hash, request id, or billing:number}`: what became of a billing.

use super::AppState;
use super::answer::{HttpReply, Success, integer, spell_hash};
use super::guard::handle_signed;
use super::purpose::Purpose;
use super::rejection::Rejection;
use alloy::primitives::B256;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use billing::{
    AttemptKind, BatchId, BatchState, CallerKey, Family, Period, TxRecord, spell_address,
};
use engine::HeldUp;
use journal::{Billing, JournalError, Line, Resolution};
use serde::Serialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Answers with every batch that the id names, newest first.
pub(super) async fn billings(
    State(state): State<Arc<AppState>>,
    path: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    handle_signed(state, request, Purpose::Ask, async move |state, authentic| {
        let rights = authentic.caller.as_ref().map(|caller| &caller.rights);
        let asking = authentic.caller.as_ref().map(|caller| CallerKey(caller.key.clone()));
        let Ok(Path(id)) = path else { return NOTHING.into_response() };
        let mut found = find(&state, id, asking).await;
        if let (Ok(found), Some(rights)) = (&mut found, rights) {
            found.retain(|billing| rights.covers_chain(billing.origin.lane.chain));
        }
        match found {
            Err(error) => HttpReply::from(error).into_response(),
            Ok(found) if found.is_empty() => NOTHING.into_response(),
            Ok(found) => {
                let report: Vec<BillingReport> =
                    found.iter().map(|billing| report(&state, billing)).collect();
                Success(report).into_response()
            }
        }
    })
    .await
}

const NOTHING: Rejection =
    Rejection::NotFound("no billing has this transaction hash, request id or number");

/// The words before a billing's number. A bare number is a request's name and nothing else: a request that never
/// arrived is not to be answered with another one's billing.
const BY_NUMBER: &str = "billing:";

/// By hash first: a request id may look like a hash. Then by the name of a request, which is its caller's.
async fn find(
    state: &AppState,
    id: String,
    asking: Option<CallerKey>,
) -> Result<Vec<Billing>, JournalError> {
    if let Some(hash) = hash(&id)
        && let Some(billing) = state.engine.billing_by_hash(hash).await?
    {
        return Ok(vec![billing]);
    }
    let number = id.strip_prefix(BY_NUMBER).and_then(|digits| digits.parse().ok()).map(BatchId);
    let found = state.engine.billings_by_request(id, asking).await?;
    match number.filter(|_| found.is_empty()) {
        Some(number) => Ok(state.engine.journal.billing(number).await?.into_iter().collect()),
        None => Ok(found),
    }
}

/// 64 hex digits, with or without `0x`.
fn hash(id: &str) -> Option<B256> {
    let mut bytes = [0_u8; 32];
    hex::decode_to_slice(id.strip_prefix("0x").unwrap_or(id), &mut bytes).ok()?;
    Some(B256::from(bytes))
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BillingReport {
    tx_hash: String,
    tx_hashes: Vec<String>,
    /// The same with what each does and since when it is there, oldest first.
    transactions: Vec<SignedTransaction>,
    state: &'static str,
    /// Reason why an open billing does not land, as far as is known.
    held_up: Option<&'static str>,
    chain_id: u32,
    address: String,
    contract: String,
    nonce: u64,
    request_id: Option<String>,
    /// The label of the caller whose request was signed for.
    caller: Option<String>,
    /// Unix seconds, as everywhere in this interface.
    accepted_at: i64,
    settled_at: Option<i64>,
    block: Option<u64>,
    /// Result of the transaction that decided; null while open, and if nodes do not tell.
    execution: Option<Executed>,
    subscriptions: Vec<Subscription>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SignedTransaction {
    tx_hash: String,
    /// `bill` or `cancel`.
    kind: &'static str,
    /// When it was signed and durable, or learnt from the chain, Unix seconds.
    signed_at: i64,
}

fn transactions(family: Family, billing: &Billing) -> Vec<SignedTransaction> {
    let all = billing.attempts.iter().zip(&billing.signed_ms);
    let told = all.map(|(attempt, at_ms)| SignedTransaction {
        tx_hash: spell_hash(family, attempt.hash()),
        kind: match attempt.kind() {
            AttemptKind::Bill => "bill",
            AttemptKind::Cancel => "cancel",
        },
        signed_at: at_ms.div_euclid(1000),
    });
    told.collect()
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Executed {
    result: &'static str,
    message: Option<String>,
    /// Gas or energy.
    used: u64,
    /// Wei or sun.
    fee: Option<Box<RawValue>>,
    what_to_do: Option<&'static str>,
}

fn executed(record: &TxRecord) -> Executed {
    Executed {
        result: record.ending.word(),
        message: record.message.clone(),
        used: record.used,
        fee: integer(record.fee),
        what_to_do: record.ending.advice(),
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Subscription {
    subscribe_id: i64,
    /// The digits of the ids and of the amount, for callers whose JSON numbers are floats.
    subscribe_id_text: String,
    plan_id: i64,
    plan_id_text: String,
    user_hash: String,
    period: Option<String>,
    amount: Option<Box<RawValue>>,
    amount_text: String,
    state: &'static str,
    fail_code: Option<&'static str>,
    fail_reason: Option<String>,
    /// A person's finding about an unproven charge: `charged` or `free`.
    resolved: Option<&'static str>,
    /// Amount taken, if that is not the amount claimed: base units, in digits.
    charged_amount: Option<String>,
    charged_token: Option<String>,
    charged_wallet: Option<String>,
}

/// A batch, as callers are told of it.
pub(super) fn report(state: &AppState, billing: &Billing) -> BillingReport {
    let (lane, contract) = (billing.origin.lane, billing.origin.contract);
    let lanes = state.engine.lanes();
    let (running, family) = (lanes.lane(lane), billing.network.family);
    BillingReport {
        tx_hash: spell_hash(family, billing.current().hash()),
        tx_hashes: billing.attempts.iter().map(|a| spell_hash(family, a.hash())).collect(),
        transactions: transactions(family, billing),
        state: billing.state.word(),
        held_up: running
            .and_then(|lane| lane.batches.held_up_by(billing.batch))
            .map(HeldUp::sentence),
        chain_id: lane.chain.0,
        address: spell_address(family, lane.signer),
        contract: spell_address(family, contract),
        nonce: billing.position,
        request_id: billing.request_id.clone(),
        caller: billing.caller.as_ref().map(|by| by.label.0.clone()),
        accepted_at: billing.accepted_ms.div_euclid(1000),
        settled_at: billing.settled_ms.map(|ms| ms.div_euclid(1000)),
        block: billing.block.map(|block| block.number),
        execution: billing.record.as_ref().map(executed),
        subscriptions: billing
            .items
            .iter()
            .map(|line| subscription(billing.state, family, line))
            .collect(),
    }
}

fn subscription(batch: BatchState, family: Family, line: &Line) -> Subscription {
    let (failed, taken) = (line.failure(), line.taken_otherwise());
    let item = &line.item;
    Subscription {
        subscribe_id: item.subscribe.0,
        subscribe_id_text: item.subscribe.0.to_string(),
        plan_id: item.key.plan.0,
        plan_id_text: item.key.plan.0.to_string(),
        user_hash: item.key.user.0.to_string(),
        period: match item.key.period {
            Period::Numbered(number) => Some(number.to_string()),
            Period::Guarded => None,
        },
        amount: integer(item.amount),
        amount_text: item.amount.to_string(),
        state: line.state(batch),
        resolved: line.resolved.map(Resolution::word),
        charged_amount: taken.amount.map(|amount| amount.to_string()),
        charged_token: taken.token.map(|token| spell_address(family, token)),
        charged_wallet: taken.wallet.map(|wallet| spell_address(family, wallet)),
        fail_code: failed.map(|(code, _)| code.token()),
        fail_reason: failed.map(|(code, detail)| code.sentence(detail)),
    }
}
