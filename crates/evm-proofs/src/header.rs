//! Headers: whose fields give the hash that the node names, and how one follows the other.

use crate::answer::BlockAnswer;
use crate::unproven::{Contradiction, Obstacle, Unproven};
use alloy::consensus::Header;
use alloy::primitives::{B256, U64};
use alloy::rlp::Encodable as _;

/// The fields of a header that forks added: each fork adds some behind those before it. Headers of one shape have the
/// same fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderShape(usize);

/// A header whose hash was computed from its fields. That it is a block of the chain follows from its hash alone, and
/// only for whoever trusts the hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenHeader {
    header: Header,
    hash: B256,
    shape: HeaderShape,
}

impl ProvenHeader {
    /// The header in these bytes, which are RLP; none if they are no header of a known form, or not in the one way in
    /// which a header is written.
    pub fn of_rlp(bytes: &[u8]) -> Option<Self> {
        let header: Header = alloy::rlp::decode_exact(bytes).ok()?;
        let shape = shape(&header)?;
        let proven = Self { hash: header.hash_slow(), header, shape };
        (proven.rlp() == bytes).then_some(proven)
    }

    /// Its bytes in RLP, of which its hash is the Keccak-256.
    pub fn rlp(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.header.length());
        self.header.encode(&mut bytes);
        bytes
    }

    /// Its hash.
    pub fn hash(&self) -> B256 {
        self.hash
    }

    /// Its fields.
    pub fn fields(&self) -> &Header {
        &self.header
    }

    /// The fields that it has.
    pub fn shape(&self) -> HeaderShape {
        self.shape
    }

    /// Returns true if this is the block after `parent`.
    pub fn follows(&self, parent: &Self) -> bool {
        self.header.parent_hash == parent.hash
            && parent.header.number.checked_add(1) == Some(self.header.number)
    }
}

impl BlockAnswer {
    /// The header, if it proves itself. Says nothing about the transactions that came with it. `known` is the shape of
    /// the headers that were proven on this chain before: without it a header that does not give its hash may be an
    /// honest one that lacks its last fields.
    ///
    /// # Errors
    /// [`Contradiction::Hash`], or an [`Obstacle`]: an unknown or a missing field, or another shape than `known`.
    pub fn prove_header(&self, known: Option<HeaderShape>) -> Result<ProvenHeader, Unproven> {
        let claimed = self.hash.ok_or(Obstacle::MissingField("hash"))?;
        let header = self.header()?;
        let hash = header.hash_slow();
        let shape = shape(&header);
        if let Some(shape) = shape.filter(|_| hash == claimed) {
            return Ok(ProvenHeader { header, hash, shape });
        }
        if let Some(name) = self.unknown_field() {
            return Err(Obstacle::UnknownField(name).into());
        }
        if shape.is_none() || shape != known {
            return Err(Obstacle::Shape.into());
        }
        Err(Contradiction::Hash.into())
    }

    /// The fields that a header has, as the node tells them.
    fn header(&self) -> Result<Header, Obstacle> {
        let number = |value: Option<U64>| value.map(|value| value.to::<u64>());
        Ok(Header {
            parent_hash: told(self.parent_hash, "parentHash")?,
            ommers_hash: told(self.sha3_uncles, "sha3Uncles")?,
            beneficiary: told(self.miner, "miner")?,
            state_root: told(self.state_root, "stateRoot")?,
            transactions_root: told(self.transactions_root, "transactionsRoot")?,
            receipts_root: told(self.receipts_root, "receiptsRoot")?,
            logs_bloom: told(self.logs_bloom, "logsBloom")?,
            difficulty: told(self.difficulty, "difficulty")?,
            number: told(number(self.number), "number")?,
            gas_limit: told(number(self.gas_limit), "gasLimit")?,
            gas_used: told(number(self.gas_used), "gasUsed")?,
            timestamp: told(number(self.timestamp), "timestamp")?,
            extra_data: told(self.extra_data.clone(), "extraData")?,
            mix_hash: told(self.mix_hash, "mixHash")?,
            nonce: told(self.nonce, "nonce")?,
            base_fee_per_gas: number(self.base_fee_per_gas),
            withdrawals_root: self.withdrawals_root,
            blob_gas_used: number(self.blob_gas_used),
            excess_blob_gas: number(self.excess_blob_gas),
            parent_beacon_block_root: self.parent_beacon_block_root,
            requests_hash: self.requests_hash,
            block_access_list_hash: self.block_access_list_hash,
            slot_number: number(self.slot_number),
        })
    }
}

/// The shape of a header; none if it has a field without one that stands before it.
fn shape(header: &Header) -> Option<HeaderShape> {
    let added = [
        header.base_fee_per_gas.is_some(),
        header.withdrawals_root.is_some(),
        header.blob_gas_used.is_some(),
        header.excess_blob_gas.is_some(),
        header.parent_beacon_block_root.is_some(),
        header.requests_hash.is_some(),
        header.block_access_list_hash.is_some(),
        header.slot_number.is_some(),
    ];
    let many = added.iter().take_while(|there| **there).count();
    let gap = added.iter().skip(many).any(|there| *there);
    (!gap).then_some(HeaderShape(many))
}

/// The value of a field that every header has.
fn told<T>(value: Option<T>, name: &'static str) -> Result<T, Obstacle> {
    value.ok_or(Obstacle::MissingField(name))
}
