//! Subscriptions: the list of all, the list of those that are due, and the callback.

use super::{ChainId, PlanId, SubscriptionId};
use crate::amount::{BaseUnits, Decimal};
use crate::time::{DateTimeText, UnixSeconds};
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A subscription that is due. The whole entry is what the Signer wants to have: pass on
/// [`Full::raw`](crate::Full::raw), unchanged.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Due")]
pub struct Chargeable {
    /// Which subscription: `subscribeId`, or `subscriptionId` where that is missing.
    pub subscribe_id: SubscriptionId,
    /// The chain to bill on.
    pub chain_id: Option<ChainId>,
    /// Its plan.
    pub plan_id: Option<PlanId>,
    /// The key of the on-chain record; opaque.
    pub user_hash: Option<String>,
    /// The amount due, in base units.
    pub amount: Option<BaseUnits>,
}

/// An entry as it travels. Both names of the id may be there.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Due {
    subscribe_id: Option<SubscriptionId>,
    subscription_id: Option<SubscriptionId>,
    chain_id: Option<ChainId>,
    plan_id: Option<PlanId>,
    user_hash: Option<String>,
    amount: Option<BaseUnits>,
}

impl TryFrom<Due> for Chargeable {
    type Error = &'static str;

    fn try_from(due: Due) -> Result<Self, &'static str> {
        let Due { subscribe_id, subscription_id, chain_id, plan_id, user_hash, amount } = due;
        let subscribe_id = one_of(subscribe_id, subscription_id)?.ok_or("it has no subscribeId")?;
        Ok(Self { subscribe_id, chain_id, plan_id, user_hash, amount })
    }
}

/// The id under either of its names.
fn one_of(
    first: Option<SubscriptionId>,
    second: Option<SubscriptionId>,
) -> Result<Option<SubscriptionId>, &'static str> {
    match (first, second) {
        (Some(first), Some(second)) if first != second => {
            Err("its subscribeId and its subscriptionId differ")
        }
        _ => Ok(first.or(second)),
    }
}

/// A subscription of the subscription list. The interface names no field of it for certain.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Listed")]
pub struct Subscription {
    /// Which subscription: `subscriptionId`, or `subscribeId` where that is missing.
    pub subscription_id: Option<SubscriptionId>,
    /// The order's id as callbacks name it. Never derived from the other id.
    pub out_trade_no: Option<String>,
    /// The merchant's own user.
    pub external_user_id: Option<String>,
    /// Its plan.
    pub plan_id: Option<PlanId>,
    /// Its chain.
    pub chain_id: Option<ChainId>,
}

/// A subscription as it travels. Both names of the id may be there.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    subscription_id: Option<SubscriptionId>,
    subscribe_id: Option<SubscriptionId>,
    out_trade_no: Option<String>,
    external_user_id: Option<String>,
    plan_id: Option<PlanId>,
    chain_id: Option<ChainId>,
}

impl TryFrom<Listed> for Subscription {
    type Error = &'static str;

    fn try_from(listed: Listed) -> Result<Self, &'static str> {
        let Listed { out_trade_no, external_user_id, plan_id, chain_id, .. } = listed;
        let subscription_id = one_of(listed.subscription_id, listed.subscribe_id)?;
        Ok(Self { subscription_id, out_trade_no, external_user_id, plan_id, chain_id })
    }
}

/// The event that a subscription callback reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SubscriptionType {
    /// The user has signed.
    Register,
    /// The user has authorised the allowance.
    Approve,
    /// A charge was made, or failed: a hint to look at the chain, no proof of either.
    Billing,
    /// The user has cancelled.
    Cancel,
    /// A word that this version does not know.
    Other(String),
}

impl SubscriptionType {
    /// As the interface spells it.
    pub fn word(&self) -> &str {
        match self {
            Self::Register => "SubscriptionRegister",
            Self::Approve => "SubscriptionApprove",
            Self::Billing => "SubscriptionBilling",
            Self::Cancel => "SubscriptionCancel",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for SubscriptionType {
    fn from(word: String) -> Self {
        match word.as_str() {
            "SubscriptionRegister" => Self::Register,
            "SubscriptionApprove" => Self::Approve,
            "SubscriptionBilling" => Self::Billing,
            "SubscriptionCancel" => Self::Cancel,
            _ => Self::Other(word),
        }
    }
}

impl<'de> Deserialize<'de> for SubscriptionType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl Serialize for SubscriptionType {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl fmt::Display for SubscriptionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The payload of a subscription callback.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionCallback {
    /// The kind of the change.
    pub subscription_type: SubscriptionType,
    /// The order's id.
    pub out_trade_no: String,
    /// The merchant's own user.
    pub external_user_id: Option<String>,
    /// Its plan.
    pub plan_id: Option<PlanId>,
    /// The version of the plan that the user agreed to.
    pub plan_version: Option<i64>,
    /// Its chain.
    pub chain_id: Option<ChainId>,
    /// The wallet that pays.
    pub user_wallet: Option<String>,
    /// Base units, as far as is known; a decimal is read too, and then
    /// [`Decimal::integer`] is `None`.
    #[serde(default, deserialize_with = "if_readable")]
    pub amount: Option<Decimal>,
    /// Such as `USDT`.
    pub currency_symbol: Option<String>,
    /// The transaction; empty or missing where there is none.
    pub transfer_hash: Option<String>,
    /// When the block was made.
    #[serde(default, deserialize_with = "if_readable")]
    pub block_time: Option<UnixSeconds>,
    /// When the record was made, in the platform's zone.
    pub create_time: Option<DateTimeText>,
}

/// `None` for a value of another shape: a strange detail must not hide the event that it is part of.
fn if_readable<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}
