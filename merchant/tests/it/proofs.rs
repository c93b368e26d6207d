//! The proof that the Signer gives with an answer, for counterparts that play it.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use merchant::clock::{Clock as _, SystemClock};
use sha2::Sha256;

/// Signs an answer (HTTP status and body) to the request with this signature.
pub(crate) fn prove(
    headers: &mut HeaderMap,
    secret: &str,
    request_sign: &str,
    status: u16,
    body: &[u8],
) {
    let timestamp = SystemClock.now().0;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{timestamp}{status}{request_sign}").as_bytes());
    mac.update(body);
    let sign = STANDARD.encode(mac.finalize().into_bytes());
    headers.insert("x-pay-timestamp", timestamp.into());
    headers.insert("x-pay-sign", sign.parse().unwrap());
}
