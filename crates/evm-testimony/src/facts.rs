//! The statements of a node about final blocks that decide something, and what a proven block says of each.

use crate::conclude::{Block, EvmTestimony, Identified};
use alloy::consensus::Transaction as _;
use alloy::primitives::{Address, B256, Log};
use evm_proofs::block::{ProvenBlock, ProvenRecord};
use evm_proofs::block_id::BlockId;
use evm_proofs::transactions::ProvenTransaction;

/// The subject of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The transaction with this hash: it is in the block, and did this.
    Transaction(B256),
    /// The account's nonce: no transaction of the block has it.
    Nonce(u64),
}

/// A statement of a node about one of its final blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Statement {
    /// The block.
    pub block: BlockId,
    /// The subject of the statement.
    pub subject: Subject,
}

/// The content of a proven block, as far as a subject is concerned. The block itself is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    block: Block,
    /// The transaction that the subject names; none if the block holds no such one.
    holds: Option<Holds>,
}

/// A transaction in a proven block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Holds {
    transaction: ProvenTransaction,
    /// None if its receipt does not tell.
    succeeded: Option<bool>,
    logs: Vec<Log>,
    gas_used: Option<u64>,
}

/// The room that a log takes besides its data, bytes: its address, its topics, and where they are kept.
const LOG: usize = 200;

impl Fact {
    /// Returns about how much room the fact takes, bytes.
    pub fn size(&self) -> usize {
        size_of::<Self>().saturating_add(self.holds.as_ref().map_or(0, Holds::size))
    }

    /// Returns what the block holds of a subject. `account` is the one whose nonces are meant.
    pub fn of(block: &ProvenBlock, subject: Subject, account: Address) -> Self {
        let fields = block.header().fields();
        let (number, time) = (fields.number, fields.timestamp);
        let found = match subject {
            Subject::Transaction(hash) => block.record(hash),
            Subject::Nonce(nonce) => {
                let of_account = |record: &&ProvenRecord| {
                    record.transaction.envelope().nonce() == nonce
                        && record.transaction.sender() == Some(account)
                };
                block.records().iter().find(of_account)
            }
        };
        let holds = found.map(|record| Holds {
            transaction: record.transaction.clone(),
            succeeded: record.receipt.succeeded(),
            logs: record.receipt.logs().to_vec(),
            gas_used: block.gas_used(record.transaction.hash()),
        });
        Self { block: Block { number, hash: block.header().hash(), time }, holds }
    }

    /// Returns true if all is so that a node says of the subject and of the block. `account` is the one whose nonces
    /// are meant.
    pub fn bears_out(&self, told: &EvmTestimony, subject: Subject, account: Address) -> bool {
        match (subject, &self.holds) {
            (Subject::Transaction(hash), Some(holds)) => {
                let place = told.canonical.get(&self.block.number) == Some(&self.block);
                place && holds.is_recorded(told, hash) && holds.is_identified(told, hash, account)
            }
            (Subject::Nonce(nonce), None) => {
                told.identified.get(&nonce) == Some(&Identified::Nobody(self.block))
            }
            (Subject::Transaction(_), None) | (Subject::Nonce(_), Some(_)) => false,
        }
    }
}

impl Holds {
    /// The room that the call's data and the logs take.
    fn size(&self) -> usize {
        let logs: usize = self.logs.iter().map(|log| log.data.data.len().saturating_add(LOG)).sum();
        self.transaction.envelope().input().len().saturating_add(logs)
    }

    /// Returns true if the node's receipt tells what the transaction did. A receipt that tells no gas tells no other.
    fn is_recorded(&self, told: &EvmTestimony, hash: B256) -> bool {
        let gas = told.costs.get(&hash).map(|(used, _)| *used);
        told.receipts.get(&hash).is_some_and(|receipt| {
            self.succeeded.is_none_or(|succeeded| receipt.succeeded == succeeded)
                && receipt.logs == self.logs
                && gas.is_none_or(|gas| Some(gas) == self.gas_used)
        })
    }

    /// Returns true if the transaction took each place for which the node names it, and asked for what the node says.
    fn is_identified(&self, told: &EvmTestimony, hash: B256, account: Address) -> bool {
        told.identified.iter().all(|(place, who)| match who {
            Identified::Transaction { hash: named, call } if *named == hash => {
                let signed = self.transaction.envelope();
                signed.nonce() == *place
                    && (signed.to(), signed.input()) == (call.to, &call.input)
                    && self.transaction.sender() == Some(account)
            }
            Identified::Transaction { .. } | Identified::Nobody(_) => true,
        })
    }
}

impl EvmTestimony {
    /// Returns the statements about blocks that are final for this node.
    pub fn statements(&self) -> Vec<Statement> {
        let is_final = |block: &Block| block.number <= self.final_block;
        let records = self.receipts.keys().filter_map(|hash| {
            let (_, block) = self.landed(*hash)?;
            let subject = Subject::Transaction(*hash);
            is_final(&block).then_some(Statement { block: id(&block), subject })
        });
        let absences = self.identified.iter().filter_map(|(place, who)| match who {
            Identified::Nobody(block) if is_final(block) => {
                Some(Statement { block: id(block), subject: Subject::Nonce(*place) })
            }
            Identified::Nobody(_) | Identified::Transaction { .. } => None,
        });
        records.chain(absences).collect()
    }

    /// Takes back what the node says of a subject, as if it had not been asked.
    pub fn take_back(&mut self, subject: Subject) {
        match subject {
            Subject::Transaction(hash) => {
                self.receipts.remove(&hash);
                self.costs.remove(&hash);
                self.identified.retain(|_, who| match who {
                    Identified::Transaction { hash: named, .. } => *named != hash,
                    Identified::Nobody(_) => true,
                });
            }
            Subject::Nonce(nonce) => {
                self.identified.remove(&nonce);
            }
        }
    }
}

fn id(block: &Block) -> BlockId {
    BlockId { number: block.number, hash: block.hash }
}

#[cfg(test)]
mod tests;
