//! Log lines about rejected requests: a few at a time for all strangers, and more for each caller, so that nobody can
//! fill the disk by asking often.

use super::AppState;
use super::rejection::Rejection;
use door::{Connection, LogLimiter};
use std::net::SocketAddr;
use tokio_rustls::rustls::Error;
use tracing::{info, warn};

/// The most lines about strangers, and about one caller, in ten seconds.
const OF_STRANGERS: u32 = 10;
const OF_ONE: u32 = 100;

/// The name for all strangers.
const STRANGERS: &str = "";

/// Which lines may be written.
#[derive(Debug)]
pub(super) struct RejectionLog {
    strangers: LogLimiter,
    callers: LogLimiter,
}

impl Default for RejectionLog {
    fn default() -> Self {
        Self { strangers: LogLimiter::new(OF_STRANGERS), callers: LogLimiter::new(OF_ONE) }
    }
}

impl RejectionLog {
    /// Returns the number of lines about a caller, or about strangers, left out before this one, if this line may
    /// be written.
    pub(super) fn may_write(&self, caller: Option<&str>) -> Option<u64> {
        match caller {
            Some(caller) => self.callers.may_write(caller),
            None => self.strangers.may_write(STRANGERS),
        }
    }
}

/// The part of TLS that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsFailure {
    /// The certificate of the caller is missing or not accepted.
    Certificate,
    /// Anything else.
    Handshake,
}

/// Logs a connection whose TLS failed.
pub(super) fn no_tls(state: &AppState, failure: TlsFailure, why: &Error, peer: SocketAddr) {
    let Some(unwritten) = state.rejection_log.may_write(None) else { return };
    match failure {
        TlsFailure::Certificate => {
            warn!(%peer, unwritten, "turned away: no certificate of a caller: {why}");
        }
        TlsFailure::Handshake => info!(%peer, unwritten, "turned away: no TLS: {why}"),
    }
}

/// Logs a rejected request of a caller, or of an unproven sender.
pub(super) fn rejected(
    state: &AppState,
    why: &Rejection,
    caller: Option<&str>,
    connection: Option<&Connection>,
) {
    let Some(unwritten) = state.rejection_log.may_write(caller) else { return };
    let peer = connection.map(|connection| tracing::field::display(connection.peer));
    if matches!(why, Rejection::Unauthenticated(_)) {
        warn!(caller, peer, unwritten, "turned away: {why}");
    } else {
        info!(caller, peer, unwritten, "turned away: {why}");
    }
}
