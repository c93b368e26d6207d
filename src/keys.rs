//! Private keys: how they come in, and the one thing that can be done with them.
//!
//! A [`Key`] signs digests for one address. It is loaded once, lies in one place in memory, is
//! wiped when it is dropped, and cannot be asked for itself: no text, log, error or Debug print
//! made here holds any part of a key. What may be signed is decided elsewhere: only the policy makes
//! the proof that a signature needs. This module never sees a transaction, a network or a clock.

mod directory;
mod error;
mod keystore;
mod private_file;
mod process;
mod source;
mod well_known;

pub use directory::{generate, import, list, random_password};
pub use error::{KeyError, SignError};
pub(crate) use private_file::{
    create as create_closed_file, create_directory as create_closed_directory,
};
pub use process::{HardenError, harden_process};
pub use source::KeySource;

use std::fmt;
use std::hint::black_box;

use crate::policy::Approved;
use alloy::primitives::{Address, B256, Signature};
use k256::ecdsa::SigningKey;
use zeroize::{Zeroize, Zeroizing};

/// 32 bytes of a private key on their way in. Boxed before it is filled, so that moving it never
/// leaves bytes behind.
type Secret = Box<Zeroizing<[u8; 32]>>;

/// Signed once when a key is loaded, to find a broken key or a broken machine before the first
/// charge does.
const SELF_TEST_DIGEST: B256 = B256::repeat_byte(0x5a);

/// Signs for one address. Deliberately without `Clone`, `Display`, `Serialize` or a way back to
/// the key; wiped on drop.
pub struct Key {
    signer: Box<SigningKey>,
    address: Address,
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

    /// The address that the key signs for.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Signs a transaction that the policy has approved. There is no way to sign anything else.
    pub fn sign<T>(&self, approved: &Approved<T>) -> Result<Signature, SignError> {
        self.sign_digest(approved.digest())
    }

    /// Signs `digest` exactly as given: no hashing, no prefix, no domain. RFC 6979 nonce, low s.
    ///
    /// The signer is recovered from every signature and compared with [`Key::address`]; on a
    /// difference there is an error and no signature.
    fn sign_digest(&self, digest: B256) -> Result<Signature, SignError> {
        let signed = self.sign_unscrubbed(digest);
        scrub_stack();
        signed
    }

    #[inline(never)]
    fn load_unscrubbed(
        source: &KeySource,
        config_path: &str,
        allow_test_keys: bool,
    ) -> Result<Self, KeyError> {
        let secret = source.read(config_path)?;
        let key = Self::from_secret(&secret, config_path)?;
        if !allow_test_keys && well_known::is_published(&secret, key.address) {
            return Err(KeyError::TestKey { key: config_path.to_owned(), address: key.address });
        }
        key.sign_digest(SELF_TEST_DIGEST)
            .map_err(|source| KeyError::SelfTest { key: config_path.to_owned(), source })?;
        Ok(key)
    }

    fn from_secret(secret: &Secret, config_path: &str) -> Result<Self, KeyError> {
        let signer = SigningKey::from_slice(secret.as_slice())
            .map(Box::new)
            .map_err(|_| KeyError::NotAKey { key: config_path.to_owned() })?;
        let address = Address::from_public_key(signer.verifying_key());
        Ok(Self { signer, address })
    }

    #[inline(never)]
    fn sign_unscrubbed(&self, digest: B256) -> Result<Signature, SignError> {
        let (signature, recovery_id) = self
            .signer
            .sign_prehash_recoverable(digest.as_slice())
            .map_err(|_| SignError::NoSignature { address: self.address })?;
        let signature = Signature::from((signature, recovery_id));
        match signature.recover_address_from_prehash(&digest) {
            Ok(recovered) if recovered == self.address => Ok(signature),
            Ok(_) | Err(_) => Err(SignError::WrongSigner { address: self.address }),
        }
    }
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
