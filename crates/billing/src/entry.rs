//! One element of a request, as the caller wrote it: a statement, never an order.

use super::{FailCode, Fields, Ineligible, PlanId, Refused, Spelling, SubscribeId, UserHash};
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
