//! The name of a key in a configuration: where the key is, and, for a store, whose it has to be.

use super::keys::CREDENTIALS_DIRECTORY;
use super::kinds::Expected;
use super::layers::Environment;
use alloy::primitives::Address;
use billing::{Family, parse_address};
use secrecy::SecretString;
use std::path::{Path, PathBuf};

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
    /// A secret of the store of `keys.vault`, and the address of the key in it.
    Vault(VaultSecret, Address),
    /// A secret of AWS Secrets Manager, and the address of the key in it.
    AwsSecret(AwsSecret, Address),
    /// A key of AWS KMS, and its address.
    AwsKms(KmsKey, Address),
    /// A key of Google Cloud KMS, and its address.
    GcpKms(GcpKey, Address),
    /// A key on the token of `keys.pkcs11`, and its address.
    Pkcs11(TokenKey, Address),
}

impl KeyRef {
    /// Returns true if the key itself comes from there. Otherwise the key stays there and signs there.
    pub fn hands_out(&self) -> bool {
        match self {
            Self::Keystore(_)
            | Self::File(_)
            | Self::Env(_)
            | Self::Vault(..)
            | Self::AwsSecret(..) => true,
            Self::AwsKms(..) | Self::GcpKms(..) | Self::Pkcs11(..) => false,
        }
    }
}

/// A value in a KV version 2 engine of Vault or `OpenBao`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultSecret {
    /// Path at which the engine is mounted.
    pub mount: String,
    /// The path of the secret in it.
    pub path: String,
    /// Which of its fields.
    pub field: String,
}

/// A secret of AWS Secrets Manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsSecret {
    /// Its whole ARN.
    pub arn: String,
    /// The region in the ARN.
    pub region: String,
    /// Which of its fields; none where the key is all of it.
    pub field: Option<String>,
}

/// A key of AWS KMS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KmsKey {
    /// Its whole ARN: an alias can be moved to another key.
    pub arn: String,
    /// The region in the ARN.
    pub region: String,
}

/// A version of a key of Google Cloud KMS: its whole name, since another version is another key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcpKey(pub String);

/// The name of a key on its token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TokenKey {
    /// By its label.
    Label(String),
    /// By its id.
    Id(Vec<u8>),
}

const NO_GCP_KEY: &str = "is no projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>/\
                          cryptoKeyVersions/<n>";

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
                   \"vault:<mount>/<path>#<field>@<address>\", \"awssecret:<ARN>[#<field>]@<address>\", \
                   \"awskms:<key ARN>@<address>\", \
                   \"gcpkms:projects/…/cryptoKeyVersions/<n>@<address>\", \
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
        Some(("awssecret", rest)) => {
            let (secret, address) = pinned(family, rest)?;
            let secret = aws_secret(secret)
                .ok_or("is no arn:<partition>:secretsmanager:<region>:<account>:secret:<name>")?;
            Ok(KeyRef::AwsSecret(secret, address))
        }
        Some(("awskms", rest)) => {
            let (arn, address) = pinned(family, rest)?;
            Ok(KeyRef::AwsKms(
                kms_key(arn).ok_or("is no arn:<partition>:kms:<region>:<account>:key/<id>")?,
                address,
            ))
        }
        Some(("gcpkms", rest)) => {
            let (name, address) = pinned(family, rest)?;
            Ok(KeyRef::GcpKms(gcp_key(name).ok_or(NO_GCP_KEY)?, address))
        }
        Some(("pkcs11", rest)) => {
            let (name, address) = pinned(family, rest)?;
            let key = token_key(name).ok_or("is neither <label> nor id=<hex>")?;
            Ok(KeyRef::Pkcs11(key, address))
        }
        Some(_) | None => Err("is none of these".to_owned()),
    })
}

/// Splits off the address that the key has to have, and returns the text before it and the address.
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

fn gcp_key(name: &str) -> Option<GcpKey> {
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

fn token_key(text: &str) -> Option<TokenKey> {
    let whole = !text.is_empty() && text.len() <= 128 && !text.chars().any(char::is_control);
    match text.strip_prefix("id=") {
        Some(id) => hex::decode(id).ok().filter(|id| whole && !id.is_empty()).map(TokenKey::Id),
        None => whole.then(|| TokenKey::Label(text.to_owned())),
    }
}

fn aws_secret(text: &str) -> Option<AwsSecret> {
    let (arn, field) = match text.split_once('#') {
        Some((_, "")) => return None,
        Some((arn, field)) => (arn, Some(field.to_owned())),
        None => (text, None),
    };
    let (region, resource) = arn_of("secretsmanager", arn)?;
    let name = resource.strip_prefix("secret:")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_+=.@-".contains(&byte);
    let good = !name.is_empty() && name.bytes().all(plain);
    good.then(|| AwsSecret { arn: arn.to_owned(), region, field })
}

fn kms_key(arn: &str) -> Option<KmsKey> {
    let (region, resource) = arn_of("kms", arn)?;
    let good = is_plain(resource.strip_prefix("key/")?);
    good.then(|| KmsKey { arn: arn.to_owned(), region })
}

/// The region and the resource of an ARN of a service.
fn arn_of<'t>(service: &str, arn: &'t str) -> Option<(String, &'t str)> {
    let rest = arn.strip_prefix("arn:")?;
    let mut parts = rest.splitn(5, ':');
    let mut next = || parts.next().filter(|part| !part.is_empty());
    let (partition, of, region, account, resource) = (next()?, next()?, next()?, next()?, next()?);
    let good = partition.starts_with("aws")
        && of == service
        && is_plain(partition)
        && is_plain(region)
        && account.bytes().all(|byte| byte.is_ascii_digit());
    good.then(|| (region.to_owned(), resource))
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// One component of a path that cannot lead out of its directory.
fn is_file_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(plain)
}
