//! Blocks that prove themselves: what a node's HTTP answer says of a block is recomputed, not believed.
//!
//! ```text
//! id         = number (8 bytes, big endian) ‖ bytes 8..32 of sha256(header)
//! header     = BlockHeader.raw in protobuf: time, transaction root, parent's id, number, witness, …
//! root       = tree of sha256 over the whole Transaction messages: signed bytes, signatures, results
//! producer   = whoever signed sha256(header)
//! ```
//!
//! So a proven block is exactly what its producer signed: no transaction was taken away, added or given another
//! result on the way. An answer whose header alone proves itself proves nothing else
//! ([`Judgement`]). The module [`finality`](crate::finality) decides whether the producer may produce blocks, and
//! whether enough others have built on the block.
//!
//! java-tron: `chainbase/.../capsule/BlockCapsule.java` (`getBlockId`, `calcMerkleRoot`,
//! `validateSignature`), `MerkleTree.java`, `TransactionCapsule.java` (`getMerkleHash`).

use crate::address::unprefixed;
use crate::answer::{BlockAnswer, HeaderAnswer, TransactionAnswer};
use crate::messages::HeaderRaw;
use crate::result::Ending;
use crate::transaction::txid;
use crate::unjudged::Judgement;
use alloy::primitives::{Address, B256, Bytes, Signature, U256};
use prost::Message;
use sha2::{Digest, Sha256};

/// Why an answer proves no block. Which step failed is which lie was told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The header was altered, or belongs to another block.
    #[error("its id does not follow from its header")]
    Id,
    /// A number that no block has.
    #[error("a number in its header is out of range")]
    Range,
    /// The transactions were altered, some are missing, or there are too many; or one is as long as a node of the
    /// tree. Besides, a transaction with a field that the HTTP API does not show cannot be recomputed.
    #[error("its transactions are not those that its header commits to")]
    Root,
    /// A transaction goes by another id than that of its bytes.
    #[error("transaction {0} has other bytes than its id says")]
    Transaction(B256),
    /// A transaction's result is not on the list of words.
    #[error("a transaction of it ended in {0:?}, which is no known result")]
    Word(String),
    /// The header names no account as its producer.
    #[error("it names no witness")]
    Witness,
    /// Nobody can have made the producer's signature.
    #[error("its signature is no signature")]
    Signature,
}

/// A maker of blocks: an account that was elected, and the account whose key signs for it. They are the same unless
/// the witness has given its witness permission to another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Producer {
    /// The witness that the header names.
    pub witness: Address,
    /// The account whose key signed the header.
    pub signer: Address,
}

/// A header whose id, and so its number, time, parent and transaction root, its producer has signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenHeader {
    id: B256,
    number: u64,
    time_ms: u64,
    parent: B256,
    root: B256,
    producer: Producer,
}

impl ProvenHeader {
    /// Its id, which begins with its number.
    pub fn id(&self) -> B256 {
        self.id
    }

    /// Its height.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its time, Unix ms.
    pub fn time_ms(&self) -> u64 {
        self.time_ms
    }

    /// The id of the block before.
    pub fn parent(&self) -> B256 {
        self.parent
    }

    /// The root over its transactions; zero where it holds none.
    pub fn root(&self) -> B256 {
        self.root
    }

    /// The producer of the block.
    pub fn producer(&self) -> Producer {
        self.producer
    }

    /// Returns true if this is the block after the one with this id and time: time always moves on.
    pub fn follows(&self, id: B256, time_ms: u64) -> bool {
        self.parent == id
            && self.time_ms > time_ms
            && self.number == number_in(id).saturating_add(1)
    }
}

/// A transaction in a proven block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenTransaction {
    id: B256,
    raw_data: Bytes,
    ending: Ending,
}

impl ProvenTransaction {
    /// A transaction that the root of its block bears out. An error if its id is not that of its bytes.
    fn of(told: TransactionAnswer) -> Result<Self, Unproven> {
        if txid(&told.raw_data_hex) != told.tx_id {
            return Err(Unproven::Transaction(told.tx_id));
        }
        Ok(Self { id: told.tx_id, ending: told.ending(), raw_data: told.raw_data_hex })
    }

    /// SHA-256 of what was signed.
    pub fn id(&self) -> B256 {
        self.id
    }

    /// The data that was signed.
    pub fn raw_data(&self) -> &[u8] {
        &self.raw_data
    }

    /// The ending of the transaction.
    pub fn ending(&self) -> Ending {
        self.ending
    }
}

/// A block with all of its transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenBlock {
    header: ProvenHeader,
    transactions: Vec<ProvenTransaction>,
}

impl ProvenBlock {
    /// Its header.
    pub fn header(&self) -> &ProvenHeader {
        &self.header
    }

    /// All that is in it, in order.
    pub fn transactions(&self) -> &[ProvenTransaction] {
        &self.transactions
    }

    /// The transaction with this id, if it is in the block.
    pub fn transaction(&self, id: B256) -> Option<&ProvenTransaction> {
        self.transactions.iter().find(|transaction| transaction.id == id)
    }
}

impl BlockAnswer {
    /// The header, if it proves itself. Says nothing about the transactions that came with it.
    ///
    /// # Errors
    /// [`Unproven`], and never [`Unproven::Root`], [`Unproven::Transaction`] or [`Unproven::Word`].
    pub fn prove_header(&self) -> Result<ProvenHeader, Unproven> {
        self.prove_header_by(recover)
    }

    /// The same, with `recover` to tell who made a signature over a digest: for whoever remembers it.
    ///
    /// # Errors
    /// As [`BlockAnswer::prove_header`].
    pub fn prove_header_by(
        &self,
        recover: impl FnOnce(&B256, &Signature) -> Option<Address>,
    ) -> Result<ProvenHeader, Unproven> {
        let raw = &self.block_header.raw_data;
        let digest = sha256(&raw.message()?.encode_to_vec());
        if self.block_id != block_id(raw.number, digest) {
            return Err(Unproven::Id);
        }
        let witness = unprefixed(&raw.witness_address).ok_or(Unproven::Witness)?;
        let signature = read_signature(&self.block_header.witness_signature);
        let signer = signature.and_then(|it| recover(&digest, &it));
        let signer = signer.ok_or(Unproven::Signature)?;
        Ok(ProvenHeader {
            id: self.block_id,
            number: raw.number,
            time_ms: raw.timestamp,
            parent: raw.parent_hash,
            root: raw.tx_trie_root,
            producer: Producer { witness, signer },
        })
    }

    /// The block, if it proves itself. An answer that was asked for without its transactions proves
    /// only an empty block.
    ///
    /// # Errors
    /// [`Unproven`].
    pub fn prove(self) -> Result<ProvenBlock, Unproven> {
        self.prove_by(recover)
    }

    /// The same, with `recover` to tell who made a signature over a digest.
    ///
    /// # Errors
    /// [`Unproven`].
    pub fn prove_by(
        self,
        recover: impl FnOnce(&B256, &Signature) -> Option<Address>,
    ) -> Result<ProvenBlock, Unproven> {
        match self.judge_by(recover)? {
            Judgement::Proven(block) => Ok(block),
            Judgement::Unjudged { why, .. } => Err(why),
        }
    }

    /// The block, if it proves itself; or its header, if only that does.
    ///
    /// # Errors
    /// [`Unproven`], and never [`Unproven::Root`] or [`Unproven::Word`]: the answer is false, whatever the block is.
    pub fn judge_by(
        self,
        recover: impl FnOnce(&B256, &Signature) -> Option<Address>,
    ) -> Result<Judgement, Unproven> {
        let header = self.prove_header_by(recover)?;
        let leaves: Result<Vec<B256>, _> =
            self.transactions.iter().map(TransactionAnswer::leaf).collect();
        let transactions: Result<Vec<_>, _> =
            self.transactions.into_iter().map(ProvenTransaction::of).collect();
        let transactions = transactions?;
        let fits = |leaves| {
            if merkle_root(leaves) == header.root { Ok(()) } else { Err(Unproven::Root) }
        };
        Ok(match leaves.and_then(fits) {
            Ok(()) => Judgement::Proven(ProvenBlock { header, transactions }),
            Err(why) => Judgement::Unjudged { header, why },
        })
    }
}

/// The id of block 0, which nobody signed, if it follows from its header.
///
/// # Errors
/// [`Unproven::Id`] and [`Unproven::Range`].
pub fn prove_genesis(answer: &BlockAnswer) -> Result<B256, Unproven> {
    let raw = &answer.block_header.raw_data;
    let id = block_id(0, sha256(&raw.message()?.encode_to_vec()));
    if raw.number == 0 && raw.parent_hash.is_zero() && answer.block_id == id {
        return Ok(id);
    }
    Err(Unproven::Id)
}

/// The number that a block's id begins with.
pub fn number_in(id: B256) -> u64 {
    let [n0, n1, n2, n3, n4, n5, n6, n7, ..] = id.0;
    u64::from_be_bytes([n0, n1, n2, n3, n4, n5, n6, n7])
}

/// The id of the block with this number and this digest of its header.
pub fn block_id(number: u64, digest: B256) -> B256 {
    let mut id = digest;
    for (to, from) in id.iter_mut().zip(number.to_be_bytes()) {
        *to = from;
    }
    id
}

/// The root of a tree in which an odd last one is carried up as it is; zero for none.
pub fn merkle_root(leaves: Vec<B256>) -> B256 {
    let mut level = leaves;
    while level.len() > 1 {
        level = level.chunks(2).map(join).collect();
    }
    level.first().copied().unwrap_or_default()
}

pub(crate) fn join(pair: &[B256]) -> B256 {
    match pair {
        [left, right] => sha256(&[left.as_slice(), right.as_slice()].concat()),
        [only] => *only,
        _ => B256::ZERO,
    }
}

impl HeaderAnswer {
    /// The message, of whose bytes the SHA-256 is signed.
    ///
    /// # Errors
    /// [`Unproven::Range`].
    pub fn message(&self) -> Result<HeaderRaw, Unproven> {
        let signed = |number: u64| i64::try_from(number).map_err(|_| Unproven::Range);
        Ok(HeaderRaw {
            timestamp: signed(self.timestamp)?,
            tx_trie_root: self.tx_trie_root.to_vec(),
            parent_hash: self.parent_hash.to_vec(),
            number: signed(self.number)?,
            witness_id: self.witness_id,
            witness_address: self.witness_address.to_vec(),
            version: self.version,
            account_state_root: self.account_state_root.to_vec(),
        })
    }
}

/// Returns the address whose key made this signature over `digest`, if any key can have.
pub fn recover(digest: &B256, signature: &Signature) -> Option<Address> {
    signature.recover_address_from_prehash(digest).ok()
}

/// r, s, and v as 0 or 1, or 27 or 28. Nodes take a high s, and ignore what follows the 65th byte.
/// java-tron: `crypto/.../ECKey.java` (`signatureToKeyBytes`).
fn read_signature(bytes: &[u8]) -> Option<Signature> {
    let (r, rest) = bytes.split_at_checked(32)?;
    let (s, rest) = rest.split_at_checked(32)?;
    let parity = match rest.first()? {
        0 | 27 => false,
        1 | 28 => true,
        _ => return None,
    };
    let word = |bytes: &[u8]| <[u8; 32]>::try_from(bytes).ok().map(U256::from_be_bytes);
    Some(Signature::new(word(r)?, word(s)?, parity))
}

pub(crate) fn sha256(bytes: &[u8]) -> B256 {
    B256::from(<[u8; 32]>::from(Sha256::digest(bytes)))
}
