//! The signers of headers. Every provider shows the same headers, and more than once: recovering a key is most of
//! the work of a proof, and depends on nothing but the digest and the signature.

use alloy::primitives::{Address, B256, Signature};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::mem;
use tron_primitives::block::recover;

/// Lowest number of headers that are remembered, once so many were seen: about an hour and a half.
const KEPT: usize = 2_048;

/// The recovered signers.
#[derive(Debug, Default)]
pub struct Signers(Mutex<Generations>);

/// A digest, and a signature over it.
type SignedDigest = (B256, [u8; 65]);

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<SignedDigest, Address>,
    old: HashMap<SignedDigest, Address>,
}

impl Signers {
    /// Returns the signer of a signature, from memory where the signer is known; none if nobody can have made the
    /// signature.
    pub fn signer_of(&self, digest: &B256, signature: &Signature) -> Option<Address> {
        let key = (*digest, signature.as_bytes());
        if let Some(known) = self.0.lock().get(&key) {
            return Some(known);
        }
        let signer = recover(digest, signature)?;
        self.0.lock().insert(key, signer);
        Some(signer)
    }
}

impl Generations {
    fn get(&self, key: &SignedDigest) -> Option<Address> {
        self.young.get(key).or_else(|| self.old.get(key)).copied()
    }

    /// The oldest are forgotten, so that nobody who shows ever new signatures fills the memory.
    fn insert(&mut self, key: SignedDigest, signer: Address) {
        if self.young.len() >= KEPT {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, signer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k256::ecdsa::SigningKey;

    fn signed(key: u8, digest: B256) -> (Address, Signature) {
        let key = SigningKey::from_slice(&[key; 32]).unwrap();
        let made = key.sign_prehash_recoverable(digest.as_slice()).unwrap();
        (Address::from_public_key(key.verifying_key()), Signature::from(made))
    }

    #[test]
    fn what_is_remembered_is_what_was_recovered() {
        let (signers, digest) = (Signers::default(), B256::repeat_byte(7));
        let (one, by_one) = signed(1, digest);
        let (two, by_two) = signed(2, digest);
        for _ in 0..2 {
            assert_eq!(signers.signer_of(&digest, &by_one), Some(one));
            assert_eq!(signers.signer_of(&digest, &by_two), Some(two), "another signature");
            let elsewhere = signers.signer_of(&B256::repeat_byte(8), &by_one);
            assert!(elsewhere.is_some_and(|signer| signer != one), "another header");
        }
        assert_eq!(signers.0.lock().young.len(), 3);
    }

    #[test]
    fn ever_new_signatures_do_not_fill_the_memory() {
        let mut known = Generations::default();
        for number in 0..5 * KEPT {
            let digest = B256::left_padding_from(&number.to_be_bytes());
            known.insert((digest, [0; 65]), Address::ZERO);
            assert!(known.young.len() + known.old.len() <= 2 * KEPT);
        }
        assert_eq!(known.old.len(), KEPT);
    }
}
