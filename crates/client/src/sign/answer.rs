//! The proof that an answer is the Signer's, and the answer to this very request: the signature names the request.

use super::{
    SIGN_HEADER, Signature, SignatureError, TIMESTAMP_HEADER, in_window, keyed, signature,
};
use crate::time::UnixSeconds;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use secrecy::SecretString;
use sha2::Sha256;

/// An answer as it arrived, and the signature of the request that it is said to answer.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// `X-PAY-SIGN` of the request.
    pub request_sign: &'a str,
    /// `X-PAY-TIMESTAMP` of the answer; `None` if it is missing, there twice, or not text.
    pub timestamp: Option<&'a str>,
    /// `X-PAY-SIGN` of the answer, likewise.
    pub sign: Option<&'a str>,
    /// The HTTP status.
    pub http_status: u16,
    /// Before anything looked at it.
    pub body: &'a [u8],
}

/// Checks, in constant time, that whoever knows `secret` has made this answer to this request: it is signed over
/// its timestamp, its HTTP status, the request's `X-PAY-SIGN` and its body. Without this proof it is no answer.
pub fn verify_answer(
    secret: &SecretString,
    answer: &Answered<'_>,
    now: UnixSeconds,
) -> Result<(), SignatureError> {
    let timestamp = answer.timestamp.ok_or(SignatureError::Missing(TIMESTAMP_HEADER))?;
    let sign = answer.sign.ok_or(SignatureError::Missing(SIGN_HEADER))?;
    in_window(timestamp, now)?;
    let sign: Signature = signature(sign)?;
    let mac = answer_mac(secret, timestamp, answer.http_status, answer.request_sign, answer.body);
    mac.verify_slice(&sign).map_err(|_| SignatureError::Wrong)
}

/// The value of `X-PAY-SIGN` for an answer: over its own timestamp (Unix seconds), its HTTP status in three digits, the
/// `X-PAY-SIGN` of the request that it answers, and its body, end to end.
pub fn sign_answer(
    secret: &SecretString,
    request_sign: &Signature,
    timestamp: i64,
    http_status: u16,
    body: &[u8],
) -> String {
    let (timestamp, request_sign) = (timestamp.to_string(), STANDARD.encode(request_sign));
    let mac = answer_mac(secret, &timestamp, http_status, &request_sign, body);
    STANDARD.encode(mac.finalize().into_bytes())
}

fn answer_mac(
    secret: &SecretString,
    timestamp: &str,
    http_status: u16,
    request_sign: &str,
    body: &[u8],
) -> Hmac<Sha256> {
    let mut mac = keyed(secret);
    mac.update(format!("{timestamp}{http_status}{request_sign}").as_bytes());
    mac.update(body);
    mac
}
