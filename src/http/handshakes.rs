//! The part of a connection before its head if TLS is spoken: the terms of the port, and the counter of failed
//! handshakes.

use super::AppState;
use super::rejection_log::{TlsFailure, no_tls};
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
    state: Option<Arc<AppState>>,
}

/// Returns the handshakes of a port with TLS.
pub fn handshakes_of(state: &Arc<AppState>) -> Option<Handshakes> {
    let tls = state.limits.tls.clone()?;
    Some(Handshakes::new(Arc::new(PortTerms { tls, state: Some(Arc::clone(state)) })))
}

/// The same where nobody counts.
pub fn uncounted_handshakes(limits: &HttpConfig) -> Option<Handshakes> {
    Some(Handshakes::new(Arc::new(PortTerms { tls: limits.tls.clone()?, state: None })))
}

impl Terms for PortTerms {
    fn acceptor(&self) -> TlsAcceptor {
        self.tls.acceptor()
    }

    /// A certificate that is missing or wrong counts as a failed proof.
    fn failed(&self, why: &Error, peer: SocketAddr) {
        let Some(state) = &self.state else { return };
        if matches!(why, Error::NoCertificatesPresented | Error::InvalidCertificate(_)) {
            state.metrics.unauthenticated(CERTIFICATE);
            no_tls(state, TlsFailure::Certificate, why, peer);
        } else {
            no_tls(state, TlsFailure::Handshake, why, peer);
        }
    }
}
