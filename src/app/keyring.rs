//! Opens the keys of a chain: the one that signs, and those that are retired.

use crate::billing::OnlyFollows;
use crate::chain::Signatory;
use crate::config::{ChainConfig, KeyRef, KeysConfig};
use crate::keys::{Key, KeySource, OpenKeys};
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
        let key =
            load(open, source(chain, chain.family.key(), keys), chain.test, &format!("{path}.key"))
                .await;
        for (place, old) in chain.retired_keys.iter().enumerate() {
            let path = format!("{path}.retired_keys[{place}]");
            match load(open, source(chain, old, keys), chain.test, &path).await {
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

    /// Who signs for an account that is not that of the key, and what that means for its lane.
    pub(super) fn follower(&self, account: Address) -> (Signatory, OnlyFollows) {
        match self.retired.iter().find(|key| key.address() == account) {
            Some(key) => (Signatory::Key(Arc::clone(key)), OnlyFollows::RetiredKey),
            None => (Signatory::Keyless(account), OnlyFollows::NoKey),
        }
    }
}

/// Where a key of a chain is kept.
fn source(chain: &ChainConfig, key: &KeyRef, keys: &KeysConfig) -> KeySource {
    match key {
        KeyRef::Keystore(name) => {
            KeySource::Keystore { directory: keys.directory.clone(), name: name.clone() }
        }
        KeyRef::File(path) => KeySource::File { path: path.clone() },
        KeyRef::Env(text) => {
            KeySource::Env { json_or_hex: text.clone(), platform_chain_id: chain.platform_id.0 }
        }
    }
}

async fn load(
    open: &dyn OpenKeys,
    source: KeySource,
    test: bool,
    path: &str,
) -> Result<Key, String> {
    open.open(source, path, test).await.map_err(|error| error.to_string())
}
