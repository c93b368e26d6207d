//! The witnesses: who makes blocks, how they sign, and from which block on nothing can be undone.

use super::address;
use super::family::Tron;
use crate::chain::{Block, Header};
use crate::curve::scalar;
use crate::memo::Memo;
use k256::Scalar;
use k256::ecdsa::SigningKey;
use k256::elliptic_curve::scalar::IsHigh;
use revm::primitives::{Address, B256};
use std::sync::Arc;

/// Number of witnesses in ten that need not have built on a block.
const MISSING_OF_TEN: usize = 3;

/// A block is looked for among so many rounds of all witnesses.
const ROUNDS: usize = 8;

/// A block producer.
#[derive(Clone, Copy, Debug)]
pub struct Witness {
    /// The private key that signs its blocks: a worthless one.
    pub key: [u8; 32],
    /// Its address.
    pub address: Address,
}

/// Producers that were voted in.
#[derive(Clone, Debug)]
pub struct Election {
    /// From this block time on (ms).
    pub from_ms: u64,
    /// All producers, in turn.
    pub witnesses: Vec<Witness>,
}

impl Witness {
    /// The producer with a key.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key, address: address::of_key(&key).unwrap_or_default() }
    }

    /// The producer whose key is this number, repeated: everybody knows these keys.
    pub fn numbered(number: u8) -> Self {
        Self::new([number; 32])
    }

    /// The same producer, whose witness permission belongs to another key.
    #[must_use]
    pub fn signing_with(self, key: [u8; 32]) -> Self {
        Self { key, ..self }
    }

    /// r, s and the recovery id over a header's digest. The nonce is the key: everybody knows the key, and r is the
    /// same every time, so that a signature costs no point of the curve.
    pub fn sign(&self, digest: &B256) -> Vec<u8> {
        thread_local! {
            static KNOWN: Memo<[u8; 32], Option<Ready>> = Memo::new();
        }
        let ready = KNOWN.with(|known| known.get(self.key, Ready::of));
        ready.map(|ready| ready.sign(digest)).unwrap_or_default()
    }
}

/// The values that all signatures of a key have in common.
#[derive(Clone, Debug)]
struct Ready {
    r: Scalar,
    inverse: Scalar,
    odd: bool,
}

impl Ready {
    fn of(key: &[u8; 32]) -> Option<Self> {
        let key = SigningKey::from_slice(key).ok()?;
        let point = key.verifying_key().to_encoded_point(true);
        let r = scalar(point.x()?);
        let odd = point.as_bytes().first() == Some(&3);
        Some(Self { r, inverse: Option::from(key.as_nonzero_scalar().invert())?, odd })
    }

    fn sign(&self, digest: &B256) -> Vec<u8> {
        // s = (z + r d) / d
        let s = scalar(digest.as_slice()) * self.inverse + self.r;
        let high: bool = s.is_high().into();
        let s = if high { -s } else { s };
        [self.r.to_bytes().as_slice(), &s.to_bytes(), &[u8::from(self.odd != high)]].concat()
    }
}

/// The producers of the chain of the recordings.
pub(super) fn recorded() -> Vec<Witness> {
    [2, 6, 7, 8, 9].map(Witness::numbered).to_vec()
}

/// Returns the producer of a block, as its header names it: 21 bytes, in block 0 a text that tells chains apart by
/// their beginning.
pub fn in_header(header: &Header) -> Vec<u8> {
    if header.number > 0 {
        return address::to21(&header.producer);
    }
    format!("a chain of one's own, begun at {} ms", header.time_ms).into_bytes()
}

/// The newest block on which enough different ones of `active` stand, itself counted.
pub(super) fn solidified(active: &[Witness], blocks: &[Arc<Block<Tron>>]) -> u64 {
    let needed = active.len() - active.len() * MISSING_OF_TEN / 10;
    let mut seen: Vec<Address> = vec![];
    for block in blocks.iter().rev().take(active.len() * ROUNDS) {
        let header = &block.header;
        let elected = active.iter().any(|witness| witness.address == header.producer);
        if elected && !seen.contains(&header.producer) {
            seen.push(header.producer);
        }
        if seen.len() >= needed {
            return header.number;
        }
    }
    0
}
