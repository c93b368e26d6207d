//! The data needed to ask a running Signer.

use super::callers::Rights;
use super::faults::Faults;
use super::{Caller, ConfigErrors, HttpConfig, secret};
use host::tls::Tls;
use secrecy::SecretString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

/// The addresses of a running Signer, and the callers in whose name it can be asked.
#[derive(Debug, Clone)]
pub struct Asking {
    /// The listening address.
    pub listen: SocketAddr,
    /// Address for health and metrics; none if `listen` serves them too.
    pub health_listen: Option<SocketAddr>,
    /// TLS of `listen`; none if connections there are not encrypted.
    pub tls: Option<Arc<Tls>>,
    /// Callers that may ask.
    pub callers: Vec<Caller>,
}

impl Asking {
    pub(super) fn of(http: &HttpConfig, callers: Vec<Caller>) -> Self {
        let HttpConfig { listen, health_listen, .. } = *http;
        Self { listen, health_listen, tls: http.tls.clone(), callers }
    }

    /// In the name of a caller whose secret is in a file, without any configuration: the Signer has to be named, and
    /// judges itself what this caller may.
    pub fn as_caller(key: &str, secret_file: &Path) -> Result<Self, ConfigErrors> {
        let faults = Faults::default();
        let secret =
            secret::of_named_file(secret_file).map_err(|why| faults.add("--secret-file", why));
        let secret = SecretString::from(faults.settle(secret)?);
        let rights = Rights { control: true, ..Rights::default() };
        let caller = Caller { label: key.to_owned(), key: key.to_owned(), secret, rights };
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Ok(Self { listen, health_listen: None, tls: None, callers: vec![caller] })
    }
}
