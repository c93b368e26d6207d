//! The name of a key in a configuration: the place of the key, and, for a store, its address.

use super::kinds::Expected;
use super::layers::Environment;
use super::stores::{self, Custody, StoredKey, variable};
use billing::Family;
use secrecy::SecretString;
use std::path::{Path, PathBuf};

/// The variable in which systemd names the directory of a service's credentials.
pub(super) const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";

/// The place from which a signing key comes.
#[derive(Debug, Clone)]
pub enum KeyRef {
    /// The keystore of this name in the keystore directory. A plain file name.
    Keystore(String),
    /// A file that holds the key itself.
    File(PathBuf),
    /// The content of `EVM_PRIVATE_KEY` or `TVM_PRIVATE_KEY`, by family: one key, or a JSON map
    /// from platform chain id to key. Not judged yet, but not empty.
    Env(SecretString),
    /// A store.
    Store(StoredKey),
}

impl KeyRef {
    /// Returns true if the key stays in its store, which signs with it. Otherwise the key itself comes from there.
    pub fn is_remote(&self) -> bool {
        match self {
            Self::Keystore(_) | Self::File(_) | Self::Env(_) => false,
            Self::Store(key) => key.custody == Custody::Signs,
        }
    }
}

/// Accepts the name of a key of a chain of `family`; `"env"` is the key in `key_variable`.
pub(super) fn key_ref(
    family: Family,
    key_variable: &'static str,
    environment: &Environment,
) -> Expected<KeyRef> {
    let key = variable(environment, key_variable).map(SecretString::from);
    let credentials = variable(environment, CREDENTIALS_DIRECTORY);
    let stores = stores::forms().collect::<Vec<_>>().join(", ");
    let expects = format!(
        "\"keystore:<name>\", \"file:<path>\", \"credential:<name>\", {stores} or \"env\", never the key itself"
    );
    Expected::of_text(expects, move |text| match text.split_once(':') {
        None if text == "env" => match &key {
            Some(secret) => Ok(KeyRef::Env(secret.clone())),
            None => Err(format!("the environment variable {key_variable} is not set")),
        },
        Some(("keystore", name)) if is_file_name(name) => Ok(KeyRef::Keystore(name.to_owned())),
        Some(("keystore", _)) => Err("is not the plain name of a keystore".to_owned()),
        Some(("file", path)) if !path.is_empty() && !path.contains('\0') => {
            Ok(KeyRef::File(PathBuf::from(path)))
        }
        Some(("credential", name)) if is_file_name(name) => match &credentials {
            Some(directory) => Ok(KeyRef::File(Path::new(directory).join(name))),
            None => Err(format!(
                "needs CREDENTIALS_DIRECTORY, which systemd sets: give the unit \
                 LoadCredential={name}:<path>"
            )),
        },
        Some(("credential", _)) => Err("is not the plain name of a credential".to_owned()),
        Some((scheme, name)) => match stores::read(family, scheme, name) {
            Some(read) => read.map(KeyRef::Store).map_err(str::to_owned),
            None => Err("is none of these".to_owned()),
        },
        None => Err("is none of these".to_owned()),
    })
}

/// Returns true if `name` is one component of a path that cannot lead out of its directory.
fn is_file_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(plain)
}
