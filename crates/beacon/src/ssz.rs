//! Hashes of SSZ (`ssz/simple-serialize.md` in ethereum/consensus-specs): the roots of the few containers that a light
//! client hashes, and the way from a leaf up to a root.

use crate::answer::{BeaconHeader, CommitteeAnswer, ExecutionHeader};
use alloy::primitives::B256;
use sha2::{Digest as _, Sha256};

/// The place of a node in a tree of hashes: 1 is the root, and 2n and 2n + 1 are the children of n. The values are
/// those of the sync protocol's documents (`specs/altair` and `specs/electra`, `light-client/sync-protocol.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneralizedIndex(u64);

impl GeneralizedIndex {
    /// `current_sync_committee` in a state before Electra.
    pub const CURRENT_COMMITTEE: Self = Self(54);
    /// `next_sync_committee` in a state before Electra.
    pub const NEXT_COMMITTEE: Self = Self(55);
    /// `finalized_checkpoint.root` in a state before Electra.
    pub const FINALIZED_ROOT: Self = Self(105);
    /// `current_sync_committee` in a state since Electra.
    pub const CURRENT_COMMITTEE_ELECTRA: Self = Self(86);
    /// `next_sync_committee` in a state since Electra.
    pub const NEXT_COMMITTEE_ELECTRA: Self = Self(87);
    /// `finalized_checkpoint.root` in a state since Electra.
    pub const FINALIZED_ROOT_ELECTRA: Self = Self(169);
    /// `execution_payload` in a block's body since Capella.
    pub const EXECUTION: Self = Self(25);
}

/// Returns true if `leaf` stands at `place` below `root`. The branch has exactly as many nodes as the place is deep.
pub fn stands_below(leaf: B256, branch: &[B256], place: GeneralizedIndex, root: B256) -> bool {
    let GeneralizedIndex(mut at) = place;
    let mut node = leaf;
    for sibling in branch {
        node = if at & 1 == 1 { pair(*sibling, node) } else { pair(node, *sibling) };
        at >>= 1;
    }
    at == 1 && node == root
}

/// The root of a `BeaconBlockHeader`.
pub fn header_root(header: &BeaconHeader) -> B256 {
    merkle_root(vec![
        number(header.slot),
        number(header.proposer_index),
        header.parent_root,
        header.state_root,
        header.body_root,
    ])
}

/// The root of a `SyncCommittee`.
pub fn committee_root(committee: &CommitteeAnswer) -> B256 {
    let keys = committee.pubkeys.iter().map(|key| bytes_root(key.as_slice())).collect();
    pair(merkle_root(keys), bytes_root(committee.aggregate_pubkey.as_slice()))
}

/// The form of an `ExecutionPayloadHeader`, by its fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionForm {
    /// Fifteen fields.
    Capella,
    /// Seventeen fields: with those of blobs. The forks up to Fulu changed nothing.
    Deneb {
        /// The gas of the block's blobs.
        blob_gas_used: u64,
        /// The blob gas above the target so far.
        excess_blob_gas: u64,
    },
}

/// The root of an `ExecutionPayloadHeader`.
pub fn execution_root(header: &ExecutionHeader, form: ExecutionForm) -> B256 {
    let mut leaves = vec![
        header.parent_hash,
        bytes_root(header.fee_recipient.as_slice()),
        header.state_root,
        header.receipts_root,
        bytes_root(header.logs_bloom.as_slice()),
        header.prev_randao,
        number(header.block_number),
        number(header.gas_limit),
        number(header.gas_used),
        number(header.timestamp),
        short_list_root(&header.extra_data),
        B256::from(header.base_fee_per_gas.to_le_bytes()),
        header.block_hash,
        header.transactions_root,
        header.withdrawals_root,
    ];
    if let ExecutionForm::Deneb { blob_gas_used, excess_blob_gas } = form {
        leaves.extend([number(blob_gas_used), number(excess_blob_gas)]);
    }
    merkle_root(leaves)
}

/// The SHA-256 of two nodes, one behind the other: their parent. Also the root of any container of two fields.
pub fn pair(left: B256, right: B256) -> B256 {
    let digest: [u8; 32] = Sha256::new().chain_update(left).chain_update(right).finalize().into();
    B256::from(digest)
}

/// The leaf of up to 32 bytes: zeros follow them. Further bytes are left out.
pub fn chunk(bytes: &[u8]) -> B256 {
    let mut leaf = B256::ZERO;
    for (to, from) in leaf.iter_mut().zip(bytes) {
        *to = *from;
    }
    leaf
}

/// The leaf of a number: eight bytes, the lowest first.
fn number(value: u64) -> B256 {
    chunk(&value.to_le_bytes())
}

/// The root of bytes of fixed length.
fn bytes_root(bytes: &[u8]) -> B256 {
    merkle_root(bytes.chunks(32).map(chunk).collect())
}

/// The root of a `ByteList[32]`: one chunk, and its length. More bytes than fit give a root that no header has, since
/// their number is in it.
fn short_list_root(bytes: &[u8]) -> B256 {
    pair(chunk(bytes), number(u64::try_from(bytes.len()).unwrap_or(u64::MAX)))
}

/// The root of a tree over these leaves, which zeros fill up to a power of two.
fn merkle_root(mut level: Vec<B256>) -> B256 {
    level.resize(level.len().next_power_of_two(), B256::ZERO);
    while level.len() > 1 {
        let (pairs, _) = level.as_chunks::<2>();
        level = pairs.iter().map(|[left, right]| pair(*left, *right)).collect();
    }
    level.first().copied().unwrap_or_default()
}
