//! Recharges: deposits to a user's address.

use super::{ChainId, CurrencyId, RechargeId, UserId, WalletId};
use crate::amount::BaseUnits;
use crate::time::DateTimeText;
use serde::Deserialize;
use std::fmt;

/// A deposit, as its detail and its callback tell it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Recharge {
    /// The platform's id.
    pub recharge_id: RechargeId,
    /// Its chain.
    pub chain_id: ChainId,
    /// Its token.
    pub currency_id: CurrencyId,
    /// The user whose address received the recharge.
    pub user_id: Option<UserId>,
    /// The address, as a record.
    pub wallet_id: Option<WalletId>,
    /// The address that received it.
    pub wallet_address: Option<String>,
    /// The present status.
    pub recharge_status: RechargeStatus,
    /// The amount that came in, in base units.
    pub recharge_amount: BaseUnits,
    /// The transaction.
    pub transfer_hash: Option<String>,
    /// Address of the sender.
    pub from_address: Option<String>,
    /// When the block was made, in the platform's zone.
    pub block_time: Option<DateTimeText>,
    /// When the record was made, in the platform's zone.
    pub create_time: Option<DateTimeText>,
    /// The merchant's own id of the user.
    pub uuid: Option<String>,
}

/// The status of a recharge.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(from = "i64")]
pub enum RechargeStatus {
    /// 0: credited.
    Success,
    /// 1: not confirmed yet.
    Pending,
    /// 2: came to nothing.
    Failure,
    /// A number that this version does not know.
    Other(i64),
}

impl From<i64> for RechargeStatus {
    fn from(number: i64) -> Self {
        match number {
            0 => Self::Success,
            1 => Self::Pending,
            2 => Self::Failure,
            other => Self::Other(other),
        }
    }
}

impl RechargeStatus {
    /// As the platform counts.
    pub fn number(self) -> i64 {
        match self {
            Self::Success => 0,
            Self::Pending => 1,
            Self::Failure => 2,
            Self::Other(number) => number,
        }
    }
}

impl fmt::Display for RechargeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("success"),
            Self::Pending => f.write_str("pending"),
            Self::Failure => f.write_str("failure"),
            Self::Other(number) => write!(f, "status {number}"),
        }
    }
}
