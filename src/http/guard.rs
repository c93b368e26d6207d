//! The way of every signed request, in this order: its head is judged, its body read, its sender proven, its rights
//! judged, a repeated billing sent to the answer that it had, and only then a permit is taken and something done.
//! The work holds the permit, even if nobody waits for it any more. All resources that a caller takes are of its own
//! budgets (`budgets`), from here on.

use super::answer::HttpReply;
use super::kept_response::KeptResponse;
use super::purpose::Purpose;
use super::rejection::Rejection;
use super::used_up::{CallerBudget, UsedUp};
use super::{AppState, rejection_log, signed_parts};
use crate::auth::{Answer, Judging, Proven};
use crate::telemetry::{ANYBODY, Billed, NOBODY};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse as _, Response};
use config::Caller;
use door::{Connection, Owner};
use engine::NoVerdict;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

/// Interval at which answers that nobody can ask for again are looked for.
const FORGOTTEN_EVERY: Duration = Duration::from_mins(1);

/// Forgets answers that nobody can ask for again, until `stop`, also while no requests come.
pub async fn forget_answers(state: Arc<AppState>, stop: CancellationToken) {
    let mut ticks = interval(FORGOTTEN_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        state.replays.forget(now(&state));
    }
}

/// A request whose sender is known, with its body.
pub(super) struct Authenticated {
    pub(super) body: Bytes,
    pub(super) deadline: Instant,
    /// Caller that sent the request; `None` if nobody has to sign requests.
    pub(super) caller: Option<Arc<Caller>>,
}

/// The work that a request is for.
type Work = Box<dyn FnOnce(Arc<AppState>, Authenticated) -> BoxFuture<'static, Response> + Send>;

/// The result of the work for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The request was judged.
    Judged,
    /// Nothing was done: the caller's budget was used up.
    Refused,
}

/// Proves who sent a request, has `work` done for it, and signs the answer.
pub(super) async fn handle_signed<W, F>(
    state: Arc<AppState>,
    request: Request,
    purpose: Purpose,
    work: W,
) -> Response
where
    W: FnOnce(Arc<AppState>, Authenticated) -> F + Send + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let begun = Instant::now();
    let (parts, body) = request.into_parts();
    let connection = parts.extensions.get::<Connection>();
    let deadline = begun.checked_add(state.limits.request_deadline).unwrap_or(begun);
    let arrived = Arrived { state: &state, purpose, begun, deadline, connection };
    let work: Work = Box::new(move |state, request| work(state, request).boxed());
    match arrived.authenticate(&parts, body).await {
        Ok((body, Some(proven))) => arrived.answer_caller(&proven, body, work).await,
        Ok((body, None)) => arrived.answer_anybody(body, work).await,
        Err(why) => {
            arrived.note(&why, None);
            why.into_response()
        }
    }
}

/// A request that has arrived, and the terms on which it is answered.
#[derive(Clone, Copy)]
struct Arrived<'a> {
    state: &'a Arc<AppState>,
    purpose: Purpose,
    begun: Instant,
    deadline: Instant,
    connection: Option<&'a Connection>,
}

impl Arrived<'_> {
    /// Returns the body and who sent it; `None` if nobody has to sign.
    async fn authenticate(
        &self,
        parts: &Parts,
        body: Body,
    ) -> Result<(Bytes, Option<Proven>), Rejection> {
        let state = self.state;
        let head = signed_parts(parts, &[]);
        let judged = state.callers.as_ref().map(|callers| {
            let presented = callers.judge(&head, now(state))?;
            if self.purpose.is_judged_once() {
                state.replays.check_age(presented.at_unix_seconds())?;
            }
            Ok::<_, Rejection>(presented)
        });
        if judged.is_none() {
            from_this_machine(&parts.headers).map_err(Rejection::FromAPage)?;
        }
        let presented = match judged.transpose() {
            Ok(presented) => presented,
            Err(why) => {
                state.bodies.discard(body);
                return Err(why);
            }
        };
        let limit = self.purpose.longest_body(state.limits.body_limit_bytes);
        let arrived = self.begun.checked_add(state.limits.body_timeout);
        let arrived = arrived.unwrap_or(self.deadline).min(self.deadline);
        let body = state.bodies.read(body, limit, arrived, self.connection).await?;
        let proven = presented.map(|presented| presented.prove(&signed_parts(parts, &body)));
        Ok((body, proven.transpose()?))
    }

    /// Answers a request that nobody had to sign.
    async fn answer_anybody(&self, body: Bytes, work: Work) -> Response {
        if let Err(why) = self.purpose.allowed(None) {
            self.note(&why, None);
            return why.into_response();
        }
        let request = Authenticated { body, deadline: self.deadline, caller: None };
        let done = self.run(request, work, |_, _| ()).await;
        done.as_ref().map_or_else(shutting_down, KeptResponse::response)
    }

    /// Answers a proven caller, with the proof that the answer is the Signer's.
    async fn answer_caller(&self, proven: &Proven, body: Bytes, work: Work) -> Response {
        let answer = match self.judge(proven, body, work).await {
            Ok(Some(answer)) => answer,
            Ok(None) => KeptResponse::of(shutting_down()).await,
            Err(why) => {
                self.note(&why, Some(&proven.caller.label));
                KeptResponse::of(why.into_response()).await
            }
        };
        answer.signed(proven, now(self.state))
    }

    /// Does what a proven caller asks, as far as it may; `None` if the process ends meanwhile.
    async fn judge(
        &self,
        proven: &Proven,
        body: Bytes,
        work: Work,
    ) -> Result<Option<Arc<KeptResponse>>, Rejection> {
        let label = &proven.caller.label;
        let begun = self.connection.map(|one| one.begin_work(label, self.state.known_callers()));
        let full = || used_up(CallerBudget::Connections, label);
        let _busy = begun.map(|busy| busy.ok_or_else(full)).transpose()?;
        let allowed = self.purpose.allowed(Some(&proven.caller.rights));
        let caller = Some(Arc::clone(&proven.caller));
        let request = Authenticated { body, deadline: self.deadline, caller };
        if self.purpose.is_judged_once() {
            return self.judge_once(proven, allowed, request, work).await;
        }
        allowed?;
        Ok(self.run(request, work, |_, _| ()).await)
    }

    /// The same for a message that is judged once: a repetition gets the answer that the message had.
    async fn judge_once(
        &self,
        proven: &Proven,
        allowed: Result<(), Rejection>,
        request: Authenticated,
        work: Work,
    ) -> Result<Option<Arc<KeptResponse>>, Rejection> {
        let (state, label) = (self.state, &proven.caller.label);
        self.until_its_time(proven).await;
        match state.replays.begin(proven, now(state))? {
            Judging::New(ticket) => match allowed {
                Ok(()) => {
                    let keep = |answer: &Arc<KeptResponse>, outcome| match outcome {
                        Outcome::Judged => ticket.answer(Arc::clone(answer), answer.len()),
                        Outcome::Refused => ticket.give_back(Arc::clone(answer)),
                    };
                    Ok(self.run(request, work, keep).await)
                }
                Err(why) => {
                    self.note(&why, Some(label));
                    let answer = KeptResponse::of(why.into_response()).await;
                    ticket.answer(Arc::clone(&answer), answer.len());
                    Ok(Some(answer))
                }
            },
            Judging::Again(waiting) => {
                state.metrics.replayed();
                match timeout_at(self.deadline, waiting.answer()).await {
                    Ok(Answer::Given(answer)) => Ok(Some(answer)),
                    Ok(Answer::Forgotten | Answer::Pending) => Err(Rejection::AnsweredBefore),
                    Err(_) => Err(Rejection::StillJudged),
                }
            }
            // A refusal is one whether or not it can be remembered.
            Judging::Full => allowed.and(Err(used_up(CallerBudget::Messages, label))),
        }
    }

    /// Waits for the moment at which the caller's clock says that it was signed. It lies a few seconds ahead at
    /// most, and mostly in the past.
    async fn until_its_time(&self, proven: &Proven) {
        let at_ms = proven.at_unix_seconds.saturating_mul(1000);
        let ahead = |now_ms: i64| u64::try_from(at_ms.saturating_sub(now_ms)).ok();
        while let Some(ms) = ahead(self.state.engine.journal.now_ms()).filter(|ms| *ms > 0) {
            sleep(Duration::from_millis(ms)).await;
        }
    }

    /// Does the work in a task of its own, which holds the permit until it is done, and tells `keep` of the
    /// answer. `None` if the process ends meanwhile.
    async fn run(
        &self,
        request: Authenticated,
        work: Work,
        keep: impl FnOnce(&Arc<KeptResponse>, Outcome) + Send + 'static,
    ) -> Option<Arc<KeptResponse>> {
        let caller = request.caller.clone();
        let label = caller.as_ref().map(|caller| caller.label.as_str());
        let budgets = &self.state.budgets;
        let permit =
            match budgets.permit(self.purpose, label.unwrap_or(ANYBODY), self.deadline).await {
                Ok(permit) => permit,
                Err(used_up) => {
                    let why = Rejection::UsedUp(used_up);
                    self.note(&why, Some(label.unwrap_or(ANYBODY)));
                    let answer = KeptResponse::of(why.into_response()).await;
                    keep(&answer, Outcome::Refused);
                    return Some(answer);
                }
            };
        let working = Arc::clone(self.state);
        let judged = async move {
            let answer = KeptResponse::of(work(working, request).await).await;
            keep(&answer, Outcome::Judged);
            drop(permit);
            answer
        };
        let done = self.state.engine.tasks.spawn(judged.in_current_span());
        done.await.ok()
    }

    /// Counts a request that nothing was done for, under its caller where that is proven, and says so in the log
    /// now and then.
    fn note(&self, why: &Rejection, caller: Option<&str>) {
        let (metrics, took) = (&self.state.metrics, self.begun.elapsed());
        if self.purpose == Purpose::Bill {
            let status = why.status().as_u16();
            let caller = caller.unwrap_or(NOBODY).to_owned();
            metrics.billed(&Billed { caller, chain: None, code: 0, status, refused: vec![] }, took);
        }
        if let Rejection::Unauthenticated(why) = why {
            metrics.unauthenticated(why.word());
        }
        if let Rejection::UsedUp(UsedUp { what, by }) = why {
            metrics.used_up(what.into(), by.caller().unwrap_or(NOBODY));
        }
        rejection_log::rejected(self.state, why, caller, self.connection);
    }
}

fn used_up(what: CallerBudget, caller: &str) -> Rejection {
    Rejection::UsedUp(UsedUp { what, by: Owner::Caller(caller.into()) })
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

fn now(state: &AppState) -> i64 {
    state.engine.journal.now_ms().div_euclid(1000)
}
