//! A key that a configuration names, and the opening of it.

use super::error::KeyError;
use super::key::Key;
use super::local::TestKeys;
use super::source::KeySource;
use async_trait::async_trait;
use config::{ChainConfig, Config, KeyRef, KeysConfig};
use std::fmt;

/// A key that a configuration names.
#[derive(Clone, Debug)]
pub struct NamedKey<'a> {
    /// The chain that the key signs on.
    pub chain: &'a ChainConfig,
    /// The settings of the places where keys are.
    pub keys: &'a KeysConfig,
    /// The name of the key.
    pub key: &'a KeyRef,
    /// The operator's name for the key: `chains.139.key`. Every error starts with it.
    pub path: String,
}

impl<'a> NamedKey<'a> {
    /// The key that stands at `place` of the section of its chain.
    pub fn new(chain: &'a ChainConfig, keys: &'a KeysConfig, place: &str, key: &'a KeyRef) -> Self {
        Self { chain, keys, key, path: format!("chains.{}.{place}", chain.platform_id) }
    }

    /// Treatment of published keys on the chain.
    pub fn test_keys(&self) -> TestKeys {
        if self.chain.test { TestKeys::Allowed } else { TestKeys::Refused }
    }

    /// The source of the key on this machine; none if it is in a store.
    pub fn source(&self) -> Option<KeySource> {
        Some(match self.key {
            KeyRef::Keystore(name) => {
                KeySource::Keystore { directory: self.keys.directory.clone(), name: name.clone() }
            }
            KeyRef::File(path) => KeySource::File { path: path.clone() },
            KeyRef::Env(text) => KeySource::Env {
                json_or_hex: text.clone(),
                platform_chain_id: self.chain.platform_id.0,
            },
            KeyRef::Store(_) => return None,
        })
    }
}

/// Opens the keys that a configuration names. The program's way is in the crate `key-stores`; a simulated world has
/// stores of its own.
#[async_trait]
pub trait OpenKeys: Send + Sync + fmt::Debug {
    /// Opens a key.
    async fn open(&self, key: NamedKey<'_>) -> Result<Key, KeyError>;

    /// Has a process of its own open and hold the keys of this configuration that come into memory. None if there
    /// is no such process, and all keys are held here.
    async fn split(&self, _config: &Config) -> Result<Option<Box<dyn OpenKeys>>, KeyError> {
        Ok(None)
    }

    /// Returns the parts of its protection that such a process lacks on this machine; none if keys are held here.
    fn lacks(&self) -> Option<&[String]> {
        None
    }
}
