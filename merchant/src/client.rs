//! Every call of the platform (part 4 of the interface), signed and typed.
//!
//! Reads are repeated when they fail for a moment; whatever changes something is sent once. The one
//! call that moves money, [`Client::withdraw_apply`], looks first.

mod link;
mod lists;
mod pages;
mod users;
mod withdraw;

pub use crate::transport::SetupError;
pub use link::{CancelRequest, Link, LinkAnswer, LinkRequest};
pub use pages::{LARGEST_PAGE, Listed, Page};
pub use users::WithdrawName;
pub use withdraw::{Applied, WithdrawError, WithdrawRequest};

use crate::clock::Clock;
use crate::error::CallError;
use crate::full::Full;
use crate::sign::Credentials;
use crate::time::UnixSeconds;
use crate::transport::{Answers, Reply, Transport, typed};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;

/// The code of an envelope that tells of success.
const SUCCESS: i64 = 200;
/// The longest that `Retry-After` is obeyed; what asks for more is given up.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The platform, seen from one merchant's account. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    transport: Transport,
    /// Address of the users' pages, without a slash at its end.
    payment_url: String,
    /// Number of tries for a read.
    tries: u32,
    /// Envelope codes that say "there is no such record"; 404 always does.
    not_found: Arc<[i64]>,
}

impl Client {
    /// A client of the platform at `base_url`, whose pages for users are at `payment_url`.
    pub fn new(
        base_url: &str,
        payment_url: &str,
        credentials: Credentials,
    ) -> Result<Self, SetupError> {
        let transport = Transport::new(base_url, credentials, Answers::Unsigned)?;
        let payment_url = crate::transport::base_of(payment_url)?;
        Ok(Self { transport, payment_url, tries: 4, not_found: Arc::new([]) })
    }

    /// Signs by another clock than this machine's.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.transport.clock = clock;
        self
    }

    /// Gives a request up after `timeout` (15 s unless set).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.transport.timeout = timeout;
        self
    }

    /// Tries a read `tries` times before it fails (4 unless set; 0 counts as 1).
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Further envelope codes that mean "there is no such record". HTTP 404, the code 404 and a
    /// success without data always do; the platform's own list of codes is not public.
    #[must_use]
    pub fn with_not_found_codes(mut self, codes: &[i64]) -> Self {
        self.not_found = codes.into();
        self
    }

    /// The time at the platform as its `Date` header tells it; `None` if it sends none. Needs no
    /// clock that is right, nor a key that is known.
    pub async fn peer_time(&self) -> Result<Option<UnixSeconds>, CallError> {
        let reply = self.transport.exchange(lists::CHAINS, None).await?;
        Ok(reply.peer_time())
    }

    /// A read: tried again, with pauses, while the failure is one that passes.
    async fn read<T: DeserializeOwned>(&self, path_and_query: &str) -> Result<T, CallError> {
        let mut failures: u32 = 0;
        loop {
            let error = match self.read_once(path_and_query).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            failures = failures.saturating_add(1);
            let pause = pause(failures, &error);
            if failures >= self.tries || !error.passes() || pause > LONGEST_PAUSE {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn read_once<T: DeserializeOwned>(&self, path_and_query: &str) -> Result<T, CallError> {
        data(self.transport.exchange(path_and_query, None).await?)
    }

    /// A read of one record; `None` if the platform says that there is none.
    async fn find<T: DeserializeOwned>(
        &self,
        path_and_query: &str,
    ) -> Result<Option<Full<T>>, CallError> {
        match self.read::<Option<Full<T>>>(path_and_query).await {
            Err(CallError::Refused(refusal))
                if refusal.http_status == 404
                    || refusal.code == 404
                    || self.not_found.contains(&refusal.code) =>
            {
                Ok(None)
            }
            found => found,
        }
    }

    /// A call that changes something: sent once.
    async fn change<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CallError> {
        let body = serde_json::to_string(body).map_err(|error| CallError::Unsent {
            peer: self.transport.peer().to_owned(),
            why: format!("the request cannot be written as JSON: {error}"),
        })?;
        data(self.transport.exchange(path, Some(&body)).await?)
    }
}

fn data<T: DeserializeOwned>(reply: Reply) -> Result<T, CallError> {
    let http_status = reply.http_status;
    typed(http_status, reply.success(SUCCESS)?.as_deref())
}

/// 0.25 s, 1 s, 4 s and so on, up to half as much again at random; at least what the peer asks for.
fn pause(failures: u32, error: &CallError) -> Duration {
    let grown = 250_u64.saturating_mul(4_u64.saturating_pow(failures.saturating_sub(1)));
    let mut random = [0_u8; 1];
    // Without randomness the pause is the longest one.
    let share = getrandom::getrandom(&mut random).map_or(u8::MAX, |()| u8::from_le_bytes(random));
    let extra = grown.saturating_mul(u64::from(share)).div_euclid(512);
    let asked = error.refusal().and_then(|refusal| refusal.retry_after_seconds);
    Duration::from_millis(grown.saturating_add(extra))
        .max(Duration::from_secs(asked.unwrap_or_default()))
}
