//! Google Cloud KMS, which signs with its keys.

use super::{Custody, StoreForm, StoreName, variable, web_address};
use crate::faults::Reported;
use crate::layers::Environment;
use crate::reader::TableReader;

pub(super) const KEY: StoreForm = StoreForm {
    scheme: "gcpkms",
    forms: &["projects/…/cryptoKeyVersions/<n>"],
    read: |text| key(text).map(StoreName::GcpKms),
    problem: "is no projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>/\
              cryptoKeyVersions/<n>",
    custody: Custody::Signs,
    variables: &[METADATA],
};

const METADATA: &str = "GCE_METADATA_HOST";

/// A version of a key of Google Cloud KMS, by its whole name: another version is another key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcpKey(pub String);

/// The settings for reaching Google Cloud.
#[derive(Debug, Clone)]
pub struct GcpConfig {
    /// The key management service. Without a slash at its end.
    pub url: String,
    /// The metadata server, which says who this machine is (`GCE_METADATA_HOST`).
    pub metadata_url: String,
}

impl GcpConfig {
    /// Reads the settings in `[keys]`. The metadata server is on a network of the machine's own, and has no TLS.
    pub(crate) fn read(
        keys: &mut TableReader<'_>,
        environment: &Environment,
    ) -> Result<Self, Reported> {
        let url = keys.optional("gcp_kms_url", &web_address())?;
        let host = variable(environment, METADATA);
        let host = host.unwrap_or_else(|| "metadata.google.internal".to_owned());
        Ok(Self {
            url: url.unwrap_or_else(|| "https://cloudkms.googleapis.com".to_owned()),
            metadata_url: format!("http://{host}"),
        })
    }
}

fn key(name: &str) -> Option<GcpKey> {
    let parts: Vec<&str> = name.split('/').collect();
    let [projects, project, locations, place, rings, ring, keys, key, versions, version] =
        parts.as_slice()
    else {
        return None;
    };
    let kinds = [*projects, *locations, *rings, *keys, *versions];
    let named = [place, ring, key].into_iter();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    // An old project may be of a domain: `example.com:name`.
    let good = kinds == ["projects", "locations", "keyRings", "cryptoKeys", "cryptoKeyVersions"]
        && named.chain([version]).all(|part| !part.is_empty() && part.bytes().all(plain))
        && version.bytes().all(|byte| byte.is_ascii_digit())
        && !project.is_empty()
        && project.bytes().all(|byte| plain(byte) || b".:".contains(&byte));
    good.then(|| GcpKey(name.to_owned()))
}
