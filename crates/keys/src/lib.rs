#![doc = include_str!("../README.md")]

mod apart;
mod aws;
mod awskms;
mod awssecret;
mod ceiling;
mod directory;
#[cfg(test)]
mod double;
mod elsewhere;
mod error;
mod gcpkms;
mod handed_out;
mod kept;
mod keystore;
mod lockdown;
mod opening;
#[cfg(feature = "pkcs11")]
mod pkcs11;
mod private_file;
mod process;
mod source;
mod store_fault;
mod vault;
mod web;
mod well_known;

pub use apart::{
    ApartFault, Ask, Deaths, KeyAnswer, KeyQuestion, KeyReply, Manifest, NotSigned, Opened,
    OpenedAs, Profiles, SignAgain, SignBill, SplitKeys, WireRefusal, frame, read_frame,
};
pub use ceiling::{CeilingFault, DayCeiling};
pub use directory::{generate, import, list, random_password};
pub use elsewhere::SigningStore;
pub use error::{KeyError, SignError};
pub use lockdown::lock_down;
pub use opening::{EveryStore, KeyPlace, OpenKeys};
pub use private_file::{create as create_closed_file, create_directory as create_closed_directory};
pub use process::{HardenError, harden_process};
pub use source::KeySource;
pub use store_fault::{StoreError, StoreFault};

use std::fmt;
use std::hint::black_box;

use alloy::primitives::{Address, B256, Signature};
use apart::ApartKey;
use elsewhere::Elsewhere;
use k256::ecdsa::{RecoveryId, SigningKey};
use policy::{Approved, Meant, Unsigned};
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

/// Memory that is not written to a disk.
pub struct PinnedKey {
    _page: region::LockGuard,
}

impl fmt::Debug for PinnedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedKey").finish_non_exhaustive()
    }
}

/// The signer behind a key.
enum Hand {
    /// The key itself.
    Here(Box<SigningKey>),
    /// A store that has it.
    Elsewhere(Elsewhere),
    /// A process that has it, and a policy of its own.
    Apart(ApartKey),
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
                let key = config_path.to_owned();
                return Err(match hand.signs_for().await {
                    Some(actual) if actual != address => {
                        KeyError::NotPinned { key, stated: address, actual }
                    }
                    Some(_) | None => KeyError::SelfTest { key, source },
                });
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
            Hand::Here(_) | Hand::Apart(_) => None,
            Hand::Elsewhere(hand) => hand.trouble(),
        }
    }

    /// Returns the place of the key, in a word for tables: `here`, in a process `apart`, or in a `store`.
    pub fn held(&self) -> &'static str {
        match &self.hand {
            Hand::Here(_) => "here",
            Hand::Elsewhere(_) => "store",
            Hand::Apart(_) => "apart",
        }
    }

    /// Has a store that did not sign, or was not asked for long, sign a test.
    pub async fn look_after(&self) {
        if let Hand::Elsewhere(hand) = &self.hand {
            hand.look_after().await;
        }
    }

    /// Signs a transaction that the policy has approved, and that does what was meant: a process that holds the
    /// key judges that for itself, and may refuse it. There is no way to sign anything else.
    pub async fn sign_meant<T: Unsigned + Sync>(
        &self,
        approved: &Approved<T>,
        meant: &Meant<'_>,
    ) -> Result<Signature, NotSigned> {
        match &self.hand {
            Hand::Here(_) | Hand::Elsewhere(_) => Ok(self.sign(approved).await?),
            Hand::Apart(key) => key.sign(approved.get().bytes(), approved.digest(), meant).await,
        }
    }

    /// Tells a process that holds the key by which profiles older batches were signed, as text.
    pub fn remember(&self, profiles: impl Iterator<Item = String>) {
        if let Hand::Apart(key) = &self.hand {
            key.remember(profiles.collect());
        }
    }

    /// Keeps the memory that the key is in from being written to a disk, as long as what is returned lives.
    /// Fails where the system does not let the process have so much of that; none where the key is not here.
    pub fn pin(&self) -> Result<Option<PinnedKey>, region::Error> {
        let Hand::Here(signer) = &self.hand else { return Ok(None) };
        let at = std::ptr::from_ref::<SigningKey>(signer);
        Ok(Some(PinnedKey { _page: region::lock(at, size_of::<SigningKey>())? }))
    }

    /// Signs a transaction that the policy has approved, with a key that no other process holds.
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
            Hand::Apart(_) => {
                Err(SignError::Apart { address: self.address, why: ApartFault::NothingBefore })
            }
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
