//! Private keys: how they come in, and the one thing that can be done with them.
//!
//! A [`Key`] signs digests for one address. Either it is here: loaded once, in one place in memory,
//! wiped when it is dropped. Or it is elsewhere, in a store that signs with it and never hands it out.
//! It cannot be asked for itself: no text, log, error or Debug print made here holds any part of a key.
//! What may be signed is decided elsewhere: only the policy makes the proof that a signature needs. This
//! module never sees a transaction or a chain.

mod aws;
mod awskms;
mod awssecret;
mod directory;
#[cfg(test)]
mod double;
mod elsewhere;
mod error;
mod gcpkms;
mod handed_out;
mod kept;
mod keystore;
#[cfg(feature = "pkcs11")]
mod pkcs11;
mod private_file;
mod process;
mod source;
mod store_fault;
mod vault;
mod web;
mod well_known;

pub use directory::{generate, import, list, random_password};
pub use elsewhere::SigningStore;
pub use error::{KeyError, SignError};
pub(crate) use private_file::{
    create as create_closed_file, create_directory as create_closed_directory,
};
pub use process::{HardenError, harden_process};
pub use source::KeySource;
pub use store_fault::{StoreError, StoreFault};

use std::fmt;
use std::hint::black_box;

use crate::config::{
    AwsConfig, AwsSecret, GcpConfig, GcpKey, KmsKey, Pkcs11Config, TokenKey, VaultConfig,
    VaultSecret,
};
use crate::policy::Approved;
use alloy::primitives::{Address, B256, Signature};
use async_trait::async_trait;
use awskms::AwsKms;
use elsewhere::Elsewhere;
use gcpkms::GcpKms;
use k256::ecdsa::{RecoveryId, SigningKey};
#[cfg(feature = "pkcs11")]
use std::time::Duration;
#[cfg(feature = "pkcs11")]
use tokio::time::timeout;
use zeroize::{Zeroize, Zeroizing};

/// 32 bytes of a private key on their way in. Boxed before it is filled, so that moving it never
/// leaves bytes behind.
type Secret = Box<Zeroizing<[u8; 32]>>;

/// Signed when a key is loaded, to find a broken key or a broken machine before the first charge does.
/// No transaction has this hash.
const SELF_TEST_DIGEST: B256 = B256::repeat_byte(0x5a);

/// Signs for one address. Deliberately without `Clone`, `Display`, `Serialize` or a way back to
/// the key; wiped on drop.
pub struct Key {
    hand: Hand,
    address: Address,
}

/// What signs.
enum Hand {
    /// The key itself.
    Here(Box<SigningKey>),
    /// A store that has it.
    Elsewhere(Elsewhere),
}

/// Where a key is.
#[derive(Debug)]
pub enum KeyPlace {
    /// It is read here.
    Here(KeySource),
    /// Vault or `OpenBao` hands it out.
    Vault {
        /// Where it is in there.
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
        /// How AWS is reached.
        aws: AwsConfig,
        /// Its address.
        address: Address,
    },
    /// AWS KMS signs with it.
    AwsKms {
        /// Which one it is.
        key: KmsKey,
        /// How AWS is reached.
        aws: AwsConfig,
        /// Its address.
        address: Address,
    },
    /// Google Cloud KMS signs with it.
    GcpKms {
        /// Which one it is.
        key: GcpKey,
        /// How Google is reached.
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

/// How long a module may take to be loaded.
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

impl Key {
    /// Loads the key that `source` names, and consumes `source` so that its text is wiped too.
    ///
    /// `config_path` is how the operator knows the key (`chains.139.key`); every error starts
    /// with it. Keys that are published with development tools are refused unless
    /// `allow_test_keys`.
    ///
    /// Blocks: opening a keystore takes about a second and 256 MiB. Call it before the runtime
    /// starts, or on a thread that may block.
    pub fn load(
        source: KeySource,
        config_path: &str,
        allow_test_keys: bool,
    ) -> Result<Self, KeyError> {
        let loaded = Self::load_unscrubbed(&source, config_path, allow_test_keys);
        drop(source);
        scrub_stack();
        loaded
    }

    /// A key that `store` has, and that signs for `address`: whatever the store says, nothing else is
    /// taken for a signature. It signs a test at once.
    ///
    /// A store that cannot be asked at present is no error: the key is tried again whenever it is looked
    /// after ([`Key::look_after`]), and says until then what is the matter ([`Key::trouble`]).
    pub async fn elsewhere(
        store: Box<dyn SigningStore>,
        address: Address,
        config_path: &str,
    ) -> Result<Self, KeyError> {
        let hand = Elsewhere::new(store, address);
        match hand.sign(SELF_TEST_DIGEST).await {
            Ok(_) => {}
            Err(SignError::Store { why, .. }) if why.may_pass() => {}
            Err(source) => {
                return Err(KeyError::SelfTest { key: config_path.to_owned(), source });
            }
        }
        Ok(Self { hand: Hand::Elsewhere(hand), address })
    }

    /// The address that the key signs for.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Why it could not sign when it was last asked; none where it could, and for a key that is here.
    pub fn trouble(&self) -> Option<StoreFault> {
        match &self.hand {
            Hand::Here(_) => None,
            Hand::Elsewhere(hand) => hand.trouble(),
        }
    }

    /// Has a store that did not sign, or was not asked for long, sign a test.
    pub async fn look_after(&self) {
        if let Hand::Elsewhere(hand) = &self.hand {
            hand.look_after().await;
        }
    }

    /// Signs a transaction that the policy has approved. There is no way to sign anything else.
    ///
    /// A key that is here takes less than 0.1 ms; one that is elsewhere may take seconds, and gives up by
    /// itself.
    pub async fn sign<T: Sync>(&self, approved: &Approved<T>) -> Result<Signature, SignError> {
        self.sign_digest(approved.digest()).await
    }

    /// Signs `digest` exactly as given: no hashing, no prefix, no domain. Low s; RFC 6979 where the key is
    /// here.
    ///
    /// The signer is recovered from every signature and compared with [`Key::address`]; on a
    /// difference there is an error and no signature.
    async fn sign_digest(&self, digest: B256) -> Result<Signature, SignError> {
        match &self.hand {
            Hand::Here(signer) => self.sign_here(signer, digest),
            Hand::Elsewhere(hand) => hand.sign(digest).await,
        }
    }

    fn sign_here(&self, signer: &SigningKey, digest: B256) -> Result<Signature, SignError> {
        let signed = sign_unscrubbed(signer, digest);
        scrub_stack();
        let (signature, recovery_id) =
            signed.ok_or(SignError::NoSignature { address: self.address })?;
        let signature = Signature::from((signature, recovery_id));
        match signature.recover_address_from_prehash(&digest) {
            Ok(recovered) if recovered == self.address => Ok(signature),
            Ok(_) | Err(_) => Err(SignError::WrongSigner { address: self.address }),
        }
    }

    #[inline(never)]
    fn load_unscrubbed(
        source: &KeySource,
        config_path: &str,
        allow_test_keys: bool,
    ) -> Result<Self, KeyError> {
        Self::from_store(&source.read(config_path)?, config_path, allow_test_keys)
    }

    /// The key with these bytes, if it may be used and signs.
    #[inline(never)]
    fn from_store(
        secret: &Secret,
        config_path: &str,
        allow_test_keys: bool,
    ) -> Result<Self, KeyError> {
        let key = Self::from_secret(secret, config_path)?;
        if !allow_test_keys && well_known::is_published(secret, key.address) {
            return Err(KeyError::TestKey { key: config_path.to_owned(), address: key.address });
        }
        if let Hand::Here(signer) = &key.hand {
            key.sign_here(signer, SELF_TEST_DIGEST)
                .map_err(|source| KeyError::SelfTest { key: config_path.to_owned(), source })?;
        }
        Ok(key)
    }

    fn from_secret(secret: &Secret, config_path: &str) -> Result<Self, KeyError> {
        let signer = SigningKey::from_slice(secret.as_slice())
            .map(Box::new)
            .map_err(|_| KeyError::NotAKey { key: config_path.to_owned() })?;
        let address = Address::from_public_key(signer.verifying_key());
        Ok(Self { hand: Hand::Here(signer), address })
    }
}

#[inline(never)]
fn sign_unscrubbed(
    signer: &SigningKey,
    digest: B256,
) -> Option<(k256::ecdsa::Signature, RecoveryId)> {
    signer.sign_prehash_recoverable(digest.as_slice()).ok()
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Overwrites the stretch of stack that the call before this one used: arithmetic on a key leaves
/// copies there that no destructor reaches. `tests::a_dropped_key_is_nowhere_in_memory` measures
/// that the stretch is long enough.
#[inline(never)]
fn scrub_stack() {
    let mut stretch = [0xff_u8; 16 * 1024];
    stretch.zeroize();
    black_box(&stretch);
}

#[cfg(test)]
mod tests;
