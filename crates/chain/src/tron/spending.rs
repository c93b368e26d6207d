//! The money that the account spends: what open transactions and drafts may cost, beside what the account holds; and
//! what an ordinary batch may cost.

use super::access::Access;
use super::head::TronHead;
use super::resources::{
    ONE_CHARGE, ONE_CHARGE_BYTES, Spend, affordable, bandwidth, budget, fee_limit, to_pay,
};
use super::spends::SpendOf;
use crate::commitments::{Commitments, Reservation};
use crate::head::HeadLook as _;
use crate::{Budget, ChainError, Estimate, FreeResources, Headroom, Payer, Unanswered, Vitals};
use ::node::reached_by;
use alloy::primitives::U256;
use billing::{Attempt, Slot};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use tron_node::Resources;

/// The resources of an account that has nothing staked.
const NOTHING: Resources = Resources { free_bandwidth: 0, staked_bandwidth: 0, energy: 0 };

/// The estimate and size of the last billing that was drafted: the next is taken to be like it.
#[derive(Debug)]
struct LastDraft {
    estimate: Estimate,
    /// Size of the transaction, bytes.
    size: usize,
}

/// The limits of a draft, and the money that is set aside for it.
pub(super) struct Priced {
    pub(super) spend: Spend,
    /// The fee limit, and the bandwidth if none of it is free, sun.
    pub(super) cost: U256,
    pub(super) reserved: Reservation<SpendOf>,
}

/// The money of the account, as far as it is committed.
#[derive(Debug)]
pub(super) struct Spending {
    access: Access,
    commitments: Arc<Commitments<SpendOf>>,
    last_draft: Mutex<LastDraft>,
}

impl Spending {
    /// Nothing is committed yet. Before the first draft, an ordinary batch is like one charge.
    pub(super) fn of(access: Access) -> Self {
        let commitments = Arc::new(Commitments::of_account(Payer::of(&access.account.facts)));
        let last_draft = LastDraft { estimate: ONE_CHARGE, size: ONE_CHARGE_BYTES };
        Self { access, commitments, last_draft: Mutex::new(last_draft) }
    }

    /// Returns the fee limit of a call for `charges`, sun.
    pub(super) fn limit(
        &self,
        head: &TronHead,
        estimate: &Estimate,
        charges: usize,
    ) -> Result<u64, ChainError> {
        let limits = budget(estimate, charges, &head.prices, self.access.energy_rules())?;
        Ok(limits.fee_limit)
    }

    /// Sets money aside for a draft; see [`Commitments::reserve`].
    pub(super) fn reserve(
        &self,
        head: &TronHead,
        spend: Spend,
        instead: Option<u64>,
    ) -> Result<Priced, ChainError> {
        let (draft, needed) = (SpendOf::draft(spend), self.access.fleet.needed());
        let reserved = self.commitments.reserve(draft, instead, &head.funds, needed)?;
        let bandwidth = bandwidth(spend.size).saturating_mul(head.prices.bandwidth);
        let cost = U256::from(spend.fee_limit).saturating_add(U256::from(bandwidth));
        Ok(Priced { spend, cost, reserved })
    }

    /// Takes down the estimate and the size, bytes, of a billing that was drafted.
    pub(super) fn note_draft(&self, estimate: Estimate, size: usize) {
        *self.last_draft.lock() = LastDraft { estimate, size };
    }

    /// Returns the possible cost of an ordinary batch now: one like the last that was drafted.
    fn ordinary(&self, head: &TronHead) -> Spend {
        let last = self.last_draft.lock();
        let fee_limit = fee_limit(&last.estimate, &head.prices, self.access.energy_rules());
        Spend { fee_limit, size: last.size }
    }

    /// An error if energy is too dear for even one charge.
    pub(super) fn could_pay_for_energy(&self, head: &TronHead) -> Result<(), ChainError> {
        affordable(&self.last_draft.lock().estimate, &head.prices, self.access.energy_rules())
    }

    /// Returns the budget of the account, the amount that it can still pay.
    pub(super) fn budget(&self, head: &TronHead) -> Result<Budget, ChainError> {
        let ordinary = SpendOf::draft(self.ordinary(head));
        let needed = self.access.fleet.needed();
        let budget = self.commitments.budget(ordinary, &head.funds, needed);
        Ok(budget.ok_or(Unanswered::NoBalance)?)
    }

    /// Takes down what an open batch may cost, and the block that its newest attempt was seen in.
    pub(super) fn note<A: AsRef<Attempt>>(&self, slot: &Slot<A>, block: Option<u64>) {
        let newest = slot.attempts.newest().as_ref();
        let known = self.commitments.at(slot.position).filter(|one| one.hash == newest.signed.hash);
        if let Some(one) = known.or_else(|| SpendOf::read(newest)) {
            self.commitments.note(slot.position, |_| one.seen_in(block));
        }
    }

    /// Forgets what is not open any more: what was looked for once, and is not one of these.
    pub(super) fn keep<A>(&self, slots: &[&Slot<A>]) {
        let open: BTreeSet<u64> = slots.iter().map(|slot| slot.position).collect();
        self.commitments.keep(|position, one| !one.looked_for || open.contains(&position));
    }

    /// Returns the account's coins, energy and bandwidth, and the prices, for metrics and warnings; none if no node
    /// tells the balance. `burnt` is the cost of today's failures, sun.
    pub(super) fn vitals(&self, head: &TronHead, burnt: u64) -> Option<Vitals> {
        let (budget, ordinary) = (self.budget(head).ok()?, self.ordinary(head));
        let confirmed = |of: fn(&Resources) -> u64| {
            let told = || head.funds.iter().map(|funds| of(&funds.resources));
            reached_by(told(), self.access.fleet.needed()).or(told().min()).unwrap_or_default()
        };
        let energy = confirmed(|free| free.energy);
        let bandwidth = confirmed(|free| free.free_bandwidth.saturating_add(free.staked_bandwidth));
        let fees = &self.access.config.fees;
        Some(Vitals {
            age: head.seen().elapsed(),
            balance: budget.holds,
            in_flight: budget.in_flight,
            ordinary: U256::from(to_pay([ordinary], &head.prices, &NOTHING)),
            saved: U256::from(energy).saturating_mul(U256::from(head.prices.energy)),
            resources: Some(FreeResources { energy, bandwidth }),
            headrooms: vec![
                Headroom::of("fees.max_fee_limit", ordinary.fee_limit, fees.max_fee_limit.0),
                Headroom::of("fees.max_burnt_per_day", burnt, fees.max_burnt_per_day.0),
            ],
        })
    }
}
