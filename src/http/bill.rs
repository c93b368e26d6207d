//! The two billing paths: authenticate, parse, admit, and hand over to the engine.

use super::answer::{HttpReply, TurnedAway};
use super::{AppState, Authentic, authenticate, chain_for, wire};
use crate::billing::{Family, Order};
use crate::engine::{Answer, HowFar};
use crate::telemetry::Billed;
use axum::extract::{Request, State};
use std::sync::Arc;
use tokio::time::Instant;
use tracing::{info, warn};

/// `POST /PayTool/EVM/subscribe/signProcessSubscribePlan`
pub(super) async fn evm(State(door): State<Arc<AppState>>, request: Request) -> HttpReply {
    serve(&door, Family::Evm, request).await
}

/// `POST /PayTool/TVM/subscribe/signProcessSubscribePlan`
pub(super) async fn tvm(State(door): State<Arc<AppState>>, request: Request) -> HttpReply {
    serve(&door, Family::Tvm, request).await
}

async fn serve(door: &AppState, family: Family, request: Request) -> HttpReply {
    let begun = Instant::now();
    let reply = match door.places.try_acquire() {
        Ok(_place) => bill(door, family, request).await.unwrap_or_else(HttpReply::TurnedAway),
        Err(_) => HttpReply::TurnedAway(TurnedAway::Busy),
    };
    door.metrics.billed(&reply_facts(&reply), begun.elapsed());
    log(family, &reply, begun);
    reply
}

async fn bill(door: &AppState, family: Family, request: Request) -> Result<HttpReply, TurnedAway> {
    // An option that is put there must not be ignored: it may be a dry run.
    if request.uri().query().is_some() {
        return Err(TurnedAway::Query);
    }
    let Authentic { body, deadline, caller, .. } = authenticate(door, request).await?;
    let posted = wire::read(&body)?;
    let admitted = Order::admit(posted.entries, door.limits.max_entries)?;
    let chain = chain_for(door, family, posted.chain)?;
    let order = Order {
        request_id: posted.request_id,
        caller,
        mode: posted.mode,
        dry_run: posted.dry_run,
        ..admitted
    };
    let answer = door.engine.bill(chain, order, deadline).await;
    Ok(answer.map_or_else(HttpReply::NoVerdict, |answer| HttpReply::Answer(family, answer)))
}

/// What of a reply is counted: its code, and the code of every refusal in it.
fn reply_facts(reply: &HttpReply) -> Billed {
    let refused = match reply {
        HttpReply::Answer(_, Answer::Sent(sent)) => sent.failed.as_slice(),
        HttpReply::Answer(_, Answer::Refused(refused, _)) => refused,
        HttpReply::Answer(_, Answer::Rehearsed(_))
        | HttpReply::NoVerdict(_)
        | HttpReply::TurnedAway(_) => &[],
    };
    Billed {
        code: reply.code(),
        status: reply.status().as_u16(),
        refused: refused.iter().map(|refused| refused.code.token()).collect(),
    }
}

/// One line for every request.
fn log(family: Family, reply: &HttpReply, begun: Instant) {
    let took_ms = begun.elapsed().as_millis();
    match reply {
        HttpReply::Answer(_, Answer::Sent(sent)) => info!(
            %family, tx.hash = %sent.transaction.hash(), subscriptions = sent.subscriptions.len(),
            failed = sent.failed.len(), earlier = sent.earlier.len(), took_ms,
            "{}", if sent.progress == HowFar::New { "billed" } else { "billed before" }
        ),
        HttpReply::Answer(_, Answer::Refused(refused, earlier)) => {
            let first = refused.first().map(|refused| refused.code.token());
            let (refused, earlier) = (refused.len(), earlier.len());
            info!(%family, refused, earlier, first, took_ms, "refused");
        }
        HttpReply::Answer(_, Answer::Rehearsed(_)) => info!(%family, took_ms, "rehearsed"),
        HttpReply::NoVerdict(why) => warn!(%family, took_ms, "no verdict: {why}"),
        HttpReply::TurnedAway(why) => info!(%family, took_ms, "turned away: {why}"),
    }
}
