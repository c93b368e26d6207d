//! The proof on TRON: header, transaction with its way up to the header's root, and the headers on top.
//!
//! A block of TRON commits to the transaction and to how it went, and to no logs: the event of a charge cannot be shown.

use crate::form::{Blob, Certificate, Proof, Shown, Statement};
use crate::invalid::Invalid;
use alloy::primitives::{Address, B256};
use prost::Message as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tron_primitives::address::unprefixed;
use tron_primitives::answer::{BlockAnswer, HeaderAnswer, SignedHeader};
use tron_primitives::block::{ProvenHeader, block_id};
use tron_primitives::messages::{HeaderRaw, Raw, TRIGGER, Transaction, TriggerSmartContract};
use tron_primitives::path::{Neighbour, TransactionPath};
use tron_primitives::result::ContractResult;
use tron_primitives::transaction::txid;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TvmProof {
    /// The block's own header, and those on top of it, oldest first.
    headers: Vec<SignedBlob>,
    message: Blob,
    path: Vec<Branch>,
}

/// A header in protobuf, with its producer's signature.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct SignedBlob {
    raw: Blob,
    signature: Blob,
}

/// The digest beside a node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Branch {
    Left(Blob),
    Right(Blob),
}

impl Certificate {
    /// The certificate of a charge by a transaction of the block in this answer, on which the blocks in `above` stand,
    /// oldest first.
    ///
    /// # Errors
    /// [`Invalid`]: the blocks do not bear the statement out.
    pub fn of_tvm(
        block: &BlockAnswer,
        above: &[BlockAnswer],
        transaction: B256,
        statement: Statement,
    ) -> Result<Self, Invalid> {
        let path = block.path(transaction).map_err(|_| Invalid::Path)?;
        let path = path.ok_or(Invalid::Transaction)?;
        let headers = std::iter::once(block).chain(above).map(SignedBlob::of);
        let proof = TvmProof {
            headers: headers.collect::<Result<_, _>>()?,
            message: Blob(path.message),
            path: path.neighbours.into_iter().map(Branch::of).collect(),
        };
        Self::sealed(statement, block.block_id, transaction, Proof::Tvm(proof))
    }
}

impl TvmProof {
    /// Shows what follows from a certificate with this proof.
    pub(crate) fn shown(&self, of: &Certificate) -> Result<Shown, Invalid> {
        let headers = self.headers.iter().map(SignedBlob::proven);
        let standing = headers.collect::<Option<Vec<_>>>().ok_or(Invalid::Header)?;
        let own = standing.first().filter(|own| own.id() == of.block).ok_or(Invalid::Header)?;
        let pairs = standing.iter().zip(standing.iter().skip(1));
        if pairs.into_iter().any(|(below, above)| !above.follows(below.id(), below.time_ms())) {
            return Err(Invalid::Above);
        }
        let root = self.path().and_then(|path| path.root());
        if root != Some(own.root()) {
            return Err(Invalid::Path);
        }
        let message = read::<Transaction>(&self.message.0).ok_or(Invalid::Path)?;
        if txid(&message.raw_data) != of.transaction {
            return Err(Invalid::Transaction);
        }
        let contract = called(&message).ok_or(Invalid::Failed)?;
        let (number, transaction) = (own.number(), of.transaction);
        let (declaration, event) = (None, BTreeMap::new());
        Ok(Shown { number, transaction, contract, declaration, event, standing })
    }

    fn path(&self) -> Option<TransactionPath> {
        let neighbours = self.path.iter().map(Branch::neighbour).collect::<Option<_>>()?;
        Some(TransactionPath { message: self.message.0.clone(), neighbours })
    }
}

/// The contract that a transaction called, if the call succeeded. Nodes judge `contract_ret` of the first result; the
/// rest is whatever the relay of the transaction filled in.
fn called(message: &Transaction) -> Option<Address> {
    let succeeded = message.ret.first()?.contract_ret == ContractResult::Success.number();
    let raw = read::<Raw>(&message.raw_data)?;
    let [contract] = raw.contract.as_slice() else { return None };
    let call: TriggerSmartContract = read(&contract.parameter.as_ref()?.value)?;
    let address = unprefixed(&call.contract_address)?;
    (succeeded && contract.kind == TRIGGER).then_some(address)
}

/// A message in the one way in which it is written; none of another.
fn read<M: prost::Message + Default>(bytes: &[u8]) -> Option<M> {
    M::decode(bytes).ok().filter(|message| message.encode_to_vec() == bytes)
}

impl SignedBlob {
    fn of(block: &BlockAnswer) -> Result<Self, Invalid> {
        let header = &block.block_header;
        let raw = header.raw_data.message().map_err(|_| Invalid::Header)?.encode_to_vec();
        Ok(Self { raw: Blob(raw), signature: Blob(header.witness_signature.to_vec()) })
    }

    fn proven(&self) -> Option<ProvenHeader> {
        let raw: HeaderRaw = read(&self.raw.0)?;
        let number = u64::try_from(raw.number).ok()?;
        let raw_data = HeaderAnswer {
            number,
            timestamp: u64::try_from(raw.timestamp).ok()?,
            parent_hash: B256::try_from(raw.parent_hash.as_slice()).ok()?,
            tx_trie_root: B256::try_from(raw.tx_trie_root.as_slice()).ok()?,
            witness_address: raw.witness_address.into(),
            witness_id: raw.witness_id,
            version: raw.version,
            account_state_root: raw.account_state_root.into(),
        };
        let witness_signature = self.signature.0.clone().into();
        let block_header = SignedHeader { raw_data, witness_signature };
        // A header's id is made like a transaction's, with its number in front.
        let block_id = block_id(number, txid(&self.raw.0));
        BlockAnswer { block_id, block_header, transactions: vec![] }.prove_header().ok()
    }
}

impl Branch {
    fn of(neighbour: Neighbour) -> Self {
        match neighbour {
            Neighbour::Left(digest) => Self::Left(Blob(digest.to_vec())),
            Neighbour::Right(digest) => Self::Right(Blob(digest.to_vec())),
        }
    }

    fn neighbour(&self) -> Option<Neighbour> {
        let digest = |blob: &Blob| B256::try_from(blob.0.as_slice()).ok();
        match self {
            Self::Left(blob) => digest(blob).map(Neighbour::Left),
            Self::Right(blob) => digest(blob).map(Neighbour::Right),
        }
    }
}
