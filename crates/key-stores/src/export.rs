//! The fetching of a key that a store hands out, once, when the key is opened. The store is asked for nothing after
//! that.

use keys::{Secret, StoreError, StoreFault};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::sleep;

/// Number of times that a store is asked, if it may answer yet.
const TRIES: u32 = 4;

/// Pause between the first try and the second; each one after that waits twice as long.
const PAUSE: Duration = Duration::from_millis(250);

/// Fetches a key, with a few tries.
pub(super) async fn patiently<F>(fetch: impl Fn() -> F + Send) -> Result<Secret, StoreError>
where
    F: Future<Output = Result<Secret, StoreError>> + Send,
{
    let (mut pause, mut tries_left) = (PAUSE, TRIES);
    loop {
        tries_left = tries_left.saturating_sub(1);
        match fetch().await {
            Err(failure) if failure.fault.may_pass() && tries_left > 0 => {
                sleep(pause).await;
                pause = pause.saturating_mul(2);
            }
            ended => return ended,
        }
    }
}

/// The fields of a secret, which point into its text.
pub(super) type SecretFields<'t> = HashMap<Cow<'t, str>, &'t RawValue>;

/// The key in one field.
pub(super) fn field(fields: &SecretFields<'_>, name: &str) -> Result<Secret, StoreError> {
    let missing = || StoreError::new(StoreFault::Missing, "the secret has no such field");
    let value = fields.get(name).ok_or_else(missing)?;
    let value: &str = serde_json::from_str(value.get()).map_err(|_| odd("the field is no text"))?;
    Secret::from_hex(value.as_bytes()).ok_or_else(|| odd("the field is no private key in hex"))
}

fn odd(said: &str) -> StoreError {
    StoreError::new(StoreFault::Odd, said)
}
