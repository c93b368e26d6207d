//! A call of a contract, built offline, and read back from its signed bytes.
//!
//! The bytes say it all: when it expires and which block it builds on are read from them. They are
//! never rebuilt from a node's JSON.

use crate::address::{prefixed, unprefixed};
use crate::messages::{
    Any, Contract, Raw, TRIGGER, TRIGGER_URL, Transaction, TriggerSmartContract,
};
use alloy::primitives::{Address, B256, Signature, U256};
use prost::Message;
use sha2::{Digest, Sha256};

/// Bytes that signing adds to `raw_data`, not counting the length prefix of `raw_data`: a tag for it, and tag,
/// length and 65 bytes of signature.
const AROUND_RAW: usize = 1 + 2 + 65;

/// The value of v for recovery id 0.
const FIRST_V: u8 = 27;

/// The block that a transaction builds on: it is valid only on a chain that holds this block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefBlock {
    /// The low 16 bits of its number.
    pub low: u16,
    /// Bytes 8 to 16 of its id.
    pub hash: [u8; 8],
}

impl RefBlock {
    /// The reference to the block with this id. An id begins with the block's number.
    pub fn to(id: B256) -> Self {
        let [_, _, _, _, _, _, high, low, rest @ ..] = id.0;
        let mut hash = [0; 8];
        for (to, from) in hash.iter_mut().zip(rest) {
            *to = from;
        }
        Self { low: u16::from_be_bytes([high, low]), hash }
    }

    /// Returns true if the reference means the block with this id.
    pub fn is(self, id: B256) -> bool {
        self == Self::to(id)
    }

    /// The numbers that the block can have if it is at or below `height`, highest first. Only one of
    /// them has the right id: ask [`RefBlock::is`] before anything is concluded from a number, since
    /// more than 65,536 blocks may lie between the block and `height`.
    pub fn numbers(self, height: u64) -> impl Iterator<Item = u64> {
        let low = u64::from(self.low);
        let above = height.checked_sub(low).map(|distance| distance & !0xffff);
        let highest = above.map(|above| above.saturating_add(low));
        std::iter::successors(highest, |number| number.checked_sub(0x1_0000))
    }
}

/// A call of a contract, without the signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsigned {
    /// Address of the signing account.
    pub owner: Address,
    /// Address of the called contract.
    pub contract: Address,
    /// The call data.
    pub data: Vec<u8>,
    /// The block that the transaction builds on.
    pub ref_block: RefBlock,
    /// It lands in no block whose parent has this time or a later one, Unix ms.
    pub expiration_ms: u64,
    /// Means nothing to nodes; tells equal payloads apart, Unix ms.
    pub timestamp_ms: u64,
    /// The most that its energy may cost, sun.
    pub fee_limit: u64,
}

/// Bytes that are not a transaction as this module writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are not a TRON transaction as they should be: {0}")]
pub struct Unreadable(&'static str);

impl Unsigned {
    /// The bytes that are hashed and signed.
    pub fn raw_data(&self) -> Result<Vec<u8>, Unreadable> {
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

    /// Returns the size of the signed transaction in bytes.
    pub fn signed_size(&self) -> Result<usize, Unreadable> {
        let raw = self.raw_data()?.len();
        Ok(raw.saturating_add(prost::length_delimiter_len(raw)).saturating_add(AROUND_RAW))
    }

    /// The bytes of the signed transaction, where `signature` over the id of `raw_data` is the
    /// owner's and `raw_data` is this call. They are read again as a node would read them.
    pub fn complete(
        &self,
        raw_data: Vec<u8>,
        signature: &Signature,
    ) -> Result<Vec<u8>, Unreadable> {
        let signature = vec![signature.as_bytes().to_vec()];
        let raw = Transaction { raw_data, signature, ret: Vec::new() }.encode_to_vec();
        let read = SignedBytes::read(&raw)?;
        if read.unsigned == *self && read.signer() == Some(self.owner) {
            return Ok(raw);
        }
        Err(Unreadable("its own bytes are not what was meant"))
    }
}

/// A signed transaction, read from its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedBytes {
    /// The data that was signed.
    pub unsigned: Unsigned,
    /// SHA-256 of what is signed.
    pub txid: B256,
    signature: Signature,
}

impl SignedBytes {
    /// Reads bytes as [`Unsigned::complete`] makes them; anything else is an error, also what a node
    /// would take.
    pub fn read(raw: &[u8]) -> Result<Self, Unreadable> {
        let tx = Transaction::decode(raw).map_err(|_| Unreadable("no transaction"))?;
        let unsigned = Unsigned::read(&tx.raw_data)?;
        let [signature] = tx.signature.as_slice() else {
            return Err(Unreadable("not exactly one signature"));
        };
        let signature = read_signature(signature).ok_or(Unreadable("no signature"))?;
        let txid = txid(&tx.raw_data);
        if tx.encode_to_vec() == raw && tx.ret.is_empty() {
            Ok(Self { unsigned, txid, signature })
        } else {
            Err(Unreadable("more than raw data and signature"))
        }
    }

    /// The signer, known by the signature.
    pub fn signer(&self) -> Option<Address> {
        self.signature.recover_address_from_prehash(&self.txid).ok()
    }
}

impl Unsigned {
    /// Reads the bytes that are signed. Anything that this struct has no field for is known to be absent: coins,
    /// tokens of the chain's own, a memo, a second contract, another permission.
    pub fn read(raw_data: &[u8]) -> Result<Self, Unreadable> {
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
pub fn txid(raw_data: &[u8]) -> B256 {
    B256::from(<[u8; 32]>::from(Sha256::digest(raw_data)))
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
