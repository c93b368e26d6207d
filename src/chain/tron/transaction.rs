//! A billing transaction, built and signed offline, and read back from its bytes.
//!
//! Nothing but these bytes is stored of it: when it expires and which block it builds on are read
//! from them. They are never rebuilt from a node's JSON.

use super::address::{prefixed, unprefixed};
use super::proto::{Any, Contract, Raw, TRIGGER, TRIGGER_URL, Transaction, TriggerSmartContract};
use crate::billing::{Family, Signed};
use crate::chain::SealError;
use crate::chain::desk::{Desk, data};
use crate::contract::Profile;
use crate::policy::{self, Intent, Meant};
use alloy::primitives::{Address, B256, Signature, U256};
use prost::Message;
use sha2::{Digest, Sha256};

/// What signing adds to `raw_data`, less the length of `raw_data` itself: a tag for it, and tag,
/// length and 65 bytes of signature.
const AROUND_RAW: usize = 1 + 2 + 65;

/// What v is for recovery id 0.
const FIRST_V: u8 = 27;

/// The block that a transaction builds on: it is valid only on a chain that holds this block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RefBlock {
    /// The low 16 bits of its number.
    pub(super) low: u16,
    /// Bytes 8 to 16 of its id.
    pub(super) hash: [u8; 8],
}

impl RefBlock {
    /// The reference to the block with this id. An id begins with the block's number.
    pub(super) fn to(id: B256) -> Self {
        let [_, _, _, _, _, _, high, low, rest @ ..] = id.0;
        let mut hash = [0; 8];
        for (to, from) in hash.iter_mut().zip(rest) {
            *to = from;
        }
        Self { low: u16::from_be_bytes([high, low]), hash }
    }

    /// Whether the block with this id is the one that is meant.
    pub(super) fn is(self, id: B256) -> bool {
        self == Self::to(id)
    }

    /// The numbers that the block can have if it is at or below `height`, highest first. Only one of
    /// them has the right id: ask [`RefBlock::is`] before anything is concluded from a number, since
    /// more than 65,536 blocks may lie between the block and `height`.
    pub(super) fn numbers(self, height: u64) -> impl Iterator<Item = u64> {
        let low = u64::from(self.low);
        let above = height.checked_sub(low).map(|distance| distance & !0xffff);
        let highest = above.map(|above| above.saturating_add(low));
        std::iter::successors(highest, |number| number.checked_sub(0x1_0000))
    }
}

/// A call of a contract, without the signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unsigned {
    /// Who signs.
    pub(super) owner: Address,
    /// What is called.
    pub(super) contract: Address,
    /// What it is called with.
    pub(super) data: Vec<u8>,
    /// What it builds on.
    pub(super) ref_block: RefBlock,
    /// It lands in no block whose parent has this time or a later one, Unix ms.
    pub(super) expiration_ms: u64,
    /// Means nothing to nodes; tells equal payloads apart, Unix ms.
    pub(super) timestamp_ms: u64,
    /// The most that its energy may cost, sun.
    pub(super) fee_limit: u64,
}

/// Bytes that are not a transaction as this module writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are not a TRON transaction of this program: {0}")]
pub(super) struct Unreadable(&'static str);

impl Unsigned {
    /// The bytes that are hashed and signed.
    pub(super) fn raw_data(&self) -> Result<Vec<u8>, Unreadable> {
        let signed = |number, what| i64::try_from(number).map_err(|_| Unreadable(what));
        let call = TriggerSmartContract {
            owner_address: prefixed(self.owner).to_vec(),
            contract_address: prefixed(self.contract).to_vec(),
            call_value: 0,
            data: self.data.clone(),
        };
        let parameter = Any { type_url: TRIGGER_URL.to_owned(), value: call.encode_to_vec() };
        let raw = Raw {
            ref_block_bytes: self.ref_block.low.to_be_bytes().to_vec(),
            ref_block_hash: self.ref_block.hash.to_vec(),
            expiration: signed(self.expiration_ms, "the expiration is too late")?,
            data: Vec::new(),
            contract: vec![Contract {
                kind: TRIGGER,
                parameter: Some(parameter),
                permission_id: 0,
            }],
            timestamp: signed(self.timestamp_ms, "the timestamp is too late")?,
            fee_limit: signed(self.fee_limit, "the fee limit is too high")?,
        };
        Ok(raw.encode_to_vec())
    }

    /// How many bytes the signed transaction has.
    pub(super) fn signed_size(&self) -> Result<usize, Unreadable> {
        let raw = self.raw_data()?.len();
        Ok(raw.saturating_add(prost::length_delimiter_len(raw)).saturating_add(AROUND_RAW))
    }

    /// Signs it if the policy finds in its bytes what was meant, reads the result as a node would,
    /// and compares it with what was drafted. The key recovers the signer of every signature.
    pub(super) fn sign(&self, desk: &Desk, meant: &Meant<'_>) -> Result<Signed, SealError> {
        let raw_data = self.raw_data().map_err(|why| why.to_string())?;
        let last = Final { raw_data: raw_data.clone(), profile: &desk.profile };
        self.complete(raw_data, desk.sign(last, meant)?)
    }

    /// The signed transaction, if it is this one.
    pub(super) fn complete(
        &self,
        raw_data: Vec<u8>,
        (signature, digest): (Signature, B256),
    ) -> Result<Signed, SealError> {
        let signature = vec![signature_bytes(&signature).to_vec()];
        let raw = Transaction { raw_data, signature }.encode_to_vec();
        let read = SignedBytes::read(&raw).map_err(|why| why.to_string())?;
        if read.unsigned == *self && read.txid == digest && read.signer() == Some(self.owner) {
            return Ok(Signed { hash: digest, raw, gas_required: self.fee_limit });
        }
        Err("its own bytes are not what was meant".into())
    }
}

/// The bytes that a signature commits to.
struct Final<'a> {
    raw_data: Vec<u8>,
    profile: &'a Profile,
}

impl policy::Unsigned for Final<'_> {
    fn bytes(&self) -> &[u8] {
        &self.raw_data
    }

    fn family(&self) -> Family {
        Family::Tvm
    }

    /// Whatever [`Unsigned`] has no field for is known to be absent: coins, tokens of the chain's own,
    /// a memo, a second contract, another permission.
    fn intent(&self) -> Result<Intent, String> {
        let read = Unsigned::read(&self.raw_data).map_err(|why| why.to_string())?;
        Ok(Intent {
            chain_id: None,
            from: Some(read.owner),
            to: read.contract,
            value: U256::ZERO,
            cost: U256::from(read.fee_limit),
            data: data(self.profile, &read.data),
        })
    }
}

/// A signed transaction, read from its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SignedBytes {
    pub(super) unsigned: Unsigned,
    /// SHA-256 of what is signed.
    pub(super) txid: B256,
    signature: Signature,
}

impl SignedBytes {
    /// Reads bytes as [`Unsigned::sign`] makes them; anything else is an error, also what a node
    /// would take.
    pub(super) fn read(raw: &[u8]) -> Result<Self, Unreadable> {
        let tx = Transaction::decode(raw).map_err(|_| Unreadable("no transaction"))?;
        let unsigned = Unsigned::read(&tx.raw_data)?;
        let [signature] = tx.signature.as_slice() else {
            return Err(Unreadable("not exactly one signature"));
        };
        let signature = read_signature(signature).ok_or(Unreadable("no signature"))?;
        let txid = txid(&tx.raw_data);
        if tx.encode_to_vec() == raw {
            Ok(Self { unsigned, txid, signature })
        } else {
            Err(Unreadable("more than raw data and signature"))
        }
    }

    /// Who signed it.
    pub(super) fn signer(&self) -> Option<Address> {
        self.signature.recover_address_from_prehash(&self.txid).ok()
    }
}

impl Unsigned {
    fn read(raw_data: &[u8]) -> Result<Self, Unreadable> {
        let raw = Raw::decode(raw_data).map_err(|_| Unreadable("no raw data"))?;
        let [contract] = raw.contract.as_slice() else {
            return Err(Unreadable("not exactly one contract"));
        };
        let parameter = contract.parameter.as_ref().ok_or(Unreadable("no parameter"))?;
        let call = TriggerSmartContract::decode(parameter.value.as_slice())
            .map_err(|_| Unreadable("no contract call"))?;
        let address = |bytes: &[u8]| unprefixed(bytes).ok_or(Unreadable("an address is none"));
        let unsigned = |number: i64| u64::try_from(number).map_err(|_| Unreadable("below zero"));
        let read = Self {
            owner: address(&call.owner_address)?,
            contract: address(&call.contract_address)?,
            data: call.data,
            ref_block: read_ref_block(&raw).ok_or(Unreadable("no block to build on"))?,
            expiration_ms: unsigned(raw.expiration)?,
            timestamp_ms: unsigned(raw.timestamp)?,
            fee_limit: unsigned(raw.fee_limit)?,
        };
        // Everything that is not among these fields is thereby absent.
        if read.raw_data()? == raw_data {
            Ok(read)
        } else {
            Err(Unreadable("more than a call, or not canonical"))
        }
    }
}

fn read_ref_block(raw: &Raw) -> Option<RefBlock> {
    let low = raw.ref_block_bytes.as_slice().try_into().ok()?;
    let hash = raw.ref_block_hash.as_slice().try_into().ok()?;
    Some(RefBlock { low: u16::from_be_bytes(low), hash })
}

/// SHA-256 of what is signed.
pub(super) fn txid(raw_data: &[u8]) -> B256 {
    B256::from(<[u8; 32]>::from(Sha256::digest(raw_data)))
}

/// r, s, and v = 27 + recovery id.
fn signature_bytes(signature: &Signature) -> [u8; 65] {
    signature.as_bytes()
}

fn read_signature(bytes: &[u8]) -> Option<Signature> {
    let (v, rest) = bytes.split_last()?;
    let (r, s) = rest.split_at_checked(32)?;
    let parity = match v.checked_sub(FIRST_V)? {
        0 => false,
        1 => true,
        _ => return None,
    };
    let word = |bytes: &[u8]| <[u8; 32]>::try_from(bytes).ok().map(U256::from_be_bytes);
    let signature = Signature::new(word(r)?, word(s)?, parity);
    signature.normalize_s().is_none().then_some(signature)
}
