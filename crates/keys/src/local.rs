//! A key in the memory of this process.

use super::error::{KeyError, SignError};
use super::recovery::is_by;
use super::secret::{SELF_TEST_DIGEST, Secret, scrub_stack};
use super::well_known;
use alloy::primitives::{Address, B256, Signature};
use k256::ecdsa::{RecoveryId, SigningKey};
use policy::Approved;
use std::fmt;

/// Signs for one address with a key that is here. Deliberately without `Clone`, `Display`, `Serialize` or a way back
/// to the key; wiped on drop.
pub struct LocalKey {
    signer: Box<SigningKey>,
    address: Address,
}

/// Treatment of keys that are published with development tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestKeys {
    /// Nothing of value is on the chain.
    Allowed,
    /// Everybody could take what is on the chain.
    Refused,
}

/// Memory that is not written to a disk.
pub struct PinnedKey {
    _page: region::LockGuard,
}

impl LocalKey {
    /// The key with these bytes, if it may be used and signs. `path` is the operator's name for it; every error
    /// starts with it.
    #[inline(never)]
    pub(crate) fn of(secret: &Secret, path: &str, test_keys: TestKeys) -> Result<Self, KeyError> {
        let key = Self::unchecked(secret, path)?;
        if test_keys == TestKeys::Refused && well_known::is_published(secret, key.address) {
            return Err(KeyError::TestKey { key: path.to_owned(), address: key.address });
        }
        key.sign_digest(SELF_TEST_DIGEST)
            .map_err(|source| KeyError::SelfTest { key: path.to_owned(), source })?;
        Ok(key)
    }

    /// The key that a store has exported, if it is that of `address` and may be used.
    pub fn exported(
        secret: Secret,
        address: Address,
        path: &str,
        test_keys: TestKeys,
    ) -> Result<Self, KeyError> {
        let key = Self::of(&secret, path, test_keys);
        drop(secret);
        scrub_stack();
        let actual = key.as_ref().map_or(address, Self::address);
        if actual == address {
            return key;
        }
        Err(KeyError::NotPinned { key: path.to_owned(), stated: address, actual })
    }

    /// The key with these bytes, which may be a published one and has signed nothing.
    pub(crate) fn unchecked(secret: &Secret, path: &str) -> Result<Self, KeyError> {
        let signer = SigningKey::from_slice(secret.as_slice())
            .map(Box::new)
            .map_err(|_| KeyError::NotAKey { key: path.to_owned() })?;
        let address = Address::from_public_key(signer.verifying_key());
        Ok(Self { signer, address })
    }

    /// The address that the key signs for.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Signs a transaction that the policy has approved, in less than 0.1 ms. There is no way to sign anything else.
    pub fn sign<T>(&self, approved: &Approved<T>) -> Result<Signature, SignError> {
        self.sign_digest(approved.digest())
    }

    /// Signs `digest` exactly as given: no hashing, no prefix, no domain. Low s, RFC 6979.
    ///
    /// The signer is recovered from every signature and compared with the address; on a difference there is an
    /// error and no signature.
    pub(crate) fn sign_digest(&self, digest: B256) -> Result<Signature, SignError> {
        let address = self.address;
        let signed = sign_unscrubbed(&self.signer, digest);
        scrub_stack();
        let signature = Signature::from(signed.ok_or(SignError::NoSignature { address })?);
        if is_by(address, &signature, digest) {
            Ok(signature)
        } else {
            Err(SignError::WrongSigner { address })
        }
    }

    /// Keeps the memory that the key is in from being written to a disk, as long as the returned guard lives.
    /// Fails if the system does not let the process have so much of that.
    pub fn pin(&self) -> Result<PinnedKey, region::Error> {
        let at = std::ptr::from_ref::<SigningKey>(&self.signer);
        Ok(PinnedKey { _page: region::lock(at, size_of::<SigningKey>())? })
    }
}

#[inline(never)]
fn sign_unscrubbed(
    signer: &SigningKey,
    digest: B256,
) -> Option<(k256::ecdsa::Signature, RecoveryId)> {
    signer.sign_prehash_recoverable(digest.as_slice()).ok()
}

impl fmt::Debug for LocalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").field("address", &self.address).finish_non_exhaustive()
    }
}

impl fmt::Debug for PinnedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedKey").finish_non_exhaustive()
    }
}
