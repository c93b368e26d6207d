//! Makes true blocks, with code of its own for everything that is under test.

use alloy::primitives::{Address, B256, Bytes};
use k256::ecdsa::SigningKey;
use prost::Message;
use sha2::{Digest, Sha256};
use tron_primitives::address::prefixed;
use tron_primitives::answer::{
    BlockAnswer, HeaderAnswer, RetAnswer, SignedHeader, TransactionAnswer,
};
use tron_primitives::messages::{HeaderRaw, Ret, Transaction};

pub(crate) const FIRST_MS: u64 = 1_800_000_000_000;
pub(crate) const SLOT_MS: u64 = 3_000;

pub(crate) fn key(n: u64) -> SigningKey {
    SigningKey::from_slice(&Sha256::digest(n.to_be_bytes())).unwrap()
}

pub(crate) fn account(n: u64) -> Address {
    Address::from_public_key(key(n).verifying_key())
}

pub(crate) fn sha(bytes: &[u8]) -> B256 {
    B256::from_slice(&Sha256::digest(bytes))
}

/// A transaction of no particular meaning, with its result.
pub(crate) fn transaction(seed: u64, word: &str) -> TransactionAnswer {
    let raw = [b"transaction".as_slice(), &seed.to_be_bytes()].concat();
    TransactionAnswer {
        tx_id: sha(&raw),
        raw_data_hex: raw.into(),
        signature: vec![Bytes::from(vec![u8::try_from(seed % 256).unwrap(); 65])],
        ret: vec![RetAnswer { contract_ret: word.to_owned(), ..RetAnswer::default() }],
    }
}

pub(crate) fn leaf(transaction: &TransactionAnswer) -> B256 {
    let words = ["DEFAULT", "SUCCESS", "REVERT"];
    let number = |word: &str| words.iter().position(|known| *known == word).unwrap_or(0);
    let ret = transaction.ret.iter().map(|ret| Ret {
        fee: ret.fee,
        ret: i32::from(ret.ret == "FAILED"),
        contract_ret: i32::try_from(number(&ret.contract_ret)).unwrap(),
        ..Ret::default()
    });
    let message = Transaction {
        raw_data: transaction.raw_data_hex.to_vec(),
        signature: transaction.signature.iter().map(|bytes| bytes.to_vec()).collect(),
        ret: ret.collect(),
    };
    sha(&message.encode_to_vec())
}

/// Recursive, unlike the code under test: the left half is the largest power of two.
fn root(leaves: &[B256]) -> B256 {
    match leaves {
        [] => B256::ZERO,
        [only] => *only,
        many => {
            let half = many.len().next_power_of_two() / 2;
            sha(&[root(&many[..half]).0, root(&many[half..]).0].concat())
        }
    }
}

/// The block at a place of a chain: who makes it, when, and on what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) number: u64,
    pub(crate) time_ms: u64,
    pub(crate) parent: B256,
    pub(crate) witness: Address,
    /// The seed of the key that signs.
    pub(crate) signer: u64,
}

/// A true block.
pub(crate) fn block(site: Site, transactions: Vec<TransactionAnswer>) -> BlockAnswer {
    let leaves: Vec<_> = transactions.iter().map(leaf).collect();
    let header = HeaderAnswer {
        number: site.number,
        timestamp: site.time_ms,
        parent_hash: site.parent,
        tx_trie_root: root(&leaves),
        witness_address: prefixed(site.witness).to_vec().into(),
        version: 32,
        ..HeaderAnswer::default()
    };
    signed(header, transactions, &key(site.signer))
}

/// The block with this header, whatever it says, signed.
pub(crate) fn signed(
    header: HeaderAnswer,
    transactions: Vec<TransactionAnswer>,
    key: &SigningKey,
) -> BlockAnswer {
    let raw = HeaderRaw {
        timestamp: i64::try_from(header.timestamp).unwrap(),
        tx_trie_root: header.tx_trie_root.to_vec(),
        parent_hash: header.parent_hash.to_vec(),
        number: i64::try_from(header.number).unwrap(),
        witness_id: header.witness_id,
        witness_address: header.witness_address.to_vec(),
        version: header.version,
        account_state_root: header.account_state_root.to_vec(),
    };
    let digest = sha(&raw.encode_to_vec());
    let (signature, recovery) = key.sign_prehash_recoverable(digest.as_slice()).unwrap();
    let mut id = digest;
    id[..8].copy_from_slice(&header.number.to_be_bytes());
    let witness_signature = [&signature.to_bytes()[..], &[recovery.to_byte()]].concat().into();
    BlockAnswer {
        block_id: id,
        block_header: SignedHeader { raw_data: header, witness_signature },
        transactions,
    }
}

/// A chain that begins at block `first`, produced in turn by these (witness, signer's seed).
pub(crate) fn chain(first: u64, turns: &[(Address, u64)]) -> Vec<BlockAnswer> {
    let mut parent = {
        let mut id = sha(b"before");
        id[..8].copy_from_slice(&(first - 1).to_be_bytes());
        id
    };
    let mut blocks = vec![];
    for ((witness, signer), place) in turns.iter().copied().zip(0..) {
        let number = first + place;
        let time_ms = FIRST_MS + number * SLOT_MS;
        let made = block(Site { number, time_ms, parent, witness, signer }, vec![]);
        parent = made.block_id;
        blocks.push(made);
    }
    blocks
}
