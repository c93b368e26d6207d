//! What the caller asks for, and the charge that it becomes.
//!
//! An [`Entry`] is a statement, never an order: the contract profile makes an [`Admitted`] of it,
//! and a [`Charge`] exists only when every value that the contract call needs is known.

use super::refusal::Named;
use super::{
    Admitted, ChargeKey, FailCode, Family, Ineligible, Item, Period, PlanId, Refused, RequestId,
    SubscribeId, UserHash, parse_address,
};
use alloy::primitives::{Address, B256, U256};
use std::collections::{BTreeMap, HashSet};

/// A JSON value of an entry, with its digits kept: no number passes through a float.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A JSON number, as it was written.
    Number(String),
    /// A JSON string.
    Text(String),
    /// `true` or `false`.
    Bool(bool),
    /// An array or an object: nothing that an entry field can be.
    Nested,
}

impl Scalar {
    /// Reads a whole number from 0 to 2^256 - 1, from a JSON integer or from digits.
    pub fn to_u256(&self) -> Result<U256, Ineligible> {
        let wrong = Ineligible::Integer { max: "2^256 - 1" };
        let (Self::Number(digits) | Self::Text(digits)) = self else { return Err(wrong) };
        let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if !all_digits {
            return Err(wrong);
        }
        U256::from_str_radix(digits, 10).map_err(|_| wrong)
    }

    /// Reads a whole number from 0 to 2^63 - 1.
    pub fn to_int64(&self) -> Result<i64, Ineligible> {
        let wrong = Ineligible::Integer { max: "2^63 - 1" };
        self.to_u256().ok().and_then(|n| i64::try_from(n).ok()).ok_or(wrong)
    }

    /// Reads 32 bytes of hex, with or without `0x`.
    pub fn to_hash(&self) -> Result<B256, Ineligible> {
        let Self::Text(text) = self else { return Err(Ineligible::Hash) };
        let mut bytes = [0_u8; 32];
        let digits = text.strip_prefix("0x").unwrap_or(text);
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| Ineligible::Hash)?;
        Ok(B256::from(bytes))
    }

    /// Reads an address in a spelling of `family`.
    pub fn to_address(&self, family: Family) -> Result<Address, Ineligible> {
        match self {
            Self::Text(text) => parse_address(family, text),
            Self::Number(_) | Self::Bool(_) | Self::Nested => {
                Err(Ineligible::Type { wanted: "address" })
            }
        }
    }
}

/// One element of the request: the caller's statement that a subscription is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The subscription, echoed in every answer.
    pub subscribe: SubscribeId,
    /// The plan.
    pub plan: PlanId,
    /// The user's record on chain.
    pub user: UserHash,
    /// `userHash` as the caller spelt it, to be echoed.
    pub user_spelling: String,
    /// The amount in token base units, if the entry states a readable one.
    pub amount: Option<U256>,
    /// Every field of the entry by name as the caller wrote it, those above included.
    pub fields: BTreeMap<String, Scalar>,
}

/// Which field of an entry is wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {problem}")]
pub struct BadField {
    /// The field's name.
    pub field: String,
    /// What is wrong with it.
    pub problem: Ineligible,
}

impl Entry {
    /// Reads the identity of an entry; the other fields are judged by the contract profile.
    pub fn parse(mut fields: BTreeMap<String, Scalar>) -> Result<Self, Vec<BadField>> {
        if let Some(alias) = fields.remove("subscriptionId") {
            let stated = fields.entry("subscribeId".to_owned()).or_insert_with(|| alias.clone());
            if stated.to_int64() != alias.to_int64() {
                let field = "subscriptionId".to_owned();
                return Err(vec![BadField { field, problem: Ineligible::Contradiction }]);
            }
        }
        let mut bad = Vec::new();
        let mut read = |field: &str| {
            let value = fields.get(field);
            if value.is_none() {
                bad.push(BadField { field: field.to_owned(), problem: Ineligible::Missing });
            }
            value
        };
        let (subscribe, plan, user) = (read("subscribeId"), read("planId"), read("userHash"));
        let mut keep = |field: &str, problem| {
            bad.push(BadField { field: field.to_owned(), problem });
        };
        let subscribe =
            subscribe.and_then(|v| v.to_int64().map_err(|e| keep("subscribeId", e)).ok());
        let plan = plan.and_then(|v| v.to_int64().map_err(|e| keep("planId", e)).ok());
        let hash = user.and_then(|v| v.to_hash().map_err(|e| keep("userHash", e)).ok());
        let (Some(subscribe), Some(plan), Some(hash), Some(Scalar::Text(spelling))) =
            (subscribe, plan, hash, user)
        else {
            return Err(bad);
        };
        let amount = fields.get("amount").and_then(|value| value.to_u256().ok());
        Ok(Self {
            subscribe: SubscribeId(subscribe),
            plan: PlanId(plan),
            user: UserHash(hash),
            user_spelling: spelling.clone(),
            amount,
            fields,
        })
    }

    /// Refuses this entry for `code`.
    pub fn refused(&self, code: FailCode) -> Refused {
        let (amount, user_spelling) = (self.amount, self.user_spelling.clone());
        Refused::new(
            Named { subscribe: self.subscribe, plan: self.plan, user_spelling, amount },
            code,
        )
    }
}

/// What the Signer shall do when some entries cannot be charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Charge every entry or none.
    #[default]
    All,
    /// Charge those that can be.
    Partial,
}

/// A request on one chain, within the size limit, in which no subscription occurs twice. Its entries
/// are as the caller posted them, or [`Admitted`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order<E = Entry> {
    /// The caller's name for the request.
    pub request_id: Option<RequestId>,
    /// The API key of whoever asks; none where nobody has to sign requests.
    pub caller: Option<String>,
    /// What to do when some cannot be charged.
    pub mode: Mode,
    /// Stop before signing and say what would be charged.
    pub dry_run: bool,
    /// The entries, each subscription once, in the caller's order.
    pub entries: Vec<E>,
    /// Entries that will not be charged, and why.
    pub refused: Vec<Refused>,
}

/// Why a request is not an order. Nothing was signed or sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// There is nothing to charge.
    #[error("the list is empty: post at least one subscription")]
    Empty,
    /// More entries than one request may hold.
    #[error("{got} entries are too many: post at most {limit} in one request")]
    TooMany {
        /// How many were posted.
        got: usize,
        /// How many one request may hold.
        limit: usize,
    },
}

impl Order {
    /// Admits `entries`: the first mention of a subscription stays, later ones are refused.
    pub fn admit(entries: Vec<Entry>, limit: usize) -> Result<Self, NotAdmitted> {
        match entries.len() {
            0 => return Err(NotAdmitted::Empty),
            got if got > limit => return Err(NotAdmitted::TooMany { got, limit }),
            _ => {}
        }
        let (mut ids, mut users) = (HashSet::new(), HashSet::new());
        let (first, again): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| {
            let new_id = ids.insert(entry.subscribe);
            let new_user = users.insert((entry.plan, entry.user));
            new_id && new_user
        });
        let refused = again.iter().map(|entry| entry.refused(FailCode::DuplicateEntry)).collect();
        Ok(Self {
            request_id: None,
            caller: None,
            mode: Mode::All,
            dry_run: false,
            entries: first,
            refused,
        })
    }

    /// The same order with its entries read by `admit`. Those that it turns down are refused.
    pub fn read(self, admit: impl Fn(&Entry) -> Result<Admitted, BadField>) -> Order<Admitted> {
        let Self { request_id, mode, dry_run, entries: posted, mut refused, caller } = self;
        let mut entries = Vec::with_capacity(posted.len());
        for entry in posted {
            match admit(&entry) {
                Ok(admitted) => entries.push(admitted),
                Err(bad) => {
                    let code = FailCode::InvalidEntry;
                    refused.push(entry.refused(code).because(bad.to_string()));
                }
            }
        }
        Order { request_id, caller, mode, dry_run, entries, refused }
    }
}

/// One subscription in one period, with all that the contract call needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// What the caller stated, with what the chain supplied filled in.
    pub entry: Admitted,
    /// The billing period.
    pub period: Period,
    /// What is charged, in token base units.
    pub amount: U256,
    /// Whose tokens.
    pub wallet: Address,
    /// Which token.
    pub token: Address,
}

impl Charge {
    /// What nobody may be charged for twice.
    pub fn key(&self) -> ChargeKey {
        ChargeKey { plan: self.entry.plan, user: self.entry.user, period: self.period }
    }

    /// The part that a claim keeps.
    pub fn item(&self) -> Item {
        Item { subscribe: self.entry.subscribe, key: self.key(), amount: self.amount }
    }
}

#[cfg(test)]
mod tests;
