//! Part 5 of the interface: how a request and a callback are signed, and when a signature is good.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// The header with the merchant's key.
pub const KEY: &str = "x-pay-key";
/// The header with the time of signing (Unix s).
pub const TIMESTAMP: &str = "x-pay-timestamp";
/// The header with the signature.
pub const SIGN: &str = "x-pay-sign";

/// Longest distance between the time of signing and this machine's (s).
pub const WINDOW_S: u64 = 60;

/// The credentials that a merchant signs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The API key.
    pub key: String,
    /// The API secret. In the sandbox it is none.
    pub secret: String,
}

/// The signed content: one request.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'a> {
    /// The method in upper case.
    pub method: &'a str,
    /// The path with the query, as it is requested.
    pub path: &'a str,
    /// The body as it is sent.
    pub body: &'a [u8],
}

/// The three headers as they came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers<'a> {
    /// `X-PAY-KEY`.
    pub key: Option<&'a str>,
    /// `X-PAY-TIMESTAMP`.
    pub timestamp: Option<&'a str>,
    /// `X-PAY-SIGN`.
    pub sign: Option<&'a str>,
}

/// Why a request is not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A header is missing.
    #[error("the header {0} is missing")]
    Missing(&'static str),
    /// The timestamp is not a number of seconds.
    #[error("X-PAY-TIMESTAMP must be Unix time in seconds")]
    Malformed,
    /// The timestamp is too far from this machine's time.
    #[error(
        "X-PAY-TIMESTAMP is {off_s} s away from the server's time, which is {server_s}; at most {WINDOW_S} s are allowed"
    )]
    Clock {
        /// Distance from the server's time (s).
        off_s: u64,
        /// The server's time (Unix s).
        server_s: u64,
    },
    /// The key is unknown, the signature is another one, or the body is not JSON.
    #[error(
        "the signature does not fit: it must be base64(HMAC-SHA256(secret, timestamp + method + path with query + body)), the key must be known, and the body must be valid JSON"
    )]
    Wrong,
}

impl Credentials {
    /// The value of `X-PAY-SIGN`.
    pub fn sign(&self, timestamp: &str, signed: Signed<'_>) -> String {
        STANDARD.encode(self.mac(timestamp, signed).finalize().into_bytes())
    }

    /// Checks that the request may pass at `now_s` (Unix s). Invalid JSON fails the signature.
    pub fn verify(
        &self,
        headers: Headers<'_>,
        signed: Signed<'_>,
        now_s: u64,
    ) -> Result<(), Refusal> {
        let key = headers.key.ok_or(Refusal::Missing("X-PAY-KEY"))?;
        let timestamp = headers.timestamp.ok_or(Refusal::Missing("X-PAY-TIMESTAMP"))?;
        let sign = headers.sign.ok_or(Refusal::Missing("X-PAY-SIGN"))?;
        let digits = !timestamp.is_empty() && timestamp.bytes().all(|byte| byte.is_ascii_digit());
        let then_s: u64 = timestamp.parse().ok().filter(|_| digits).ok_or(Refusal::Malformed)?;
        let off_s = now_s.abs_diff(then_s);
        if off_s > WINDOW_S {
            return Err(Refusal::Clock { off_s, server_s: now_s });
        }
        let tag = STANDARD.decode(sign).map_err(|_| Refusal::Wrong)?;
        let fits = self.mac(timestamp, signed).verify_slice(&tag).is_ok();
        if key == self.key && fits && is_json(signed) { Ok(()) } else { Err(Refusal::Wrong) }
    }

    fn mac(&self, timestamp: &str, signed: Signed<'_>) -> Hmac<Sha256> {
        let secret = self.secret.as_bytes();
        let mut mac =
            Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
        for part in
            [timestamp.as_bytes(), signed.method.as_bytes(), signed.path.as_bytes(), signed.body]
        {
            mac.update(part);
        }
        mac
    }
}

/// Returns true if a body is JSON in UTF-8, or is absent where none belongs.
fn is_json(Signed { method, body, .. }: Signed<'_>) -> bool {
    let text = std::str::from_utf8(body);
    (method == "GET" && body.is_empty())
        || text.is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNED: Signed<'static> =
        Signed { method: "POST", path: "/api/mer/user/create?x=1", body: b"{}" };

    fn verdict(timestamp: &str, body: &[u8], now_s: u64) -> Result<(), Refusal> {
        let mine = Credentials { key: "k".to_owned(), secret: "s".to_owned() };
        let sign = mine.sign(timestamp, Signed { body, ..SIGNED });
        let headers = Headers { key: Some("k"), timestamp: Some(timestamp), sign: Some(&sign) };
        mine.verify(headers, Signed { body, ..SIGNED }, now_s)
    }

    #[test]
    fn sixty_seconds_are_allowed_and_no_more() {
        for now_s in [1_000, 1_060, 940] {
            assert_eq!(verdict("1000", b"{}", now_s), Ok(()));
        }
        for now_s in [1_061, 939] {
            assert_eq!(
                verdict("1000", b"{}", now_s),
                Err(Refusal::Clock { off_s: 61, server_s: now_s })
            );
        }
        assert_eq!(verdict("+1000", b"{}", 1_000), Err(Refusal::Malformed));
    }

    #[test]
    fn what_is_not_json_fails_the_signature() {
        for body in [&b"{]"[..], b"", b" ", b"{\"a\":\"\xff\"}"] {
            assert_eq!(verdict("1000", body, 1_000), Err(Refusal::Wrong), "{body:?}");
        }
        let mine = Credentials { key: "k".to_owned(), secret: "s".to_owned() };
        let asked = Signed { method: "GET", path: "/", body: b"" };
        let sign = mine.sign("1000", asked);
        let headers = Headers { key: Some("k"), timestamp: Some("1000"), sign: Some(&sign) };
        assert_eq!(mine.verify(headers, asked, 1_000), Ok(()));
    }
}
