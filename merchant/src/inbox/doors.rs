//! The two doors: a public one that callbacks come in by, and a private one for the merchant's own
//! programs.

use super::ShelfFailed;
use super::incoming::Incoming;
use super::metrics::Metrics;
use super::serve::Reception;
use super::shelf::{Kept, NoPlace, Place, Row, Shelf};
use crate::callback::web::{LONGEST_BODY as LONGEST_CALLBACK, Rejection, presented, router};
use crate::callback::{Callback, CallbackError, Receiver};
use crate::clock::{Clock as _, SystemClock};
use crate::pause_clock::PauseClock;
use crate::sign::{self, Arrived, Credentials, SignatureError};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequestParts, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tracing::{error, info};

/// The longest body of the private door: letters of a scheduler.
const LONGEST_BODY: usize = 2 << 20;
/// The longest that a reader may wait for news, and the most that one gets at once.
const LONGEST_WAIT_S: u64 = 30;
const MOST: u32 = 500;

/// The parts that both doors need.
#[derive(Debug)]
pub(super) struct Doors {
    /// The clock for pauses and dates.
    pub(super) clock: PauseClock,
    pub(super) shelf: Shelf,
    pub(super) metrics: Arc<Metrics>,
    /// Credentials for the private door.
    pub(super) private: Vec<Credentials>,
    /// True if there is a Signer to ask about billings.
    pub(super) checks: bool,
}

/// The public door: callbacks on each of these paths. `success` is said when the event is on disk.
pub(super) fn public(doors: &Arc<Doors>, receiver: &Receiver, paths: &[String]) -> Router {
    let routes = paths.iter().fold(Router::new(), |all, path| {
        let doors = Arc::clone(doors);
        let keep = move |callback: Callback| keep(Arc::clone(&doors), callback);
        all.merge(router(path, receiver.clone(), keep))
    });
    let refuse = |why: &SignatureError| {
        Rejection::from(CallbackError::Signature(why.clone())).into_response()
    };
    Reception::new(LONGEST_CALLBACK, "platform", refuse).before(routes)
}

async fn keep(doors: Arc<Doors>, callback: Callback) -> Result<(), ShelfFailed> {
    let mut incoming = Incoming::of(&callback);
    if doors.clock.is_followed() {
        incoming.received_s = doors.clock.now_ms().div_euclid(1000);
    }
    if !doors.checks {
        incoming.tx_hash = None;
    }
    let (key, kind) = (incoming.key.clone(), incoming.kind.clone());
    let kept = doors.shelf.keep(vec![incoming], doors.clock.now_ms()).await?;
    for kept in kept {
        doors.metrics.kept(&kind, kept);
        match kept {
            Kept::New => info!(key, "kept"),
            Kept::Repeat => info!(key, "came again"),
            Kept::Conflict => {
                error!(key, "came again, and says something else than the first time");
            }
        }
    }
    Ok(())
}

/// The private door.
pub(super) fn private(doors: &Arc<Doors>) -> Router {
    let signed = Router::new()
        .route("/events", get(events))
        .route("/notices", post(notices))
        .layer(from_fn_with_state(Arc::clone(doors), authenticate))
        .layer(DefaultBodyLimit::max(LONGEST_BODY));
    let signed = signed.with_state(Arc::clone(doors));
    let signed = Reception::new(LONGEST_BODY, "merchant", unproven).before(signed);
    Router::new()
        .route("/health/live", get(|| async { "live\n" }))
        .route("/health/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(Arc::clone(doors))
        .merge(signed)
}

/// `{code, msg, data}`, as the platform and the Signer answer.
#[derive(Serialize)]
struct Envelope<T> {
    code: u16,
    msg: String,
    data: T,
}

fn answer<T: Serialize>(status: StatusCode, msg: &str, data: T) -> Response {
    let envelope = Envelope { code: status.as_u16(), msg: msg.to_owned(), data };
    let json = [(header::CONTENT_TYPE, "application/json")];
    match serde_json::to_string(&envelope) {
        Ok(body) => (status, json, body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn unproven(why: &SignatureError) -> Response {
    answer(StatusCode::UNAUTHORIZED, &why.to_string(), ())
}

/// The interface's own signature, with the inbox's own key.
async fn authenticate(State(doors): State<Arc<Doors>>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, LONGEST_BODY).await else {
        return answer(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long, or broken", ());
    };
    let whole = head.uri.path_and_query().map_or(head.uri.path(), |whole| whole.as_str());
    let arrived = Arrived { method: head.method.as_str(), path_and_query: whole, body: &body };
    let presented = presented(&head.headers);
    if let Err(why) = sign::verify(&doors.private, &presented, &arrived, SystemClock.now()) {
        return unproven(&why);
    }
    next.run(Request::from_parts(head, body.into())).await
}

#[derive(Debug, Deserialize)]
struct Asked {
    /// The `next` of an earlier answer; empty or 0 for the beginning.
    #[serde(default)]
    after: String,
    limit: Option<u32>,
    /// Seconds to wait for news.
    #[serde(default)]
    wait: u64,
}

#[derive(Serialize)]
struct Stretch {
    /// The place to go on after.
    next: String,
    events: Vec<Row>,
}

async fn events(State(doors): State<Arc<Doors>>, request: Request) -> Response {
    let (mut head, _) = request.into_parts();
    let Ok(Query(asked)) = Query::<Asked>::from_request_parts(&mut head, &()).await else {
        return answer(StatusCode::BAD_REQUEST, "limit and wait are whole numbers", ());
    };
    let place = match asked.after.as_str() {
        "" | "0" => None,
        text => match text.parse::<Place>() {
            Ok(place) => Some(place),
            Err(NoPlace) => {
                return answer(StatusCode::BAD_REQUEST, "after is the next of an answer", ());
            }
        },
    };
    match stretch(&doors, place, &asked).await {
        Ok(Some(stretch)) => answer(StatusCode::OK, "success", stretch),
        Ok(None) => answer(StatusCode::CONFLICT, OTHER_FEED, ()),
        Err(failed) => answer(StatusCode::SERVICE_UNAVAILABLE, &failed.to_string(), ()),
    }
}

/// Said where the place that a reader has come to is not in the feed.
const OTHER_FEED: &str = "the inbox's file is another one, or an older copy was put back: begin without after, \
                          and leave out the events whose eventId you know";

/// `None`: the place is of another feed.
async fn stretch(
    doors: &Doors,
    place: Option<Place>,
    asked: &Asked,
) -> Result<Option<Stretch>, ShelfFailed> {
    let most = asked.limit.unwrap_or(MOST).clamp(1, MOST);
    let wait = Duration::from_secs(asked.wait.min(LONGEST_WAIT_S));
    let mut events = doors.shelf.after(place.clone(), most).await?;
    if events.as_ref().is_some_and(Vec::is_empty) && !wait.is_zero() {
        let position = place.as_ref().map_or(0, |place| place.position);
        if let Ok(failed) = tokio::time::timeout(wait, doors.shelf.beyond(position)).await {
            failed?;
            events = doors.shelf.after(place.clone(), most).await?;
        }
    }
    Ok(events.map(|events| {
        let last = events.last().and_then(|row| Some((row.position?, row.place.clone()?)));
        let next = last.map(|(position, digest)| Place { position, digest }).or(place);
        Stretch { next: next.map_or_else(|| "0".to_owned(), |next| next.to_string()), events }
    }))
}

/// A letter of a scheduler.
#[derive(Debug, Deserialize)]
struct Notice {
    id: String,
    stream: String,
    payload: Box<RawValue>,
}

async fn notices(State(doors): State<Arc<Doors>>, body: Bytes) -> Response {
    let Ok(notices) = serde_json::from_slice::<Vec<Notice>>(&body) else {
        return answer(StatusCode::BAD_REQUEST, "the body is no list of notices", ());
    };
    let received_s = doors.clock.now_ms().div_euclid(1000);
    let incoming = notices.into_iter().map(|notice| Incoming {
        key: format!("notice/{}", notice.id),
        stream: notice.stream,
        kind: "Scheduler".to_owned(),
        body: notice.payload.get().to_owned(),
        received_s,
        tx_hash: None,
    });
    match doors.shelf.keep(incoming.collect(), doors.clock.now_ms()).await {
        Ok(kept) => {
            for kept in kept {
                doors.metrics.kept("Scheduler", kept);
            }
            answer(StatusCode::OK, "success", ())
        }
        Err(failed) => answer(StatusCode::SERVICE_UNAVAILABLE, &failed.to_string(), ()),
    }
}

/// Ready when the store takes writes.
async fn ready(State(doors): State<Arc<Doors>>) -> (StatusCode, String) {
    match doors.shelf.run(|_| Ok(())).await {
        Ok(()) => (StatusCode::OK, "ready\n".to_owned()),
        Err(failed) => (StatusCode::SERVICE_UNAVAILABLE, format!("{failed}\n")),
    }
}

async fn metrics(State(doors): State<Arc<Doors>>) -> Response {
    match doors.shelf.stand().await {
        Ok(stand) => doors.metrics.text(&stand).into_response(),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
