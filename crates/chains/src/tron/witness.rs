//! Who makes blocks, how they sign, and from which block on nothing can be undone.

use super::address;
use super::family::Tron;
use crate::chain::{Block, Header};
use crate::memo::Memo;
use k256::ecdsa::SigningKey;
use revm::primitives::{Address, B256};
use std::sync::Arc;

/// How many of ten witnesses need not have built on a block.
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

    /// r, s and the recovery id over a header's digest.
    pub fn sign(&self, digest: &B256) -> Vec<u8> {
        thread_local! {
            static MADE: Memo<([u8; 32], B256), Vec<u8>> = Memo::new();
        }
        let sign = |(key, digest): &([u8; 32], B256)| {
            let signed = SigningKey::from_slice(key)
                .and_then(|key| key.sign_prehash_recoverable(digest.as_slice()));
            signed
                .map(|(rs, id)| [rs.to_bytes().to_vec(), vec![id.to_byte()]].concat())
                .unwrap_or_default()
        };
        MADE.with(|made| made.get((self.key, *digest), sign))
    }
}

/// The producers of the chain of the recordings.
pub(super) fn recorded() -> Vec<Witness> {
    [2, 6, 7, 8, 9].map(Witness::numbered).to_vec()
}

/// Who produced a block, as its header says it: 21 bytes, in block 0 a text that tells chains apart by their beginning.
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
