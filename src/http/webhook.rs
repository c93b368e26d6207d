//! `/PayTool/control/webhook`: how far the webhook has been told, what its receiver did not take, and sending
//! that again. For callers with `control = true` on all chains.

use super::AppState;
use super::answer::{HttpReply, envelope};
use super::control::{Instruction, controlled, of_all_chains};
use super::guard::Purpose;
use super::turned_away::TurnedAway;
use crate::telemetry::WebhookFigures;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use engine::NoVerdict;
use journal::{JournalError, Outbox, UntakenEvent};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::Notify;

/// Number of set-aside events shown.
const SHOWN: usize = 500;

/// A webhook, as those who send and those who ask know it.
#[derive(Debug)]
pub struct WebhookDesk {
    /// Stored state of the webhook.
    pub outbox: Outbox,
    /// Counts of the webhook.
    pub figures: WebhookFigures,
    /// Told when something is to be sent again.
    pub wake: Notify,
}

impl WebhookDesk {
    /// Of a webhook of which this is kept.
    pub fn new(outbox: Outbox) -> Self {
        Self { outbox, figures: WebhookFigures::default(), wake: Notify::new() }
    }
}

/// The state of a webhook.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookReport {
    /// The cursor of the feed up to which everything is told or set aside; null before the first.
    pub told: Option<String>,
    /// When the oldest event happened that is not told yet, Unix seconds; null where all are.
    pub waiting_since: Option<i64>,
    /// Events that the receiver did not take, oldest first: the first 500.
    pub set_aside: Vec<SetAsideRow>,
}

/// An event that the receiver did not take.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetAsideRow {
    /// Its cursor in the feed.
    pub cursor: String,
    /// When it was set aside, Unix seconds.
    pub at: i64,
    /// The last answer.
    pub why: String,
    /// The event as it was sent.
    pub event: Box<RawValue>,
}

/// The number of events that are sent again.
#[derive(Debug, Deserialize, Serialize)]
pub struct Replayed {
    /// So many.
    pub replayed: usize,
}

/// The events to send again.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplayRequest {
    /// One event; all that are set aside where none is named.
    cursor: Option<String>,
}

/// `GET /PayTool/control/webhook`
pub(super) async fn show(State(door): State<Arc<AppState>>, request: Request) -> Response {
    let show = async move |door: Arc<AppState>, sent: Instruction| {
        of_all_chains(&door, &sent).map_err(HttpReply::TurnedAway)?;
        let desk = desk(&door).map_err(HttpReply::TurnedAway)?;
        let report = report(desk).map_err(lost)?;
        Ok(envelope(StatusCode::OK, 1, "success".to_owned(), report))
    };
    controlled(door, request, Purpose::Inspect, show).await
}

/// `POST /PayTool/control/webhook/replay`
pub(super) async fn replay(State(door): State<Arc<AppState>>, request: Request) -> Response {
    let replay = async move |door: Arc<AppState>, sent: Instruction| {
        of_all_chains(&door, &sent).map_err(HttpReply::TurnedAway)?;
        let asked = if sent.body.is_empty() {
            Ok(ReplayRequest::default())
        } else {
            serde_json::from_slice(&sent.body)
        };
        let unclear =
            |why: serde_json::Error| HttpReply::TurnedAway(TurnedAway::Replay(why.to_string()));
        let asked: ReplayRequest = asked.map_err(unclear)?;
        let desk = desk(&door).map_err(HttpReply::TurnedAway)?;
        let replayed = desk.outbox.replay(asked.cursor.as_deref()).map_err(lost)?;
        desk.wake.notify_one();
        Ok(envelope(StatusCode::OK, 1, "success".to_owned(), Replayed { replayed }))
    };
    controlled(door, request, Purpose::Control, replay).await
}

fn desk(door: &AppState) -> Result<&WebhookDesk, TurnedAway> {
    door.webhook.as_deref().ok_or(TurnedAway::NotFound("no webhook is configured"))
}

fn lost(problem: rusqlite::Error) -> HttpReply {
    HttpReply::NoVerdict(NoVerdict::Journal(JournalError::Database(problem.into())))
}

fn report(desk: &WebhookDesk) -> rusqlite::Result<WebhookReport> {
    let aside = desk.outbox.all_set_aside()?.into_iter().take(SHOWN);
    let row = |event: UntakenEvent| {
        let (cursor, at, why) = (event.cursor, event.at_ms.div_euclid(1000), event.why);
        Some(SetAsideRow { cursor, at, why, event: RawValue::from_string(event.body).ok()? })
    };
    let waiting = desk.figures.waiting_since.load(Ordering::Relaxed);
    Ok(WebhookReport {
        told: desk.outbox.place()?,
        waiting_since: Some(waiting).filter(|since| *since > 0),
        set_aside: aside.filter_map(row).collect(),
    })
}
