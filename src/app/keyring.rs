//! Opens the keys of a chain: the one that signs, and those that are retired.

use crate::billing::OnlyFollows;
use crate::chain::Signatory;
use crate::config::{ChainConfig, KeyRef, KeysConfig};
use crate::keys::{Key, KeyPlace, KeySource, OpenKeys};
use alloy::primitives::Address;
use std::sync::Arc;

/// The keys of one chain.
#[derive(Debug)]
pub(super) struct Keyring {
    /// Signs.
    pub(super) key: Arc<Key>,
    /// Have signed before.
    retired: Vec<Arc<Key>>,
}

impl Keyring {
    /// Opens all of them; otherwise every fault, each with its key path.
    pub(super) async fn open(
        chain: &ChainConfig,
        keys: &KeysConfig,
        open: &dyn OpenKeys,
    ) -> Result<Self, Vec<String>> {
        let path = format!("chains.{}", chain.platform_id);
        let (mut retired, mut faults) = (Vec::new(), Vec::new());
        let key = load(
            open,
            key_place(chain, chain.family.key(), keys),
            chain.test,
            &format!("{path}.key"),
        )
        .await;
        for (place, old) in chain.retired_keys.iter().enumerate() {
            let path = format!("{path}.retired_keys[{place}]");
            match load(open, key_place(chain, old, keys), chain.test, &path).await {
                Ok(old) if key.as_ref().is_ok_and(|key| key.address() == old.address()) => {
                    faults.push(format!("{path}: it is the key that signs; name it once"));
                }
                Ok(old) => retired.push(Arc::new(old)),
                Err(fault) => faults.push(fault),
            }
        }
        match key {
            Ok(key) if faults.is_empty() => Ok(Self { key: Arc::new(key), retired }),
            Ok(_) => Err(faults),
            Err(fault) => Err(std::iter::once(fault).chain(faults).collect()),
        }
    }

    /// The accounts that have signed before.
    pub(super) fn retired(&self) -> impl Iterator<Item = Address> {
        self.retired.iter().map(|key| key.address())
    }

    /// Who signs for an account that is not that of the key, and what that means for its lane.
    pub(super) fn follower(&self, account: Address) -> (Signatory, OnlyFollows) {
        match self.retired.iter().find(|key| key.address() == account) {
            Some(key) => (Signatory::Key(Arc::clone(key)), OnlyFollows::RetiredKey),
            None => (Signatory::Keyless(account), OnlyFollows::NoKey),
        }
    }
}

/// Where a key of a chain is; otherwise what is missing to say so.
fn key_place(
    chain: &ChainConfig,
    key: &KeyRef,
    keys: &KeysConfig,
) -> Result<KeyPlace, &'static str> {
    Ok(KeyPlace::Here(match key {
        KeyRef::Keystore(name) => {
            KeySource::Keystore { directory: keys.directory.clone(), name: name.clone() }
        }
        KeyRef::File(path) => KeySource::File { path: path.clone() },
        KeyRef::Env(text) => {
            KeySource::Env { json_or_hex: text.clone(), platform_chain_id: chain.platform_id.0 }
        }
        KeyRef::Vault(secret, address) => {
            let server = keys.vault.clone().ok_or("no server is described: see [keys.vault]")?;
            return Ok(KeyPlace::Vault { secret: secret.clone(), server, address: *address });
        }
        KeyRef::AwsSecret(secret, address) => {
            let (secret, aws) = (secret.clone(), keys.aws.clone());
            return Ok(KeyPlace::AwsSecret { secret, aws, address: *address });
        }
        KeyRef::AwsKms(key, address) => {
            let (key, aws) = (key.clone(), keys.aws.clone());
            return Ok(KeyPlace::AwsKms { key, aws, address: *address });
        }
        KeyRef::GcpKms(key, address) => {
            let (key, gcp) = (key.clone(), keys.gcp.clone());
            return Ok(KeyPlace::GcpKms { key, gcp, address: *address });
        }
        KeyRef::Pkcs11(key, address) => {
            let token = keys.pkcs11.clone().ok_or("no token is described: see [keys.pkcs11]")?;
            return Ok(KeyPlace::Pkcs11 { key: key.clone(), token, address: *address });
        }
    }))
}

async fn load(
    open: &dyn OpenKeys,
    place: Result<KeyPlace, &'static str>,
    test: bool,
    path: &str,
) -> Result<Key, String> {
    let place = place.map_err(|missing| format!("{path}: {missing}"))?;
    open.open(place, path, test).await.map_err(|error| error.to_string())
}
