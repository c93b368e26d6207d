//! One element of a request, as the caller wrote it: a statement, never an order.

use super::{
    FailCode, Fields, Ineligible, PlanId, Refused, Scalar, Spelling, SubscribeId, UserHash,
};
use alloy::primitives::U256;
use std::sync::Arc;

/// One element of the request: the caller's statement that a subscription is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The subscription, echoed in every answer.
    pub subscribe: SubscribeId,
    /// The plan.
    pub plan: PlanId,
    /// The user's record on chain.
    pub user: UserHash,
    /// The entry's spelling as the caller wrote it, echoed in answers.
    pub spelling: Arc<Spelling>,
    /// The amount in token base units, if the entry states a readable one.
    pub amount: Option<U256>,
    /// Every field of the entry by name as the caller wrote it, those above included.
    pub fields: Fields,
}

/// Which field of an entry is wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {problem}")]
pub struct BadField {
    /// The field's name.
    pub field: String,
    /// The problem that was found.
    pub problem: Ineligible,
}

impl Entry {
    /// Reads the identity of an entry; the other fields are judged by the contract profile.
    pub fn parse(mut fields: Fields) -> Result<Self, Vec<BadField>> {
        if let Some(alias) = fields.remove("subscriptionId") {
            let stated = fields.entry("subscribeId".into()).or_insert_with(|| alias.clone());
            if stated.to_int64() != alias.to_int64() {
                let field = "subscriptionId".to_owned();
                return Err(vec![BadField { field, problem: Ineligible::Contradiction }]);
            }
        }
        let mut bad = Vec::new();
        let subscribe = field(&fields, "subscribeId", Scalar::to_int64, &mut bad);
        let plan = field(&fields, "planId", Scalar::to_int64, &mut bad);
        let hash = field(&fields, "userHash", Scalar::to_hash, &mut bad);
        let (Some(subscribe), Some(plan), Some(hash), Some(spelling)) =
            (subscribe, plan, hash, Spelling::read(&fields))
        else {
            return Err(bad);
        };
        let amount = fields.get("amount").and_then(|value| value.to_u256().ok());
        Ok(Self {
            subscribe: SubscribeId(subscribe),
            plan: PlanId(plan),
            user: UserHash(hash),
            spelling: Arc::new(spelling),
            amount,
            fields,
        })
    }

    /// Refuses this entry for `code`.
    pub fn refused(&self, code: FailCode) -> Refused {
        let spelling = Arc::clone(&self.spelling);
        let refused = Refused::new(self.subscribe, self.plan, self.user, spelling, code);
        Refused { amount: self.amount, ..refused }
    }
}

/// Reads a field that an entry must have; if it is missing or wrong, that is added to `bad`.
fn field<T>(
    fields: &Fields,
    name: &str,
    read: impl Fn(&Scalar) -> Result<T, Ineligible>,
    bad: &mut Vec<BadField>,
) -> Option<T> {
    let value = fields.get(name).ok_or(Ineligible::Missing).and_then(read);
    value.map_err(|problem| bad.push(BadField { field: name.to_owned(), problem })).ok()
}
