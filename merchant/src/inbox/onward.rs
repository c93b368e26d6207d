//! Handing on: what the answer of the merchant's own address means, and how an event is signed. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use sha2::Sha256;
use thiserror::Error;

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// Pauses between tries, milliseconds. After the last try the event is dead: about three days.
pub(crate) const PAUSES: [i64; 14] = [
    5 * SECOND,
    15 * SECOND,
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    8 * HOUR,
    12 * HOUR,
    12 * HOUR,
    12 * HOUR,
    12 * HOUR,
];
/// The longest pause that the address may ask for.
const LONGEST_ASKED: i64 = 12 * HOUR;

/// The answer of the merchant's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// An HTTP status, and `Retry-After` in seconds.
    Status(u16, Option<i64>),
    /// Nothing, or nothing whole.
    Nothing,
}

/// The next step for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// It has arrived.
    Delivered,
    /// Another try after so many milliseconds.
    Again(i64),
    /// No more tries, and nothing later of its stream, until a person has looked.
    Dead,
}

/// Returns the next step after `tries` tries, this one included. Only 2xx says that the event has arrived: a
/// redirect is a mistake in the configuration, and 410 says that nobody wants the event. Pauses are `pace` times
/// shorter than in production.
pub(crate) fn after(tries: u32, said: Said, pace: i64) -> Push {
    let asked = match said {
        Said::Status(200..=299, _) => return Push::Delivered,
        Said::Status(410, _) => return Push::Dead,
        Said::Status(_, asked) => asked.unwrap_or(0).saturating_mul(SECOND).min(LONGEST_ASKED),
        Said::Nothing => 0,
    };
    let at = usize::try_from(tries.saturating_sub(1)).unwrap_or(usize::MAX);
    match PAUSES.get(at) {
        Some(pause) => Push::Again(pause.div_euclid(pace.max(1)).max(asked)),
        None => Push::Dead,
    }
}

/// The secret by which the merchant's own address knows events.
#[derive(Clone, Debug)]
pub struct OnwardSecret(SecretSlice<u8>);

/// The text is no secret that every library of the scheme reads alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "is not whsec_ and the base64 of 24 to 64 bytes, as the libraries of Standard Webhooks want it: \
     make one with `echo \"whsec_$(openssl rand -base64 32)\"`"
)]
pub struct NoOnwardSecret;

impl OnwardSecret {
    /// Reads `whsec_…`. Libraries disagree about other forms, so there are none.
    #[expect(clippy::disallowed_methods, reason = "the text is read here, and nowhere else")]
    pub fn read(text: &SecretString) -> Result<Self, NoOnwardSecret> {
        let coded = text.expose_secret().strip_prefix("whsec_").ok_or(NoOnwardSecret)?;
        let key = STANDARD.decode(coded).map_err(|_| NoOnwardSecret)?;
        if (24..=64).contains(&key.len()) { Ok(Self(key.into())) } else { Err(NoOnwardSecret) }
    }
}

/// The value of `webhook-signature` (Standard Webhooks): `v1,` and base64 of the HMAC-SHA256 over id,
/// timestamp and body with dots between.
#[expect(clippy::disallowed_methods, reason = "the one place where the onward secret is used")]
pub(crate) fn signature(secret: &OnwardSecret, id: &str, timestamp: i64, body: &str) -> String {
    // A key of any length makes an HMAC.
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.0.expose_secret())
        .unwrap_or_else(|_| Hmac::new(&[0; 64].into()));
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_arrives_or_is_dead_after_a_known_number_of_tries() {
        let last = u32::try_from(PAUSES.len()).unwrap().saturating_add(1);
        for said in [Said::Nothing, Said::Status(500, None), Said::Status(301, None)] {
            for tries in 1..last {
                assert!(matches!(after(tries, said, 1), Push::Again(pause) if pause > 0));
            }
            assert_eq!(after(last, said, 1), Push::Dead);
        }
        assert_eq!(after(1, Said::Status(204, None), 1), Push::Delivered);
        assert_eq!(after(1, Said::Status(410, None), 1), Push::Dead);
        assert_eq!(after(1, Said::Status(503, Some(60)), 1), Push::Again(60_000));
        assert_eq!(after(1, Said::Status(429, Some(i64::MAX)), 1), Push::Again(LONGEST_ASKED));
    }

    /// The example of the Standard Webhooks specification.
    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned();
        let secret = OnwardSecret::read(&SecretString::from(secret)).unwrap();
        let (id, at, body) =
            ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        let made = signature(&secret, id, at, body);
        assert_eq!(made, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_that_libraries_read_differently_is_refused() {
        let short = format!("whsec_{}", STANDARD.encode([7; 23]));
        for text in ["a plain secret", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_?", &short] {
            let read = OnwardSecret::read(&SecretString::from(text.to_owned()));
            assert_eq!(read.err(), Some(NoOnwardSecret), "{text}");
        }
    }
}
