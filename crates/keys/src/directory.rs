//! The directory of keystores: `<name>.json` beside `<name>.password`, both closed to others.
//!
//! Opens, imports and lists. Never overwrites a file, and never decrypts in order to list.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use alloy::primitives::Address;
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use super::error::KeyError;
use super::keystore::{self, Chance, KeystoreError};
use super::local::LocalKey;
use super::private_file;
use super::secret::{Secret, scrub_stack};

/// Longest keystore and longest password, in bytes.
const KEYSTORE_LIMIT: usize = 64 * 1024;
const PASSWORD_LIMIT: usize = 1024;
const NAME_LIMIT: usize = 64;

/// Encrypts a key into `<directory>/<name>.json`, leaves its password in
/// `<directory>/<name>.password`, and opens the two again before it says the address.
///
/// Both files get mode 0600; a missing directory is made with 0700. An existing keystore is an
/// error and stays as it is; an existing password file is used if it holds the same password.
/// Test keys are taken: whether a chain may use one is asked when it is loaded. Blocks for about
/// two seconds and needs 256 MiB.
#[expect(clippy::needless_pass_by_value, reason = "the secrets are wiped when this returns")]
pub fn import(
    directory: &Path,
    name: &str,
    key_hex: SecretString,
    password: SecretString,
) -> Result<Address, KeyError> {
    let imported = import_with_cost(directory, name, &key_hex, &password, keystore::LOG_N);
    scrub_stack();
    imported
}

/// Makes a key by chance and stores it as [`import`] does: it never was anywhere in clear but in this
/// process's memory.
pub fn generate(
    directory: &Path,
    name: &str,
    password: &SecretString,
) -> Result<Address, KeyError> {
    let generated = generate_with_cost(directory, name, password, keystore::LOG_N);
    scrub_stack();
    generated
}

#[inline(never)]
pub(super) fn generate_with_cost(
    directory: &Path,
    name: &str,
    password: &SecretString,
    log_n: u8,
) -> Result<Address, KeyError> {
    let mut secret = Secret::empty();
    getrandom::getrandom(secret.as_mut_slice())
        .map_err(|_| KeyError::NoRandomness { key: name.to_owned() })?;
    store(directory, name, &secret, password, log_n)
}

/// A password that nobody has to think of: 32 hex digits from the system's randomness.
pub fn random_password() -> Result<SecretString, KeyError> {
    let mut bytes = Zeroizing::new([0_u8; 16]);
    getrandom::getrandom(bytes.as_mut_slice())
        .map_err(|_| KeyError::NoRandomness { key: "keys import".to_owned() })?;
    Ok(hex::encode(bytes.as_slice()).into())
}

/// The keystores in `directory` by name, sorted, each with the address that it states; `None`
/// where a file states none or is no keystore. Nothing is decrypted, so nothing is proven.
pub fn list(directory: &Path) -> Result<Vec<(String, Option<Address>)>, KeyError> {
    let unreadable = |source| KeyError::Unreadable {
        key: "keys list".to_owned(),
        path: directory.into(),
        source,
    };
    let mut keystores = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_stem().and_then(OsStr::to_str).filter(|name| is_name(name));
        if let (Some(name), Some("json")) = (name, path.extension().and_then(OsStr::to_str)) {
            let address = private_file::read(&path, name, KEYSTORE_LIMIT)
                .ok()
                .and_then(|json| keystore::stated_address(&json));
            keystores.push((name.to_owned(), address));
        }
    }
    keystores.sort();
    Ok(keystores)
}

/// Opens the keystore of that name with the password beside it, and holds it to its address.
pub(super) fn open(directory: &Path, name: &str, key: &str) -> Result<Secret, KeyError> {
    check_name(name, key)?;
    let path = directory.join(format!("{name}.json"));
    let password_path = directory.join(format!("{name}.password"));
    let json = private_file::read(&path, key, KEYSTORE_LIMIT)?;
    let password = read_password(&password_path, key)?;
    let key = || key.to_owned();
    let secret = keystore::open(&json, &password).map_err(|error| match error {
        KeystoreError::Malformed(fault) => {
            KeyError::NotAKeystore { key: key(), path: path.clone(), fault }
        }
        KeystoreError::WrongPassword => {
            KeyError::WrongPassword { key: key(), path: path.clone(), password_path }
        }
    })?;
    let actual = LocalKey::unchecked(&secret, &key())?.address();
    match keystore::stated_address(&json) {
        Some(stated) if stated != actual => {
            Err(KeyError::OtherAddress { key: key(), path, stated, actual })
        }
        Some(_) | None => Ok(secret),
    }
}

#[inline(never)]
pub(super) fn import_with_cost(
    directory: &Path,
    name: &str,
    key_hex: &SecretString,
    password: &SecretString,
    log_n: u8,
) -> Result<Address, KeyError> {
    #[expect(clippy::disallowed_methods, reason = "the way into the keystore")]
    let secret = Secret::from_hex(key_hex.expose_secret().as_bytes())
        .ok_or_else(|| KeyError::NotAKey { key: name.to_owned() })?;
    store(directory, name, &secret, password, log_n)
}

/// Encrypts a key under its name, with its password beside it.
fn store(
    directory: &Path,
    name: &str,
    secret: &Secret,
    password: &SecretString,
    log_n: u8,
) -> Result<Address, KeyError> {
    check_name(name, name)?;
    let key = || name.to_owned();
    #[expect(clippy::disallowed_methods, reason = "the way into the keystore")]
    let password = private_file::without_newline(password.expose_secret().as_bytes());
    if !(1..=PASSWORD_LIMIT).contains(&password.len()) {
        return Err(KeyError::BadPassword { key: key() });
    }
    let address = LocalKey::unchecked(secret, name)?.address();
    // a cost that scrypt does not take would be a fault of ours, and is reported as no key made
    let json = keystore::seal(secret, address, password, draw(name)?, log_n)
        .ok_or_else(|| KeyError::NotAKey { key: key() })?;

    let unwritable = |source| KeyError::Unwritable { key: key(), path: directory.into(), source };
    private_file::create_directory(directory).map_err(unwritable)?;
    let file_name = format!("{name}.json");
    if directory.join(&file_name).exists() {
        return Err(KeyError::Exists { key: key(), path: directory.join(file_name) });
    }
    leave_password(directory, name, password)?;
    private_file::create(directory, &file_name, json.as_bytes())
        .map_err(|source| not_created(source, directory, name, &file_name))?;
    open(directory, name, name)?;
    Ok(address)
}

/// Writes the password file, or makes sure that the one which is there says the same.
fn leave_password(directory: &Path, name: &str, password: &[u8]) -> Result<(), KeyError> {
    let file_name = format!("{name}.password");
    let path = directory.join(&file_name);
    match private_file::create(directory, &file_name, password) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if read_password(&path, name)?.as_slice() == password {
                Ok(())
            } else {
                Err(KeyError::Exists { key: name.to_owned(), path })
            }
        }
        written => written.map_err(|source| not_created(source, directory, name, &file_name)),
    }
}

fn not_created(source: io::Error, directory: &Path, name: &str, file_name: &str) -> KeyError {
    let (key, path) = (name.to_owned(), directory.join(file_name));
    if source.kind() == io::ErrorKind::AlreadyExists {
        KeyError::Exists { key, path }
    } else {
        KeyError::Unwritable { key, path, source }
    }
}

fn read_password(path: &Path, key: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let mut password = private_file::read(path, key, PASSWORD_LIMIT)?;
    let length = private_file::without_newline(&password).len();
    password.truncate(length);
    Ok(password)
}

fn draw(key: &str) -> Result<Chance, KeyError> {
    let mut chance = Chance { salt: [0; 32], iv: [0; 16], id: [0; 16] };
    for part in [chance.salt.as_mut_slice(), &mut chance.iv, &mut chance.id] {
        getrandom::getrandom(part).map_err(|_| KeyError::NoRandomness { key: key.to_owned() })?;
    }
    Ok(chance)
}

fn check_name(name: &str, key: &str) -> Result<(), KeyError> {
    if is_name(name) {
        Ok(())
    } else {
        Err(KeyError::BadName { key: key.to_owned(), name: name.to_owned() })
    }
}

fn is_name(name: &str) -> bool {
    (1..=NAME_LIMIT).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}
