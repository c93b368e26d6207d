//! Log lines about requests that nothing was done for: a few at a time, however many there are, or a
//! stranger would fill the disk.

use super::turned_away::TurnedAway;
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::Instant;
use tokio_rustls::rustls::Error;
use tracing::{info, warn};

/// The most lines in so long a time.
const LINES: u32 = 10;
const TIME: Duration = Duration::from_secs(10);

/// Remembers what was written lately.
#[derive(Debug, Default)]
pub(super) struct Strangers(Mutex<Lately>);

#[derive(Debug, Default)]
struct Lately {
    since: Option<Instant>,
    written: u32,
    unwritten: u64,
}

impl Strangers {
    /// Somebody's TLS came to nothing; `unproven` where it was for want of a good certificate.
    pub(super) fn shook_no_hands(&self, why: &Error, peer: SocketAddr, unproven: bool) {
        let Some(unwritten) = self.0.lock().may_write() else { return };
        if unproven {
            warn!(%peer, unwritten, "turned away: no certificate of a caller: {why}");
        } else {
            info!(%peer, unwritten, "turned away: no TLS: {why}");
        }
    }

    /// Somebody was turned away.
    pub(super) fn turned_away(&self, why: &TurnedAway, peer: Option<SocketAddr>) {
        let Some(unwritten) = self.0.lock().may_write() else { return };
        let peer = peer.map(tracing::field::display);
        if matches!(why, TurnedAway::Unauthenticated(_)) {
            warn!(peer, unwritten, "turned away: {why}");
        } else {
            info!(peer, unwritten, "turned away: {why}");
        }
    }
}

impl Lately {
    /// How many lines were left out before this one, if it may be written.
    fn may_write(&mut self) -> Option<u64> {
        if self.since.is_none_or(|since| since.elapsed() >= TIME) {
            self.since = Some(Instant::now());
            self.written = 0;
        }
        if self.written >= LINES {
            self.unwritten = self.unwritten.saturating_add(1);
            return None;
        }
        self.written = self.written.saturating_add(1);
        Some(std::mem::take(&mut self.unwritten))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn of_many_lines_a_few_are_written_and_the_others_counted() {
        let mut lately = Lately::default();
        let written = (0..1000).filter(|_| lately.may_write().is_some()).count();
        assert_eq!(written, 10);
        tokio::time::advance(TIME).await;
        assert_eq!(lately.may_write(), Some(990));
        assert_eq!(lately.may_write(), Some(0));
    }
}
