//! Networks: their genesis, and the forks that changed the form of their blocks or the domain of their signatures.

use crate::ssz::{chunk, pair};
use alloy::primitives::{B256, b256};

/// The slots of an epoch (`SLOTS_PER_EPOCH` of the main network's preset, which public networks have in common).
const SLOTS_PER_EPOCH: u64 = 32;

/// The slots for which one sync committee serves: 256 epochs (`EPOCHS_PER_SYNC_COMMITTEE_PERIOD` of the same preset).
const SLOTS_PER_PERIOD: u64 = 8192;

/// The domain of a sync committee's signatures (`DOMAIN_SYNC_COMMITTEE`, specs/altair/beacon-chain.md).
const DOMAIN_SYNC_COMMITTEE: [u8; 4] = [7, 0, 0, 0];

/// The forks that are known here, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names of Ethereum's forks")]
pub enum ForkName {
    Phase0,
    Altair,
    Bellatrix,
    Capella,
    Deneb,
    Electra,
    Fulu,
}

/// A fork of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    /// Its name.
    pub name: ForkName,
    /// The epoch with which it begins.
    pub epoch: u64,
    /// The version that signatures carry since then.
    pub version: [u8; 4],
}

/// A network that follows the main network's preset: epochs of 32 slots, committees of 512 for 256 epochs.
///
/// An epoch beyond the forks that are known here is judged by the newest of them. After a fork that is missing here,
/// no signature verifies: its answers are unjudged, and nothing false is proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The root of the validators at genesis, by which signatures of one network do not hold on another.
    pub genesis_validators_root: B256,
    /// The time of slot 0, in seconds since 1970.
    pub genesis_time: u64,
    /// The length of a slot, in seconds.
    pub seconds_per_slot: u64,
    /// The forks, in any order.
    pub forks: Vec<Fork>,
}

impl Network {
    /// Ethereum's main network, up to Fulu of December 2025: `metadata/config.yaml` and the genesis root of
    /// eth-clients/mainnet; Fulu's epoch by `configs/mainnet.yaml` of ethereum/consensus-specs.
    pub fn mainnet() -> Self {
        Self {
            genesis_validators_root: b256!(
                "4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95"
            ),
            genesis_time: 1_606_824_023,
            seconds_per_slot: 12,
            forks: forks([
                (0, 0x0000_0000),
                (74_240, 0x0100_0000),
                (144_896, 0x0200_0000),
                (194_048, 0x0300_0000),
                (269_568, 0x0400_0000),
                (364_032, 0x0500_0000),
                (411_392, 0x0600_0000),
            ]),
        }
    }

    /// The test network Sepolia, up to Fulu: `metadata/config.yaml` and the genesis root of eth-clients/sepolia. That
    /// file names the epoch 353,024, of October 2026, for the fork after Fulu, whose answers are unjudged here.
    pub fn sepolia() -> Self {
        Self {
            genesis_validators_root: b256!(
                "d8ea171f3c94aea21ebc42a1ed61052acf3f9209c00e4efbaaddac09ed9b8078"
            ),
            genesis_time: 1_655_733_600,
            seconds_per_slot: 12,
            forks: forks([
                (0, 0x9000_0069),
                (50, 0x9000_0070),
                (100, 0x9000_0071),
                (56_832, 0x9000_0072),
                (132_608, 0x9000_0073),
                (222_464, 0x9000_0074),
                (272_640, 0x9000_0075),
            ]),
        }
    }

    /// The test network Hoodi, up to Fulu: `metadata/config.yaml` and `README.md` of eth-clients/hoodi; the epochs of
    /// Electra and Fulu by the configurations of its clients.
    pub fn hoodi() -> Self {
        Self {
            genesis_validators_root: b256!(
                "212f13fc4df078b6cb7db228f1c8307566dcecf900867401a92023d7ba99cb5f"
            ),
            genesis_time: 1_742_213_400,
            seconds_per_slot: 12,
            forks: forks([
                (0, 0x1000_0910),
                (0, 0x2000_0910),
                (0, 0x3000_0910),
                (0, 0x4000_0910),
                (0, 0x5000_0910),
                (2_048, 0x6000_0910),
                (50_688, 0x7000_0910),
            ]),
        }
    }

    /// The time at which a slot begins, in seconds since 1970; none if it is beyond all that a `u64` counts.
    pub fn time_of(&self, slot: u64) -> Option<u64> {
        slot.checked_mul(self.seconds_per_slot)?.checked_add(self.genesis_time)
    }

    /// The fork of a slot: of those whose epoch has come the newest.
    pub(crate) fn fork_at(&self, slot: u64) -> Option<Fork> {
        let epoch = slot.checked_div(SLOTS_PER_EPOCH)?;
        let begun = self.forks.iter().filter(|fork| fork.epoch <= epoch);
        begun.max_by_key(|fork| (fork.epoch, fork.name)).copied()
    }

    /// The root that the committee of a slot signs for a header with this root: under the fork of the slot before,
    /// in a domain of four bytes for its kind and the first 28 of the fork's root
    /// (`compute_signing_root` and `validate_light_client_update` of the specification).
    pub fn signing_root(&self, header_root: B256, signature_slot: u64) -> Option<B256> {
        let fork = self.fork_at(signature_slot.max(1).saturating_sub(1))?;
        let fork_root = pair(chunk(&fork.version), self.genesis_validators_root);
        let parts = DOMAIN_SYNC_COMMITTEE.iter().chain(fork_root.iter());
        let mut domain = B256::ZERO;
        domain.iter_mut().zip(parts).for_each(|(to, from)| *to = *from);
        Some(pair(header_root, domain))
    }
}

/// The period of a slot, counted from genesis: each has its own sync committee.
pub fn period_of(slot: u64) -> u64 {
    slot.checked_div(SLOTS_PER_PERIOD).unwrap_or_default()
}

/// The forks from their epochs and versions, in the order of their names.
fn forks(known: [(u64, u32); 7]) -> Vec<Fork> {
    let names = [
        ForkName::Phase0,
        ForkName::Altair,
        ForkName::Bellatrix,
        ForkName::Capella,
        ForkName::Deneb,
        ForkName::Electra,
        ForkName::Fulu,
    ];
    let fork = |(name, (epoch, version)): (ForkName, (u64, u32))| Fork {
        name,
        epoch,
        version: version.to_be_bytes(),
    };
    names.into_iter().zip(known).map(fork).collect()
}
