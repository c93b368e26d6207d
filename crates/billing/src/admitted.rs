//! An entry after admission: every field that the contract profile reads, as a value of its type. And
//! the charge that it becomes when every value that the contract call needs is known.

use super::{
    ChargeKey, ChargeTerms, Entry, FailCode, Item, Period, PlanId, Refused, Spelling, SubscribeId,
    UserHash,
};
use alloy::dyn_abi::DynSolValue;
use alloy::primitives::{Address, B256, U256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Field values by name, exact and typed.
pub type Values = BTreeMap<Arc<str>, DynSolValue>;

/// An entry whose fields have been read, once. Nothing in it is text of the caller except the
/// spelling that answers repeat, and fields whose type is `string`. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    /// The subscription, echoed in every answer.
    pub subscribe: SubscribeId,
    /// The plan.
    pub plan: PlanId,
    /// The user's record on chain.
    pub user: UserHash,
    /// The entry's spelling as the caller wrote it, echoed in answers.
    pub spelling: Arc<Spelling>,
    values: Arc<Values>,
}

// No ABI value is a float.
impl Eq for Admitted {}

impl Entry {
    /// This entry with `values` in place of its fields. The contract profile reads them.
    pub fn admitted(&self, values: Values) -> Admitted {
        Admitted {
            subscribe: self.subscribe,
            plan: self.plan,
            user: self.user,
            spelling: Arc::clone(&self.spelling),
            values: Arc::new(values),
        }
    }
}

impl Admitted {
    /// The value of a field: stated by the caller, or supplied since.
    pub fn value(&self, name: &str) -> Option<&DynSolValue> {
        self.values.get(name)
    }

    /// Supplies the value of a field that the caller did not state.
    pub fn supply(&mut self, name: &str, value: DynSolValue) {
        Arc::make_mut(&mut self.values).insert(name.into(), value);
    }

    /// The value of a field that holds a whole number, exactly.
    pub fn whole(&self, name: &str) -> Option<U256> {
        self.value(name).and_then(whole_number)
    }

    /// The amount in token base units, if it is known.
    pub fn amount(&self) -> Option<U256> {
        self.whole("amount")
    }

    /// Returns the terms of the charge besides its key and amount.
    pub fn terms(&self) -> ChargeTerms {
        let address = |name| self.value(name).and_then(DynSolValue::as_address);
        ChargeTerms {
            plan_version: self.whole("planVersion"),
            wallet: address("userWallet"),
            token: address("tokenAddress"),
        }
    }

    /// Every stated field in a form that does not depend on how it was written, for comparing.
    pub(super) fn canonical(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, value) in &*self.values {
            let value = value.abi_encode();
            bytes.extend(name.as_bytes());
            bytes.push(0);
            bytes.extend(U256::from(value.len()).to_be_bytes::<32>());
            bytes.extend(value);
        }
        bytes
    }

    /// Refuses this entry for `code`.
    pub fn refused(&self, code: FailCode) -> Refused {
        let spelling = Arc::clone(&self.spelling);
        let refused = Refused::new(self.subscribe, self.plan, self.user, spelling, code);
        let period = self.whole("period").map(Period::Numbered);
        Refused { period, terms: self.terms(), amount: self.amount(), ..refused }
    }
}

/// A value as a whole number, exactly. None where it is negative, or no number at all.
pub fn whole_number(value: &DynSolValue) -> Option<U256> {
    let word: B256 = match value.as_int() {
        Some((n, _)) if n.is_negative() => return None,
        _ => value.as_word()?,
    };
    Some(U256::from_be_bytes(word.0))
}

/// One subscription in one period, with all that the contract call needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The entry as the caller stated it, with the values that the chain supplied filled in.
    pub entry: Admitted,
    /// The billing period.
    pub period: Period,
    /// The amount to charge, in token base units.
    pub amount: U256,
    /// The wallet that holds the tokens.
    pub wallet: Address,
    /// Which token.
    pub token: Address,
}

impl Charge {
    /// The key under which nobody may be charged twice.
    pub fn key(&self) -> ChargeKey {
        ChargeKey { plan: self.entry.plan, user: self.entry.user, period: self.period }
    }

    /// The part that a claim keeps.
    pub fn item(&self) -> Item {
        let plan_version = self.entry.whole("planVersion");
        let terms =
            ChargeTerms { plan_version, wallet: Some(self.wallet), token: Some(self.token) };
        Item { subscribe: self.entry.subscribe, key: self.key(), amount: self.amount, terms }
    }
}
