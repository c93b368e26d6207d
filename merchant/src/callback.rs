//! Callbacks: the platform's word that something happened, checked before anything looks at it.
//!
//! [`verify`] is the whole check as a plain function; `web` (feature `server`) is the same as an axum extractor and
//! router. Points that the interface leaves open are decided so:
//!
//! * The signature travels in the three headers of a request; a body field `sign` is a field like any
//!   other.
//! * Signed are the timestamp, the method, the path with its query as it arrived, and the raw body.
//!   A proxy that rewrites the path hides what was signed: then say it, with
//!   [`Receiver::with_signed_path`].
//! * A signature older than 60 s is refused. A copy of a callback within those 60 s verifies: hold
//!   [`Event::key`] against what was seen before.
//! * A body is JSON that every language reads alike, or it is refused: an object in UTF-8, each name once in its
//!   object and none that begins with NUL, at most 100 levels, surrogates in pairs, numbers of any size.
//! * A callback is a hint. That a charge was made is proven by the chain alone.

mod borders;
mod event;
#[cfg(feature = "server")]
pub mod web;

pub use event::{Event, NotAnEvent};

use crate::clock::{Clock, SystemClock};
use crate::sign::{self, Arrived, Credentials, Presented, SignatureError};
use crate::time::UnixSeconds;
use std::sync::Arc;
use thiserror::Error;

/// A callback whose signature holds.
#[derive(Clone, Debug)]
pub struct Callback {
    /// The key that signed.
    pub key: String,
    /// When it was received.
    pub received_at: UnixSeconds,
    /// The event, with everything in it that this version does not know.
    pub event: Event,
}

/// Why a callback is not passed on. The text may go to the sender.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CallbackError {
    /// It is not signed, or not by somebody known, or not now.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// It is signed, but no JSON object.
    #[error(transparent)]
    NotAnEvent(#[from] NotAnEvent),
}

/// The allowed senders of callbacks, and the clock by which callbacks are held to be fresh. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Receiver {
    credentials: Arc<[Credentials]>,
    clock: Arc<dyn Clock>,
    signed_path: Option<Arc<str>>,
}

impl Receiver {
    /// Accepts what is signed with any of the `credentials`. Two may have one key, while a secret
    /// changes.
    pub fn new(credentials: impl Into<Arc<[Credentials]>>) -> Self {
        Self { credentials: credentials.into(), clock: Arc::new(SystemClock), signed_path: None }
    }

    /// Uses another clock than this machine's.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Takes this for the signed path and query, whatever path a callback arrives at: that of the
    /// `notifyUrl`, behind a proxy that rewrites it.
    #[must_use]
    pub fn with_signed_path(mut self, path_and_query: &str) -> Self {
        self.signed_path = Some(path_and_query.into());
        self
    }

    /// Checks a callback as it arrived.
    pub fn check(
        &self,
        presented: &Presented<'_>,
        arrived: &Arrived<'_>,
    ) -> Result<Callback, CallbackError> {
        let path_and_query = self.signed_path.as_deref().unwrap_or(arrived.path_and_query);
        let arrived = Arrived { path_and_query, ..*arrived };
        verify(&self.credentials, presented, &arrived, self.clock.now())
    }
}

/// Checks the signature over the raw body first, and reads the body only if it holds.
pub fn verify(
    credentials: &[Credentials],
    presented: &Presented<'_>,
    arrived: &Arrived<'_>,
    now: UnixSeconds,
) -> Result<Callback, CallbackError> {
    let key = sign::verify(credentials, presented, arrived, now)?.to_owned();
    Ok(Callback { key, received_at: now, event: Event::read(arrived.body)? })
}
