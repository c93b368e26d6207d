//! What stands before a head where TLS is spoken: a handshake, which has as long as a head has, and a
//! connection of its own among those that are counted.

use super::AppState;
use crate::config::HttpConfig;
use crate::tls::Tls;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::rustls::Error;
use tokio_rustls::server::TlsStream;

/// In metrics, why a connection proved nothing whose certificate was missing or not accepted.
const CERTIFICATE: &str = "certificate";

/// How connections begin on a port with TLS.
#[derive(Clone, Debug)]
pub struct Handshakes {
    tls: Arc<Tls>,
    header_timeout: Duration,
    /// Who counts those that come to nothing.
    door: Option<Arc<AppState>>,
}

impl Handshakes {
    /// Those of a door that speaks TLS.
    pub fn of(door: &Arc<AppState>) -> Option<Self> {
        Some(Self { door: Some(Arc::clone(door)), ..Self::of_nobody(&door.limits)? })
    }

    /// The same where nobody counts.
    pub fn of_nobody(limits: &HttpConfig) -> Option<Self> {
        let header_timeout = limits.header_timeout;
        Some(Self { tls: limits.tls.clone()?, header_timeout, door: None })
    }

    /// What is encrypted from here on; nothing when the other side did not do its part in time.
    pub(super) async fn shake<S>(&self, stream: S, peer: SocketAddr) -> Option<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let accepted = Box::pin(self.tls.acceptor().accept(stream));
        match timeout(self.header_timeout, accepted).await.ok()? {
            Ok(stream) => Some(stream),
            Err(error) => {
                self.note(&error, peer);
                None
            }
        }
    }

    /// A certificate that is missing or wrong counts as a failed proof. Whoever hangs up says nothing.
    fn note(&self, error: &std::io::Error, peer: SocketAddr) {
        let Some(why) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else {
            return;
        };
        let Some(door) = &self.door else { return };
        let unproven = matches!(why, Error::NoCertificatesPresented | Error::InvalidCertificate(_));
        if unproven {
            door.metrics.unauthenticated(CERTIFICATE);
        }
        door.strangers.shook_no_hands(why, peer, unproven);
    }
}
