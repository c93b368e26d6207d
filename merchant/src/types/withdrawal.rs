//! Withdrawals: money that the platform pays out on the merchant's word.

use super::{ChainId, CurrencyId, WithdrawId};
use crate::amount::BaseUnits;
use crate::time::DateTimeText;
use serde::Deserialize;
use std::fmt;

/// A withdrawal, as its detail and its callback tell it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Withdrawal {
    /// The platform's id.
    pub withdraw_id: WithdrawId,
    /// Its chain.
    pub chain_id: ChainId,
    /// Its token.
    pub currency_id: CurrencyId,
    /// Address that is paid.
    pub withdraw_address: String,
    /// In base units. The application carried a decimal.
    pub withdraw_amount: BaseUnits,
    /// The present status.
    pub withdraw_status: WithdrawStatus,
    /// The transaction, once there is one.
    pub transfer_hash: Option<String>,
    /// The merchant's own number of it.
    pub out_trade_no: Option<String>,
    /// In the platform's zone; in the detail only.
    pub withdraw_time: Option<DateTimeText>,
}

/// The status of a withdrawal.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(from = "i64")]
pub enum WithdrawStatus {
    /// 0: paid. Final.
    Success,
    /// 1: waits for an admin.
    PendingApproval,
    /// 2: an admin looks at it.
    UnderReview,
    /// 3: sent, waits for the chain.
    BlockConfirmation,
    /// 4: not paid. Final.
    Failure,
    /// 5: an admin has refused it. Final.
    Rejected,
    /// A number that this version does not know.
    Other(i64),
}

impl From<i64> for WithdrawStatus {
    fn from(number: i64) -> Self {
        match number {
            0 => Self::Success,
            1 => Self::PendingApproval,
            2 => Self::UnderReview,
            3 => Self::BlockConfirmation,
            4 => Self::Failure,
            5 => Self::Rejected,
            other => Self::Other(other),
        }
    }
}

impl WithdrawStatus {
    /// As the platform counts.
    pub fn number(self) -> i64 {
        match self {
            Self::Success => 0,
            Self::PendingApproval => 1,
            Self::UnderReview => 2,
            Self::BlockConfirmation => 3,
            Self::Failure => 4,
            Self::Rejected => 5,
            Self::Other(number) => number,
        }
    }

    /// Returns true if no other status comes after this one.
    pub fn is_final(self) -> bool {
        match self {
            Self::Success | Self::Failure | Self::Rejected => true,
            Self::PendingApproval
            | Self::UnderReview
            | Self::BlockConfirmation
            | Self::Other(_) => false,
        }
    }
}

impl fmt::Display for WithdrawStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("success"),
            Self::PendingApproval => f.write_str("pending approval"),
            Self::UnderReview => f.write_str("under review"),
            Self::BlockConfirmation => f.write_str("block confirmation"),
            Self::Failure => f.write_str("failure"),
            Self::Rejected => f.write_str("rejected"),
            Self::Other(number) => write!(f, "status {number}"),
        }
    }
}
