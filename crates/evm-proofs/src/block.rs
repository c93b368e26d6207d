//! Blocks with all that is in them: transactions and receipts that their header commits to, each bound to its place.

use crate::answer::{BlockAnswer, ReceiptAnswer};
use crate::header::{HeaderShape, ProvenHeader};
use crate::receipts::{self, ProvenReceipt};
use crate::transactions::{self, ProvenTransaction};
use crate::trie;
use crate::unproven::{Contradiction, Obstacle, Unproven};
use alloy::primitives::{B256, Bytes};

/// A transaction with its receipt, in a block that commits to both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenRecord {
    /// The transaction.
    pub transaction: ProvenTransaction,
    /// The receipt of the transaction.
    pub receipt: ProvenReceipt,
}

/// A block with all of its transactions, whose receipts are not proven yet.
#[derive(Clone, Debug)]
pub struct ProvenBody {
    header: ProvenHeader,
    transactions: Items<ProvenTransaction>,
}

/// A block with all of its transactions and their receipts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenBlock {
    header: ProvenHeader,
    records: Vec<ProvenRecord>,
    /// The bytes of each transaction, and of each receipt, as they stand in their trie.
    transactions: Vec<Vec<u8>>,
    receipts: Vec<Vec<u8>>,
}

/// The nodes of a block's two tries that lead to one transaction and to its receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPath {
    /// The index of the transaction in the block.
    pub index: usize,
    /// The nodes from the root of the transactions to the transaction.
    pub transaction: Vec<Bytes>,
    /// The nodes from the root of the receipts to the receipt.
    pub receipt: Vec<Bytes>,
}

impl ProvenBlock {
    /// Its header.
    pub fn header(&self) -> &ProvenHeader {
        &self.header
    }

    /// All that is in it, in order.
    pub fn records(&self) -> &[ProvenRecord] {
        &self.records
    }

    /// The transaction with this hash, if it is in the block.
    pub fn record(&self, hash: B256) -> Option<&ProvenRecord> {
        self.records.iter().find(|record| record.transaction.hash() == hash)
    }

    /// The gas that the transaction with this hash used, if it is in the block.
    pub fn gas_used(&self, hash: B256) -> Option<u64> {
        let receipt = &self.record(hash)?.receipt;
        let before = receipt.index().checked_sub(1).and_then(|before| self.records.get(before));
        let before = before.map_or(0, |record| record.receipt.cumulative_gas());
        receipt.cumulative_gas().checked_sub(before)
    }

    /// The nodes that lead to the transaction with this hash and to its receipt, if it is in the block.
    pub fn path(&self, hash: B256) -> Option<RecordPath> {
        let index = self.record(hash)?.receipt.index();
        let transaction = trie::path(&self.transactions, index)?;
        Some(RecordPath { index, transaction, receipt: trie::path(&self.receipts, index)? })
    }
}

impl RecordPath {
    /// The transaction and the receipt that these nodes lead to from the roots in `header`; none if they do not. The
    /// position of the receipt's logs among those of the block is not in the trie.
    pub fn record(&self, header: &ProvenHeader) -> Option<ProvenRecord> {
        let fields = header.fields();
        let transaction = trie::item(fields.transactions_root, self.index, &self.transaction)?;
        let receipt = trie::item(fields.receipts_root, self.index, &self.receipt)?;
        let transaction = ProvenTransaction::of_bytes(&transaction)?;
        let receipt = ProvenReceipt::of_bytes(self.index, &receipt)?;
        Some(ProvenRecord { transaction, receipt })
    }
}

impl BlockAnswer {
    /// The block with all of its records, if it and these receipts prove themselves: all receipts of the block, in
    /// order. The answer has to hold whole transactions. For `known` see [`BlockAnswer::prove_header`].
    ///
    /// # Errors
    /// [`Unproven`].
    pub fn prove(
        &self,
        receipts: &[ReceiptAnswer],
        known: Option<HeaderShape>,
    ) -> Result<ProvenBlock, Unproven> {
        self.prove_body(known)?.with_receipts(receipts)
    }

    /// The block with all of its transactions, if they prove themselves: of a block that cannot be judged nobody has to
    /// ask for receipts. The answer has to hold whole transactions.
    ///
    /// # Errors
    /// [`Unproven`].
    pub fn prove_body(&self, known: Option<HeaderShape>) -> Result<ProvenBody, Unproven> {
        let header = self.prove_header(known)?;
        let transactions = transactions::prove(&self.transactions, &header)?;
        Ok(ProvenBody { header, transactions })
    }

    /// The transactions of the block, in order, if they prove themselves: enough to know that one is in it, or that
    /// none of an account is.
    ///
    /// # Errors
    /// [`Unproven`].
    pub fn prove_transactions(
        &self,
        known: Option<HeaderShape>,
    ) -> Result<Vec<ProvenTransaction>, Unproven> {
        Ok(self.prove_body(known)?.transactions.read)
    }

    /// The number of transactions in the answer. A node that has thrown them away may tell of none.
    pub fn transactions_told(&self) -> usize {
        self.transactions.len()
    }
}

impl ProvenBody {
    /// Its header.
    pub fn header(&self) -> &ProvenHeader {
        &self.header
    }

    /// Its transactions, in order.
    pub fn transactions(&self) -> &[ProvenTransaction] {
        &self.transactions.read
    }

    /// The block with all of its records, if these receipts prove themselves: all receipts of the block, in order.
    ///
    /// # Errors
    /// [`Unproven`].
    pub fn with_receipts(self, receipts: &[ReceiptAnswer]) -> Result<ProvenBlock, Unproven> {
        let Self { header, transactions } = self;
        let receipts = receipts::prove(receipts, &header)?;
        if transactions.read.len() != receipts.read.len() {
            return Err(Obstacle::OwnRules.into());
        }
        let mut records = vec![];
        for (transaction, (receipt, hash)) in transactions.read.into_iter().zip(receipts.read) {
            if hash != transaction.hash() {
                return Err(Contradiction::Place(receipt.index()).into());
            }
            records.push(ProvenRecord { transaction, receipt });
        }
        let (transactions, receipts) = (transactions.bytes, receipts.bytes);
        Ok(ProvenBlock { header, records, transactions, receipts })
    }
}

impl ProvenHeader {
    /// The receipts of the block, in order, if these answers prove themselves. The transactions to which they belong are
    /// not proven.
    ///
    /// # Errors
    /// [`Unproven`].
    pub fn prove_receipts(&self, told: &[ReceiptAnswer]) -> Result<Vec<ProvenReceipt>, Unproven> {
        let proven = receipts::prove(told, self)?.read;
        Ok(proven.into_iter().map(|(receipt, _)| receipt).collect())
    }
}

/// The items of one trie: what was read of them, and their bytes.
#[derive(Clone, Debug)]
pub(crate) struct Items<T> {
    pub(crate) read: Vec<T>,
    pub(crate) bytes: Vec<Vec<u8>>,
}
