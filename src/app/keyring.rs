//! Opens the keys of a chain: those that sign, and those that are retired.

use alloy::primitives::Address;
use billing::OnlyFollows;
use chain::Signatory;
use config::{ChainConfig, KeyRef, KeysConfig};
use keys::{Key, NamedKey, OpenKeys};
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
            signing.extend(opening.next(&place, key).await);
        }
        for (place, key) in chain.keys.retired() {
            retired.extend(opening.next(&place, key).await);
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
    async fn next(&mut self, place: &str, key: &KeyRef) -> Option<Arc<Key>> {
        let named = NamedKey::new(self.chain, self.keys, place, key);
        let path = named.path.clone();
        let fault = match self.open.open(named).await {
            Err(fault) => fault.to_string(),
            Ok(key) => {
                let twin = self.known.iter().find(|(account, _)| *account == key.address());
                let Some((_, twin)) = twin else {
                    self.known.push((key.address(), place.to_owned()));
                    return Some(Arc::new(key));
                };
                format!("{path}: has the account of {twin}; name it once")
            }
        };
        self.faults.push(fault);
        None
    }
}
