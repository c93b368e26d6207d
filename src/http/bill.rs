//! The two billing paths: authenticate, parse, admit, and hand over to the engine.

use super::answer::HttpReply;
use super::guard::{Authenticated, handle_signed};
use super::purpose::Purpose;
use super::rejection::Rejection;
use super::visible::Visible;
use super::{AppState, chain_for, trace, wire};
use crate::telemetry::{ANYBODY, Billed};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use billing::{Family, Order, PlatformChainId};
use engine::{Answer, Progress, SPAN_TARGET};
use ledger::RefusedRequest;
use opentelemetry::trace::SpanContext;
use std::sync::Arc;
use tokio::time::Instant;
use tracing::field::{Empty, display};
use tracing::{Instrument as _, Span, info, info_span, warn};

/// `POST /PayTool/EVM/subscribe/signProcessSubscribePlan`
pub(super) async fn evm(State(state): State<Arc<AppState>>, request: Request) -> Response {
    serve(state, Family::Evm, request).await
}

/// `POST /PayTool/TVM/subscribe/signProcessSubscribePlan`
pub(super) async fn tvm(State(state): State<Arc<AppState>>, request: Request) -> Response {
    serve(state, Family::Tvm, request).await
}

async fn serve(state: Arc<AppState>, family: Family, request: Request) -> Response {
    // An option that is put there must not be ignored: it may be a dry run.
    if request.uri().query().is_some() {
        return Rejection::Query.into_response();
    }
    let named = request.extensions().get::<SpanContext>().cloned();
    handle_signed(state, request, Purpose::Bill, async move |state, request| {
        // Only callers who are known make spans: strangers would fill the queue.
        let span = span_of(family);
        if let Some(named) = named {
            trace::begin(&span, &named);
        }
        answer(&state, family, request).instrument(span).await
    })
    .await
}

async fn answer(state: &AppState, family: Family, request: Authenticated) -> Response {
    let begun = Instant::now();
    let caller = request.caller.as_ref().map(|caller| caller.label.clone());
    let mut chain = None;
    let heard = bill(state, family, request, &mut chain).await;
    let reply = heard.unwrap_or_else(HttpReply::Rejected);
    let facts = reply_facts(caller.as_deref(), chain, &reply);
    tell(&facts, &reply);
    state.metrics.billed(&facts, begun.elapsed());
    log(state, family, caller.as_deref(), &reply, begun);
    reply.into_response()
}

/// Returns the span of a request.
fn span_of(family: Family) -> Span {
    let name = match family {
        Family::Evm => "bill evm",
        Family::Tvm => "bill tvm",
    };
    info_span!(
        target: SPAN_TARGET, "bill", otel.name = name, otel.kind = "server", otel.status_code = Empty,
        http.response.status_code = Empty, signer.chain = Empty, signer.caller = Empty, signer.code = Empty,
        signer.refused = Empty, signer.subscriptions = Empty, tx.hash = Empty
    )
}

/// Says in the span of the request how it was answered. OpenTelemetry has no unsigned numbers.
fn tell(facts: &Billed, reply: &HttpReply) {
    let span = Span::current();
    span.record("http.response.status_code", i64::from(facts.status));
    span.record("signer.caller", facts.caller.as_str());
    span.record("signer.code", i64::from(facts.code));
    span.record("signer.refused", count(facts.refused.len()));
    if let HttpReply::Answer(_, Answer::Sent(sent)) = reply {
        span.record("signer.subscriptions", count(sent.subscriptions.len()));
        span.record("tx.hash", display(sent.transaction.hash()));
    }
    if facts.status >= 500 {
        span.record("otel.status_code", "error");
    }
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Bills; `meant` is told the chain as soon as it is known.
async fn bill(
    state: &AppState,
    family: Family,
    request: Authenticated,
    meant: &mut Option<PlatformChainId>,
) -> Result<HttpReply, Rejection> {
    let Authenticated { body, deadline, caller } = request;
    let rights = caller.as_ref().map(|caller| &caller.rights);
    let posted = wire::read(&body)?;
    let admitted = Order::admit(posted.entries, state.limits.max_entries)?;
    let chain = chain_for(state, family, posted.chain)?;
    *meant = Some(chain);
    Span::current().record("signer.chain", i64::from(chain.0));
    if let Some(rights) = rights {
        if !rights.covers_chain(chain) {
            return Err(Rejection::NotItsChain(chain));
        }
        if let Some(entry) = admitted.entries.iter().find(|entry| !rights.covers_plan(entry.plan)) {
            return Err(Rejection::NotItsPlan(entry.plan));
        }
    }
    let order = Order {
        request_id: posted.request_id,
        caller: caller.map(|caller| caller.asked_by()),
        mode: posted.mode,
        dry_run: posted.dry_run,
        ..admitted
    };
    let request_id = order.request_id.as_ref().map(|request| request.as_str().to_owned());
    let caller = order.caller.as_ref().map(|caller| caller.label.clone());
    let answer = state.engine.bill(chain, order, deadline).await;
    let reply =
        answer.map_or_else(HttpReply::NoVerdict, |answer| HttpReply::Answer(family, answer));
    let refused = reply.refused();
    if let Some(kept) = state.refusals.as_ref().filter(|_| !refused.is_empty()) {
        let refused = refused.to_vec();
        kept.note(RefusedRequest { chain, family, caller, request_id, refused });
    }
    Ok(reply)
}

/// Returns the parts of a reply that are counted: its code, and the code of every refusal in it.
fn reply_facts(caller: Option<&str>, chain: Option<PlatformChainId>, reply: &HttpReply) -> Billed {
    Billed {
        caller: caller.unwrap_or(ANYBODY).to_owned(),
        chain: chain.map(|chain| chain.0),
        code: reply.code(),
        status: reply.status().as_u16(),
        refused: reply.refused().iter().map(|refused| refused.code).collect(),
    }
}

/// One line for every request that is billed, and of the others as many as one caller may cause.
fn log(state: &AppState, family: Family, caller: Option<&str>, reply: &HttpReply, begun: Instant) {
    let took_ms = begun.elapsed().as_millis();
    if let HttpReply::Answer(_, Answer::Sent(sent)) = reply {
        return info!(
            %family, caller, tx.hash = %sent.transaction.hash(), subscriptions = sent.subscriptions.len(),
            failed = sent.failed.len(), earlier = sent.earlier.len(), took_ms,
            "{}", if sent.progress == Progress::New { "billed" } else { "billed before" }
        );
    }
    let Some(unwritten) = state.rejection_log.may_write(Some(caller.unwrap_or(ANYBODY))) else {
        return;
    };
    match reply {
        HttpReply::Answer(_, Answer::Refused(refused, earlier)) => {
            let first = refused.first().map(|refused| refused.code.token());
            let (refused, earlier) = (refused.len(), earlier.len());
            info!(%family, caller, refused, earlier, first, took_ms, unwritten, "refused");
        }
        HttpReply::Answer(_, Answer::Sent(_)) => {}
        HttpReply::Answer(_, Answer::DryRun(_)) => {
            info!(%family, caller, took_ms, unwritten, "rehearsed");
        }
        HttpReply::NoVerdict(why) => {
            warn!(%family, caller, took_ms, unwritten, "no verdict: {}", Visible(why));
        }
        HttpReply::Rejected(why) => {
            info!(%family, caller, took_ms, unwritten, "turned away: {why}");
        }
    }
}
