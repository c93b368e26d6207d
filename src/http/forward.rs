//! A process that stands by passes on to the Signer that serves what callers ask, byte for byte, and brings the answer
//! back. It judges nothing and knows no caller: who signed what is for the one that serves to see, over the same bytes.
//! What was passed on once goes no further.

use super::FORWARDED;
use super::answer::envelope;
use super::budgets::{CallerBudget, QUESTIONS, UsedUp};
use super::events::LONGEST_WAIT_S;
use super::trace::TRACE_HEADER;
use super::turned_away::TurnedAway;
use crate::auth::{KEY_HEADER, SIGN_HEADER, TIMESTAMP_HEADER};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use config::{HttpConfig, Peers};
use door::{Arrivals, Guest, Owner};
use parking_lot::Mutex;
use reqwest::{Client, Url, redirect};
use std::error::Error;
use std::time::Duration;
use std::{io, iter};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use tokio_rustls::rustls::{self, CertificateError};
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

/// Below this is everything that callers ask, and nothing else.
const CALLERS: &str = "/PayTool/";

/// What of it bills, on either family.
const BILLS: &str = "/subscribe/signProcessSubscribePlan";

/// What of it is about one process: to read its own configuration again.
const RELOAD: &str = "/PayTool/control/reload";

/// How long a connection to another Signer may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How much longer than its own deadline the one that serves may take: after the commit it still offers the bytes.
const LATER: Duration = Duration::from_secs(5);

/// The longest answer that is brought back, bytes: pages and batches at their limits have a tenth of it.
const LONGEST_ANSWER: usize = 32 << 20;

/// Who takes the places here: everybody whose requests are passed on.
const PASSED_ON: &str = "everybody at the Signer that stands by";

/// What is to be done where no connection is made, and nothing more is known.
const NO_CONNECTION: &str = "unless it is just ending: see whether it runs, whether journal.peers names it right, and what is in between";

/// The way from a process that stands by to the one that serves.
#[derive(Debug)]
pub struct Forwarder {
    client: Client,
    peers: Peers,
    limits: HttpConfig,
    arrivals: Arrivals,
    /// How many batches are under way at once.
    batches: Semaphore,
    /// How much else is.
    questions: Semaphore,
    /// What was to be done about it when the one that serves was not reached last, where it was not.
    trouble: Mutex<Option<&'static str>>,
}

/// Why there is no answer of the one that serves.
#[derive(Debug, thiserror::Error)]
enum NotHeard {
    #[error("{}", innermost(.0))]
    Broken(#[from] reqwest::Error),
    #[error("its answer is too long")]
    TooLong,
}

impl Forwarder {
    /// To the others. All that is under way stays below what one address may have open there.
    pub fn new(peers: &Peers, limits: &HttpConfig) -> reqwest::Result<Self> {
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            // Before the other end closes it, or a request would be lost on the way.
            .pool_idle_timeout(limits.header_timeout.div_f64(2.0));
        let client = match &peers.authorities {
            Some(authorities) => client.tls_certs_only(authorities.iter().cloned()),
            None => client,
        };
        let connections = limits.max_connections_per_address;
        let batches = connections.div_euclid(2).clamp(1, limits.max_concurrent_requests);
        Ok(Self {
            client: client.build()?,
            peers: peers.clone(),
            limits: limits.clone(),
            arrivals: Arrivals::new(limits.body_limit_bytes, TaskTracker::new()),
            batches: Semaphore::new(batches),
            questions: Semaphore::new(connections.div_euclid(4).clamp(1, QUESTIONS)),
            trouble: Mutex::default(),
        })
    }

    /// Asks the Signer called `name` what is asked here, if a caller may ask it and the way is known; `said` is what
    /// is answered otherwise. Once it has `ended`, nothing more is waited for.
    pub(super) async fn pass_on(
        &self,
        name: &str,
        said: String,
        ended: impl Future<Output = ()>,
        request: Request,
    ) -> Response {
        let (parts, body) = request.into_parts();
        let Some(url) = self.url(name, &parts) else {
            return TurnedAway::StandsBy(said).into_response();
        };
        let until = Instant::now().checked_add(self.limits.body_timeout);
        let until = until.unwrap_or_else(Instant::now);
        let (guest, limit) = (parts.extensions.get::<Guest>(), self.limits.body_limit_bytes);
        let body = match self.arrivals.read(body, limit, until, guest).await {
            Ok(body) => body,
            Err(why) => return TurnedAway::from(why).into_response(),
        };
        let bills = parts.uri.path().ends_with(BILLS);
        let (places, waits) = if bills {
            (&self.batches, Duration::ZERO)
        } else {
            (&self.questions, Duration::from_secs(LONGEST_WAIT_S))
        };
        let Ok(_place) = places.try_acquire() else {
            let what = if bills { CallerBudget::Billings } else { CallerBudget::Questions };
            let by = Owner::Caller(PASSED_ON.into());
            return TurnedAway::UsedUp(UsedUp { what, by }).into_response();
        };
        let _busy = guest.map(Guest::waits);
        let patience = self.limits.request_deadline.saturating_add(LATER).saturating_add(waits);
        tokio::select! {
            heard = timeout(patience, self.ask(url, parts, body)) => self.told(name, &said, heard.ok()),
            () = ended => unheard(&format!("{name} does not serve any more")),
        }
    }

    /// Where it is asked, where it may be. Nothing is asked elsewhere than where it was signed for: a path that a URL
    /// cannot hold as it is stays here.
    fn url(&self, name: &str, parts: &Parts) -> Option<Url> {
        let path = parts.uri.path();
        let asked = path.starts_with(CALLERS) && path != RELOAD;
        let there = self.peers.urls.get(name);
        let there = there.filter(|_| asked && !parts.headers.contains_key(FORWARDED))?;
        let text = format!("{there}{}", parts.uri.path_and_query()?);
        Url::parse(&text).ok().filter(|url| url.as_str() == text)
    }

    async fn ask(&self, url: Url, parts: Parts, body: Bytes) -> Result<Response, NotHeard> {
        let mut headers = HeaderMap::new();
        // As often as they were there: whether that is right is not for this process to say.
        let taken = ["content-type", "accept", "traceparent", "tracestate"];
        for name in [KEY_HEADER, TIMESTAMP_HEADER, SIGN_HEADER].into_iter().chain(taken) {
            let Ok(name) = HeaderName::try_from(name) else { continue };
            for value in parts.headers.get_all(&name) {
                headers.append(name.clone(), value.clone());
            }
        }
        headers.insert(FORWARDED, HeaderValue::from_static("1"));
        let asked = self.client.request(parts.method, url).headers(headers).body(body);
        brought_back(asked.send().await?).await
    }

    /// What the caller is told; `None` where there was no answer in time.
    fn told(&self, name: &str, said: &str, heard: Option<Result<Response, NotHeard>>) -> Response {
        match heard {
            Some(Ok(response)) => {
                self.note(name, None);
                response
            }
            // No connection: it has not heard a byte.
            Some(Err(NotHeard::Broken(why))) if why.is_connect() => {
                let remedy = unproven(&why);
                self.note(name, Some((innermost(&why), remedy.unwrap_or(NO_CONNECTION))));
                let because = remedy.map(|remedy| format!(" ({remedy})")).unwrap_or_default();
                let said =
                    format!("{said}, and is not reached from here{because}: nothing was passed on");
                TurnedAway::StandsBy(said).into_response()
            }
            Some(Err(why)) => unheard(&format!("{name} broke off ({why})")),
            None => unheard(&format!("{name} did not answer in time")),
        }
    }

    /// Says why the one that serves cannot be reached, and what is to be done, once.
    fn note(&self, name: &str, trouble: Option<(String, &'static str)>) {
        let mut before = self.trouble.lock();
        match &trouble {
            Some((why, remedy)) if *before != Some(remedy) => {
                warn!(
                    name,
                    why,
                    remedy,
                    "the Signer that serves is not reached: nothing is passed on to it"
                );
            }
            None if before.is_some() => info!(name, "what callers ask is passed on again"),
            Some(_) | None => {}
        }
        *before = trouble.map(|(_, remedy)| remedy);
    }
}

/// The whole answer, or nothing of it: half an answer would look like one.
async fn brought_back(mut heard: reqwest::Response) -> Result<Response, NotHeard> {
    let mut body = Vec::new();
    while let Some(chunk) = heard.chunk().await? {
        if body.len().saturating_add(chunk.len()) > LONGEST_ANSWER {
            return Err(NotHeard::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = heard.status();
    let signed = [TIMESTAMP_HEADER, SIGN_HEADER].map(HeaderName::try_from);
    let plain = [header::CONTENT_TYPE, header::RETRY_AFTER, header::ALLOW, TRACE_HEADER];
    for name in signed.into_iter().flatten().chain(plain) {
        if let Some(value) = heard.headers().get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    Ok(response)
}

/// 504, and never less than that: it may have been billed.
fn unheard(why: &str) -> Response {
    let msg = format!(
        "no verdict: this Signer stands by and has passed the request on, and {why}. Whether anything was signed is \
         not known here: post it again, and whoever is charged by then is named"
    );
    let mut told = envelope(StatusCode::GATEWAY_TIMEOUT, 0, msg, ());
    told.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    told
}

/// An error, and what caused it, down to the first.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = error;
    iter::successors(Some(first), |&error| {
        // An I/O error tells the cause of what it holds, and leaves out what it holds.
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(held) = held { Some(held) } else { error.source() }
    })
}

/// What the network says, without the words of every layer above it.
fn innermost(error: &reqwest::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// What is wrong with the certificate of the other, if that is why there is no connection, and what is to be done.
fn unproven(error: &reqwest::Error) -> Option<&'static str> {
    let found = causes(error).find_map(|error| error.downcast_ref::<rustls::Error>())?;
    let rustls::Error::InvalidCertificate(why) = found else { return None };
    let of_another = matches!(
        why,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
    );
    let over = matches!(why, CertificateError::Expired | CertificateError::ExpiredContext { .. });
    Some(if of_another {
        "its certificate is not for the host that journal.peers names it by: correct the one or the other"
    } else if over {
        "its certificate has ended by the clock of this machine: renew it there"
    } else {
        "its certificate is not proven by journal.peers_authority_file, or without that by whom this machine \
         trusts: name the authority that signs it, and restart the Signer that stands by"
    })
}
