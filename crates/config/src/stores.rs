//! The stores of keys: the name of a key in each, and the settings by which each is reached.
//!
//! One store is one file below this one and its rows here. The crate `key-stores` sends the requests.

mod aws;
mod gcp;
mod pkcs11;
mod vault;

pub use aws::{AwsConfig, AwsCredentialSource, AwsSecret, KmsKey};
pub use gcp::{GcpConfig, GcpKey};
pub use pkcs11::{Pkcs11Config, TokenKey};
pub use vault::{VaultConfig, VaultLogin, VaultProof, VaultSecret};

use super::kinds::Expected;
use super::layers::Environment;
use alloy::primitives::Address;
use billing::{Family, parse_address};

/// Every store.
const STORES: [&StoreForm; 5] =
    [&vault::SECRET, &aws::SECRET, &aws::KMS_KEY, &gcp::KEY, &pkcs11::KEY];

/// The longest name or address of anything of a store, bytes.
const LONGEST: usize = 512;

/// The name of a key in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreName {
    /// A secret of the server of `keys.vault`.
    Vault(VaultSecret),
    /// A secret of AWS Secrets Manager.
    AwsSecret(AwsSecret),
    /// A key of AWS KMS.
    AwsKms(KmsKey),
    /// A key of Google Cloud KMS.
    GcpKms(GcpKey),
    /// A key on the token of `keys.pkcs11`.
    Pkcs11(TokenKey),
}

/// A key in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// The store's name for the key.
    pub name: StoreName,
    /// The address that the key has to have.
    pub address: Address,
    /// Use that the store makes of the key.
    pub custody: Custody,
}

/// Use that a store makes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Custody {
    /// The store hands the key out once, when the key is opened.
    Exports,
    /// The store keeps the key, and signs with it.
    Signs,
}

/// The way in which a configuration names the keys of one store.
struct StoreForm {
    /// The word before the colon.
    scheme: &'static str,
    /// The forms of a name, for people.
    forms: &'static [&'static str],
    /// Reads a name.
    read: fn(&str) -> Option<StoreName>,
    /// The fault of a text that is no name.
    problem: &'static str,
    /// Use that the store makes of its keys.
    custody: Custody,
    /// The variables of the environment by which the store is reached.
    variables: &'static [&'static str],
}

/// Every form of a key in a store, for people.
pub(super) fn forms() -> impl Iterator<Item = String> {
    let forms = |store: &'static StoreForm| {
        store.forms.iter().map(|form| format!("\"{}:{form}@<address>\"", store.scheme))
    };
    STORES.into_iter().flat_map(forms)
}

/// Reads `name`, which stands behind `scheme` and a colon, with the address of the key at its end. None if no store
/// has that scheme.
pub(super) fn read(
    family: Family,
    scheme: &str,
    name: &str,
) -> Option<Result<StoredKey, &'static str>> {
    let store = STORES.into_iter().find(|store| store.scheme == scheme)?;
    Some(store.read(family, name))
}

impl StoreForm {
    fn read(&self, family: Family, text: &str) -> Result<StoredKey, &'static str> {
        let (name, address) = text.rsplit_once('@').ok_or("lacks @ and the address of the key")?;
        let address = parse_address(family, address);
        let address = address.map_err(|_| "ends in @ and no address of this family")?;
        let name = (self.read)(name).ok_or(self.problem)?;
        Ok(StoredKey { name, address, custody: self.custody })
    }
}

/// Returns true if a variable of the process concerns a store of keys.
pub(super) fn has_variable(name: &str) -> bool {
    STORES.iter().any(|store| store.variables.contains(&name))
}

/// Returns true if a variable of the process concerns a store that exports a key which the configuration `text` names.
pub(super) fn exports_by(name: &str, text: &str) -> bool {
    let needs = |store: &&StoreForm| {
        store.custody == Custody::Exports
            && store.variables.contains(&name)
            && text.contains(&format!("\"{}:", store.scheme))
    };
    STORES.iter().any(needs)
}

/// Accepts `https://host[:port]`, or `http://` on this machine: a secret or a signature passes there.
pub(super) fn web_address() -> Expected<String> {
    Expected::of_text("an https:// address", |text| {
        let url = url::Url::parse(text).map_err(|_| "is no address")?;
        let here = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        match url.scheme() {
            "https" if plain => Ok(text.trim_end_matches('/').to_owned()),
            "http" if plain && here => Ok(text.trim_end_matches('/').to_owned()),
            "http" if plain => Err("sends secrets in the clear"),
            _ => Err("is no such address"),
        }
    })
}

/// The value of a variable that is set and not empty.
pub(super) fn variable(environment: &Environment, wanted: &str) -> Option<String> {
    let found = environment.iter().find(|(name, value)| name == wanted && !value.is_empty());
    found.map(|(_, value)| value.clone())
}
