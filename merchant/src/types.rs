//! The platform's records (parts 2 and 4 of the interface), and their ids.
//!
//! A field that the interface does not promise in every answer is an `Option`. Every record is read as a
//! [`Full`](crate::Full), which keeps the fields that are not named here.

mod conf;
mod recharge;
mod subscription;
mod user;
mod withdrawal;

pub use conf::{Chain, Currency};
pub use recharge::{Recharge, RechargeStatus};
pub use signer_client::id::{
    ChainId, CurrencyId, IdError, PlanId, RechargeId, SubscriptionId, UserId, WalletId, WithdrawId,
};
pub use subscription::{Chargeable, Subscription, SubscriptionCallback, SubscriptionType};
pub use user::{User, UserType, Wallet};
pub use withdrawal::{WithdrawStatus, Withdrawal};
