//! TLS to a peer of one's own: an authority that no system knows, and a certificate for a peer that asks for one.

use crate::outgoing::cause;
use reqwest::{Certificate, ClientBuilder, Identity};
use thiserror::Error;

/// The authorities that a client believes, and the certificate that it shows. Unless told otherwise the client
/// believes the authorities of this system, and shows nothing.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    authorities: Option<Vec<Certificate>>,
    identity: Option<Identity>,
}

/// The error for input that is of no use for TLS.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TlsError {
    /// The text has no certificate in it.
    #[error("holds no certificate in PEM (-----BEGIN CERTIFICATE-----)")]
    NoCertificate,
    /// There is something that no TLS can be spoken with.
    #[error("cannot be used: {0}")]
    Unusable(String),
}

impl Tls {
    /// Believes what these authorities have signed, and nothing else: one or more certificates in PEM.
    pub fn with_authorities(mut self, pem: &[u8]) -> Result<Self, TlsError> {
        let authorities = Certificate::from_pem_bundle(pem).map_err(unusable)?;
        if authorities.is_empty() {
            return Err(TlsError::NoCertificate);
        }
        self.authorities = Some(authorities);
        self.tried()
    }

    /// Shows this certificate to a peer that asks for one. In one PEM: the certificate, those up to its authority, and
    /// its key.
    pub fn with_identity(mut self, pem: &[u8]) -> Result<Self, TlsError> {
        self.identity = Some(Identity::from_pem(pem).map_err(unusable)?);
        self.tried()
    }

    /// Makes a client on trial, which fails if the parts do not fit together.
    fn tried(self) -> Result<Self, TlsError> {
        self.applied(reqwest::Client::builder()).build().map_err(unusable)?;
        Ok(self)
    }

    pub(crate) fn applied(&self, mut client: ClientBuilder) -> ClientBuilder {
        if let Some(authorities) = &self.authorities {
            client = client.tls_certs_only(authorities.iter().cloned());
        }
        match &self.identity {
            Some(identity) => client.identity(identity.clone()),
            None => client,
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn unusable(error: reqwest::Error) -> TlsError {
    TlsError::Unusable(cause(&error))
}
