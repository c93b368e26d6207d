//! The platform's request signature, which proves the caller, checked over the raw bytes.
//!
//! Owns the callers' secrets; `crates/client` says what is signed. Reads no clock and no socket: time,
//! headers and body come in as arguments. Never parses the body, and never says which of key and
//! signature was wrong. Everything that the head tells is judged before there is a body
//! ([`Callers::judge`]), the rest with it ([`Presented::prove`]). `replays` judges each message once.

mod judged;
mod replays;

pub use judged::{JudgedMessages, NotJudgedMessages};
pub use replays::{Answer, Judging, Replays, Ticket, Waiting};
pub use signer_client::sign::{
    CLOCK_WINDOW_SECONDS, KEY_HEADER, SIGN_HEADER, SIGNER_AHEAD_SECONDS, TIMESTAMP_HEADER,
};

use std::fmt;
use std::sync::Arc;

use config::Caller;
use hmac::Mac as _;
use secrecy::{ExposeSecret as _, SecretString};
use signer_client::sign::{Signable, Signature, mac, sign_answer, signature};
use std::sync::LazyLock;
use thiserror::Error;

/// Shortest secret that is accepted, in bytes.
pub const SHORTEST_SECRET: usize = 16;

/// The secret that a signature under an unknown key is compared with; the outcome is thrown away.
static NOBODYS_SECRET: LazyLock<SecretString> = LazyLock::new(|| "\0".repeat(32).into());

/// Everybody who may call. With nobody in it, every request is refused.
#[derive(Debug)]
pub struct Callers {
    callers: Vec<Arc<Caller>>,
}

/// Why the configured callers are not usable.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum CallerError {
    /// A caller without a name, or with one that no header can carry.
    #[error("caller {position}: the key must be 1 or more visible ASCII characters")]
    BadKey {
        /// Counted from 1, as in the configuration.
        position: usize,
    },
    /// A secret that can be guessed.
    #[error(
        "caller {key}: the secret is shorter than {SHORTEST_SECRET} bytes; make one with \
         `openssl rand -base64 32`"
    )]
    ShortSecret {
        /// The caller's key.
        key: String,
    },
}

/// The parts of a request that are signed, or that say how. The parts are as they came over the wire.
#[derive(Clone, Copy)]
pub struct SignedParts<'a> {
    /// `X-PAY-KEY`, if there is exactly one that is text.
    pub key: Option<&'a str>,
    /// `X-PAY-TIMESTAMP`, likewise.
    pub timestamp: Option<&'a str>,
    /// `X-PAY-SIGN`, likewise.
    pub sign: Option<&'a str>,
    /// The method, in upper case as HTTP has it.
    pub method: &'a str,
    /// The path without host, with `?` and the query if there is one.
    pub path_and_query: &'a str,
    /// The body, before anything looked at it.
    pub body: &'a [u8],
}

/// Why a request is not let in; the text may go to whoever asked. Every variant means: the body
/// was not parsed, nothing was signed and nothing sent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum AuthError {
    /// A header is not there, is there twice, or is not text.
    #[error("header {name} is missing, or is there more than once")]
    Missing {
        /// The header.
        name: &'static str,
    },
    /// `X-PAY-TIMESTAMP` is not ten digits.
    #[error("{TIMESTAMP_HEADER} must be Unix time in seconds, exactly 10 digits")]
    MalformedTimestamp,
    /// `X-PAY-SIGN` is not 32 bytes of base64.
    #[error("{SIGN_HEADER} must be the base64, with padding, of an HMAC-SHA256 (44 characters)")]
    MalformedSign,
    /// Path and body could be cut apart in more than one place, by the path.
    #[error("the path must start with / and have blanks, braces and brackets percent-encoded")]
    Ambiguous,
    /// The same by the body.
    #[error(
        "the body must be empty, or a JSON object or array: to bill, post an array of entries, or \
         {{\"list\": [...]}}"
    )]
    NoObject,
    /// The caller's clock, or ours, is wrong; or this is an old request sent again.
    #[error(
        "{TIMESTAMP_HEADER} is {behind_seconds} s behind the server's time, which is \
         {server_unix_seconds}; at most {CLOCK_WINDOW_SECONDS} s are allowed: sign it again, and if that hears \
         the same, correct the caller's clock"
    )]
    ClockBehind {
        /// The distance.
        behind_seconds: u64,
        /// This server's time.
        server_unix_seconds: i64,
    },
    /// The caller's clock, or ours, is wrong.
    #[error(
        "{TIMESTAMP_HEADER} is {ahead_seconds} s ahead of the server's time, which is \
         {server_unix_seconds}; at most {SIGNER_AHEAD_SECONDS} s are allowed: correct the caller's clock"
    )]
    ClockAhead {
        /// The distance.
        ahead_seconds: u64,
        /// This server's time.
        server_unix_seconds: i64,
    },
    /// Signed before this process began: it may have been answered by the one before it.
    #[error(
        "{TIMESTAMP_HEADER} is {timestamp}, and nothing older than {oldest} is taken, because this \
         server has not seen what was asked before; sign it again"
    )]
    TooOld {
        /// When it was signed, Unix seconds.
        timestamp: i64,
        /// The oldest that is taken.
        oldest: i64,
    },
    /// No such key, or a signature that its secret does not make: deliberately one and the same.
    #[error("signature or key is wrong")]
    Wrong,
}

/// A request whose head is in order: who it says it is from, and when it was signed. Nothing of that
/// is proven yet.
#[derive(Debug)]
pub struct Presented<'a> {
    /// The callers with that key: one for each of its secrets, none where the key is nobody's.
    callers: Vec<&'a Arc<Caller>>,
    timestamp: &'a str,
    sign: Signature,
    at_unix_seconds: i64,
}

/// A request that a caller has signed.
#[derive(Clone, Debug)]
pub struct Proven {
    /// The signer, known by the signature.
    pub caller: Arc<Caller>,
    /// The signature: no two messages have the same.
    pub sign: Signature,
    /// When it was signed, Unix seconds.
    pub at_unix_seconds: i64,
}

impl AuthError {
    /// Every word that there is for one in metrics.
    pub const WORDS: [&'static str; 6] =
        ["missing", "malformed", "ambiguous", "clock", "too_old", "wrong"];

    /// The word for it in metrics.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing",
            Self::MalformedTimestamp | Self::MalformedSign => "malformed",
            Self::Ambiguous | Self::NoObject => "ambiguous",
            Self::ClockBehind { .. } | Self::ClockAhead { .. } => "clock",
            Self::TooOld { .. } => "too_old",
            Self::Wrong => "wrong",
        }
    }
}

impl Callers {
    /// Returns the callers' names in the configuration.
    pub fn labels(&self) -> Vec<String> {
        self.callers.iter().map(|caller| caller.label.clone()).collect()
    }

    /// Checks that every caller has a name, and a secret worth the word. That no two have
    /// the same is held by the configuration.
    pub fn new(callers: Vec<Caller>) -> Result<Self, CallerError> {
        for (caller, position) in callers.iter().zip(1_usize..) {
            if caller.key.is_empty() || !caller.key.bytes().all(|b| b.is_ascii_graphic()) {
                return Err(CallerError::BadKey { position });
            }
            if length(&caller.secret) < SHORTEST_SECRET {
                return Err(CallerError::ShortSecret { key: caller.key.clone() });
            }
        }
        Ok(Self { callers: callers.into_iter().map(Arc::new).collect() })
    }

    /// Judges all that the head of a request tells: that it was signed not more than [`CLOCK_WINDOW_SECONDS`]
    /// ago nor [`SIGNER_AHEAD_SECONDS`] ahead, that its signature has the form of one, and that its path leaves
    /// no doubt where the body begins. A key that is nobody's is wrong only once the body is there, as a wrong
    /// signature is: the answer comes no sooner, so nobody finds out which keys there are. The body in `request`
    /// is not looked at.
    pub fn judge<'a>(
        &'a self,
        request: &SignedParts<'a>,
        now_unix_seconds: i64,
    ) -> Result<Presented<'a>, AuthError> {
        let key = request.key.ok_or(AuthError::Missing { name: KEY_HEADER })?;
        let timestamp = request.timestamp.ok_or(AuthError::Missing { name: TIMESTAMP_HEADER })?;
        let sign = request.sign.ok_or(AuthError::Missing { name: SIGN_HEADER })?;
        let at_unix_seconds = check_clock(timestamp, now_unix_seconds)?;
        let sign = signature(sign).map_err(|_| AuthError::MalformedSign)?;
        if !request.path_and_query.starts_with('/') || request.path_and_query.bytes().any(opens) {
            return Err(AuthError::Ambiguous);
        }
        let callers = self.callers.iter().filter(|caller| caller.key == key).collect();
        Ok(Presented { callers, timestamp, sign, at_unix_seconds })
    }
}

impl Presented<'_> {
    /// When it says that it was signed, Unix seconds.
    pub fn at_unix_seconds(&self) -> i64 {
        self.at_unix_seconds
    }

    /// Proves it over the whole request, of which it was the head. Every secret of the key is tried,
    /// whichever fits: how long it takes tells nothing.
    pub fn prove(&self, request: &SignedParts<'_>) -> Result<Proven, AuthError> {
        // The signed text has no separators. The timestamp has a fixed length and the path starts with the first
        // slash; this check makes sure that the body starts with the first character that no path holds, so that
        // one signature fits one request only.
        if request.body.first().is_some_and(|first| !opens(*first)) {
            return Err(AuthError::NoObject);
        }
        let signable = Signable {
            timestamp: self.timestamp,
            method: request.method,
            path_and_query: request.path_and_query,
            body: request.body,
        };
        let mut signer = None;
        if self.callers.is_empty() {
            // As long as with a secret: how long it takes tells nothing about the key either.
            if mac(&NOBODYS_SECRET, &signable).verify_slice(&self.sign).is_ok() {
                return Err(AuthError::Wrong);
            }
        }
        for caller in &self.callers {
            if mac(&caller.secret, &signable).verify_slice(&self.sign).is_ok() {
                signer = Some(Arc::clone(caller));
            }
        }
        let caller = signer.ok_or(AuthError::Wrong)?;
        Ok(Proven { caller, sign: self.sign, at_unix_seconds: self.at_unix_seconds })
    }
}

impl Proven {
    /// The value of `X-PAY-SIGN` for the answer to this request, which only its caller can check.
    pub fn sign_answer(&self, timestamp: i64, http_status: u16, body: &[u8]) -> String {
        sign_answer(&self.caller.secret, &self.sign, timestamp, http_status, body)
    }
}

/// When a message was signed, Unix seconds, if that is near enough to now.
fn check_clock(timestamp: &str, now_unix_seconds: i64) -> Result<i64, AuthError> {
    let digits = timestamp.len() == 10 && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let then: i64 =
        timestamp.parse().ok().filter(|_| digits).ok_or(AuthError::MalformedTimestamp)?;
    let (off, server_unix_seconds) = (now_unix_seconds.abs_diff(then), now_unix_seconds);
    if then < now_unix_seconds && off > CLOCK_WINDOW_SECONDS.unsigned_abs() {
        return Err(AuthError::ClockBehind { behind_seconds: off, server_unix_seconds });
    }
    if then > now_unix_seconds && off > SIGNER_AHEAD_SECONDS.unsigned_abs() {
        return Err(AuthError::ClockAhead { ahead_seconds: off, server_unix_seconds });
    }
    Ok(then)
}

/// Returns true if a byte may begin a body. No path holds such a byte.
fn opens(byte: u8) -> bool {
    b"{[ \t\r\n".contains(&byte)
}

#[expect(clippy::disallowed_methods, reason = "looks at the length alone")]
fn length(secret: &SecretString) -> usize {
    secret.expose_secret().len()
}

impl fmt::Debug for SignedParts<'_> {
    /// Without signature and body: a signature opens a door for a minute.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedParts")
            .field("key", &self.key)
            .field("timestamp", &self.timestamp)
            .field("method", &self.method)
            .field("path_and_query", &self.path_and_query)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
