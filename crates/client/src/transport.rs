//! One signed request and its answer.

use crate::clock::{Clock, SystemClock};
use crate::error::{CallError, Refusal};
pub use crate::outgoing::{cause, client_for};
use crate::sign::{
    Answered, CLOCK_WINDOW_SECONDS, Credentials, KEY_HEADER, SIGN_HEADER, SIGNER_AHEAD_SECONDS,
    Signable, SignatureError, TIMESTAMP_HEADER, sign, verify_answer,
};
use crate::time::UnixSeconds;
use crate::tls::Tls;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, RETRY_AFTER};
use reqwest::{Method, Response, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// The longest answer that is read.
const LONGEST_ANSWER: usize = 32 << 20;
/// A clock that is behind seems less so by what a `Date` header in whole seconds and the way here hide: seconds.
const HIDDEN_SECONDS: i64 = 5;

/// Why a client cannot be made.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The address is no `http` or `https` URL of a host.
    #[error(
        "{url:?} is no base address: it must be http:// or https://, a host, and nothing after"
    )]
    BaseUrl {
        /// The text that was given.
        url: String,
    },
    /// The key or the secret is empty, or the key is something that no header can carry.
    #[error("the API key must be visible ASCII, and key and secret must not be empty")]
    Credentials,
    /// TLS could not be set up.
    #[error("the HTTP client cannot be made: {0}")]
    Http(#[from] reqwest::Error),
}

/// The form of a peer's answers: signed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// The Signer signs its answers: without a signature there is no answer.
    Signed,
    /// The platform and the inbox sign nothing.
    Unsigned,
}

impl Answers {
    /// Returns the time that a clock may be ahead of such a peer's, s.
    fn ahead_allowed(self) -> i64 {
        match self {
            Self::Signed => SIGNER_AHEAD_SECONDS,
            Self::Unsigned => CLOCK_WINDOW_SECONDS,
        }
    }
}

/// A peer, and the way to speak with it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Transport {
    http: reqwest::Client,
    /// Without a slash at its end.
    base: String,
    /// Without credentials no request is signed, and no answer is proven.
    credentials: Option<Credentials>,
    answers: Answers,
    /// The clock for signatures.
    pub clock: Arc<dyn Clock>,
    /// Longest time for a request and its answer.
    pub timeout: Duration,
}

/// An envelope that came back, successful or not, and how it came.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub http_status: u16,
    /// The code of the envelope.
    pub code: i64,
    /// The data of the envelope.
    pub data: Option<Box<RawValue>>,
    /// The part that the Signer puts beside a list of failures.
    pub earlier: Option<Box<RawValue>>,
    refusal: Refusal,
    /// None where the peer does not say what time it is.
    clocks: Option<Clocks>,
}

/// Two clocks when an answer came.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    theirs: UnixSeconds,
    ours: UnixSeconds,
    /// Longest time that our clock may be ahead, s.
    ahead_allowed: i64,
}

/// `{code, msg, description, data}` as it travels.
#[derive(Deserialize)]
struct Wire {
    code: i64,
    #[serde(default)]
    msg: Option<String>,
    #[serde(default)]
    description: Option<Box<RawValue>>,
    #[serde(default)]
    data: Option<Box<RawValue>>,
    #[serde(default)]
    earlier: Option<Box<RawValue>>,
}

impl Transport {
    /// A peer that every request is signed for.
    pub fn new(
        base_url: &str,
        credentials: Credentials,
        answers: Answers,
    ) -> Result<Self, SetupError> {
        let keys = credentials.key.bytes().all(|byte| byte.is_ascii_graphic());
        if !keys || credentials.key.is_empty() || credentials.is_without_secret() {
            return Err(SetupError::Credentials);
        }
        let unsigned = Self::unsigned(base_url)?;
        Ok(Self { credentials: Some(credentials), answers, ..unsigned })
    }

    /// A peer that is asked without a signature.
    pub fn unsigned(base_url: &str) -> Result<Self, SetupError> {
        let base = base_of(base_url)?;
        let http = http(&base, &Tls::default())?;
        let (timeout, clock) = (Duration::from_secs(15), Arc::new(SystemClock));
        Ok(Self { http, base, credentials: None, answers: Answers::Unsigned, clock, timeout })
    }

    /// The same with the authorities and the certificate of `tls`.
    pub fn with_tls(mut self, tls: &Tls) -> Result<Self, SetupError> {
        self.http = http(&self.base, tls)?;
        Ok(self)
    }

    /// The same by another HTTP client.
    #[must_use]
    pub fn with_http(self, http: reqwest::Client) -> Self {
        Self { http, ..self }
    }

    /// Scheme, host and port.
    pub fn peer(&self) -> &str {
        &self.base
    }

    /// Gets the JSON at a path that needs no signature and has no envelope, whatever the status.
    pub async fn open<T: DeserializeOwned>(&self, path: &str) -> Result<T, CallError> {
        let request = self.http.get(format!("{}{path}", self.base)).timeout(self.timeout);
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        let http_status = response.status().as_u16();
        let text = self.read(response).await?;
        serde_json::from_slice(&text).map_err(|error| CallError::Unreadable {
            http_status,
            why: format!("no answer of a Signer of this version: {error}"),
        })
    }

    /// Sends one request, once. A `body` makes it a `POST`.
    pub async fn exchange(
        &self,
        path_and_query: &str,
        body: Option<&str>,
    ) -> Result<Reply, CallError> {
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let url = format!("{}{path_and_query}", self.base);
        let mut request = self.http.request(method.clone(), url).timeout(self.timeout);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_owned());
        }
        let timestamp = self.clock.now().0.to_string();
        let signable = Signable {
            timestamp: &timestamp,
            method: method.as_str(),
            path_and_query,
            body: body.unwrap_or_default().as_bytes(),
        };
        let signed = self.credentials.as_ref().map(|by| (by, sign(&by.secret, &signable)));
        if let Some((by, request_sign)) = &signed {
            request = request
                .header(KEY_HEADER, &by.key)
                .header(SIGN_HEADER, request_sign)
                .header(TIMESTAMP_HEADER, &timestamp);
        }
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        let (http_status, headers) = (response.status().as_u16(), response.headers().clone());
        let (ours, ahead_allowed) = (self.clock.now(), self.answers.ahead_allowed());
        let clocks = date(&headers).map(|theirs| Clocks { theirs, ours, ahead_allowed });
        let text = self.read(response).await?;
        let answer = reply(http_status, &headers, clocks, &text);
        let Some((by, request_sign)) = signed.filter(|_| self.answers == Answers::Signed) else {
            return answer;
        };
        let answered = Answered {
            request_sign: &request_sign,
            timestamp: only(&headers, TIMESTAMP_HEADER),
            sign: only(&headers, SIGN_HEADER),
            http_status,
            body: &text,
        };
        match verify_answer(&by.secret, &answered, self.clock.now()) {
            Ok(()) => answer,
            Err(proof) => Err(self.unproven(proof, http_status, answer.ok())),
        }
    }

    /// Makes the error for an answer that is not proven, whatever the answer says.
    fn unproven(
        &self,
        proof: SignatureError,
        http_status: u16,
        answer: Option<Reply>,
    ) -> CallError {
        match answer {
            // The Signer can prove nothing to a caller whose clock is off.
            Some(refused) if http_status == 401 && refused.off_seconds().is_some() => {
                refused.refused()
            }
            answer => {
                let said = answer.map(|reply| format!("It says: {}", reply.refusal.msg));
                let (peer, said) = (self.base.clone(), said.unwrap_or_default());
                CallError::Unproven { peer, http_status, proof, said }
            }
        }
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, CallError> {
        let http_status = response.status().as_u16();
        let mut text = vec![];
        while let Some(chunk) = response.chunk().await.map_err(|error| self.lost(&error))? {
            text.extend_from_slice(&chunk);
            if text.len() > LONGEST_ANSWER {
                let why = format!("it is longer than {LONGEST_ANSWER} bytes");
                return Err(CallError::Unreadable { http_status, why });
            }
        }
        Ok(text)
    }

    fn lost(&self, error: &reqwest::Error) -> CallError {
        let (peer, why) = (self.base.clone(), cause(error));
        if error.is_connect() || error.is_builder() {
            CallError::Unsent { peer, why }
        } else {
            CallError::Unheard { peer, why }
        }
    }
}

impl Reply {
    /// The data of a success.
    pub fn success(self, code: i64) -> Result<Option<Box<RawValue>>, CallError> {
        if self.code == code && (200..300).contains(&self.http_status) {
            return Ok(self.data);
        }
        Err(self.refused())
    }

    /// The data of a success, read as a `T`.
    pub fn typed_success<T: DeserializeOwned>(self, code: i64) -> Result<T, CallError> {
        let http_status = self.http_status;
        typed(http_status, self.success(code)?.as_deref())
    }

    /// This reply as an error.
    pub fn refused(self) -> CallError {
        match self.off_seconds() {
            Some((off_seconds, allowed_seconds)) => {
                let refusal = self.refusal;
                CallError::ClockOff { off_seconds, allowed_seconds, refusal }
            }
            None => CallError::Refused(self.refusal),
        }
    }

    /// Returns the time that the clock here is ahead of the peer's, and the largest difference allowed in that
    /// direction, if the clocks alone explain a refusal.
    fn off_seconds(&self) -> Option<(i64, i64)> {
        // A peer or a gateway in trouble says nothing of a signature, and what it was sent may have been done.
        if self.refusal.is_the_peers_fault() {
            return None;
        }
        let Clocks { theirs, ours, ahead_allowed } = self.clocks?;
        let off_seconds = ours.since(theirs);
        let allowed = if off_seconds > 0 { ahead_allowed } else { CLOCK_WINDOW_SECONDS };
        // An answer that was long on its way makes a clock seem ahead: of the Signer's, 401 alone is put down to that.
        let suspected = match allowed {
            SIGNER_AHEAD_SECONDS => self.http_status == 401 && off_seconds > allowed,
            _ => off_seconds.abs().saturating_add(HIDDEN_SECONDS) >= allowed,
        };
        suspected.then_some((off_seconds, allowed))
    }

    /// The time at the peer when it answered, as far as it says.
    pub fn peer_time(&self) -> Option<UnixSeconds> {
        self.clocks.map(|clocks| clocks.theirs)
    }
}

fn http(base: &str, tls: &Tls) -> Result<reqwest::Client, reqwest::Error> {
    let client = client_for(base).connect_timeout(Duration::from_secs(5));
    tls.applied(client).build()
}

/// `{"maxBatch": n}`, which the Signer's refusal of a batch that is too large holds.
fn max_batch(data: &RawValue) -> Option<usize> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Fits {
        max_batch: usize,
    }
    serde_json::from_str::<Fits>(data.get()).ok().map(|fits| fits.max_batch)
}

fn reply(
    http_status: u16,
    headers: &HeaderMap,
    clocks: Option<Clocks>,
    text: &[u8],
) -> Result<Reply, CallError> {
    let wire: Wire = serde_json::from_slice(text).map_err(|error| CallError::Unreadable {
        http_status,
        why: format!("no envelope {{code, msg, data}}: {error}"),
    })?;
    let description = wire.description.map(|raw| {
        serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
    });
    let refusal = Refusal {
        http_status,
        code: wire.code,
        msg: wire.msg.unwrap_or_default(),
        description,
        retry_after_seconds: header(headers, &RETRY_AFTER).and_then(|text| text.parse().ok()),
        max_batch: wire.data.as_deref().and_then(max_batch),
    };
    let Wire { code, data, earlier, .. } = wire;
    Ok(Reply { http_status, code, data, earlier, refusal, clocks })
}

/// Reads the data of a success as a `T`.
pub fn typed<T: DeserializeOwned>(
    http_status: u16,
    data: Option<&RawValue>,
) -> Result<T, CallError> {
    serde_json::from_str(data.map_or("null", RawValue::get)).map_err(|error| {
        CallError::Unreadable { http_status, why: format!("data of another shape: {error}") }
    })
}

fn date(headers: &HeaderMap) -> Option<UnixSeconds> {
    let text = header(headers, &DATE)?;
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(UnixSeconds(date.timestamp().as_second()))
}

fn header<'a>(headers: &'a HeaderMap, name: &reqwest::header::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The value of a header that is there exactly once, and is text.
pub fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok())
}

/// Reads a base address: scheme, host and port, without a slash at its end.
pub fn base_of(text: &str) -> Result<String, SetupError> {
    let wrong = || SetupError::BaseUrl { url: text.to_owned() };
    let url = Url::parse(text).map_err(|_| wrong())?;
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let anonymous = url.username().is_empty() && url.password().is_none();
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !bare || !anonymous {
        return Err(wrong());
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests;
