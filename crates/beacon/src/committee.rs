//! Sync committees: 512 public keys, and the signatures of two thirds of them.

use crate::answer::{CommitteeAnswer, SyncAggregate};
use crate::unproven::Obstacle;
use alloy::primitives::B256;
use blst::BLST_ERROR;
use blst::min_pk::{PublicKey, Signature};
use std::fmt;

/// The fewest signatures that prove anything: two thirds of the places, rounded up.
pub const QUORUM: u32 = 342;

/// The suite in which Ethereum signs (specs/phase0/beacon-chain.md, "BLS signatures").
const SUITE: &[u8] = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

/// A committee whose keys are points of the curve's group, and none of them its zero.
#[derive(Clone)]
pub struct Committee {
    keys: Vec<PublicKey>,
}

impl Committee {
    /// The committee of these keys. Costs some thirty milliseconds.
    ///
    /// # Errors
    /// [`Obstacle::Key`].
    pub fn new(answer: &CommitteeAnswer) -> Result<Self, Obstacle> {
        let places = answer.pubkeys.iter().enumerate();
        let valid = places.map(|(place, key)| {
            PublicKey::key_validate(key.as_slice()).map_err(|_| Obstacle::Key(place))
        });
        Ok(Self { keys: valid.collect::<Result<_, _>>()? })
    }

    /// Succeeds if at least two thirds of the places signed this root.
    ///
    /// # Errors
    /// [`Obstacle::Participation`] or [`Obstacle::Signature`].
    pub fn verify(&self, aggregate: &SyncAggregate, signing_root: B256) -> Result<(), Obstacle> {
        let bits = &aggregate.sync_committee_bits;
        let signers: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
        if signers < QUORUM {
            return Err(Obstacle::Participation(signers));
        }
        let signed = bits.iter().flat_map(|byte| (0..8_u32).map(move |bit| byte >> bit & 1 == 1));
        let places = self.keys.iter().zip(signed);
        let keys: Vec<&PublicKey> =
            places.filter_map(|(key, signed)| signed.then_some(key)).collect();
        let signature = Signature::from_bytes(aggregate.sync_committee_signature.as_slice())
            .map_err(|_| Obstacle::Signature)?;
        match signature.fast_aggregate_verify(true, signing_root.as_slice(), SUITE, &keys) {
            BLST_ERROR::BLST_SUCCESS => Ok(()),
            BLST_ERROR::BLST_BAD_ENCODING
            | BLST_ERROR::BLST_POINT_NOT_ON_CURVE
            | BLST_ERROR::BLST_POINT_NOT_IN_GROUP
            | BLST_ERROR::BLST_AGGR_TYPE_MISMATCH
            | BLST_ERROR::BLST_VERIFY_FAIL
            | BLST_ERROR::BLST_PK_IS_INFINITY
            | BLST_ERROR::BLST_BAD_SCALAR => Err(Obstacle::Signature),
        }
    }
}

impl fmt::Debug for Committee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committee").finish_non_exhaustive()
    }
}
