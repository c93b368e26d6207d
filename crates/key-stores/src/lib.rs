#![doc = include_str!("../README.md")]

mod aws;
mod aws_kms;
mod aws_secret;
mod cache;
mod export;
#[cfg(test)]
mod fake_store;
mod gcp_kms;
#[cfg(feature = "pkcs11")]
mod pkcs11;
mod vault;
mod web;

use async_trait::async_trait;
use config::{KeyRef, StoreName, StoredKey};
use keys::{
    Key, KeyError, LocalKey, NamedKey, OpenKeys, RemoteKey, Secret, SigningStore, StoreError,
};

/// Opens keys wherever they are.
#[derive(Clone, Copy, Debug)]
pub struct KeyStores;

#[async_trait]
impl OpenKeys for KeyStores {
    /// Reads files off the runtime's threads: an encrypted key takes about a second.
    async fn open(&self, named: NamedKey<'_>) -> Result<Key, KeyError> {
        let (keys, path) = (named.keys, named.path.as_str());
        let KeyRef::Store(StoredKey { name, address, .. }) = named.key else {
            return load(&named).await;
        };
        let signs = async |store: Box<dyn SigningStore>| {
            Ok(RemoteKey::open(store, *address, path).await?.into())
        };
        let exports = |secret: Secret| {
            Ok(LocalKey::exported(secret, *address, path, named.test_keys())?.into())
        };
        let store_of = |source: StoreError| KeyError::Store { key: path.to_owned(), source };
        let missing = |what| KeyError::NotDescribed { key: path.to_owned(), what };
        match name {
            StoreName::Vault(secret) => {
                let server = keys.vault.as_ref();
                let server =
                    server.ok_or_else(|| missing("no server is described: see [keys.vault]"))?;
                exports(vault::fetch(secret, server, path).await?)
            }
            StoreName::AwsSecret(secret) => {
                exports(aws_secret::fetch(secret, &keys.aws).await.map_err(store_of)?)
            }
            StoreName::AwsKms(key) => {
                let store = aws_kms::AwsKms::new(key.clone(), &keys.aws).map_err(store_of)?;
                signs(Box::new(store)).await
            }
            StoreName::GcpKms(key) => {
                let store = gcp_kms::GcpKms::new(key.clone(), keys.gcp.clone());
                signs(Box::new(store.map_err(store_of)?)).await
            }
            StoreName::Pkcs11(key) => {
                let token = keys.pkcs11.clone();
                let token =
                    token.ok_or_else(|| missing("no token is described: see [keys.pkcs11]"))?;
                signs(pkcs11::open(key.clone(), token, path).await?).await
            }
        }
    }
}

/// Loads a key that is on this machine.
async fn load(named: &NamedKey<'_>) -> Result<Key, KeyError> {
    let interrupted = || KeyError::Interrupted { key: named.path.clone() };
    let source = named.source().ok_or_else(interrupted)?;
    let (path, test_keys) = (named.path.clone(), named.test_keys());
    let load = tokio::task::spawn_blocking(move || source.load(&path, test_keys));
    Ok(load.await.map_err(|_| interrupted())??.into())
}

/// A program without the tokens of PKCS#11.
#[cfg(not(feature = "pkcs11"))]
mod pkcs11 {
    use config::{Pkcs11Config, TokenKey};
    use keys::{KeyError, SigningStore};

    #[expect(clippy::unused_async, reason = "with the feature it waits")]
    pub(super) async fn open(
        _: TokenKey,
        _: Pkcs11Config,
        path: &str,
    ) -> Result<Box<dyn SigningStore>, KeyError> {
        Err(KeyError::NotBuiltIn { key: path.to_owned() })
    }
}
