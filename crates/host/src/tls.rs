//! TLS where callers come in: a certificate with its key, and the authority of callers' own certificates,
//! read from files at the start and again when these change. Knows no HTTP.

mod itself;
mod material;

pub use material::{FileFault, TlsFile, TlsFiles};

use jiff::Timestamp;
use material::{Material, Stamp};
use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use std::fmt;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls;

/// Less than this before its end a certificate should have been renewed, seconds; less than a third of its
/// life for one that lives shortly.
const RENEWED_BY: i64 = 14 * 86_400;

/// The terms by which a port with TLS works, whatever its files say meanwhile.
pub struct Tls {
    files: TlsFiles,
    terms: RwLock<InUse>,
}

struct InUse {
    server: Arc<ServerConfig>,
    material: Material,
    /// The stamp of the files when they were looked at last.
    stamp: Stamp,
    /// Why what is in the files now is not used.
    refused: Option<String>,
}

/// The change in the files since they were looked at last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Nothing.
    Same,
    /// The files' present contents are used from here on.
    Taken,
    /// The files' present contents cannot be used: their contents before are still in use.
    Refused(String),
}

/// The validity of the certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Long enough.
    Good,
    /// Not for long: it should be renewed.
    Ending,
    /// No client takes it any more.
    Over,
}

impl Tls {
    /// Reads the files. `now` is in Unix seconds.
    pub fn read(files: TlsFiles, now: i64) -> Result<Arc<Self>, Vec<FileFault>> {
        let stamp = files.stamp();
        let (server, material) = load(&files, now)?;
        let terms = RwLock::new(InUse { server, material, stamp, refused: None });
        Ok(Arc::new(Self { files, terms }))
    }

    /// Returns an acceptor that shakes hands by the terms in use now.
    pub fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.terms.read().server).into()
    }

    /// Returns true if callers have to show a certificate.
    pub fn wants_certificates(&self) -> bool {
        self.files.client_ca.is_some()
    }

    /// Returns true if a program of this installation has the means to ask.
    pub fn can_be_asked(&self) -> bool {
        self.files.identity.is_some() || !self.wants_certificates()
    }

    /// Until when the certificate is good, Unix seconds.
    pub fn until(&self) -> i64 {
        self.terms.read().material.until
    }

    /// Returns the validity of the certificate at `now`, Unix seconds.
    pub fn validity(&self, now: i64) -> Validity {
        let Material { from, until, .. } = self.terms.read().material;
        let early = until.saturating_sub(from).div_euclid(3).min(RENEWED_BY);
        match until.saturating_sub(now) {
            ..=0 => Validity::Over,
            left if left < early => Validity::Ending,
            _ => Validity::Good,
        }
    }

    /// Returns the trouble with the certificate that a person should know at `now`, Unix seconds; nothing when all
    /// is well.
    pub fn trouble(&self, now: i64) -> Option<String> {
        let refused = self.terms.read().refused.clone();
        let until = shown(self.until());
        let said = match self.validity(now) {
            Validity::Good => None,
            Validity::Ending => Some(format!("the certificate ends at {until}: renew it")),
            Validity::Over => Some(format!(
                "the certificate ended at {until}, so no caller that verifies it gets in: renew it"
            )),
        };
        let refused = refused.map(|why| format!("the files were changed, and are not used: {why}"));
        let all: Vec<String> = said.into_iter().chain(refused).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Looks whether the files have changed, and takes what they hold if it is good. Connections that are
    /// open stay as they are.
    pub fn renew(&self, now: i64) -> Renewal {
        let stamp = self.files.stamp();
        if self.terms.read().stamp == stamp {
            return Renewal::Same;
        }
        let loaded = load(&self.files, now);
        let mut terms = self.terms.write();
        terms.stamp = stamp;
        match loaded {
            Ok((_, material)) if material == terms.material => {
                terms.refused = None;
                Renewal::Same
            }
            Ok((server, material)) => {
                *terms = InUse { server, material, stamp: terms.stamp.clone(), refused: None };
                Renewal::Taken
            }
            Err(faults) => {
                let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
                let told = told.join("; ");
                terms.refused = Some(told.clone());
                Renewal::Refused(told)
            }
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

impl fmt::Display for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let callers = if self.wants_certificates() { "have to show a" } else { "need no" };
        write!(f, "certificate until {}; callers {callers} certificate", shown(self.until()))
    }
}

/// A time as people and machines read it.
pub fn shown(unix_seconds: i64) -> String {
    Timestamp::from_second(unix_seconds).map_or_else(|_| "?".to_owned(), |time| time.to_string())
}

/// The one provider of cryptography, which calls to nodes use as well.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn load(files: &TlsFiles, now: i64) -> Result<(Arc<ServerConfig>, Material), Vec<FileFault>> {
    let (material, key) = Material::read(files, now)?;
    let certificate = |why: rustls::Error| {
        let (of, problem) = if matches!(why, rustls::Error::InconsistentKeys(_)) {
            (TlsFile::Key, "does not belong to the certificate in certificate_file".to_owned())
        } else {
            (TlsFile::Certificate, format!("cannot be used with its key: {why}"))
        };
        vec![FileFault { of, problem }]
    };
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(certificate)?;
    let builder = match &material.authorities {
        None => builder.with_no_client_auth(),
        Some(roots) => {
            let roots = Arc::new(material::roots(roots)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
            let verifier = verifier.map_err(|why| {
                vec![FileFault { of: TlsFile::ClientCa, problem: format!("cannot be used: {why}") }]
            })?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut server = builder.with_single_cert(material.chain.clone(), key).map_err(certificate)?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A session that is resumed is not judged again: neither the files of today nor its time would count.
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    Ok((Arc::new(server), material))
}

#[cfg(test)]
mod tests;
