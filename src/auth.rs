//! Who is calling: the platform's request signature, checked over the raw bytes.
//!
//! Owns the callers' secrets and the rule for what is signed. Reads no clock and no socket: time,
//! headers and body come in as arguments. Never parses the body, and never says which of key and
//! signature was wrong. A replay inside the clock window passes: what makes it harmless is that a
//! charge can be claimed only once.

use std::fmt;

use crate::config::Caller;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
use thiserror::Error;

/// The header that says who calls.
pub const KEY_HEADER: &str = "X-PAY-KEY";
/// The header that says when: Unix time in whole seconds.
pub const TIMESTAMP_HEADER: &str = "X-PAY-TIMESTAMP";
/// The header that proves it: base64 of an HMAC-SHA256.
pub const SIGN_HEADER: &str = "X-PAY-SIGN";

/// How far a caller's clock may be off, in seconds, to either side.
pub const CLOCK_WINDOW_SECONDS: u64 = 60;
/// Shortest secret that is accepted, in bytes.
pub const SHORTEST_SECRET: usize = 16;

/// Stands in for the secret of an unknown key, so that refusing it costs the same. Whoever signs
/// with it is still nobody.
const NOBODY: &str = "the secret of no caller at all";

/// Everybody who may call. With nobody in it, every request is refused.
#[derive(Debug)]
pub struct Callers {
    callers: Vec<Caller>,
    /// The most secrets that one key has; so many are tried for every request.
    tries: usize,
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

/// What of a request is signed, or says how. The parts are as they came over the wire.
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
    /// Path and body could be cut apart in more than one place.
    #[error(
        "the body must be empty, or a JSON object or array; the path must start with / and have \
         blanks, braces and brackets percent-encoded"
    )]
    Ambiguous,
    /// The caller's clock, or ours, is wrong; or this is an old request sent again.
    #[error(
        "{TIMESTAMP_HEADER} is {off_seconds} s away from the server's time, which is \
         {server_unix_seconds}; at most {CLOCK_WINDOW_SECONDS} s are allowed"
    )]
    ClockOff {
        /// The distance, whichever way.
        off_seconds: u64,
        /// What this server holds for the time.
        server_unix_seconds: i64,
    },
    /// No such key, or a signature that its secret does not make: deliberately one and the same.
    #[error("signature or key is wrong")]
    Wrong,
}

impl Callers {
    /// Checks that every caller has a name, and a secret worth the word.
    pub fn new(callers: Vec<Caller>) -> Result<Self, CallerError> {
        for (caller, position) in callers.iter().zip(1_usize..) {
            if caller.key.is_empty() || !caller.key.bytes().all(|b| b.is_ascii_graphic()) {
                return Err(CallerError::BadKey { position });
            }
            if secret_bytes(&caller.secret).len() < SHORTEST_SECRET {
                return Err(CallerError::ShortSecret { key: caller.key.clone() });
            }
        }
        let secrets_of = |key: &str| callers.iter().filter(|caller| caller.key == key).count();
        let tries = callers.iter().map(|caller| secrets_of(&caller.key)).max().unwrap_or(1);
        Ok(Self { callers, tries })
    }

    /// The key of the caller who signed this request not more than [`CLOCK_WINDOW_SECONDS`] ago
    /// or ahead.
    ///
    /// An unknown key costs as much as a known one with a wrong signature, and hears the same.
    pub fn verify(
        &self,
        request: &SignedParts<'_>,
        now_unix_seconds: i64,
    ) -> Result<&str, AuthError> {
        self.identify(request, now_unix_seconds).map(|caller| caller.key.as_str())
    }

    /// The same caller with its rights: those that belong to the secret that it signed with.
    pub fn identify(
        &self,
        request: &SignedParts<'_>,
        now_unix_seconds: i64,
    ) -> Result<&Caller, AuthError> {
        let key = request.key.ok_or(AuthError::Missing { name: KEY_HEADER })?;
        let timestamp = request.timestamp.ok_or(AuthError::Missing { name: TIMESTAMP_HEADER })?;
        let sign = request.sign.ok_or(AuthError::Missing { name: SIGN_HEADER })?;
        check_clock(timestamp, now_unix_seconds)?;
        let sign: [u8; 32] = STANDARD
            .decode(sign)
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(AuthError::MalformedSign)?;
        check_cut(request.path_and_query, request.body)?;

        let mut known = self.callers.iter().filter(|caller| caller.key == key);
        let mut signer = None;
        for _ in 0..self.tries {
            let caller = known.next();
            let secret = caller.map_or(NOBODY.as_bytes(), |caller| secret_bytes(&caller.secret));
            let verified =
                mac(secret, timestamp, request).is_some_and(|mac| mac.verify_slice(&sign).is_ok());
            if verified {
                signer = caller.or(signer);
            }
        }
        signer.ok_or(AuthError::Wrong)
    }
}

/// The value of `X-PAY-SIGN` for a request, made with a caller's secret. For callers: this
/// process signs no requests. The headers in `request` are not looked at, except the timestamp.
pub fn sign(secret: &SecretString, request: &SignedParts<'_>) -> String {
    mac(secret_bytes(secret), request.timestamp.unwrap_or_default(), request)
        .map(|mac| STANDARD.encode(mac.finalize().into_bytes()))
        .unwrap_or_default()
}

/// The one place that says what is signed: timestamp, method, path with query, body, end to end.
/// `None` never happens: HMAC takes secrets of any length.
fn mac(secret: &[u8], timestamp: &str, request: &SignedParts<'_>) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(timestamp.as_bytes());
    mac.update(request.method.as_bytes());
    mac.update(request.path_and_query.as_bytes());
    mac.update(request.body);
    Some(mac)
}

fn check_clock(timestamp: &str, now_unix_seconds: i64) -> Result<(), AuthError> {
    let digits = timestamp.len() == 10 && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let then: i64 =
        timestamp.parse().ok().filter(|_| digits).ok_or(AuthError::MalformedTimestamp)?;
    let off_seconds = now_unix_seconds.abs_diff(then);
    if off_seconds > CLOCK_WINDOW_SECONDS {
        return Err(AuthError::ClockOff { off_seconds, server_unix_seconds: now_unix_seconds });
    }
    Ok(())
}

/// What is signed has no separators. The timestamp has a fixed length and the path starts with
/// the first slash; this makes sure that the body starts with the first character that no path
/// holds, so that one signature fits one request only.
fn check_cut(path_and_query: &str, body: &[u8]) -> Result<(), AuthError> {
    let opens = |byte: u8| b"{[ \t\r\n".contains(&byte);
    let plain = path_and_query.starts_with('/') && !path_and_query.bytes().any(opens);
    if plain && body.first().is_none_or(|first| opens(*first)) {
        Ok(())
    } else {
        Err(AuthError::Ambiguous)
    }
}

#[expect(clippy::disallowed_methods, reason = "the one door to the callers' secrets")]
fn secret_bytes(secret: &SecretString) -> &[u8] {
    secret.expose_secret().as_bytes()
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
