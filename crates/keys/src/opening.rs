//! The places of keys, and the way to open each.

use super::awskms::AwsKms;
use super::gcpkms::GcpKms;
#[cfg(feature = "pkcs11")]
use super::pkcs11;
use super::{Key, KeyError, KeySource, awssecret, handed_out, vault};
use alloy::primitives::Address;
use async_trait::async_trait;
use config::{
    AwsConfig, AwsSecret, Config, GcpConfig, GcpKey, KmsKey, Pkcs11Config, TokenKey, VaultConfig,
    VaultSecret,
};
use std::fmt;
#[cfg(feature = "pkcs11")]
use std::time::Duration;
#[cfg(feature = "pkcs11")]
use tokio::time::timeout;

/// The place of a key.
#[derive(Debug)]
pub enum KeyPlace {
    /// It is read here.
    Here(KeySource),
    /// Vault or `OpenBao` hands it out.
    Vault {
        /// The place of the secret in that server.
        secret: VaultSecret,
        /// The server.
        server: VaultConfig,
        /// Its address.
        address: Address,
    },
    /// AWS Secrets Manager hands it out.
    AwsSecret {
        /// Which secret it is.
        secret: AwsSecret,
        /// The settings for reaching AWS.
        aws: AwsConfig,
        /// Its address.
        address: Address,
    },
    /// AWS KMS signs with it.
    AwsKms {
        /// Which one it is.
        key: KmsKey,
        /// The settings for reaching AWS.
        aws: AwsConfig,
        /// Its address.
        address: Address,
    },
    /// Google Cloud KMS signs with it.
    GcpKms {
        /// Which one it is.
        key: GcpKey,
        /// The settings of the connection to Google.
        gcp: GcpConfig,
        /// Its address.
        address: Address,
    },
    /// A token of PKCS#11 signs with it.
    Pkcs11 {
        /// Which one it is.
        key: TokenKey,
        /// The token.
        token: Pkcs11Config,
        /// Its address.
        address: Address,
    },
}

/// Opens the keys that a configuration names. The program's way is [`EveryStore`]; a simulated world has
/// stores of its own.
#[async_trait]
pub trait OpenKeys: Send + Sync + fmt::Debug {
    /// Opens the key that is at `place`. `config_path` and `allow_test_keys` as in [`Key::load`].
    async fn open(
        &self,
        place: KeyPlace,
        config_path: &str,
        allow_test_keys: bool,
    ) -> Result<Key, KeyError>;

    /// Has a process of its own open and hold the keys of this configuration that can be held there; none
    /// where there is no such process, and all keys are held here.
    async fn apart(&self, _config: &Config) -> Result<Option<Box<dyn OpenKeys>>, KeyError> {
        Ok(None)
    }

    /// Returns the parts of its protection that such a process lacks on this machine; none if keys are held here.
    fn lacks(&self) -> Option<&[String]> {
        None
    }
}

impl KeyPlace {
    /// Returns true if the key itself comes from there. Otherwise the key stays there and signs there.
    pub fn hands_out(&self) -> bool {
        match self {
            Self::Here(_) | Self::Vault { .. } | Self::AwsSecret { .. } => true,
            Self::AwsKms { .. } | Self::GcpKms { .. } | Self::Pkcs11 { .. } => false,
        }
    }

    /// Says what is to be said of a key that stands in the environment, whichever process reads it.
    pub(super) fn warn_of_environment(&self) {
        if let Self::Here(KeySource::Env { .. }) = self {
            super::source::warn_of_environment();
        }
    }
}

/// Opens keys wherever they are.
#[derive(Clone, Copy, Debug)]
pub struct EveryStore;

#[async_trait]
impl OpenKeys for EveryStore {
    /// Reads files off the runtime's threads: an encrypted key takes about a second.
    async fn open(
        &self,
        place: KeyPlace,
        config_path: &str,
        allow_test_keys: bool,
    ) -> Result<Key, KeyError> {
        let key = || config_path.to_owned();
        match place {
            KeyPlace::Here(source) => {
                let path = key();
                let load = move || Key::load(source, &path, allow_test_keys);
                let loaded = tokio::task::spawn_blocking(load).await;
                loaded.map_err(|_| KeyError::Interrupted { key: key() })?
            }
            KeyPlace::Vault { secret, server, address } => {
                let secret = vault::fetch(&secret, &server, config_path).await?;
                handed_out::accept(secret, address, config_path, allow_test_keys)
            }
            KeyPlace::AwsSecret { secret, aws, address } => {
                let secret = awssecret::fetch(&secret, &aws).await;
                let secret = secret.map_err(|source| KeyError::Store { key: key(), source })?;
                handed_out::accept(secret, address, config_path, allow_test_keys)
            }
            KeyPlace::AwsKms { key: kms, aws, address } => {
                let store = AwsKms::new(kms, &aws);
                let store = store.map_err(|source| KeyError::Store { key: key(), source })?;
                Key::elsewhere(Box::new(store), address, config_path).await
            }
            KeyPlace::GcpKms { key: named, gcp, address } => {
                let store = GcpKms::new(named, gcp);
                let store = store.map_err(|source| KeyError::Store { key: key(), source })?;
                Key::elsewhere(Box::new(store), address, config_path).await
            }
            KeyPlace::Pkcs11 { key: named, token, address } => {
                on_token(named, token, address, key()).await
            }
        }
    }
}

/// Time limit for loading a module.
#[cfg(feature = "pkcs11")]
const LOADING: Duration = Duration::from_secs(10);

/// A key that a token signs with. Its module is loaded off the runtime's threads.
#[cfg(feature = "pkcs11")]
async fn on_token(
    named: TokenKey,
    token: Pkcs11Config,
    address: Address,
    config_path: String,
) -> Result<Key, KeyError> {
    let (key, path) = (config_path.clone(), token.module.clone());
    let open = move || pkcs11::Pkcs11Store::open(named, token, &config_path);
    let said = "it does not come back from starting".to_owned();
    let silent = KeyError::NoModule { key: key.clone(), path, said };
    let opened = timeout(LOADING, tokio::task::spawn_blocking(open)).await.map_err(|_| silent)?;
    let store = opened.map_err(|_| KeyError::Interrupted { key: key.clone() })??;
    Key::elsewhere(Box::new(store), address, &key).await
}

#[cfg(not(feature = "pkcs11"))]
#[expect(clippy::unused_async, reason = "with the feature it waits")]
async fn on_token(
    _: TokenKey,
    _: Pkcs11Config,
    _: Address,
    config_path: String,
) -> Result<Key, KeyError> {
    Err(KeyError::NotBuiltIn { key: config_path })
}
