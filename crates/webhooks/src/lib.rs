#![doc = include_str!("../README.md")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use sha2::Sha256;

/// Header with the id of a message: the same each time that the message is sent.
pub const ID_HEADER: &str = "webhook-id";
/// Header with the time of sending, Unix seconds.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// Header with the signature.
pub const SIGNATURE_HEADER: &str = "webhook-signature";

/// The secret by which a receiver knows messages.
#[derive(Clone, Debug)]
pub struct WebhookSecret(SecretSlice<u8>);

/// The text is no secret that every library of the scheme reads alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "is not whsec_ and the base64 of 24 to 64 bytes, as the libraries of Standard Webhooks want it: \
     make one with `echo \"whsec_$(openssl rand -base64 32)\"`"
)]
pub struct NotASecret;

impl WebhookSecret {
    /// Reads `whsec_…`. Libraries disagree about other forms, so those are refused.
    #[expect(clippy::disallowed_methods, reason = "the text is read here, and nowhere else")]
    pub fn read(text: &SecretString) -> Result<Self, NotASecret> {
        let coded = text.expose_secret().strip_prefix("whsec_").ok_or(NotASecret)?;
        let key = STANDARD.decode(coded).map_err(|_| NotASecret)?;
        if (24..=64).contains(&key.len()) { Ok(Self(key.into())) } else { Err(NotASecret) }
    }

    /// The value of [`SIGNATURE_HEADER`] for a message. `timestamp` is in Unix seconds; `id` has no dot.
    #[expect(clippy::disallowed_methods, reason = "the one place where the secret signs")]
    pub fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
        // A key of any length makes an HMAC.
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.expose_secret())
            .unwrap_or_else(|_| Hmac::new(&[0; 64].into()));
        mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification.
    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned();
        let secret = WebhookSecret::read(&SecretString::from(secret)).unwrap();
        let (id, at) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330);
        let made = secret.sign(id, at, r#"{"test": 2432232314}"#);
        assert_eq!(made, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_that_libraries_read_differently_is_refused() {
        let short = format!("whsec_{}", STANDARD.encode([7; 23]));
        for text in ["a plain secret", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_?", &short] {
            let read = WebhookSecret::read(&SecretString::from(text.to_owned()));
            assert_eq!(read.err(), Some(NotASecret), "{text}");
        }
    }
}
