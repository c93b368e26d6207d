//! The part of a connection before its head if TLS is spoken: the terms of the port, and the counter of failed
//! handshakes.

use super::AppState;
use super::sampled::no_tls;
use config::HttpConfig;
use door::{Handshakes, Terms};
use host::tls::Tls;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::Error;

/// In metrics, why a connection proved nothing whose certificate was missing or not accepted.
const CERTIFICATE: &str = "certificate";

/// The terms of a port.
#[derive(Debug)]
struct PortTerms {
    tls: Arc<Tls>,
    /// Counter of failed handshakes.
    door: Option<Arc<AppState>>,
}

/// Returns the handshakes of a door that speaks TLS.
pub fn handshakes_of(door: &Arc<AppState>) -> Option<Handshakes> {
    let tls = door.limits.tls.clone()?;
    Some(Handshakes::new(Arc::new(PortTerms { tls, door: Some(Arc::clone(door)) })))
}

/// The same where nobody counts.
pub fn uncounted_handshakes(limits: &HttpConfig) -> Option<Handshakes> {
    Some(Handshakes::new(Arc::new(PortTerms { tls: limits.tls.clone()?, door: None })))
}

impl Terms for PortTerms {
    fn acceptor(&self) -> TlsAcceptor {
        self.tls.acceptor()
    }

    /// A certificate that is missing or wrong counts as a failed proof.
    fn failed(&self, why: &Error, peer: SocketAddr) {
        let Some(door) = &self.door else { return };
        let unproven = matches!(why, Error::NoCertificatesPresented | Error::InvalidCertificate(_));
        if unproven {
            door.metrics.unauthenticated(CERTIFICATE);
        }
        no_tls(door, why, peer, unproven);
    }
}
