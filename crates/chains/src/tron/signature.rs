//! The signer of a transaction: key recovery as java-tron does it, with its tolerance and its words.
//!
//! v may be 0/1, 27/28 or 31/32, s may be high or 0, bytes after the 65th are ignored. The stricter rules of 4.8.2
//! are not here.

use super::address;
use super::ledger::Permission;
use crate::curve;
use crate::memo::Memo;
use revm::primitives::{Address, B256};

const OUT_OF_RANGE: &str =
    "java.security.SignatureException: Could not recover public key from signature";
const NOT_A_POINT: &str = "java.lang.IllegalArgumentException: Invalid point compression";
/// The field's prime, big-endian.
const PRIME: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xfc, 0x2f,
];

/// Checks `signatures` over `digest` against `permission`; the error is the node's own text.
pub fn check(digest: &B256, signatures: &[Vec<u8>], permission: &Permission) -> Result<(), String> {
    if signatures.is_empty() {
        return Err("miss sig or contract".to_owned());
    }
    if signatures.len() > permission.keys.len() {
        return Err(format!(
            "Signature count is {} more than key counts of permission : {}",
            signatures.len(),
            permission.keys.len()
        ));
    }
    let mut weight = 0;
    let mut signers = vec![];
    for signature in signatures {
        if signature.len() < 65 {
            return Err(format!("Signature size is {}", signature.len()));
        }
        let signer = recover(digest, signature)?;
        let key = permission.keys.iter().find(|(key, _)| *key == signer);
        let Some((_, share)) = key else {
            return Err(format!(
                "{} is signed by {} but it is not contained of permission.",
                hex::encode(&signature[..65]),
                address::base58(&signer)
            ));
        };
        if signers.contains(&signer) {
            return Err(format!("{} has signed twice!", address::base58(&signer)));
        }
        signers.push(signer);
        weight += share;
    }
    if weight < permission.threshold {
        return Err("sig error".to_owned());
    }
    Ok(())
}

/// The address whose key made `signature` (65 bytes or more) over `digest`.
pub fn recover(digest: &B256, signature: &[u8]) -> Result<Address, String> {
    thread_local! {
        static KNOWN: Memo<(B256, Vec<u8>), Result<Address, String>> = Memo::new();
    }
    let key = (*digest, signature.to_vec());
    KNOWN.with(|known| known.get(key, |(digest, signature)| computed(digest, signature)))
}

fn computed(digest: &B256, signature: &[u8]) -> Result<Address, String> {
    let v = signature[64];
    let header = if v < 27 { v + 27 } else { v };
    if !(27..=34).contains(&header) {
        return Err(format!("java.security.SignatureException: Header byte out of range: {v}"));
    }
    let id = (header - 27) % 4;
    let r = &signature[..32];
    // ids 2 and 3 mean x = r + n, which a real signature never has: the sum is beyond the field
    if id >= 2 || r >= PRIME.as_slice() {
        return Err(OUT_OF_RANGE.to_owned());
    }
    let nonce = curve::point(r, id == 1).ok_or_else(|| NOT_A_POINT.to_owned())?;
    curve::signer(digest, &nonce, [r, &signature[32..64]]).ok_or_else(|| OUT_OF_RANGE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vector_recovers_its_key() {
        let id = hex::decode("61b4d679672971291695997a3590bc2d591fafe3eda44195fbd0777139f712dd")
            .unwrap();
        let sig = hex::decode(
            "72b711269bf0d450826f9a082c1730b6e40bdb86efb984d46bb0556da017b1722d205203957c64b98d1fb9ea2cdb4131861b2ab0\
             98027aa528e9c6949f0741f71b",
        )
        .unwrap();
        let signer = recover(&B256::from_slice(&id), &sig).unwrap();
        assert_eq!(address::base58(&signer), "TCNkawTmcQgYSU8nP8cHswT1QPjharxJr7");
    }
}
