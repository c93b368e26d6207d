//! What every signed request passes, in this order: its head is judged, its body read, its sender proven,
//! a repeated message sent to the answer that it had, and only then a place is taken and something done.
//! The place is held by what is done, whether or not anybody still waits for it.

use super::answer::HttpReply;
use super::connections::Guest;
use super::turned_away::TurnedAway;
use super::{AppState, FORWARDED, signed_parts};
use crate::auth::{
    Answered, AuthError, Judging, Proven, SIGN_HEADER, TIMESTAMP_HEADER, sign_answer,
};
use crate::config::{Caller, Rights};
use crate::engine::NoVerdict;
use crate::telemetry::{Billed, NOBODY};
use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

/// The longest body where none is needed or a short one will do, bytes.
const SHORT_BODY: usize = 4 << 10;

/// What a path is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Charges: a long body, and a place among those that bill.
    Bill,
    /// Changes something else: for callers who may control.
    Control,
    /// Changes nothing, and is for those callers too: a repeated question is answered anew.
    Inspect,
    /// The same for callers who may read.
    Ask,
}

impl Purpose {
    /// Whether a caller may; one that nobody knows has the usual rights. The right to bill is judged where
    /// billing requests are counted, each under its caller.
    fn allowed(self, rights: Option<&Rights>) -> Result<(), TurnedAway> {
        let usual = Rights::default();
        let rights = rights.unwrap_or(&usual);
        match self {
            Self::Control | Self::Inspect if !rights.control => Err(TurnedAway::NoControl),
            Self::Ask if !rights.read => Err(TurnedAway::NoRight("read")),
            Self::Bill | Self::Control | Self::Inspect | Self::Ask => Ok(()),
        }
    }

    fn is_question(self) -> bool {
        match self {
            Self::Inspect | Self::Ask => true,
            Self::Bill | Self::Control => false,
        }
    }
}

/// How often answers that nobody can ask for again are looked for.
const FORGOTTEN_EVERY: Duration = Duration::from_mins(1);

/// Forgets them until `stop`, while nobody signs anything, too.
pub async fn forget_answers(door: Arc<AppState>, stop: CancellationToken) {
    let mut ticks = interval(FORGOTTEN_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        door.replays.forget(now(&door));
    }
}

/// A request whose sender is known, with its body.
pub(super) struct Authentic {
    pub(super) body: Bytes,
    pub(super) deadline: Instant,
    /// Who sent it; none where nobody has to sign requests.
    pub(super) caller: Option<Arc<Caller>>,
}

/// What was done for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    /// It was judged.
    Judged,
    /// Nothing: too much else was being done.
    Nothing,
}

/// An answer that can be given more than once.
#[derive(Debug)]
pub(super) struct Said {
    status: StatusCode,
    headers: Box<[(HeaderName, HeaderValue)]>,
    body: Bytes,
}

/// Has `work` done for a request that passes, and signs the answer.
pub(super) async fn pass<W, F>(
    door: Arc<AppState>,
    request: Request,
    purpose: Purpose,
    work: W,
) -> Response
where
    W: FnOnce(Arc<AppState>, Authentic) -> F + Send + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let begun = Instant::now();
    let (parts, body) = request.into_parts();
    let guest = parts.extensions.get::<Guest>();
    let turned_away = |why: TurnedAway| {
        note(&door, &why, (purpose, begun), guest);
        why.into_response()
    };
    let Some(deadline) = begun.checked_add(door.limits.request_deadline) else {
        return turned_away(TurnedAway::Slow);
    };
    let (body, proven) = match prove(&door, &parts, body, (purpose, begun, deadline)).await {
        Ok(passed) => passed,
        Err(why) => return turned_away(why),
    };
    let Some(proven) = proven else {
        if let Err(why) = purpose.allowed(None) {
            return turned_away(why);
        }
        let authentic = Authentic { body, deadline, caller: None };
        let done = set_to_work(&door, (purpose, begun), authentic, work, |_, _| ()).await;
        return done.as_ref().map_or_else(shutting_down, Said::response);
    };
    let _busy = guest.map(Guest::works);
    let authentic = Authentic { body, deadline, caller: Some(Arc::clone(&proven.caller)) };
    let said = if let Err(why) = purpose.allowed(Some(&proven.caller.rights)) {
        Some(Said::of(why.into_response()).await)
    } else if purpose.is_question() {
        set_to_work(&door, (purpose, begun), authentic, work, |_, _| ()).await
    } else {
        match door.replays.begin(&proven, now(&door)) {
            Ok(Judging::New(ticket)) => {
                let keep = |said: &Arc<Said>, done: Done| match done {
                    Done::Judged => ticket.answer(Arc::clone(said), said.body.len()),
                    Done::Nothing => ticket.give_back(Arc::clone(said)),
                };
                set_to_work(&door, (purpose, begun), authentic, work, keep).await
            }
            Ok(Judging::Again(waiting)) => {
                door.metrics.replayed();
                match timeout_at(deadline, waiting.answer()).await {
                    Ok(Answered::So(said)) => Some(said),
                    Ok(Answered::Forgotten | Answered::Not) => {
                        Some(Said::of(TurnedAway::AnsweredBefore.into_response()).await)
                    }
                    Err(_) => Some(Said::of(TurnedAway::StillJudged.into_response()).await),
                }
            }
            Ok(Judging::Full) => Some(Said::of(turned_away(TurnedAway::Busy)).await),
            Err(why) => return turned_away(why.into()),
        }
    };
    let said = match said {
        Some(said) => said,
        None => Said::of(shutting_down()).await,
    };
    said.signed(&proven, now(&door))
}

/// The body and who sent it; nobody where nobody has to sign.
async fn prove(
    door: &AppState,
    parts: &Parts,
    body: Body,
    (purpose, begun, deadline): (Purpose, Instant, Instant),
) -> Result<(Bytes, Option<Proven>), TurnedAway> {
    let head = signed_parts(parts, &[]);
    let callers = door.callers();
    let presented = callers.as_deref().map(|callers| {
        let presented = callers.judge(&head, now(door))?;
        door.replays.check_age(presented.at_unix_seconds())?;
        Ok::<_, AuthError>(presented)
    });
    if presented.is_none() {
        from_this_machine(&parts.headers).map_err(TurnedAway::FromAPage)?;
    }
    let presented = match presented.transpose() {
        Ok(presented) => presented,
        Err(why) => {
            door.arrivals.discard(body);
            return Err(why.into());
        }
    };
    let limit = match purpose {
        Purpose::Bill => door.limits.body_limit_bytes,
        Purpose::Control | Purpose::Inspect | Purpose::Ask => {
            SHORT_BODY.min(door.limits.body_limit_bytes)
        }
    };
    if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        door.arrivals.discard(body);
        return Err(TurnedAway::TooLarge { limit });
    }
    let arrived = begun.checked_add(door.limits.body_timeout).unwrap_or(deadline).min(deadline);
    let body = door.arrivals.read(body, limit, arrived).await?;
    let proven =
        presented.map(|presented| presented.prove(&signed_parts(parts, &body))).transpose()?;
    Ok((body, proven))
}

/// Whether an unsigned request can be from a program of this machine. A page in a browser can make the
/// browser post to a loopback address, under a name of its own; but it cannot leave out where it is from,
/// nor post JSON to another origin unasked.
fn from_this_machine(headers: &HeaderMap) -> Result<(), &'static str> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    if headers.contains_key(header::ORIGIN) {
        return Err("there is an Origin");
    }
    if headers.contains_key(FORWARDED) {
        return Err("another Signer has passed it on");
    }
    if text(header::HOST).is_some_and(|host| !is_loopback(host)) {
        return Err("the Host is no loopback address");
    }
    match text(header::CONTENT_TYPE) {
        Some(kind) if !kind.trim_start().to_ascii_lowercase().starts_with("application/json") => {
            Err("the Content-Type is not application/json")
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether a Host, with its port or without, is this machine as it calls itself.
fn is_loopback(host: &str) -> bool {
    let named = |host: &str| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    };
    named(host) || host.rsplit_once(':').is_some_and(|(host, _)| named(host))
}

/// Does the work in a task of its own, which holds the place until it is done, and tells `keep` of the
/// answer. `None` when the process ends meanwhile.
async fn set_to_work<W, F>(
    door: &Arc<AppState>,
    (purpose, begun): (Purpose, Instant),
    authentic: Authentic,
    work: W,
    keep: impl FnOnce(&Arc<Said>, Done) + Send + 'static,
) -> Option<Arc<Said>>
where
    W: FnOnce(Arc<AppState>, Authentic) -> F + Send + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let places: &Arc<Semaphore> = match purpose {
        Purpose::Bill => &door.places,
        Purpose::Control | Purpose::Inspect | Purpose::Ask => &door.desk,
    };
    let Ok(place) = Arc::clone(places).try_acquire_owned() else {
        note(door, &TurnedAway::Busy, (purpose, begun), None);
        let said = Said::of(TurnedAway::Busy.into_response()).await;
        keep(&said, Done::Nothing);
        return Some(said);
    };
    let working = Arc::clone(door);
    let judged = async move {
        let said = Said::of(work(working, authentic).await).await;
        keep(&said, Done::Judged);
        drop(place);
        said
    };
    let done = door.engine.tasks.spawn(judged.in_current_span());
    done.await.ok()
}

/// Counts a request that nothing was done for, and says so in the log now and then.
fn note(
    door: &AppState,
    why: &TurnedAway,
    (purpose, begun): (Purpose, Instant),
    guest: Option<&Guest>,
) {
    let took: Duration = begun.elapsed();
    if purpose == Purpose::Bill {
        let status = why.status().as_u16();
        door.metrics
            .billed(&Billed { caller: NOBODY.to_owned(), code: 0, status, refused: vec![] }, took);
    }
    if let TurnedAway::Unauthenticated(why) = why {
        door.metrics.unauthenticated(why.word());
    }
    door.strangers.turned_away(why, guest.map(|guest| guest.peer));
}

fn shutting_down() -> Response {
    HttpReply::NoVerdict(NoVerdict::ShuttingDown).into_response()
}

fn now(door: &AppState) -> i64 {
    door.engine.journal.now_ms().div_euclid(1000)
}

impl Said {
    async fn of(response: Response) -> Arc<Self> {
        let (parts, body) = response.into_parts();
        // It was made from text in memory: there is nothing that could fail.
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        // It may be kept for minutes, in as much room as it needs: text grows in twice as much.
        let body = Bytes::copy_from_slice(&body);
        let headers = parts.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        Arc::new(Self { status: parts.status, headers: headers.collect(), body })
    }

    fn response(self: &Arc<Self>) -> Response {
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.headers.iter().cloned());
        response
    }

    /// With the proof that it is our answer to that request.
    fn signed(self: &Arc<Self>, proven: &Proven, now: i64) -> Response {
        let mut response = self.response();
        let sign = sign_answer(proven, now, self.status.as_u16(), &self.body);
        for (name, value) in [(TIMESTAMP_HEADER, now.to_string()), (SIGN_HEADER, sign)] {
            let name = HeaderName::try_from(name);
            if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}
