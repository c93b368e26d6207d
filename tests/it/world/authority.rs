//! Who signs the certificates of Signers that speak TLS, and of callers.

use super::signer::{Installation, Scheduler, Signer};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use reqwest::{Certificate, Identity};
use std::fs::{Permissions, set_permissions, write};
use std::os::unix::fs::PermissionsExt as _;

/// An authority, which signs certificates of this machine and of callers.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

/// A certificate and its key, in PEM.
pub(crate) struct Paper {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    pub(crate) fn signs(&self, name: &str, purpose: ExtendedKeyUsagePurpose) -> Paper {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Paper { certificate, key: key.serialize_pem() }
    }

    /// For the address that every Signer of the tests listens on.
    pub(crate) fn server(&self) -> Paper {
        self.signs("127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth)
    }

    pub(crate) fn client(&self) -> Identity {
        let Paper { certificate, key } =
            self.signs("scheduler", ExtendedKeyUsagePurpose::ClientAuth);
        Identity::from_pem(format!("{certificate}{key}").as_bytes()).unwrap()
    }
}

impl Paper {
    pub(crate) fn lies_in(&self, here: &Installation) {
        for (name, text, mode) in
            [("tls.pem", &self.certificate, 0o644), ("tls.key", &self.key, 0o600)]
        {
            // In one step, as whoever renews a certificate does it.
            let (new, name) = (here.path().join("new"), here.path().join(name));
            write(&new, text).unwrap();
            set_permissions(&new, Permissions::from_mode(mode)).unwrap();
            std::fs::rename(new, name).unwrap();
        }
    }
}

/// The scheduler, which believes the authority and shows a certificate if it has one.
pub(crate) fn scheduler(
    signer: &Signer,
    authority: &Authority,
    identity: Option<Identity>,
) -> Scheduler {
    let root = Certificate::from_pem(authority.pem.as_bytes()).unwrap();
    let client = reqwest::Client::builder().tls_certs_only([root]);
    let client = match identity {
        Some(identity) => client.identity(identity),
        None => client,
    };
    let url = signer.scheduler.url.replace("http://", "https://");
    Scheduler { url, client: client.build().unwrap(), ..signer.scheduler.clone() }
}
