//! Opens the keys of a chain: the one that signs, and those that are retired.

use crate::billing::OnlyFollows;
use crate::chain::Signatory;
use crate::config::{ChainConfig, KeyRef, KeysConfig};
use crate::keys::{Key, KeySource};
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
    pub(super) async fn open(chain: &ChainConfig, keys: &KeysConfig) -> Result<Self, Vec<String>> {
        let path = format!("chains.{}", chain.platform_id);
        let (mut retired, mut faults) = (Vec::new(), Vec::new());
        let key = load(chain, chain.family.key(), keys, format!("{path}.key")).await;
        for (place, old) in chain.retired_keys.iter().enumerate() {
            let path = format!("{path}.retired_keys[{place}]");
            match load(chain, old, keys, path.clone()).await {
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

/// Opens a key off the runtime's threads: an encrypted one takes about a second.
async fn load(
    chain: &ChainConfig,
    key: &KeyRef,
    keys: &KeysConfig,
    path: String,
) -> Result<Key, String> {
    let source = match key {
        KeyRef::Keystore(name) => {
            KeySource::Keystore { directory: keys.directory.clone(), name: name.clone() }
        }
        KeyRef::File(path) => KeySource::File { path: path.clone() },
        KeyRef::Env(text) => {
            KeySource::Env { json_or_hex: text.clone(), platform_chain_id: chain.platform_id.0 }
        }
    };
    let test = chain.test;
    let load = tokio::task::spawn_blocking(move || Key::load(source, &path, test));
    load.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}
