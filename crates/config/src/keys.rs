//! The places of keys: the directory of keystores, the process that holds keys, and the stores.

use super::faults::Reported;
use super::key_ref::CREDENTIALS_DIRECTORY;
use super::kinds::{flag, path};
use super::layers::Environment;
use super::reader::TableReader;
use super::stores::{self, AwsConfig, GcpConfig, Pkcs11Config, VaultConfig};
use std::path::PathBuf;

/// The places where keys are.
#[derive(Debug, Clone)]
pub struct KeysConfig {
    /// The directory in which `keystore:<name>` is looked up.
    pub directory: PathBuf,
    /// True if a separate process holds the keys that are not in a store which signs itself.
    pub split: bool,
    /// Socket of that process, if it is a service of its own; none if the Signer starts it.
    pub socket: Option<PathBuf>,
    /// File in which that process counts what it has signed on a day. Beside the journal unless stated.
    pub ceiling_file: PathBuf,
    /// The store of `vault:`; none if it is not described.
    pub vault: Option<VaultConfig>,
    /// Settings for reaching `awskms:` and `awssecret:`.
    pub aws: AwsConfig,
    /// Settings for reaching `gcpkms:`.
    pub gcp: GcpConfig,
    /// The token of `pkcs11:`; none if it is not described.
    pub pkcs11: Option<Pkcs11Config>,
}

impl KeysConfig {
    pub(super) fn read(
        reader: &mut TableReader<'_>,
        environment: &Environment,
        beside_the_journal: PathBuf,
    ) -> Result<Self, Reported> {
        let directory = reader.get("directory", &path("the path of the keystore directory"));
        let split = reader.get("split", &flag());
        let socket = reader.optional("socket", &path("the path of a socket"));
        let ceiling_file = reader.optional("ceiling_file", &path("the path of a file"));
        if let (Ok(false), Ok(Some(_))) = (&split, &socket) {
            reader.fault("socket", "goes with keys.split = true alone");
        }
        let vault = reader.section("vault", VaultConfig::read);
        let pkcs11 = reader.section("pkcs11", Pkcs11Config::read);
        let aws = AwsConfig::read(reader, environment);
        let gcp = GcpConfig::read(reader, environment);
        Ok(Self {
            directory: directory?,
            split: split?,
            socket: socket?,
            ceiling_file: ceiling_file?.unwrap_or(beside_the_journal),
            vault: vault?,
            aws: aws?,
            gcp: gcp?,
            pkcs11: pkcs11?,
        })
    }
}

/// Returns true if a variable of the process concerns the place of a key.
pub(super) fn has_variable(name: &str) -> bool {
    name == CREDENTIALS_DIRECTORY || stores::has_variable(name)
}
