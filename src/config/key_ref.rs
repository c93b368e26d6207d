//! How a configuration names a key: where it is, and, for a store, whose it has to be.

use super::keys::CREDENTIALS_DIRECTORY;
use super::kinds::Expected;
use super::layers::Environment;
use crate::billing::{Family, parse_address};
use alloy::primitives::Address;
use secrecy::SecretString;
use std::path::{Path, PathBuf};

/// Where a signing key comes from.
#[derive(Debug, Clone)]
pub enum KeyRef {
    /// The keystore of this name in the keystore directory. A plain file name.
    Keystore(String),
    /// A file that holds the key itself.
    File(PathBuf),
    /// The content of `EVM_PRIVATE_KEY` or `TVM_PRIVATE_KEY`, by family: one key, or a JSON map
    /// from platform chain id to key. Not judged yet, but not empty.
    Env(SecretString),
    /// A secret of the store of `keys.vault`, and the address of the key in it.
    Vault(VaultSecret, Address),
    /// A key of AWS KMS, and its address.
    AwsKms(KmsKey, Address),
    /// A key on the token of `keys.pkcs11`, and its address.
    Pkcs11(TokenKey, Address),
}

/// A value in a KV version 2 engine of Vault or `OpenBao`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultSecret {
    /// Where the engine is mounted.
    pub mount: String,
    /// The path of the secret in it.
    pub path: String,
    /// Which of its fields.
    pub field: String,
}

/// A key of AWS KMS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KmsKey {
    /// Its whole ARN: an alias can be moved to another key.
    pub arn: String,
    /// The region in the ARN.
    pub region: String,
}

/// What a key is called on its token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TokenKey {
    /// By its label.
    Label(String),
    /// By its id.
    Id(Vec<u8>),
}

/// A key of a chain of `family`.
pub(super) fn key_ref(
    family: Family,
    variable: &'static str,
    environment: &Environment,
) -> Expected<KeyRef> {
    let set = |wanted: &str| {
        let found = environment.iter().find(|(name, value)| name == wanted && !value.is_empty());
        found.map(|(_, value)| value.clone())
    };
    let (key, credentials) = (set(variable).map(SecretString::from), set(CREDENTIALS_DIRECTORY));
    let expects = "\"keystore:<name>\", \"file:<path>\", \"credential:<name>\", \
                   \"vault:<mount>/<path>#<field>@<address>\", \"awskms:<key ARN>@<address>\", \
                   \"pkcs11:<label>@<address>\", \"pkcs11:id=<hex>@<address>\" or \"env\", never the key itself";
    Expected::of_text(expects, move |text| match text.split_once(':') {
        None if text == "env" => match &key {
            Some(secret) => Ok(KeyRef::Env(secret.clone())),
            None => Err(format!("the environment variable {variable} is not set")),
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
        Some(("vault", rest)) => {
            let (secret, address) = pinned(family, rest)?;
            Ok(KeyRef::Vault(vault_secret(secret).ok_or("is no <mount>/<path>#<field>")?, address))
        }
        Some(("awskms", rest)) => {
            let (arn, address) = pinned(family, rest)?;
            Ok(KeyRef::AwsKms(
                kms_key(arn).ok_or("is no arn:<partition>:kms:<region>:<account>:key/<id>")?,
                address,
            ))
        }
        Some(("pkcs11", rest)) => {
            let (name, address) = pinned(family, rest)?;
            let key = token_key(name).ok_or("is neither <label> nor id=<hex>")?;
            Ok(KeyRef::Pkcs11(key, address))
        }
        Some(_) | None => Err("is none of these".to_owned()),
    })
}

/// What stands before the address that the key has to have.
fn pinned(family: Family, text: &str) -> Result<(&str, Address), String> {
    let (rest, address) = text.rsplit_once('@').ok_or("lacks @ and the address of the key")?;
    let address = parse_address(family, address);
    Ok((rest, address.map_err(|_| "ends in @ and no address of this family")?))
}

fn vault_secret(text: &str) -> Option<VaultSecret> {
    let (place, field) = text.rsplit_once('#')?;
    let (mount, path) = place.split_once('/')?;
    let segment = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !matches!(part, "" | "." | "..") && part.bytes().all(plain)
    };
    let good = segment(mount) && segment(field) && path.split('/').all(segment);
    let [mount, path, field] = [mount, path, field].map(str::to_owned);
    good.then_some(VaultSecret { mount, path, field })
}

fn token_key(text: &str) -> Option<TokenKey> {
    let whole = !text.is_empty() && text.len() <= 128 && !text.chars().any(char::is_control);
    match text.strip_prefix("id=") {
        Some(id) => hex::decode(id).ok().filter(|id| whole && !id.is_empty()).map(TokenKey::Id),
        None => whole.then(|| TokenKey::Label(text.to_owned())),
    }
}

fn kms_key(arn: &str) -> Option<KmsKey> {
    let mut parts = arn.split(':');
    let mut next = || parts.next().filter(|part| !part.is_empty());
    let (prefix, partition, service, region) = (next()?, next()?, next()?, next()?);
    let (account, key) = (next()?, next()?);
    let id = key.strip_prefix("key/")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let good = (prefix, service) == ("arn", "kms")
        && partition.starts_with("aws")
        && account.bytes().all(|byte| byte.is_ascii_digit())
        && [partition, region, id].iter().all(|part| part.bytes().all(plain))
        && parts.next().is_none();
    good.then(|| KmsKey { arn: arn.to_owned(), region: region.to_owned() })
}

/// One component of a path that cannot lead out of its directory.
fn is_file_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(plain)
}
