//! Answers and their proof: the Signer signs every answer to a caller that it knows, and a caller takes no
//! other for an answer. The signature names the request, so that an answer proves itself for one request only.

use super::{CLOCK_WINDOW_SECONDS, Proven, SIGN_HEADER, TIMESTAMP_HEADER, secret_bytes, signature};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use secrecy::SecretString;
use sha2::Sha256;
use std::fmt;
use thiserror::Error;

/// An answer as it came over the wire, and the signature of the request that it is said to answer.
#[derive(Clone, Copy)]
pub struct AnswerParts<'a> {
    /// `X-PAY-SIGN` of the request.
    pub request_sign: &'a str,
    /// `X-PAY-TIMESTAMP` of the answer, if there is exactly one that is text.
    pub timestamp: Option<&'a str>,
    /// `X-PAY-SIGN` of the answer, likewise.
    pub sign: Option<&'a str>,
    /// The HTTP status.
    pub status: u16,
    /// The body, before anything looked at it.
    pub body: &'a [u8],
}

/// The reason why an answer is not proven. The checker's clock may differ from the Signer's, either way.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum UnprovenAnswer {
    /// A header is not there, is there twice, or is not text.
    #[error("header {0} is missing, or is there more than once")]
    Missing(&'static str),
    /// `X-PAY-TIMESTAMP` is not ten digits.
    #[error("{TIMESTAMP_HEADER} is not Unix time in seconds, exactly 10 digits")]
    MalformedTimestamp,
    /// It was signed too long ago, or too far ahead.
    #[error(
        "it was signed {off_seconds} s away from the time here; at most {CLOCK_WINDOW_SECONDS} s are allowed"
    )]
    ClockOff {
        /// The distance, whichever way.
        off_seconds: u64,
    },
    /// `X-PAY-SIGN` is not 32 bytes of base64.
    #[error("{SIGN_HEADER} is not the base64, with padding, of an HMAC-SHA256 (44 characters)")]
    MalformedSign,
    /// The Signer has not made it, or not to this request.
    #[error("its signature is wrong")]
    Wrong,
}

/// The value of `X-PAY-SIGN` for an answer: over its own timestamp, its HTTP status in three digits, the
/// `X-PAY-SIGN` of the request that it answers (44 characters), and its body, end to end.
pub fn sign_answer(proven: &Proven, timestamp: i64, status: u16, body: &[u8]) -> String {
    let request = STANDARD.encode(proven.sign);
    mac(&proven.caller.secret, &timestamp.to_string(), (status, &request), body)
        .map(|mac| STANDARD.encode(mac.finalize().into_bytes()))
        .unwrap_or_default()
}

/// Proves that the Signer has made an answer, and for that request: for callers. Without this proof it is no
/// answer, like a timeout: nothing may be concluded from it.
pub fn verify_answer(
    secret: &SecretString,
    answer: &AnswerParts<'_>,
    now_unix_seconds: i64,
) -> Result<(), UnprovenAnswer> {
    let timestamp = answer.timestamp.ok_or(UnprovenAnswer::Missing(TIMESTAMP_HEADER))?;
    let sign = answer.sign.ok_or(UnprovenAnswer::Missing(SIGN_HEADER))?;
    let digits = timestamp.len() == 10 && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let signed_at: Option<i64> = timestamp.parse().ok().filter(|_| digits);
    let off_seconds =
        signed_at.ok_or(UnprovenAnswer::MalformedTimestamp)?.abs_diff(now_unix_seconds);
    if off_seconds > CLOCK_WINDOW_SECONDS {
        return Err(UnprovenAnswer::ClockOff { off_seconds });
    }
    let sign = signature(sign).map_err(|_| UnprovenAnswer::MalformedSign)?;
    mac(secret, timestamp, (answer.status, answer.request_sign), answer.body)
        .and_then(|mac| mac.verify_slice(&sign).ok())
        .ok_or(UnprovenAnswer::Wrong)
}

/// `None` never happens: HMAC takes secrets of any length.
fn mac(
    secret: &SecretString,
    timestamp: &str,
    (status, request_sign): (u16, &str),
    body: &[u8],
) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret_bytes(secret)).ok()?;
    mac.update(format!("{timestamp}{status}{request_sign}").as_bytes());
    mac.update(body);
    Some(mac)
}

impl fmt::Debug for AnswerParts<'_> {
    /// Without signatures and body: that of a request opens a door for a minute.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerParts")
            .field("timestamp", &self.timestamp)
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}
