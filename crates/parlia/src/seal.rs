//! Sealed headers: signed by the account that the header names as its beneficiary, in all of their fields.

use crate::unproven::{Contradiction, Obstacle, Unproven};
use crate::validators::ValidatorList;
use alloy::consensus::Header;
use alloy::primitives::{Address, B256, Signature, keccak256};
use alloy::rlp::Encodable;
use evm_proofs::answer::BlockAnswer;
use evm_proofs::block_id::BlockId;
use evm_proofs::header::{HeaderShape, ProvenHeader};

/// The bytes of the extra data that come before anything else. bsc: `consensus/parlia/parlia.go`, `extraVanity`.
const VANITY: usize = 32;

/// The last bytes of the extra data. bsc: `consensus/parlia/parlia.go`, `extraSeal`.
const SEAL: usize = 65;

/// The id of a chain, which each of its seals signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainId(pub u64);

impl ChainId {
    /// The main network of BNB Smart Chain.
    pub const MAINNET: Self = Self(56);
    /// Its test network.
    pub const CHAPEL: Self = Self(97);
}

/// A header whose beneficiary sealed all of its fields. Only a list of validators says what that is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedHeader {
    header: ProvenHeader,
}

impl SealedHeader {
    /// The header that a node told, if it proves itself and its beneficiary sealed it. `known` is the shape of the
    /// headers that were proven on this chain before, as for [`BlockAnswer::prove_header`].
    ///
    /// # Errors
    /// Those of [`SealedHeader::of`], and [`Contradiction::Header`], [`Obstacle::Header`].
    pub fn read(
        answer: &BlockAnswer,
        known: Option<HeaderShape>,
        chain: ChainId,
    ) -> Result<Self, Unproven> {
        use evm_proofs::unproven::Unproven as Answer;
        let header = answer.prove_header(known).map_err(|unproven| match unproven {
            Answer::False(contradiction) => Unproven::False(contradiction.into()),
            Answer::Unjudged(obstacle) => Unproven::Unjudged(obstacle.into()),
        })?;
        Self::of(header, chain)
    }

    /// The header, if its beneficiary sealed it for this chain. Costs some tenths of a millisecond.
    ///
    /// # Errors
    /// [`Obstacle::NoSeal`], [`Obstacle::UncoveredField`], [`Obstacle::SealForm`], [`Contradiction::Seal`].
    pub fn of(header: ProvenHeader, chain: ChainId) -> Result<Self, Unproven> {
        let fields = header.fields();
        let (sealed, seal) =
            fields.extra_data.split_last_chunk::<SEAL>().ok_or(Obstacle::NoSeal)?;
        if sealed.len() < VANITY {
            return Err(Obstacle::NoSeal.into());
        }
        let digest = digest(fields, sealed, chain).ok_or(Obstacle::UncoveredField)?;
        let signature = usual_signature(seal).ok_or(Obstacle::SealForm)?;
        let sealer = signature.recover_address_from_prehash(&digest).ok();
        if sealer != Some(fields.beneficiary) {
            return Err(Contradiction::Seal(fields.beneficiary).into());
        }
        Ok(Self { header })
    }

    /// Its number and hash.
    pub fn id(&self) -> BlockId {
        BlockId { number: self.header.fields().number, hash: self.header.hash() }
    }

    /// The account that sealed it.
    pub fn sealer(&self) -> Address {
        self.header.fields().beneficiary
    }

    /// The header without regard to its seal.
    pub fn header(&self) -> &ProvenHeader {
        &self.header
    }

    /// Returns true if this is the block after `parent`.
    pub fn follows(&self, parent: BlockId) -> bool {
        let fields = self.header.fields();
        fields.parent_hash == parent.hash && parent.number.checked_add(1) == Some(fields.number)
    }

    /// The list of validators that it tells, if it is an epoch header of Bohr or later.
    ///
    /// # Errors
    /// [`Obstacle::NoList`].
    pub fn validators(&self) -> Result<ValidatorList, Obstacle> {
        let extra = &self.header.fields().extra_data;
        let between = extra.len().checked_sub(SEAL).and_then(|end| extra.get(VANITY..end));
        between.and_then(ValidatorList::of_extra).ok_or(Obstacle::NoList)
    }
}

/// The signature in a seal; none if it is written in another way than validators write it. A node takes both
/// signatures that a key can make of one, so that whoever passes a block on could give it another hash.
fn usual_signature(seal: &[u8; SEAL]) -> Option<Signature> {
    let (&recovery, scalars) = seal.split_last()?;
    if recovery > 1 {
        return None;
    }
    let signature = Signature::from_bytes_and_parity(scalars, recovery == 1);
    signature.normalize_s().is_none().then_some(signature)
}

/// The digest that is signed; none if the header has a field that it does not cover. `sealed` are the extra data
/// without the seal. bsc: `core/types/block.go`, `EncodeSigHeader`.
fn digest(header: &Header, sealed: &[u8], chain: ChainId) -> Option<B256> {
    let mut fields = Vec::with_capacity(header.length());
    let mut add = |field: &dyn Encodable| field.encode(&mut fields);
    add(&chain.0);
    add(&header.parent_hash);
    add(&header.ommers_hash);
    add(&header.beneficiary);
    add(&header.state_root);
    add(&header.transactions_root);
    add(&header.receipts_root);
    add(&header.logs_bloom);
    add(&header.difficulty);
    add(&header.number);
    add(&header.gas_limit);
    add(&header.gas_used);
    add(&header.timestamp);
    add(&sealed);
    add(&header.mix_hash);
    add(&header.nonce);
    match Added::of(header)? {
        Added::Nothing => {}
        Added::Bohr { base_fee, withdrawals_root, blob_gas_used, excess_blob_gas, requests } => {
            add(&base_fee);
            add(&withdrawals_root);
            add(&blob_gas_used);
            add(&excess_blob_gas);
            add(&B256::ZERO);
            if let Some(hash) = requests {
                add(&hash);
            }
        }
    }
    let mut list = Vec::with_capacity(fields.len().saturating_add(4));
    alloy::rlp::Header { list: true, payload_length: fields.len() }.encode(&mut list);
    list.append(&mut fields);
    Some(keccak256(list))
}

/// The fields that forks added, in the two forms in which the seal covers all of them.
enum Added {
    /// Before London.
    Nothing,
    /// Since Bohr, whose root of a beacon block is zero. Since Prague with the hash of requests.
    Bohr {
        base_fee: u64,
        withdrawals_root: B256,
        blob_gas_used: u64,
        excess_blob_gas: u64,
        requests: Option<B256>,
    },
}

impl Added {
    /// The form of a header; none if the seal leaves one of its fields out, as it does for the hash of a block's access
    /// list, without which no header has a slot number.
    fn of(header: &Header) -> Option<Self> {
        let bohr = (
            header.base_fee_per_gas,
            header.withdrawals_root,
            header.blob_gas_used,
            header.excess_blob_gas,
            header.parent_beacon_block_root,
        );
        match (bohr, header.requests_hash, header.block_access_list_hash) {
            ((None, None, None, None, None), None, None) => Some(Self::Nothing),
            (
                (Some(base_fee), Some(withdrawals_root), Some(used), Some(excess), Some(root)),
                requests,
                None,
            ) if root.is_zero() => Some(Self::Bohr {
                base_fee,
                withdrawals_root,
                blob_gas_used: used,
                excess_blob_gas: excess,
                requests,
            }),
            _ => None,
        }
    }
}
