//! Users with recharge addresses.

use super::{ChainId, UserId, WalletId};
use crate::time::DateTimeText;
use serde::Deserialize;

/// A user and the recharge addresses that are that user's alone.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// The platform's id.
    pub user_id: UserId,
    /// The merchant's own id.
    pub uuid: String,
    /// When the record was made, in the platform's zone.
    pub create_time: Option<DateTimeText>,
    /// The kind of user.
    pub user_type: Option<UserType>,
    /// One for each chain.
    #[serde(default)]
    pub user_wallet: Vec<Wallet>,
}

/// A recharge address.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Wallet {
    /// The platform's id.
    pub wallet_id: WalletId,
    /// The chain that the address is on.
    pub chain_id: ChainId,
    /// Address that the user pays to.
    pub wallet_address: String,
}

/// The kind of user.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(from = "i64")]
pub enum UserType {
    /// 0: pays in by recharge.
    Recharge,
    /// 1: pays by subscription.
    Payment,
    /// A number that this version does not know.
    Other(i64),
}

impl From<i64> for UserType {
    fn from(number: i64) -> Self {
        match number {
            0 => Self::Recharge,
            1 => Self::Payment,
            other => Self::Other(other),
        }
    }
}
