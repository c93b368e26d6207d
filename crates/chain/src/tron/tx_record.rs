//! The record of a transaction for people, from a node's record of it. It decides nothing.

use alloy::primitives::U256;
use billing::{CallEnding, TxRecord};
use tron_node::TxInfo;
use tron_primitives::result::{ContractResult, Ending};

/// Returns the record for people; none if the node does not say how the call went.
pub(super) fn tx_record(info: &TxInfo) -> Option<TxRecord> {
    info.result?;
    let ending = ending(&info.outcome)?;
    let words = match (ending, info.words.as_str()) {
        (CallEnding::Faulty, words) => format!("{} {words}", info.outcome),
        (_, words) => words.to_owned(),
    };
    let message = Some(words.trim().to_owned()).filter(|words| !words.is_empty());
    Some(TxRecord { ending, message, used: info.energy, fee: U256::from(info.fee) })
}

/// Returns the ending of a call in a node's word; none if the word means nothing.
fn ending(word: &str) -> Option<CallEnding> {
    let result = ContractResult::of_word(word)?;
    match (result.ending(), result) {
        (Ending::Succeeded, _) => Some(CallEnding::Success),
        (Ending::Failed(_), ContractResult::Revert) => Some(CallEnding::Revert),
        (Ending::Failed(_), ContractResult::OutOfEnergy) => Some(CallEnding::OutOfEnergy),
        (Ending::Failed(_), ContractResult::OutOfTime) => Some(CallEnding::OutOfTime),
        (Ending::Failed(_), _) => Some(CallEnding::Faulty),
        (Ending::Untold, _) => None,
    }
}
