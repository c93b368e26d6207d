//! The sources of a key, and the way from there into one wiped buffer.
//!
//! Never keeps what it reads, and never reads the environment itself: the configuration does that
//! and hands the value over.

use std::fmt;
use std::path::PathBuf;
use std::sync::Once;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserializer as _;
use serde::de::{Error as _, MapAccess, Visitor};
use tracing::warn;

use super::error::KeyError;
use super::local::{LocalKey, TestKeys};
use super::secret::{Secret, scrub_stack};
use super::{directory, private_file};

/// Longest key file: 66 characters and generous white space, in bytes.
const KEY_FILE_LIMIT: usize = 256;

/// The place in which the key of one chain is kept. Its Debug print shows names and paths, never a key.
#[derive(Debug)]
pub enum KeySource {
    /// `<directory>/<name>.json`, an encrypted V3 keystore, opened with the password in
    /// `<directory>/<name>.password` (one newline at its end does not count). Both files must be
    /// closed to group and others.
    Keystore {
        /// The directory of keystores.
        directory: PathBuf,
        /// 1 to 64 letters, digits, `-`, `_` and `.`, not starting with `.`.
        name: String,
    },
    /// A file that holds the key as hex, closed to group and others. A symbolic link is followed
    /// (Docker and Kubernetes hand secrets over that way) and its target is checked.
    File {
        /// The file.
        path: PathBuf,
    },
    /// The value of `EVM_PRIVATE_KEY` or `TVM_PRIVATE_KEY`. Warns, since the environment of a
    /// process stays readable.
    Env {
        /// One key as hex, or a JSON map of keys by platform chain id: `{"139":"0x..."}`.
        json_or_hex: SecretString,
        /// Which key of the map is meant.
        platform_chain_id: u32,
    },
}

impl KeySource {
    /// Loads the key, and consumes its source so that its text is wiped too.
    ///
    /// `path` is the operator's name for the key (`chains.139.key`); every error starts with it.
    ///
    /// Blocks: opening a keystore takes about a second and 256 MiB. Call it before the runtime
    /// starts, or on a thread that may block.
    pub fn load(self, path: &str, test_keys: TestKeys) -> Result<LocalKey, KeyError> {
        let loaded = self.load_unscrubbed(path, test_keys);
        drop(self);
        scrub_stack();
        loaded
    }

    #[inline(never)]
    fn load_unscrubbed(&self, path: &str, test_keys: TestKeys) -> Result<LocalKey, KeyError> {
        LocalKey::of(&self.read(path)?, path, test_keys)
    }

    /// Reads the 32 bytes; whether they are a key is not looked at.
    fn read(&self, key: &str) -> Result<Secret, KeyError> {
        match self {
            Self::Keystore { directory, name } => directory::open(directory, name, key),
            Self::File { path } => {
                let text = private_file::read(path, key, KEY_FILE_LIMIT)?;
                Secret::from_hex(&text).ok_or_else(|| KeyError::NotAKey { key: key.to_owned() })
            }
            Self::Env { json_or_hex, platform_chain_id } => {
                warn_of_environment();
                #[expect(clippy::disallowed_methods, reason = "the way into the wiped buffer")]
                from_environment(json_or_hex.expose_secret(), *platform_chain_id, key)
            }
        }
    }
}

pub(super) fn warn_of_environment() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        warn!(
            "a private key came from the environment, which stays readable in /proc and to \
             whoever may inspect the container; a keystore is safer: `merchant-signer keys import`"
        );
    });
}

fn from_environment(value: &str, platform_chain_id: u32, key: &str) -> Result<Secret, KeyError> {
    let key = || key.to_owned();
    let value = value.trim_ascii();
    if !value.starts_with('{') {
        return Secret::from_hex(value.as_bytes()).ok_or_else(|| KeyError::NotAKey { key: key() });
    }
    let mut json = serde_json::Deserializer::from_str(value);
    let found = json
        .deserialize_map(KeyOf { platform_chain_id })
        .and_then(|found| json.end().map(|()| found))
        // serde_json quotes what it could not read, which may be a key
        .map_err(|_| KeyError::NotAMap { key: key(), platform_chain_id })?;
    match found {
        KeyFound::Once(hex) => {
            Secret::from_hex(hex.as_bytes()).ok_or_else(|| KeyError::NotAKey { key: key() })
        }
        KeyFound::Never => Err(KeyError::NotInMap { key: key(), platform_chain_id }),
        KeyFound::Twice => Err(KeyError::TwiceInMap { key: key(), platform_chain_id }),
    }
}

/// The entries of one chain in a map of keys. Borrows from the text: nothing is copied.
enum KeyFound<'t> {
    Never,
    Once(&'t str),
    Twice,
}

struct KeyOf {
    platform_chain_id: u32,
}

impl<'de> Visitor<'de> for KeyOf {
    type Value = KeyFound<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys by platform chain id")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = KeyFound::Never;
        while let Some((id, hex)) = map.next_entry::<&str, &str>()? {
            let id: u32 = id.parse().map_err(|_| A::Error::custom("not a platform chain id"))?;
            if id == self.platform_chain_id {
                found = match found {
                    KeyFound::Never => KeyFound::Once(hex),
                    KeyFound::Once(_) | KeyFound::Twice => KeyFound::Twice,
                };
            }
        }
        Ok(found)
    }
}
