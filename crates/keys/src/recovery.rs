//! The account that a signature leads to.

use alloy::primitives::{Address, B256, Signature};
use k256::ecdsa::VerifyingKey;
use k256::elliptic_curve::ops::{Invert as _, LinearCombination as _, Reduce};
use k256::elliptic_curve::point::DecompressPoint as _;
use k256::{AffinePoint, ProjectivePoint, Scalar, U256};

/// Returns true if `signature` of `digest` leads back to `address`.
pub(crate) fn is_by(address: Address, signature: &Signature, digest: B256) -> bool {
    signer_of(signature, digest) == Some(address)
}

/// Returns the address whose key made `signature` of `digest`; none if no key can have made it.
///
/// The public key is computed as SEC 1, section 4.1.6 has it, once. Version 0.16 of the crate `ecdsa` verifies the
/// signature with the key besides, which every key that is computed so passes, and takes twice as long; version 0.17
/// leaves that out.
#[expect(clippy::arithmetic_side_effects, reason = "scalars are numbers modulo the curve's order")]
fn signer_of(signature: &Signature, digest: B256) -> Option<Address> {
    // An error if r or s is zero, or not below the order.
    let (r, s) = signature.to_k256().ok()?.split_scalars();
    let z = <Scalar as Reduce<U256>>::reduce_bytes(&digest.0.into());
    let odd = u8::from(signature.v()).into();
    let nonce = Option::<AffinePoint>::from(AffinePoint::decompress(&r.to_bytes(), odd))?;
    let inverse = *r.invert();
    let (by_generator, by_nonce) = (-(inverse * z), inverse * *s);
    let (generator, nonce) = (ProjectivePoint::GENERATOR, ProjectivePoint::from(nonce));
    let key = ProjectivePoint::lincomb(&generator, &by_generator, &nonce, &by_nonce);
    let key = VerifyingKey::from_affine(key.to_affine()).ok()?;
    Some(Address::from_public_key(&key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::U256 as Word;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// About half of all numbers are the abscissa of a point, and lead somewhere.
        #[test]
        fn any_signature_leads_where_the_library_says(
            r in any::<[u8; 32]>(), s in any::<[u8; 32]>(), odd in any::<bool>(), digest in any::<[u8; 32]>(),
        ) {
            let digest = B256::from(digest);
            let signature = Signature::new(Word::from_be_bytes(r), Word::from_be_bytes(s), odd);
            prop_assert_eq!(signer_of(&signature, digest), signature.recover_address_from_prehash(&digest).ok());
        }
    }

    #[test]
    fn what_no_key_can_have_made_leads_nowhere() {
        let one = Word::from(1);
        for (r, s) in [(Word::ZERO, one), (one, Word::ZERO), (Word::MAX, one), (Word::from(5), one)]
        {
            let signature = Signature::new(r, s, false);
            assert_eq!(signer_of(&signature, B256::repeat_byte(1)), None, "{r}, {s}");
        }
    }
}
