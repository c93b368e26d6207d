//! A request meets the claims of earlier ones. The claim is the idempotency key, not the request.

use super::{
    Admitted, BatchId, BatchState, ChargeKey, FailCode, Mode, Order, Period, PlanId, Refused,
    SubscribeId, UserHash,
};
use alloy::primitives::{B256, U256};
use std::collections::BTreeSet;

/// What to look claims up by. Without a period only open batches count, in any period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The subscription.
    pub subscribe: SubscribeId,
    /// The plan.
    pub plan: PlanId,
    /// The user's record on chain.
    pub user: UserHash,
    /// The period, where it is known.
    pub period: Option<Period>,
}

/// Who holds a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedBy {
    /// The batch.
    pub batch: BatchId,
    /// Open or charged: no other state holds claims.
    pub state: BatchState,
    /// The newest transaction while open, the winner when final.
    pub hash: B256,
}

/// A live claim, found for a [`Subject`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The subscription that is claimed.
    pub subscribe: SubscribeId,
    /// What is claimed.
    pub key: ChargeKey,
    /// Token base units.
    pub amount: U256,
    /// By whom.
    pub by: ClaimedBy,
}

/// What a request is, against what is claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// All of it is in one batch already: answer with that batch.
    Of(BatchId),
    /// Some of it is claimed and the caller wants all or nothing, or nothing is free.
    Refused(Vec<Refused>),
    /// `order` holds what is free; in partial mode its refusals tell what is not.
    Fresh(Order<Admitted>),
}

/// Judges `order` against `claims`, which holds the live claims found for each entry, in order.
pub fn repeat_of(mut order: Order<Admitted>, claims: &[Vec<Claim>]) -> Repeat {
    let none = Vec::new();
    let found = |index: usize| claims.get(index).unwrap_or(&none);
    let held: Vec<Option<Held>> = order
        .entries
        .iter()
        .enumerate()
        .map(|(index, entry)| Held::find(entry, found(index)))
        .collect();
    if held.iter().all(Option::is_none) {
        return Repeat::Fresh(order);
    }
    // A dry run says what would be charged, and never that something was sent.
    if let (Some(batch), true, false) = (only_batch(&held), order.refused.is_empty(), order.dry_run)
    {
        return Repeat::Of(batch);
    }
    let mut free = Vec::new();
    for (entry, held) in std::mem::take(&mut order.entries).into_iter().zip(held) {
        match held {
            Some(held) => order.refused.push(held.refuse(&entry)),
            None => free.push(entry),
        }
    }
    if order.mode == Mode::All {
        order.refused.extend(free.iter().map(|entry| entry.refused(FailCode::NotAttempted)));
        free.clear();
    }
    if free.is_empty() {
        return Repeat::Refused(order.refused);
    }
    order.entries = free;
    Repeat::Fresh(order)
}

/// The claim that stands in an entry's way.
struct Held {
    claim: Claim,
    same: bool,
}

impl Held {
    fn find(entry: &Admitted, claims: &[Claim]) -> Option<Self> {
        let judged = claims.iter().map(|claim| Self { claim: *claim, same: same(entry, claim) });
        // A conflict outranks the claim that agrees: two claims met where one was expected.
        judged.min_by_key(|held| held.same)
    }

    fn refuse(&self, entry: &Admitted) -> Refused {
        let code = match (self.same, self.claim.by.state) {
            (false, _) => FailCode::Conflict,
            (true, BatchState::Charged) => FailCode::AlreadyCharged,
            // A live claim of a batch that charged nobody is one that is just being released.
            (
                true,
                BatchState::Open
                | BatchState::Reverted
                | BatchState::Cancelled
                | BatchState::Usurped
                | BatchState::Expired,
            ) => FailCode::BillingInProgress,
        };
        entry.refused(code).claimed_by(self.claim.by.hash)
    }
}

fn same(entry: &Admitted, claim: &Claim) -> bool {
    let amount = entry.amount().is_none_or(|stated| stated == claim.amount);
    let user = (entry.plan, entry.user) == (claim.key.plan, claim.key.user);
    entry.subscribe == claim.subscribe && user && amount
}

fn only_batch(held: &[Option<Held>]) -> Option<BatchId> {
    let batches: Option<BTreeSet<BatchId>> = held
        .iter()
        .map(|held| held.as_ref().filter(|h| h.same).map(|h| h.claim.by.batch))
        .collect();
    let batches = batches?;
    batches.first().copied().filter(|_| batches.len() == 1)
}

#[cfg(test)]
mod tests;
