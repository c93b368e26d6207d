//! The two subscriptions, and what a request names of them.

use alloy::primitives::{B256, U256};
use billing::{ChargeKey, ChargeTerms, Item, Period, PlanId, SubscribeId, UserHash};

/// Some of the two subscriptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Subscriptions(u8);

impl Subscriptions {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const EACH: [Self; 2] = [Self(1), Self(2)];
    pub(crate) const BOTH: Self = Self(3);

    pub(crate) fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    pub(crate) fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    pub(crate) fn among(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    pub(crate) fn is_none(self) -> bool {
        self == Self::NONE
    }

    pub(crate) fn each(self) -> impl Iterator<Item = Self> {
        Self::EACH.into_iter().filter(move |one| !self.among(*one).is_none())
    }

    /// Returns the charges of these, as a batch has them.
    pub(crate) fn items(self) -> Vec<Item> {
        let of = |(number, one): (u8, Self)| {
            (!self.among(one).is_none()).then(|| Item {
                subscribe: SubscribeId(i64::from(number)),
                key: ChargeKey {
                    plan: PlanId(1),
                    user: UserHash(B256::with_last_byte(number)),
                    period: Period::Numbered(U256::ONE),
                },
                amount: U256::ONE,
                terms: ChargeTerms::default(),
            })
        };
        (1..).zip(Self::EACH).filter_map(of).collect()
    }
}

/// The subscriptions of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wanted {
    /// The first.
    First,
    /// The second.
    Second,
    /// Both.
    Both,
}

impl Wanted {
    /// Every request.
    pub const ALL: &[Self] = &[Self::First, Self::Second, Self::Both];

    /// Returns the subscriptions that any of these requests names.
    pub(crate) fn union(requests: &[Self]) -> Subscriptions {
        requests.iter().fold(Subscriptions::NONE, |all, one| all.and(one.subscriptions()))
    }

    pub(crate) fn subscriptions(self) -> Subscriptions {
        match self {
            Self::First => Subscriptions::EACH[0],
            Self::Second => Subscriptions::EACH[1],
            Self::Both => Subscriptions::BOTH,
        }
    }
}
