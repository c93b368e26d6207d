//! The facts about each charge in the bytes of a billing call, as far as the call carries them.

use super::{ChargeKey, ChargeTerms, Item, Period, PlanId, SubscribeId, UserHash};
use alloy::primitives::{Address, U256};

/// The facts that a call carries about one charge. A field that is none is not among the call's arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// The subscription.
    pub subscribe: Option<SubscribeId>,
    /// The plan.
    pub plan: Option<PlanId>,
    /// The user's record on chain.
    pub user: Option<UserHash>,
    /// The period; [`Period::Guarded`] where the contract knows none.
    pub period: Option<Period>,
    /// Token base units.
    pub amount: Option<U256>,
    /// The version of the plan.
    pub plan_version: Option<U256>,
    /// The wallet that holds the tokens.
    pub wallet: Option<Address>,
    /// Which token.
    pub token: Option<Address>,
}

/// Why calldata does not tell whom it charges.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecodable {
    /// Not the billing call.
    #[error("it calls another function than the configured one")]
    Selector,
    /// The arguments are cut off, followed by more, out of range or in another order.
    #[error("its arguments are not laid out as the configured call lays them out")]
    Layout,
    /// Arrays that run in parallel do not end together.
    #[error("its arrays differ in length")]
    Lengths,
    /// An argument is not the configured constant.
    #[error("its {0} is not the configured one")]
    Constant(String),
    /// A value is larger than any value of its kind.
    #[error("its {0} is out of range")]
    Range(String),
    /// A field occurs twice, with different values.
    #[error("it states {0} twice, and differently")]
    Contradiction(String),
    /// The call has no such argument.
    #[error("it does not carry {0}")]
    NotCarried(String),
}

impl Carried {
    /// The charge as a claim keeps it, or the first field that the call does not carry.
    pub fn item(&self) -> Result<Item, &'static str> {
        let key = ChargeKey {
            plan: self.plan.ok_or("planId")?,
            user: self.user.ok_or("userHash")?,
            period: self.period.ok_or("period")?,
        };
        let subscribe = self.subscribe.ok_or("subscribeId")?;
        let amount = self.amount.ok_or("amount")?;
        let Self { plan_version, wallet, token, .. } = *self;
        let terms = ChargeTerms { plan_version, wallet, token };
        Ok(Item { subscribe, key, amount, terms })
    }

    /// Returns true if the call names this charge, of all that there may be: its subscription and its period.
    pub fn names(&self, item: &Item) -> bool {
        let period = self.period.is_some() || item.key.period == Period::Guarded;
        self.subscribe.is_some() && period && self.differs_from(item).is_none()
    }

    /// Returns the first field in which the call differs from `item`. A field that is not carried cannot differ.
    pub fn differs_from(&self, item: &Item) -> Option<&'static str> {
        let same = [
            ("subscribeId", self.subscribe.is_none_or(|told| told == item.subscribe)),
            ("planId", self.plan.is_none_or(|told| told == item.key.plan)),
            ("userHash", self.user.is_none_or(|told| told == item.key.user)),
            ("period", self.period.is_none_or(|told| told == item.key.period)),
            ("amount", self.amount.is_none_or(|told| told == item.amount)),
        ];
        same.into_iter().find(|(_, same)| !same).map(|(field, _)| field)
    }
}
