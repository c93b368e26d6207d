//! Opens the keys of a chain: those that sign, and those that are retired.

use alloy::primitives::Address;
use billing::OnlyFollows;
use chain::Signatory;
use config::{ChainConfig, KeyRef, KeysConfig};
use keys::{Key, KeyPlace, KeySource, OpenKeys};
use std::sync::Arc;

/// The keys of one chain, each of another account.
#[derive(Debug)]
pub(super) struct Keyring {
    /// Sign. Never none.
    signing: Vec<Arc<Key>>,
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
        let mut opening = Opening { chain, keys, open, known: Vec::new(), faults: Vec::new() };
        let (mut signing, mut retired) = (Vec::new(), Vec::new());
        for (place, key) in chain.keys.signing() {
            signing.extend(opening.next(place, key).await);
        }
        for (place, key) in chain.keys.retired() {
            retired.extend(opening.next(place, key).await);
        }
        if opening.faults.is_empty() { Ok(Self { signing, retired }) } else { Err(opening.faults) }
    }

    /// Those that sign.
    pub(super) fn signing(&self) -> impl Iterator<Item = &Arc<Key>> {
        self.signing.iter()
    }

    /// The accounts that have signed before.
    pub(super) fn retired(&self) -> impl Iterator<Item = Address> {
        self.retired.iter().map(|key| key.address())
    }

    /// Returns the signatory of an account that bills nothing new, and the effect on the account's lane.
    pub(super) fn follower(&self, account: Address) -> (Signatory, OnlyFollows) {
        match self.retired.iter().find(|key| key.address() == account) {
            Some(key) => (Signatory::Key(Arc::clone(key)), OnlyFollows::RetiredKey),
            None => (Signatory::Keyless(account), OnlyFollows::NoKey),
        }
    }
}

/// Keys that are being opened, one after the other: one that is encrypted takes 256 MiB meanwhile.
struct Opening<'a> {
    chain: &'a ChainConfig,
    keys: &'a KeysConfig,
    open: &'a dyn OpenKeys,
    /// The accounts of those that are open, and where each is named.
    known: Vec<(Address, String)>,
    faults: Vec<String>,
}

impl Opening<'_> {
    /// Opens one more. Two keys of one account would be two lanes for its one row of transactions.
    async fn next(&mut self, place: String, key: &KeyRef) -> Option<Arc<Key>> {
        let path = format!("chains.{}.{place}", self.chain.platform_id);
        let at = key_place(self.chain, key, self.keys);
        let fault = match load(self.open, at, self.chain.test, &path).await {
            Err(fault) => fault,
            Ok(key) => {
                let twin = self.known.iter().find(|(account, _)| *account == key.address());
                let Some((_, twin)) = twin else {
                    self.known.push((key.address(), place));
                    return Some(Arc::new(key));
                };
                format!("{path}: has the account of {twin}; name it once")
            }
        };
        self.faults.push(fault);
        None
    }
}

/// Returns the place of a chain's key; otherwise the reason why the place is not known.
pub(super) fn key_place(
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
