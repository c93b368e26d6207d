//! `GET /PayTool/charges/{cursor}/certificate`: the proof of a charge for whoever trusts its block.

use super::AppState;
use super::answer::{HttpReply, Success};
use super::charges::JournalName;
use super::guard::{Authenticated, handle_signed};
use super::purpose::Purpose;
use super::rejection::Rejection;

use crate::certificates::{ChargeMade, NoCertificate};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use config::Rights;
use journal::Journal;
use ledger::{LedgerPlace, PlaceInBatch};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Answers with the certificate of the charge that has this cursor in the ledger.
pub(super) async fn certificate(
    State(state): State<Arc<AppState>>,
    path: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    handle_signed(
        state,
        request,
        Purpose::Certify,
        async move |state, Authenticated { caller, .. }| {
            let Ok(Path(cursor)) = path else { return REJECTED.into_response() };
            let rights = caller.as_ref().map(|caller| &caller.rights);
            match certified(&state, &cursor, rights).await {
                Ok(text) => Success(text).into_response(),
                Err(NoCertificate::Journal(error)) => HttpReply::from(error).into_response(),
                Err(why) => Rejection::NoCertificate(why).into_response(),
            }
        },
    )
    .await
}

const REJECTED: Rejection = Rejection::NoCertificate(NoCertificate::Unknown);

async fn certified(
    state: &AppState,
    cursor: &str,
    rights: Option<&Rights>,
) -> Result<Box<RawValue>, NoCertificate> {
    let (engine, journal) = (&state.engine, &state.engine.journal);
    let LedgerPlace { batch, item } = place(journal, cursor).await?;
    let PlaceInBatch::Charge(item) = item else { return Err(NoCertificate::Unknown) };
    let billing = journal.billing(batch).await?.ok_or(NoCertificate::Unknown)?;
    let id = billing.origin.lane.chain;
    if rights.is_some_and(|rights| !rights.covers_chain(id)) {
        return Err(NoCertificate::Unknown);
    }
    let lanes = engine.lanes().of_chains.get(&id).ok_or(NoCertificate::NoChain)?;
    let (charge, chain) = (ChargeMade::of(&billing, item)?, &lanes.any().chain);
    let block = chain.block_of(charge.transaction).await?;
    let text = charge.certified_by(block, journal, chain.profile()).await?.text();
    RawValue::from_string(text).map_err(|_| NoCertificate::Unknown)
}

async fn place(journal: &Journal, cursor: &str) -> Result<LedgerPlace, NoCertificate> {
    JournalName::of(journal).await?.place(cursor).map_err(|_| NoCertificate::Unknown)
}
