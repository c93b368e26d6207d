//! Stand-in for the keys module, with the part of its interface that the adapters use.

use alloy::primitives::{Address, B256, Signature};
use alloy::signers::SignerSync;
use alloy::signers::local::PrivateKeySigner;
use secrecy::{ExposeSecret, SecretString};
use std::fmt;

/// Signs for one address.
pub struct Key {
    signer: PrivateKeySigner,
}

/// Where a key is kept.
#[derive(Debug)]
pub enum KeySource {
    /// In the environment.
    Env {
        /// The key as hex.
        json_or_hex: SecretString,
        /// Which key of a map is meant.
        platform_chain_id: u32,
    },
}

/// Why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a private key")]
pub struct KeyError;

/// Why a digest was not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key did not sign")]
pub struct SignError;

impl Key {
    /// Loads the key that `source` names.
    pub fn load(
        source: KeySource,
        _config_path: &str,
        _allow_test_keys: bool,
    ) -> Result<Self, KeyError> {
        let KeySource::Env { json_or_hex, .. } = source;
        #[expect(clippy::disallowed_methods, reason = "a stand-in")]
        let signer = json_or_hex.expose_secret().parse().map_err(|_| KeyError)?;
        Ok(Self { signer })
    }

    /// The address that the key signs for.
    pub fn address(&self) -> Address {
        self.signer.address()
    }

    /// Signs `digest` exactly as given.
    pub(crate) fn sign_digest(&self, digest: B256) -> Result<Signature, SignError> {
        self.signer.sign_hash_sync(&digest).map_err(|_| SignError)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.address())
    }
}
