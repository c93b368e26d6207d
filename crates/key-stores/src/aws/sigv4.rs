//! AWS Signature Version 4 of a request without a query: who asks, and that nobody has changed it.

use super::credentials::Credentials;
use super::odd;
use hmac::{Hmac, Mac as _};
use jiff::Timestamp;
use keys::StoreError;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{RequestBuilder, Url};
use secrecy::ExposeSecret;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// When and for whom a request is signed.
pub(super) struct SigningStamp<'s> {
    /// As `20150830T123600Z`.
    time: String,
    region: &'s str,
    service: &'s str,
}

impl<'s> SigningStamp<'s> {
    /// At this time (Unix ms).
    pub(super) fn at(unix_ms: i64, region: &'s str, service: &'s str) -> Self {
        let time = Timestamp::from_millisecond(unix_ms).unwrap_or_default();
        Self { time: time.strftime("%Y%m%dT%H%M%SZ").to_string(), region, service }
    }

    fn scope(&self) -> String {
        let day = self.time.split('T').next().unwrap_or_default();
        format!("{day}/{}/{}/aws4_request", self.region, self.service)
    }
}

/// The request with `headers`, and those that say who asks. It is a POST of `body` to the path of `url`.
pub(super) fn sign(
    request: RequestBuilder,
    url: &Url,
    body: &[u8],
    headers: &[(&str, &str)],
    stamp: &SigningStamp<'_>,
    credentials: &Credentials,
) -> Result<RequestBuilder, StoreError> {
    let host = host(url).ok_or_else(|| odd("its address has no host"))?;
    let mut all = headers.to_vec();
    all.extend([("host", host.as_str()), ("x-amz-date", stamp.time.as_str())]);
    #[expect(clippy::disallowed_methods, reason = "the one header that carries it")]
    let token = credentials.token.as_ref().map(ExposeSecret::expose_secret);
    all.extend(token.map(|token| ("x-amz-security-token", token)));
    all.sort_unstable();
    let signed = SignedRequest { method: "POST", path: url.path(), body };
    let authorization = authorization(&signed, &all, stamp, credentials);
    let mut request = request;
    for (name, value) in all.into_iter().filter(|(name, _)| *name != "host") {
        request = request.header(name, sensitive(value)?);
    }
    Ok(request.header(AUTHORIZATION, sensitive(&authorization)?))
}

/// As the client writes it into the header.
fn host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// A value of a header that is shown nowhere.
fn sensitive(value: &str) -> Result<HeaderValue, StoreError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| odd("a credential is no text"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The parts of a request that are signed beside its headers.
struct SignedRequest<'r> {
    method: &'r str,
    path: &'r str,
    body: &'r [u8],
}

/// The header that proves a request; `headers` in order.
fn authorization(
    request: &SignedRequest<'_>,
    headers: &[(&str, &str)],
    stamp: &SigningStamp<'_>,
    credentials: &Credentials,
) -> String {
    let SignedRequest { method, path, body } = request;
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let mut canonical = format!("{method}\n{path}\n\n");
    for (name, value) in headers {
        // Writing to a String cannot fail.
        writeln!(canonical, "{name}:{}", value.trim()).unwrap_or_default();
    }
    write!(canonical, "\n{names}\n{}", digest(body)).unwrap_or_default();
    let scope = stamp.scope();
    let text =
        format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{}", stamp.time, digest(canonical.as_bytes()));
    #[expect(clippy::disallowed_methods, reason = "the one key that it is signed with")]
    let first = zeroize::Zeroizing::new(format!("AWS4{}", credentials.secret.expose_secret()));
    let mut key = first.as_bytes().to_vec();
    for part in scope.split('/') {
        key = mac(&key, part);
    }
    let signature = hex::encode(mac(&key, &text));
    format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
        credentials.id
    )
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    // A key of any length will do.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `get-vanilla` of the test suite that AWS publishes for this signature.
    #[test]
    fn a_published_request_has_its_published_signature() {
        let credentials = Credentials {
            id: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
            token: None,
        };
        let stamp = SigningStamp::at(1_440_938_160_000, "us-east-1", "service");
        let request = SignedRequest { method: "GET", path: "/", body: b"" };
        let headers = [("host", "example.amazonaws.com"), ("x-amz-date", "20150830T123600Z")];
        assert_eq!(
            authorization(&request, &headers, &stamp, &credentials),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
             SignedHeaders=host;x-amz-date, \
             Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        );
    }
}
