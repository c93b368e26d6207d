//! Recovery of the signer of a digest, at the price of one combination of two points: no caller here needs the
//! signature verified once more by the key that was recovered from it.

use k256::elliptic_curve::group::Group;
use k256::elliptic_curve::ops::{LinearCombination, Reduce};
use k256::elliptic_curve::sec1::{FromEncodedPoint, ToEncodedPoint};
use k256::{AffinePoint, EncodedPoint, ProjectivePoint, Scalar, U256};
use revm::primitives::{Address, B256, keccak256};

/// A number of 32 bytes, modulo the order of the curve.
pub(crate) fn scalar(bytes: &[u8]) -> Scalar {
    <Scalar as Reduce<U256>>::reduce(U256::from_be_slice(bytes))
}

/// The point with this x and an odd or even y, if there is one.
pub(crate) fn point(x: &[u8], odd: bool) -> Option<AffinePoint> {
    let encoded = EncodedPoint::from_bytes([&[2 + u8::from(odd)], x].concat()).ok()?;
    AffinePoint::from_encoded_point(&encoded).into()
}

/// The address whose key made (r, s) over `digest` with this nonce's point.
pub(crate) fn signer(digest: &B256, nonce: &AffinePoint, [r, s]: [&[u8]; 2]) -> Option<Address> {
    let inverse: Option<Scalar> = scalar(r).invert().into();
    let inverse = inverse?;
    let (by_nonce, by_generator) = (scalar(s) * inverse, -scalar(digest.as_slice()) * inverse);
    let (nonce, generator) = (ProjectivePoint::from(*nonce), ProjectivePoint::GENERATOR);
    let key = ProjectivePoint::lincomb(&nonce, &by_nonce, &generator, &by_generator);
    if bool::from(key.is_identity()) {
        return None;
    }
    let bytes = key.to_affine().to_encoded_point(false);
    Some(Address::from_word(keccak256(&bytes.as_bytes()[1..])))
}
