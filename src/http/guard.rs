//! The way of every signed request, in this order: its head is judged, its body read, its sender proven, its rights
//! judged, a repeated billing sent to the answer that it had, and only then a place is taken and something done.
//! The work holds the place, even if nobody waits for it any more. All resources that a caller takes are of its own
//! budgets (`budgets`), from here on.

use super::answer::HttpReply;
use super::budgets::{CallerBudget, UsedUp};
use super::turned_away::TurnedAway;
use super::{AppState, sampled, signed_parts};
use crate::auth::{Answered, Judging, Proven, SIGN_HEADER, TIMESTAMP_HEADER};
use crate::telemetry::{ANYBODY, Billed, NOBODY};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use config::{Caller, Rights};
use door::{Guest, Owner};
use engine::NoVerdict;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

/// The longest body where none is needed or a short one will do, bytes.
const SHORT_BODY: usize = 4 << 10;

/// The purpose of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Charges: a long body, and judged once.
    Bill,
    /// Changes something else: for callers who may control. Said twice it is done twice, which leaves things as
    /// they are if nothing happened in between: a pause that is repeated pauses, and a resume names what it ends.
    Control,
    /// Changes nothing, and is for those callers too.
    Inspect,
    /// The same for callers who may read.
    Ask,
}

impl Purpose {
    /// Checks that a caller has the right; a request without a known caller has the usual rights.
    fn allowed(self, rights: Option<&Rights>) -> Result<(), TurnedAway> {
        let usual = Rights::default();
        let rights = rights.unwrap_or(&usual);
        match self {
            Self::Control | Self::Inspect if !rights.control => Err(TurnedAway::NoControl),
            Self::Ask if !rights.read => Err(TurnedAway::NoRight("read")),
            Self::Bill if !rights.bill => Err(TurnedAway::NoRight("bill")),
            Self::Bill | Self::Control | Self::Inspect | Self::Ask => Ok(()),
        }
    }

    /// Returns true if one message is judged once.
    fn is_judged_once(self) -> bool {
        match self {
            Self::Bill => true,
            Self::Control | Self::Inspect | Self::Ask => false,
        }
    }

    /// Returns the budget that the work is taken from.
    fn budget(self) -> CallerBudget {
        match self {
            Self::Bill => CallerBudget::Billings,
            Self::Control | Self::Inspect => CallerBudget::Control,
            Self::Ask => CallerBudget::Questions,
        }
    }
}

/// Interval at which answers that nobody can ask for again are looked for.
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
    /// Caller that sent the request; none if nobody has to sign requests.
    pub(super) caller: Option<Arc<Caller>>,
}

/// The work done for a request.
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
    let deadline = begun.checked_add(door.limits.request_deadline).unwrap_or(begun);
    let passage = Passage { door: &door, purpose, begun, deadline, guest };
    let proven = match passage.prove(&parts, body).await {
        Ok((body, None)) => match purpose.allowed(None) {
            Ok(()) => {
                let authentic = Authentic { body, deadline, caller: None };
                let done = passage.set_to_work(authentic, work, |_, _| ()).await;
                return done.as_ref().map_or_else(shutting_down, Said::response);
            }
            Err(why) => Err(why),
        },
        Ok((body, Some(proven))) => Ok((body, proven)),
        Err(why) => Err(why),
    };
    let (body, proven) = match proven {
        Ok(proven) => proven,
        Err(why) => {
            passage.note(&why, None);
            return why.into_response();
        }
    };
    let said = match passage.judge(&proven, body, work).await {
        Ok(said) => said,
        Err(why) => {
            passage.note(&why, Some(&proven.caller.label));
            Some(Said::of(why.into_response()).await)
        }
    };
    let said = match said {
        Some(said) => said,
        None => Said::of(shutting_down()).await,
    };
    said.signed(&proven, now(&door))
}

/// A request on its way through.
#[derive(Clone, Copy)]
struct Passage<'a> {
    door: &'a Arc<AppState>,
    purpose: Purpose,
    begun: Instant,
    deadline: Instant,
    guest: Option<&'a Guest>,
}

impl Passage<'_> {
    /// The body and who sent it; nobody where nobody has to sign.
    async fn prove(
        &self,
        parts: &Parts,
        body: Body,
    ) -> Result<(Bytes, Option<Proven>), TurnedAway> {
        let door = self.door;
        let head = signed_parts(parts, &[]);
        let callers = door.callers();
        let judged = callers.as_deref().map(|callers| {
            let presented = callers.judge(&head, now(door))?;
            if self.purpose.is_judged_once() {
                door.replays.check_age(presented.at_unix_seconds())?;
            }
            Ok::<_, TurnedAway>(presented)
        });
        if judged.is_none() {
            from_this_machine(&parts.headers).map_err(TurnedAway::FromAPage)?;
        }
        let presented = match judged.transpose() {
            Ok(presented) => presented,
            Err(why) => {
                door.arrivals.discard(body);
                return Err(why);
            }
        };
        let longest = door.limits.body_limit_bytes;
        let limit = match self.purpose {
            Purpose::Bill => longest,
            Purpose::Control | Purpose::Inspect | Purpose::Ask => SHORT_BODY.min(longest),
        };
        let arrived = self.begun.checked_add(door.limits.body_timeout);
        let arrived = arrived.unwrap_or(self.deadline).min(self.deadline);
        let body = door.arrivals.read(body, limit, arrived, self.guest).await?;
        let proven = presented.map(|presented| presented.prove(&signed_parts(parts, &body)));
        Ok((body, proven.transpose()?))
    }

    /// Has it done for a caller who is proven, as far as the caller may; `None` when the process ends meanwhile.
    async fn judge<W, F>(
        &self,
        proven: &Proven,
        body: Bytes,
        work: W,
    ) -> Result<Option<Arc<Said>>, TurnedAway>
    where
        W: FnOnce(Arc<AppState>, Authentic) -> F + Send + 'static,
        F: Future<Output = Response> + Send + 'static,
    {
        let (door, label) = (self.door, &proven.caller.label);
        let used_up =
            |what| TurnedAway::UsedUp(UsedUp { what, by: Owner::Caller(label.as_str().into()) });
        let works = self.guest.map(|guest| guest.works(label, door.known_callers()));
        let _busy =
            works.map(|busy| busy.ok_or_else(|| used_up(CallerBudget::Connections))).transpose()?;
        let allowed = self.purpose.allowed(Some(&proven.caller.rights));
        let authentic =
            Authentic { body, deadline: self.deadline, caller: Some(Arc::clone(&proven.caller)) };
        if !self.purpose.is_judged_once() {
            allowed?;
            return Ok(self.set_to_work(authentic, work, |_, _| ()).await);
        }
        self.until_its_time(proven).await;
        match door.replays.begin(proven, now(door))? {
            Judging::New(ticket) => {
                let keep = |said: &Arc<Said>, done: Done| match done {
                    Done::Judged => ticket.answer(Arc::clone(said), said.body.len()),
                    Done::Nothing => ticket.give_back(Arc::clone(said)),
                };
                if let Err(why) = allowed {
                    self.note(&why, Some(label));
                    let said = Said::of(why.into_response()).await;
                    keep(&said, Done::Judged);
                    return Ok(Some(said));
                }
                Ok(self.set_to_work(authentic, work, keep).await)
            }
            Judging::Again(waiting) => {
                door.metrics.replayed();
                match timeout_at(self.deadline, waiting.answer()).await {
                    Ok(Answered::So(said)) => Ok(Some(said)),
                    Ok(Answered::Forgotten | Answered::Not) => Err(TurnedAway::AnsweredBefore),
                    Err(_) => Err(TurnedAway::StillJudged),
                }
            }
            // A refusal is one whether or not it can be remembered.
            Judging::Full => allowed.and(Err(used_up(CallerBudget::Messages))),
        }
    }

    /// Waits for the moment at which the caller's clock says that it was signed. It lies a few seconds ahead at
    /// most, and mostly in the past.
    async fn until_its_time(&self, proven: &Proven) {
        let at_ms = proven.at_unix_seconds.saturating_mul(1000);
        let ahead = |now_ms: i64| u64::try_from(at_ms.saturating_sub(now_ms)).ok();
        while let Some(ms) = ahead(self.door.engine.journal.now_ms()).filter(|ms| *ms > 0) {
            sleep(Duration::from_millis(ms)).await;
        }
    }

    /// Does the work in a task of its own, which holds the place until it is done, and tells `keep` of the
    /// answer. `None` when the process ends meanwhile.
    async fn set_to_work<W, F>(
        &self,
        authentic: Authentic,
        work: W,
        keep: impl FnOnce(&Arc<Said>, Done) + Send + 'static,
    ) -> Option<Arc<Said>>
    where
        W: FnOnce(Arc<AppState>, Authentic) -> F + Send + 'static,
        F: Future<Output = Response> + Send + 'static,
    {
        let caller = authentic.caller.clone();
        let label = caller.as_ref().map(|caller| caller.label.as_str());
        let budgets = &self.door.budgets;
        let place = match budgets.place(self.purpose.budget(), label.unwrap_or(ANYBODY)) {
            Ok(place) => place,
            Err(used_up) => {
                let why = TurnedAway::UsedUp(used_up);
                self.note(&why, Some(label.unwrap_or(ANYBODY)));
                let said = Said::of(why.into_response()).await;
                keep(&said, Done::Nothing);
                return Some(said);
            }
        };
        let working = Arc::clone(self.door);
        let judged = async move {
            let said = Said::of(work(working, authentic).await).await;
            keep(&said, Done::Judged);
            drop(place);
            said
        };
        let done = self.door.engine.tasks.spawn(judged.in_current_span());
        done.await.ok()
    }

    /// Counts a request that nothing was done for, under its caller where that is proven, and says so in the log
    /// now and then.
    fn note(&self, why: &TurnedAway, caller: Option<&str>) {
        let (metrics, took) = (&self.door.metrics, self.begun.elapsed());
        if self.purpose == Purpose::Bill {
            let status = why.status().as_u16();
            let caller = caller.unwrap_or(NOBODY).to_owned();
            metrics.billed(&Billed { caller, chain: None, code: 0, status, refused: vec![] }, took);
        }
        if let TurnedAway::Unauthenticated(why) = why {
            metrics.unauthenticated(why.word());
        }
        if let TurnedAway::UsedUp(UsedUp { what, by }) = why {
            metrics.used_up(what.word(), by.caller().unwrap_or(NOBODY));
        }
        sampled::turned_away(self.door, why, caller, self.guest);
    }
}

/// Checks that an unsigned request can be from a program of this machine. A page in a browser can make the browser
/// post to a loopback address, under a name of its own; but the page cannot leave out its own origin, nor post JSON
/// to another origin unasked.
fn from_this_machine(headers: &HeaderMap) -> Result<(), &'static str> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    if headers.contains_key(header::ORIGIN) {
        return Err("there is an Origin");
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

/// Returns true if a Host, with its port or without, is this machine as it calls itself.
fn is_loopback(host: &str) -> bool {
    let named = |host: &str| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    };
    named(host) || host.rsplit_once(':').is_some_and(|(host, _)| named(host))
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
        let sign = proven.sign_answer(now, self.status.as_u16(), &self.body);
        for (name, value) in [(TIMESTAMP_HEADER, now.to_string()), (SIGN_HEADER, sign)] {
            let name = HeaderName::try_from(name);
            if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}
