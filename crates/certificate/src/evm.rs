//! The proof on EVM: header, transaction and receipt with the nodes that lead to them, and the event.

use crate::event::Declaration;
use crate::form::{Blob, Certificate, Proof, Shown, Statement};
use crate::invalid::Invalid;
use alloy::consensus::Transaction as _;
use alloy::primitives::{Address, B256, Bytes};
use evm_proofs::block::{ProvenBlock, ProvenRecord, RecordPath};
use evm_proofs::header::ProvenHeader;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The event by which a contract says that it charged somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'t> {
    log: usize,
    declaration: &'t str,
}

impl<'t> Named<'t> {
    /// The event of this declaration in the log of this index among those of the transaction. Returns none if a
    /// certificate cannot show the event: a value of it does not fill a word.
    pub fn of(log: usize, declaration: &'t str) -> Option<Self> {
        Declaration::read(declaration).is_ok().then_some(Self { log, declaration })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EvmProof {
    event: Option<EventShown>,
    header: Blob,
    index: usize,
    receipt: Vec<Blob>,
    transaction: Vec<Blob>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct EventShown {
    declaration: String,
    log: usize,
    values: BTreeMap<String, String>,
}

impl Certificate {
    /// The certificate of a charge by a transaction of a proven block, and by the event that says so where the
    /// contract has one.
    ///
    /// # Errors
    /// [`Invalid`]: the block does not bear the statement out.
    pub fn of_evm(
        block: &ProvenBlock,
        transaction: B256,
        event: Option<Named<'_>>,
        statement: Statement,
    ) -> Result<Self, Invalid> {
        let path = block.path(transaction).ok_or(Invalid::Transaction)?;
        let record = block.record(transaction).ok_or(Invalid::Transaction)?;
        let blobs = |nodes: &[Bytes]| nodes.iter().map(|node| Blob(node.to_vec())).collect();
        let proof = EvmProof {
            event: event.map(|named| EventShown::of(record, named)).transpose()?,
            header: Blob(block.header().rlp()),
            index: path.index,
            receipt: blobs(&path.receipt),
            transaction: blobs(&path.transaction),
        };
        Self::sealed(statement, block.header().hash(), transaction, Proof::Evm(proof))
    }
}

impl EventShown {
    fn of(record: &ProvenRecord, Named { log, declaration }: Named<'_>) -> Result<Self, Invalid> {
        let logged = record.receipt.logs().get(log).ok_or(Invalid::Event)?;
        let values = Declaration::read(declaration)?.values(&logged.data)?;
        Ok(Self { declaration: declaration.to_owned(), log, values })
    }
}

impl EvmProof {
    /// Shows what follows from a certificate with this proof.
    pub(crate) fn shown(&self, of: &Certificate) -> Result<Shown, Invalid> {
        let header = ProvenHeader::of_rlp(&self.header.0).ok_or(Invalid::Header)?;
        if header.hash() != of.block {
            return Err(Invalid::Header);
        }
        let record = self.path().record(&header).ok_or(Invalid::Path)?;
        if record.transaction.hash() != of.transaction {
            return Err(Invalid::Transaction);
        }
        if record.transaction.envelope().chain_id() != Some(of.network) {
            return Err(Invalid::Network);
        }
        if record.receipt.succeeded() != Some(true) {
            return Err(Invalid::Failed);
        }
        let (contract, event) = self.named(&record)?;
        let (number, transaction) = (header.fields().number, of.transaction);
        let declaration = self.event.as_ref().map(|event| event.declaration.clone());
        Ok(Shown { number, transaction, contract, declaration, event, standing: vec![] })
    }

    fn path(&self) -> RecordPath {
        let nodes = |blobs: &[Blob]| blobs.iter().map(|blob| blob.0.clone().into()).collect();
        let (transaction, receipt) = (nodes(&self.transaction), nodes(&self.receipt));
        RecordPath { index: self.index, transaction, receipt }
    }

    /// The contract, with the values of its event.
    fn named(&self, record: &ProvenRecord) -> Result<(Address, BTreeMap<String, String>), Invalid> {
        let Some(EventShown { declaration, log, values }) = &self.event else {
            let called = record.transaction.envelope().to().ok_or(Invalid::Failed)?;
            return Ok((called, BTreeMap::new()));
        };
        let logged = record.receipt.logs().get(*log).ok_or(Invalid::Event)?;
        if Declaration::read(declaration)?.values(&logged.data)? != *values {
            return Err(Invalid::Event);
        }
        Ok((logged.address, values.clone()))
    }
}
