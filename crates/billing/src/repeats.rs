//! A request meets the claims of earlier ones. The claim is the idempotency key, not the request: an
//! entry that a live batch holds is satisfied, and neither fails nor stands in the way of others.

use super::{Admitted, BatchId, Claim, ClaimState, ClaimedBy, FailCode, Order, Refused, Satisfied};

/// The verdict on a request against the claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Live batches hold all of it. This one is the newest of them.
    Of(BatchId, Vec<Satisfied>),
    /// Nothing of it is free, and some of it can be answered with no batch.
    Refused(Vec<Refused>, Vec<Satisfied>),
    /// The entries of this order are free. Entries that are not free are told apart as refused or satisfied.
    Fresh(Order<Admitted>),
}

/// Judges `order` against `claims`, which holds the live claims found for each entry, in order.
pub fn repeat_of(mut order: Order<Admitted>, claims: &[Vec<Claim>]) -> Repeat {
    let none = Vec::new();
    let mut free = Vec::new();
    for (index, entry) in std::mem::take(&mut order.entries).into_iter().enumerate() {
        match match_claims(&entry, claims.get(index).unwrap_or(&none)) {
            None => free.push(entry),
            Some(Ok(by)) => {
                let (subscribe, spelling) = (entry.subscribe, entry.spelling.subscribe.clone());
                order.satisfied.push(Satisfied { subscribe, spelling, by });
            }
            Some(Err(refused)) => order.refused.push(*refused),
        }
    }
    let newest = order.satisfied.iter().map(|satisfied| satisfied.by.batch).max();
    match newest {
        _ if !free.is_empty() => Repeat::Fresh(Order { entries: free, ..order }),
        Some(newest) if order.refused.is_empty() => Repeat::Of(newest, order.satisfied),
        Some(_) | None => Repeat::Refused(order.refused, order.satisfied),
    }
}

/// Returns the holder of the claim on `entry`, or the reason why nobody may charge it. None where nobody claims it.
fn match_claims(entry: &Admitted, claims: &[Claim]) -> Option<Result<ClaimedBy, Box<Refused>>> {
    let refused =
        |code, claim: &Claim| Some(Err(Box::new(entry.refused(code).claimed_by(claim.by.hash))));
    // Several claims can be met where one is expected. The one that needs a person comes first.
    if let Some(other) = claims.iter().find(|claim| !same(entry, claim)) {
        return refused(FailCode::Conflict, other);
    }
    if let Some(unknown) = claims.iter().find(|claim| claim.by.state == ClaimState::Unproven) {
        return refused(FailCode::OutcomeUnknown, unknown);
    }
    claims.iter().map(|claim| claim.by).max_by_key(|by| by.batch).map(Ok)
}

/// Returns true if the entry says nothing that the claim contradicts.
fn same(entry: &Admitted, claim: &Claim) -> bool {
    let amount = entry.amount().is_none_or(|stated| stated == claim.amount);
    let user = (entry.plan, entry.user) == (claim.key.plan, claim.key.user);
    entry.subscribe == claim.subscribe && user && amount && entry.terms().agree_with(&claim.terms)
}

#[cfg(test)]
mod tests;
