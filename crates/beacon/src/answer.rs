//! The answers of a node, as the light client routes of the beacon REST API give them, believed in nothing. Fields that
//! are not known here are not read; an answer that lacks a field, or has bytes of another length, does not deserialize.

use crate::unproven::Obstacle;
use alloy::primitives::{Address, B256, Bloom, Bytes, FixedBytes, U256};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use std::str::FromStr;

/// The places of a committee (`SYNC_COMMITTEE_SIZE` of the main network's preset).
pub const COMMITTEE_SIZE: usize = 512;

/// The names of the forks in whose form an answer is understood.
const KNOWN_FORKS: [&str; 4] = ["capella", "deneb", "electra", "fulu"];

/// An answer, with the name of the fork in whose form it is.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer<T> {
    version: String,
    data: T,
}

impl<T> Answer<T> {
    /// The data, if it is in a form that is known here.
    pub(crate) fn known(&self) -> Result<&T, Obstacle> {
        if KNOWN_FORKS.contains(&self.version.as_str()) {
            return Ok(&self.data);
        }
        Err(Obstacle::UnknownFork(self.version.chars().take(40).collect()))
    }
}

impl Answer<FinalityUpdate> {
    /// The slot in which the signature was made, as the answer says. A caller with a clock refuses one that is yet to
    /// come.
    pub fn signature_slot(&self) -> u64 {
        self.data.signature_slot
    }
}

/// The start of a light client, as `/eth/v1/beacon/light_client/bootstrap/{block_root}` tells it.
#[derive(Clone, Debug, Deserialize)]
pub struct Bootstrap {
    pub(crate) header: LightClientHeader,
    pub(crate) current_sync_committee: CommitteeAnswer,
    pub(crate) current_sync_committee_branch: Vec<B256>,
}

/// The next sync committee of a period, as an item of `/eth/v1/beacon/light_client/updates` tells it.
#[derive(Clone, Debug, Deserialize)]
pub struct Update {
    pub(crate) next_sync_committee: CommitteeAnswer,
    pub(crate) next_sync_committee_branch: Vec<B256>,
    #[serde(flatten)]
    pub(crate) finality: FinalityUpdate,
}

/// A final block, as `/eth/v1/beacon/light_client/finality_update` tells it.
#[derive(Clone, Debug, Deserialize)]
pub struct FinalityUpdate {
    pub(crate) attested_header: AttestedHeader,
    pub(crate) finalized_header: LightClientHeader,
    pub(crate) finality_branch: Vec<B256>,
    pub(crate) sync_aggregate: SyncAggregate,
    #[serde(deserialize_with = "decimal")]
    pub(crate) signature_slot: u64,
}

/// A block's header, with the header of its execution and the way from the one to the other.
#[derive(Clone, Debug, Deserialize)]
pub struct LightClientHeader {
    pub(crate) beacon: BeaconHeader,
    pub(crate) execution: ExecutionHeader,
    pub(crate) execution_branch: Vec<B256>,
}

/// The header that a committee signed. Nothing rests on its execution header, which is not read.
#[derive(Clone, Debug, Deserialize)]
pub struct AttestedHeader {
    pub(crate) beacon: BeaconHeader,
}

/// A `BeaconBlockHeader`, the same in every fork so far.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BeaconHeader {
    /// The slot of the block.
    #[serde(deserialize_with = "decimal")]
    pub slot: u64,
    /// The index of the validator that proposed it.
    #[serde(deserialize_with = "decimal")]
    pub proposer_index: u64,
    /// The root of the header before it.
    pub parent_root: B256,
    /// The root of the state after it.
    pub state_root: B256,
    /// The root of its body.
    pub body_root: B256,
}

/// An `ExecutionPayloadHeader` of Capella or later. The fields of blobs came with Deneb.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[expect(
    missing_docs,
    reason = "the fields of an execution block's header, as Ethereum names them"
)]
pub struct ExecutionHeader {
    pub parent_hash: B256,
    pub fee_recipient: Address,
    pub state_root: B256,
    pub receipts_root: B256,
    pub logs_bloom: Bloom,
    pub prev_randao: B256,
    #[serde(deserialize_with = "decimal")]
    pub block_number: u64,
    #[serde(deserialize_with = "decimal")]
    pub gas_limit: u64,
    #[serde(deserialize_with = "decimal")]
    pub gas_used: u64,
    #[serde(deserialize_with = "decimal")]
    pub timestamp: u64,
    pub extra_data: Bytes,
    #[serde(deserialize_with = "decimal")]
    pub base_fee_per_gas: U256,
    pub block_hash: B256,
    pub transactions_root: B256,
    pub withdrawals_root: B256,
    #[serde(default, deserialize_with = "decimal_if_told")]
    pub blob_gas_used: Option<u64>,
    #[serde(default, deserialize_with = "decimal_if_told")]
    pub excess_blob_gas: Option<u64>,
}

/// A `SyncCommittee`: its keys in order, compressed. A member may hold several places.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CommitteeAnswer {
    /// The keys.
    #[serde(deserialize_with = "keys")]
    pub pubkeys: Box<[FixedBytes<48>; COMMITTEE_SIZE]>,
    /// The sum of all keys. It is hashed, and nothing else rests on it.
    pub aggregate_pubkey: FixedBytes<48>,
}

/// A `SyncAggregate`: the members of the committee that signed, and the sum of their signatures.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SyncAggregate {
    /// A bit for each place of the committee, the lowest bit of the first byte for the first place.
    pub sync_committee_bits: FixedBytes<64>,
    /// The sum of the signatures, compressed.
    pub sync_committee_signature: FixedBytes<96>,
}

/// A number as the API writes all of them: a text of decimal digits.
fn decimal<'de, D: Deserializer<'de>, N: FromStr>(deserializer: D) -> Result<N, D::Error> {
    let text = String::deserialize(deserializer)?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| D::Error::custom("a number is no text of decimal digits, or too large"))
}

/// A number that may be absent.
fn decimal_if_told<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    decimal(deserializer).map(Some)
}

/// The keys of a committee: neither more nor fewer than its places.
fn keys<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Box<[FixedBytes<48>; COMMITTEE_SIZE]>, D::Error> {
    let told = Vec::<FixedBytes<48>>::deserialize(deserializer)?;
    told.try_into().map_err(|_| D::Error::custom("a sync committee has not 512 keys"))
}
