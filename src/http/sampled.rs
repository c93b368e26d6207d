//! Log lines about requests that nothing was done for: a few at a time for all strangers, and more for each caller,
//! however many there are, or whoever asks often enough would fill the disk.

use super::AppState;
use super::turned_away::TurnedAway;
use door::{Guest, Lines};
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
pub(super) struct Sampled {
    strangers: Lines,
    callers: Lines,
}

impl Default for Sampled {
    fn default() -> Self {
        Self { strangers: Lines::new(OF_STRANGERS), callers: Lines::new(OF_ONE) }
    }
}

impl Sampled {
    /// Returns the number of lines about a caller, or about strangers, left out before this one, if this line may
    /// be written.
    pub(super) fn may_write(&self, caller: Option<&str>) -> Option<u64> {
        match caller {
            Some(caller) => self.callers.may_write(caller),
            None => self.strangers.may_write(STRANGERS),
        }
    }
}

/// Somebody's TLS came to nothing; `unproven` where it was for want of a good certificate.
pub(super) fn no_tls(door: &AppState, why: &Error, peer: SocketAddr, unproven: bool) {
    let Some(unwritten) = door.sampled.may_write(None) else { return };
    if unproven {
        warn!(%peer, unwritten, "turned away: no certificate of a caller: {why}");
    } else {
        info!(%peer, unwritten, "turned away: no TLS: {why}");
    }
}

/// Somebody was turned away: a caller, or a stranger.
pub(super) fn turned_away(
    door: &AppState,
    why: &TurnedAway,
    caller: Option<&str>,
    guest: Option<&Guest>,
) {
    let Some(unwritten) = door.sampled.may_write(caller) else { return };
    let peer = guest.map(|guest| tracing::field::display(guest.peer));
    if matches!(why, TurnedAway::Unauthenticated(_)) {
        warn!(caller, peer, unwritten, "turned away: {why}");
    } else {
        info!(caller, peer, unwritten, "turned away: {why}");
    }
}
