//! A transaction of an answer: its leaf in the tree of its block, recomputed, and its ending.
//!
//! A txid covers `raw_data` alone, and the leaf covers the rest too. Whoever relays a transaction may fill in its
//! results: java-tron keeps them, overwrites `contractRet` of the first, and lets no other node take a block in which
//! that word is false. So `contractRet` of the first result is the only one that means anything.
//! java-tron: `chainbase/.../capsule/TransactionCapsule.java` (`setResultCode`), `Manager.java` (`processTransaction`).

use crate::answer::{OrderDetailAnswer, RetAnswer, TransactionAnswer};
use crate::block::{Unproven, sha256};
use crate::messages::{MarketOrderDetail, Ret, Transaction};
use crate::result::{ContractResult, Ending};
use alloy::primitives::B256;
use prost::Message as _;

/// The length of two digests beside each other, bytes: a node of the tree has it, and no transaction may. Each
/// transaction in a block has a signature, which is longer by itself.
pub(crate) const NODE: usize = 64;

/// The beginning of protobuf's name for a number that its list of `Transaction.Result.code` lacks.
const UNLISTED_CODE: &str = "UNKNOWN_ENUM_VALUE_code_";

impl TransactionAnswer {
    /// Returns the transaction's leaf in the tree. A message that is as long as a node of the tree may be one, and
    /// hide the transactions below it.
    pub(crate) fn leaf(&self) -> Result<B256, Unproven> {
        let message = self.message()?;
        if message.len() == NODE {
            return Err(Unproven::Root);
        }
        Ok(sha256(&message))
    }

    /// The bytes of the whole message, result included, of which the leaf is the SHA-256.
    pub(crate) fn message(&self) -> Result<Vec<u8>, Unproven> {
        let message = Transaction {
            raw_data: self.raw_data_hex.to_vec(),
            signature: self.signature.iter().map(|bytes| bytes.to_vec()).collect(),
            ret: self.rets()?,
        };
        Ok(message.encode_to_vec())
    }

    fn rets(&self) -> Result<Vec<Ret>, Unproven> {
        self.ret.iter().map(RetAnswer::message).collect()
    }

    /// The ending that the answer tells.
    pub(crate) fn ending(&self) -> Ending {
        let result = self.ret.first().and_then(|first| result_of(&first.contract_ret).ok());
        result.map_or(Ending::Untold, ContractResult::ending)
    }
}

impl RetAnswer {
    fn message(&self) -> Result<Ret, Unproven> {
        Ok(Ret {
            fee: self.fee,
            ret: code_of(&self.ret)?,
            contract_ret: result_of(&self.contract_ret)?.number(),
            asset_issue_id: self.asset_issue_id.clone(),
            withdraw_amount: self.withdraw_amount,
            unfreeze_amount: self.unfreeze_amount,
            exchange_received_amount: self.exchange_received_amount,
            exchange_inject_another_amount: self.exchange_inject_another_amount,
            exchange_withdraw_another_amount: self.exchange_withdraw_another_amount,
            exchange_id: self.exchange_id,
            shielded_transaction_fee: self.shielded_transaction_fee,
            order_id: self.order_id.to_vec(),
            order_details: self.order_details.iter().map(OrderDetailAnswer::message).collect(),
            withdraw_expire_amount: self.withdraw_expire_amount,
        })
    }
}

impl OrderDetailAnswer {
    fn message(&self) -> MarketOrderDetail {
        MarketOrderDetail {
            maker_order_id: self.maker_order_id.to_vec(),
            taker_order_id: self.taker_order_id.to_vec(),
            fill_sell_quantity: self.fill_sell_quantity,
            fill_buy_quantity: self.fill_buy_quantity,
        }
    }
}

/// The number of `ret.ret`, which is whatever the relay filled in.
fn code_of(word: &str) -> Result<i32, Unproven> {
    let unlisted = || word.strip_prefix(UNLISTED_CODE).and_then(|number| number.parse().ok());
    match word {
        "" | "SUCESS" => Ok(0),
        "FAILED" => Ok(1),
        _ => unlisted().ok_or_else(|| Unproven::Word(word.to_owned())),
    }
}

fn result_of(word: &str) -> Result<ContractResult, Unproven> {
    if word.is_empty() {
        return Ok(ContractResult::Default);
    }
    ContractResult::of_word(word).ok_or_else(|| Unproven::Word(word.to_owned()))
}
