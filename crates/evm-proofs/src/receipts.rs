//! The receipts of a block, encoded again and compared with the root in its header, each bound to its transaction.

use crate::answer::{LogAnswer, ReceiptAnswer};
use crate::block::Items;
use crate::header::ProvenHeader;
use crate::trie;
use crate::unproven::{Contradiction, Obstacle, Unproven};
use alloy::consensus::{Eip658Value, Receipt, ReceiptEnvelope, TxReceipt as _, TxType};
use alloy::eips::eip2718::{Decodable2718 as _, Encodable2718 as _};
use alloy::primitives::{B256, Bloom, Log, LogData, U64};

/// A receipt in a proven block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenReceipt {
    index: usize,
    succeeded: Option<bool>,
    cumulative_gas: u64,
    logs: Vec<Log>,
}

impl ProvenReceipt {
    /// The receipt in these bytes (EIP-2718), which stands at `index` of its block; none if they are of an unknown form,
    /// or not in the one way in which a receipt is written.
    pub fn of_bytes(index: usize, bytes: &[u8]) -> Option<Self> {
        let envelope = ReceiptEnvelope::decode_2718_exact(bytes).ok()?;
        (envelope.encoded_2718() == bytes).then(|| Self::of_envelope(index, &envelope))
    }

    fn of_envelope(index: usize, envelope: &ReceiptEnvelope) -> Self {
        let succeeded = match envelope.status_or_post_state() {
            Eip658Value::Eip658(succeeded) => Some(succeeded),
            Eip658Value::PostState(_) => None,
        };
        let logs = envelope.logs().to_vec();
        Self { index, succeeded, cumulative_gas: envelope.cumulative_gas_used(), logs }
    }

    /// The index of its transaction in the block.
    pub fn index(&self) -> usize {
        self.index
    }

    /// True if the transaction succeeded, false if it was undone; none before the Byzantium fork, whose receipts do not
    /// tell.
    pub fn succeeded(&self) -> Option<bool> {
        self.succeeded
    }

    /// The gas that the block's transactions used up to and with this one.
    pub fn cumulative_gas(&self) -> u64 {
        self.cumulative_gas
    }

    /// The logs of the transaction, in order.
    pub fn logs(&self) -> &[Log] {
        &self.logs
    }
}

/// Proves the receipts that a node names with a header. Beside each stands the hash of the transaction to which it says
/// that it belongs, which is not proven.
pub(crate) fn prove(
    told: &[ReceiptAnswer],
    header: &ProvenHeader,
) -> Result<Items<(ProvenReceipt, B256)>, Unproven> {
    let (mut read, mut bytes, mut bloom) = (vec![], vec![], Bloom::ZERO);
    for (index, told) in told.iter().enumerate() {
        let envelope = told.envelope()?;
        bloom |= *envelope.logs_bloom();
        read.push(ProvenReceipt::of_envelope(index, &envelope));
        bytes.push(envelope.encoded_2718());
    }
    if trie::root(&bytes) != header.fields().receipts_root {
        return Err(of_another_root(told));
    }
    if bloom != header.fields().logs_bloom {
        return Err(Obstacle::OwnRules.into());
    }
    let mut before = Before { gas: 0, logs: 0 };
    let mut bound = vec![];
    for (told, receipt) in told.iter().zip(read) {
        let hash = told.transaction_hash.ok_or(Obstacle::MissingField("transactionHash"))?;
        before = Place { header, hash, index: receipt.index }.bind(told, &receipt, &before)?;
        bound.push((receipt, hash));
    }
    Ok(Items { read: bound, bytes })
}

/// The reason why receipts do not give the root: a form that is not known here, or else a lie.
fn of_another_root(told: &[ReceiptAnswer]) -> Unproven {
    if let Some(name) = told.iter().find_map(ReceiptAnswer::unknown_field) {
        return Obstacle::UnknownField(name).into();
    }
    if told.iter().any(|one| one.kind.is_none()) {
        return Obstacle::MissingField("type").into();
    }
    if told.iter().any(|one| one.gas_used.is_some_and(|gas| gas.is_zero())) {
        return Obstacle::SystemReceipt.into();
    }
    Contradiction::Receipts.into()
}

/// The sums over the receipts before one.
struct Before {
    gas: u64,
    logs: u64,
}

/// The place of a receipt: all that it says of itself has to agree with this.
struct Place<'a> {
    header: &'a ProvenHeader,
    /// The transaction to which the receipt says that it belongs.
    hash: B256,
    index: usize,
}

impl Place<'_> {
    /// Compares what a receipt says of its place with the place, and gives the sums with it.
    fn bind(
        &self,
        told: &ReceiptAnswer,
        proven: &ProvenReceipt,
        before: &Before,
    ) -> Result<Before, Unproven> {
        let gas = proven.cumulative_gas.checked_sub(before.gas).ok_or(Obstacle::OwnRules)?;
        let counted = [
            (told.block_number, Some(self.header.fields().number)),
            (told.transaction_index, u64::try_from(self.index).ok()),
            (told.gas_used, Some(gas)),
        ];
        let logs = told.logs.as_deref().unwrap_or_default();
        let places = before.logs..;
        let placed = logs.iter().zip(places).all(|(log, place)| self.holds(log, place));
        let agrees = told.block_hash.is_none_or(|told| told == self.header.hash())
            && counted.iter().all(|(told, own)| is_or_untold(*told, *own));
        if !agrees || !placed {
            return Err(Contradiction::Place(self.index).into());
        }
        let many = u64::try_from(logs.len()).unwrap_or(u64::MAX);
        Ok(Before { gas: proven.cumulative_gas, logs: before.logs.saturating_add(many) })
    }

    /// Returns true if all that a log says of its place is so. `place` is its index among the logs of the block.
    fn holds(&self, log: &LogAnswer, place: u64) -> bool {
        log.block_hash.is_none_or(|told| told == self.header.hash())
            && log.transaction_hash.is_none_or(|told| told == self.hash)
            && is_or_untold(log.block_number, Some(self.header.fields().number))
            && is_or_untold(log.transaction_index, u64::try_from(self.index).ok())
            && is_or_untold(log.log_index, Some(place))
    }
}

fn is_or_untold(told: Option<U64>, own: Option<u64>) -> bool {
    told.is_none_or(|told| Some(told.to::<u64>()) == own)
}

impl ReceiptAnswer {
    /// The receipt as it stands in the trie. Its bloom follows from its logs.
    fn envelope(&self) -> Result<ReceiptEnvelope, Unproven> {
        let kind = self.kind.unwrap_or_default().to::<u64>();
        let known = u8::try_from(kind).ok().and_then(|kind| TxType::try_from(kind).ok());
        let known = known.ok_or(Obstacle::ReceiptType(kind))?;
        let gas = self.cumulative_gas_used.ok_or(Obstacle::MissingField("cumulativeGasUsed"))?;
        let logs = self.logs.as_ref().ok_or(Obstacle::MissingField("logs"))?;
        let logs = logs.iter().map(LogAnswer::log).collect::<Option<Vec<_>>>();
        let receipt = Receipt {
            status: self.status()?,
            cumulative_gas_used: gas.to::<u64>(),
            logs: logs.ok_or(Obstacle::OwnRules)?,
        };
        Ok(ReceiptEnvelope::from_typed(known, receipt.with_bloom()))
    }

    /// The status, or the state's root, which receipts had before the Byzantium fork. Later receipts may have a root
    /// that is null or empty.
    fn status(&self) -> Result<Eip658Value, Obstacle> {
        if let Some(status) = self.status {
            return match status.to::<u64>() {
                0 => Ok(Eip658Value::Eip658(false)),
                1 => Ok(Eip658Value::Eip658(true)),
                _ => Err(Obstacle::OwnRules),
            };
        }
        let root = self.root.as_ref().and_then(|root| B256::try_from(root.as_ref()).ok());
        root.map(Eip658Value::PostState).ok_or(Obstacle::MissingField("status"))
    }
}

impl LogAnswer {
    /// The log as it stands in a receipt; none if it has more than four topics.
    fn log(&self) -> Option<Log> {
        let data = LogData::new(self.topics.clone(), self.data.clone())?;
        Some(Log { address: self.address, data })
    }
}
