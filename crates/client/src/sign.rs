//! The signature of part 5 of the interface: made for requests, checked on callbacks and on the Signer's answers.
//!
//! `X-PAY-SIGN` = base64(HMAC-SHA256(secret, timestamp + METHOD + path with query + body)), over the
//! bytes exactly as they travel.

mod answer;

pub use answer::{Answered, sign_answer, verify_answer};

use crate::time::UnixSeconds;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;
use thiserror::Error;

/// The header that says who signed.
pub const KEY_HEADER: &str = "X-PAY-KEY";
/// The header that says when: Unix time in whole seconds.
pub const TIMESTAMP_HEADER: &str = "X-PAY-TIMESTAMP";
/// The header that proves it.
pub const SIGN_HEADER: &str = "X-PAY-SIGN";
/// Largest difference between two clocks, in seconds, to either side: greatest age of a signature.
pub const CLOCK_WINDOW_SECONDS: i64 = 60;
/// Longest time that a clock may be ahead of the Signer's, in seconds. A request signed ahead of its time is judged
/// when its time has come: so nothing is ever judged before the moment that it bears, and if the start of a Signer is
/// known, nothing later was judged before that start.
pub const SIGNER_AHEAD_SECONDS: i64 = 5;

/// The bytes of an HMAC-SHA256.
pub type Signature = [u8; 32];

/// An API key and its secret. `Debug` never shows the secret.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// Sent along in the clear (`X-PAY-KEY`).
    pub key: String,
    /// Never sent.
    pub secret: SecretString,
}

impl Credentials {
    /// A key and its secret.
    pub fn new(key: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { key: key.into(), secret: SecretString::from(secret.into()) }
    }

    /// Returns true if the secret is empty.
    #[expect(clippy::disallowed_methods, reason = "looks at the length alone")]
    pub(crate) fn is_without_secret(&self) -> bool {
        self.secret.expose_secret().is_empty()
    }
}

/// The signed parts of a request, as they travel.
#[derive(Clone, Copy, Debug)]
pub struct Signable<'a> {
    /// The text of `X-PAY-TIMESTAMP`.
    pub timestamp: &'a str,
    /// In upper case.
    pub method: &'a str,
    /// Without the host, with `?` and the query if there is one.
    pub path_and_query: &'a str,
    /// Empty for `GET`.
    pub body: &'a [u8],
}

/// The three headers as they arrived; `None` for one that is missing, there twice, or not text.
#[derive(Clone, Copy, Debug)]
pub struct Presented<'a> {
    /// `X-PAY-KEY`.
    pub key: Option<&'a str>,
    /// `X-PAY-TIMESTAMP`.
    pub timestamp: Option<&'a str>,
    /// `X-PAY-SIGN`.
    pub sign: Option<&'a str>,
}

/// A request line and body whose signature is to be checked, as they arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// In upper case.
    pub method: &'a str,
    /// The path that was signed, with `?` and the query if there is one.
    pub path_and_query: &'a str,
    /// Before anything looked at it.
    pub body: &'a [u8],
}

/// Why a signature is not accepted. The text may go to the sender.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SignatureError {
    /// A header is not there, is there twice, or is not text.
    #[error("header {0} is missing, or is there more than once")]
    Missing(&'static str),
    /// The timestamp is not ten digits.
    #[error("{TIMESTAMP_HEADER} must be Unix time in seconds, exactly 10 digits")]
    MalformedTimestamp,
    /// The signature is not base64 of 32 bytes.
    #[error("{SIGN_HEADER} must be the base64, with padding, of an HMAC-SHA256 (44 characters)")]
    MalformedSign,
    /// Signed too long ago, or in the future: a wrong clock, or an old message sent again.
    #[error(
        "{TIMESTAMP_HEADER} is {off_seconds} s away from the time here, {now}; at most \
         {CLOCK_WINDOW_SECONDS} s are allowed"
    )]
    ClockOff {
        /// Positive when the sender is ahead.
        off_seconds: i64,
        /// The time here.
        now: UnixSeconds,
    },
    /// An unknown key, or a signature that its secret does not make.
    #[error("signature or key is wrong")]
    Wrong,
}

/// The value of `X-PAY-SIGN`.
pub fn sign(secret: &SecretString, what: &Signable<'_>) -> String {
    STANDARD.encode(mac(secret, what).finalize().into_bytes())
}

/// Checks a signature, in constant time, against every credential that has the key presented: two
/// may have one key while a secret is being changed. Answers the key.
pub fn verify<'a>(
    credentials: &'a [Credentials],
    presented: &Presented<'_>,
    arrived: &Arrived<'_>,
    now: UnixSeconds,
) -> Result<&'a str, SignatureError> {
    let (key, timestamp, signature) = judge_head(presented, now)?;
    let Arrived { method, path_and_query, body } = *arrived;
    let signable = Signable { timestamp, method, path_and_query, body };
    credentials
        .iter()
        .filter(|known| known.key == key)
        .find(|known| mac(&known.secret, &signable).verify_slice(&signature).is_ok())
        .map(|known| known.key.as_str())
        .ok_or(SignatureError::Wrong)
}

/// All that the head tells, without a body: key, timestamp and signature, if they have the form of such and were
/// made about now. Nothing of that is proven.
pub fn judge_head<'a>(
    presented: &Presented<'a>,
    now: UnixSeconds,
) -> Result<(&'a str, &'a str, Signature), SignatureError> {
    let key = presented.key.ok_or(SignatureError::Missing(KEY_HEADER))?;
    let timestamp = presented.timestamp.ok_or(SignatureError::Missing(TIMESTAMP_HEADER))?;
    let sign = presented.sign.ok_or(SignatureError::Missing(SIGN_HEADER))?;
    in_window(timestamp, now)?;
    Ok((key, timestamp, signature(sign)?))
}

fn in_window(timestamp: &str, now: UnixSeconds) -> Result<(), SignatureError> {
    let ten_digits = timestamp.len() == 10 && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let signed_at = timestamp.parse().ok().filter(|_| ten_digits);
    let off_seconds = UnixSeconds(signed_at.ok_or(SignatureError::MalformedTimestamp)?).since(now);
    if off_seconds.unsigned_abs() > CLOCK_WINDOW_SECONDS.unsigned_abs() {
        return Err(SignatureError::ClockOff { off_seconds, now });
    }
    Ok(())
}

/// Reads the text of `X-PAY-SIGN`.
pub fn signature(base64: &str) -> Result<Signature, SignatureError> {
    let bytes = STANDARD.decode(base64).map_err(|_| SignatureError::MalformedSign)?;
    bytes.try_into().map_err(|_| SignatureError::MalformedSign)
}

#[expect(clippy::disallowed_methods, reason = "the one place that looks at a secret")]
fn keyed(secret: &SecretString) -> Hmac<Sha256> {
    let key = secret.expose_secret().as_bytes();
    // A key of any length makes an HMAC.
    Hmac::new_from_slice(key).unwrap_or_else(|_| Hmac::new(&[0; 64].into()))
}

/// The one place that says what of a request is signed: timestamp, method, path with query, body, end to end.
pub fn mac(secret: &SecretString, what: &Signable<'_>) -> Hmac<Sha256> {
    let mut mac = keyed(secret);
    mac.update(what.timestamp.as_bytes());
    mac.update(what.method.as_bytes());
    mac.update(what.path_and_query.as_bytes());
    mac.update(what.body);
    mac
}

#[cfg(test)]
mod tests;
