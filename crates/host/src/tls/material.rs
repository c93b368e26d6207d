//! The contents of the files: read whole, or every fault in them at once.

use crate::owner_only;
use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tokio_rustls::rustls;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use zeroize::Zeroizing;

/// The places of certificate, key and authority, each in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate of this server first, then those of the authorities in between.
    pub certificate: PathBuf,
    /// Its private key: PKCS #8, PKCS #1 or SEC1, not encrypted.
    pub key: PathBuf,
    /// The authority that signs the certificates of callers; none if they need none.
    pub client_ca: Option<PathBuf>,
    /// A certificate with its key for commands that ask a Signer which wants one of them.
    pub identity: Option<PathBuf>,
}

/// One of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFile {
    /// `certificate_file`.
    Certificate,
    /// `key_file`.
    Key,
    /// `client_ca_file`.
    ClientCa,
}

impl TlsFile {
    /// The key of the configuration that names it.
    pub const fn config_key(self) -> &'static str {
        match self {
            Self::Certificate => "certificate_file",
            Self::Key => "key_file",
            Self::ClientCa => "client_ca_file",
        }
    }
}

/// Why a file is not usable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFault {
    /// Which one.
    pub of: TlsFile,
    /// The problem with the file, and its remedy.
    pub problem: String,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.of.config_key(), self.problem)
    }
}

/// Everything in the files that is no secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Material {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) authorities: Option<Vec<CertificateDer<'static>>>,
    /// From when on the certificate is good, Unix seconds.
    pub(super) from: i64,
    /// Until when it is good, Unix seconds.
    pub(super) until: i64,
}

/// By what a change of the files is noticed: for each its place on the disk, its length and its time.
pub(super) type Stamp = Vec<Option<(u64, u64, i64, i64)>>;

impl TlsFiles {
    pub(super) fn stamp(&self) -> Stamp {
        let all = [Some(&self.certificate), Some(&self.key), self.client_ca.as_ref()];
        let about = |file: fs::Metadata| (file.ino(), file.size(), file.mtime(), file.mtime_nsec());
        all.into_iter().flatten().map(|path| fs::metadata(path).ok().map(about)).collect()
    }
}

impl Material {
    /// Reads all files; `now` is in Unix seconds.
    pub(super) fn read(
        files: &TlsFiles,
        now: i64,
    ) -> Result<(Self, PrivateKeyDer<'static>), Vec<FileFault>> {
        let key = private_key(&files.key);
        let chain = certificates(TlsFile::Certificate, &files.certificate);
        let chain = chain.and_then(|chain| good_now(chain, now));
        let authorities = files.client_ca.as_deref();
        let authorities = authorities.map(|path| certificates(TlsFile::ClientCa, path)).transpose();
        match (chain, key, authorities) {
            (Ok((chain, [from, until])), Ok(key), Ok(authorities)) => {
                Ok((Self { chain, authorities, from, until }, key))
            }
            (chain, key, authorities) => {
                Err([chain.err(), key.err(), authorities.err()].into_iter().flatten().collect())
            }
        }
    }
}

/// The authorities as what a certificate is held against.
pub(super) fn roots(
    authorities: &[CertificateDer<'static>],
) -> Result<RootCertStore, Vec<FileFault>> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority.clone()).map_err(|why| {
            vec![FileFault {
                of: TlsFile::ClientCa,
                problem: format!("has a bad certificate: {why}"),
            }]
        })?;
    }
    Ok(roots)
}

/// The chain, with the times of its first certificate.
fn good_now(
    chain: Vec<CertificateDer<'static>>,
    now: i64,
) -> Result<(Vec<CertificateDer<'static>>, [i64; 2]), FileFault> {
    let fault = |problem| FileFault { of: TlsFile::Certificate, problem };
    let own = chain.first().map(|own| Certificate::from_der(own));
    let Some(Ok(own)) = own else {
        return Err(fault("its first certificate cannot be read".to_owned()));
    };
    let validity = own.tbs_certificate.validity;
    let [from, until] = [validity.not_before, validity.not_after]
        .map(|time| i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX));
    let shown = super::shown;
    if until <= now {
        return Err(fault(format!("expired at {}: renew the certificate", shown(until))));
    }
    if from > now {
        let from = shown(from);
        return Err(fault(format!("good from {from} on only: look at this machine's clock")));
    }
    Ok((chain, [from, until]))
}

fn certificates(of: TlsFile, path: &Path) -> Result<Vec<CertificateDer<'static>>, FileFault> {
    let text = text(of, path)?;
    let fault = |problem: &str| FileFault { of, problem: problem.to_owned() };
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if all.is_empty() => {
            Err(fault("holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"))
        }
        Ok(all) => Ok(all),
        Err(_) => Err(fault("its PEM is damaged: copy the file again")),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, FileFault> {
    let text = text(TlsFile::Key, path)?;
    let encrypted = text.windows(9).any(|words| words == b"ENCRYPTED");
    PrivateKeyDer::from_pem_slice(&text).map_err(|why| {
        let problem = if encrypted {
            "is encrypted: store the key without a password, mode 0600"
        } else if matches!(why, pem::Error::NoItemsFound) {
            "holds no private key in PEM (-----BEGIN PRIVATE KEY-----)"
        } else {
            "its PEM is damaged: copy the file again"
        };
        FileFault { of: TlsFile::Key, problem: problem.to_owned() }
    })
}

/// Reads a file. A key has to be its owner's alone; a public file must not be anybody else's to change.
fn text(of: TlsFile, path: &Path) -> Result<Zeroizing<Vec<u8>>, FileFault> {
    let fault = |problem: String| FileFault { of, problem };
    let unreadable = |error: std::io::Error| {
        let path = path.display();
        fault(if error.kind() == std::io::ErrorKind::NotFound {
            format!("there is no file {path}: check the path")
        } else {
            format!("the file {path} cannot be read: {}", error.kind())
        })
    };
    let about = fs::metadata(path).map_err(unreadable)?;
    match of {
        TlsFile::Key => owner_only::check(&about).map_err(|why| fault(why.to_string()))?,
        TlsFile::Certificate | TlsFile::ClientCa if !about.is_file() => {
            return Err(fault("the file is no regular file".to_owned()));
        }
        TlsFile::Certificate | TlsFile::ClientCa => {
            if let Some(mode) = owner_only::open_to_everybody(&about) {
                let problem = format!(
                    "everybody can change the file (mode {mode:04o}); run `chmod 644` on it"
                );
                return Err(fault(problem));
            }
        }
    }
    fs::read(path).map(Zeroizing::new).map_err(unreadable)
}
