//! A key, wherever it is: a transaction in, a signature out.

use super::error::NotSigned;
use super::local::LocalKey;
use super::process_key::ProcessKey;
use super::remote::RemoteKey;
use super::store_fault::StoreFault;
use alloy::primitives::{Address, Signature};
use policy::{Approved, Intent, Unsigned};
use std::fmt;

/// Signs for one address.
pub struct Key(KeyLocation);

/// The signer behind a key.
enum KeyLocation {
    /// This process has the key.
    Local(LocalKey),
    /// A store has the key.
    Remote(RemoteKey),
    /// Another process has the key, and a policy of its own.
    Process(ProcessKey),
}

impl Key {
    /// The address that the key signs for.
    pub fn address(&self) -> Address {
        match &self.0 {
            KeyLocation::Local(key) => key.address(),
            KeyLocation::Remote(key) => key.address(),
            KeyLocation::Process(key) => key.address(),
        }
    }

    /// The fault of the key's store when it was last asked; none if it signed, and for a key in no store.
    pub fn trouble(&self) -> Option<StoreFault> {
        match &self.0 {
            KeyLocation::Local(_) | KeyLocation::Process(_) => None,
            KeyLocation::Remote(key) => key.trouble(),
        }
    }

    /// Returns the location of the key, in a word for tables: `here`, in a process `apart`, or in a `store`.
    pub fn location(&self) -> &'static str {
        match &self.0 {
            KeyLocation::Local(_) => "here",
            KeyLocation::Remote(_) => "store",
            KeyLocation::Process(_) => "apart",
        }
    }

    /// Has a store sign a test, if it did not sign or was not asked for long.
    pub async fn look_after(&self) {
        if let KeyLocation::Remote(key) = &self.0 {
            key.look_after().await;
        }
    }

    /// Signs a transaction that the policy has approved and that does what was meant: a process that holds the key
    /// judges that for itself, and may refuse. There is no way to sign anything else.
    ///
    /// A store may take seconds, and gives up by itself.
    pub async fn sign<T: Unsigned + Sync>(
        &self,
        approved: &Approved<T>,
        intent: &Intent<'_>,
    ) -> Result<Signature, NotSigned> {
        let digest = approved.digest();
        match &self.0 {
            KeyLocation::Local(key) => Ok(key.sign(approved)?),
            KeyLocation::Remote(key) => Ok(key.sign(digest).await?),
            KeyLocation::Process(key) => key.sign(approved.get().bytes(), digest, intent).await,
        }
    }

    /// The key itself, if this process has it.
    pub fn into_local(self) -> Option<LocalKey> {
        match self.0 {
            KeyLocation::Local(key) => Some(key),
            KeyLocation::Remote(_) | KeyLocation::Process(_) => None,
        }
    }

    /// Tells a process that holds the key by which profiles older batches were signed, as text.
    pub fn remember(&self, profiles: impl Iterator<Item = String>) {
        if let KeyLocation::Process(key) = &self.0 {
            key.remember(profiles.collect());
        }
    }
}

impl From<LocalKey> for Key {
    fn from(key: LocalKey) -> Self {
        Self(KeyLocation::Local(key))
    }
}

impl From<RemoteKey> for Key {
    fn from(key: RemoteKey) -> Self {
        Self(KeyLocation::Remote(key))
    }
}

impl From<ProcessKey> for Key {
    fn from(key: ProcessKey) -> Self {
        Self(KeyLocation::Process(key))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("address", &self.address()).finish_non_exhaustive()
    }
}
