//! The money that the account spends: what open transactions and drafts may cost, beside what the account holds; and
//! what an ordinary batch may cost.

use super::access::Access;
use super::fees::{Bid, allowed, cancel_bid, cost, first_bid};
use super::gas::{ONE_CHARGE, gas_limit};
use super::head::EvmHead;
use super::in_flight::{InFlight, PlaceCost, Reserved};
use super::l1_fee::{self, DataFee};
use crate::head::HeadLook as _;
use crate::{Budget, ChainError, Estimate, Headroom, Payer, Unanswered, Vitals};
use alloy::primitives::U256;
use billing::{Attempt, AttemptKind, Charge, Signed, Slot};
use config::L1Fee;
use evm_node::View;
use parking_lot::Mutex;
use std::sync::Arc;

/// The money of the account, as far as it is committed.
#[derive(Debug)]
pub(super) struct Spending {
    access: Access,
    in_flight: Arc<InFlight>,
    /// The usage of the last billing that was drafted, or else the usage assumed of the first.
    last_estimate: Mutex<Estimate>,
    data_fee: DataFee,
}

impl Spending {
    /// Nothing is committed yet.
    pub(super) fn of(access: Access) -> Self {
        let in_flight = Arc::new(InFlight::of_account(Payer::of(&access.account.facts)));
        let last_estimate = Mutex::new(ONE_CHARGE);
        Self { access, in_flight, last_estimate, data_fee: DataFee::default() }
    }

    /// Learns what the chain takes beside gas for billing `charges`.
    pub(super) async fn price_data(
        &self,
        view: &View<'_>,
        head: &EvmHead,
        charges: &[Charge],
    ) -> Result<(), ChainError> {
        match self.access.config.fees.l1_fee {
            L1Fee::None => {}
            L1Fee::Op => {
                // A batch that cannot be encoded is refused anyway.
                let data = self.access.calldata(head.view.head_time, charges);
                let length = data.map_or(0, |data| data.len());
                let fee = l1_fee::ask(view, self.access.signer(), length).await?;
                self.data_fee.learn(length, fee);
            }
        }
        Ok(())
    }

    /// Returns the most that the chain takes for so many bytes of calldata, wei.
    pub(super) fn surcharge(&self, length: usize) -> U256 {
        self.data_fee.of(length)
    }

    /// Sets money aside for a draft, which may cost `total` in all, wei.
    pub(super) fn reserve(
        &self,
        head: &EvmHead,
        bid: Bid,
        total: U256,
    ) -> Result<Reserved, ChainError> {
        let draft = PlaceCost::of_draft(bid, total);
        self.in_flight.reserve(draft, None, &head.holdings(), self.access.needed())
    }

    /// Takes down the estimate of a billing that was drafted.
    pub(super) fn note_draft(&self, estimate: Estimate) {
        *self.last_estimate.lock() = estimate;
    }

    /// Takes down a transaction that is offered.
    pub(super) fn note_offer(&self, signed: &Signed) {
        self.in_flight.offered(signed.hash, &signed.raw);
    }

    /// Returns what is known of a slot's place; none if its newest bytes cannot be read.
    pub(super) fn place<A: AsRef<Attempt>>(&self, slot: &Slot<A>) -> Option<PlaceCost> {
        self.in_flight.of(slot)
    }

    /// Returns what the places from `nonce` on, and before `end`, may still cost, wei.
    pub(super) fn outstanding(&self, nonce: u64, end: u64) -> U256 {
        self.in_flight.outstanding(nonce, end)
    }

    /// Forgets the places that are taken for good.
    pub(super) fn forget_below(&self, finalized: u64) {
        self.in_flight.forget_below(finalized);
    }

    /// Returns the gas that an ordinary batch may use: as much as the last that was drafted, and no more than a
    /// transaction may use now.
    fn ordinary_gas(&self, head: &EvmHead) -> u64 {
        let rules = self.access.gas_rules(head.block_gas);
        gas_limit(&self.last_estimate.lock(), 1, rules).unwrap_or(rules.most)
    }

    /// Returns the cost that an ordinary batch may reach at this price, wei.
    fn ordinary_cost(&self, head: &EvmHead, bid: Bid) -> U256 {
        cost(self.ordinary_gas(head), bid).saturating_add(self.data_fee.last())
    }

    /// An error if no ordinary batch could be billed by this look: not even one charge fits in a transaction, the
    /// chain asks more than is allowed, or the account cannot pay.
    pub(super) fn could_bill(&self, head: &EvmHead) -> Result<(), ChainError> {
        let alone = self.last_estimate.lock().alone(&ONE_CHARGE);
        gas_limit(&alone, 1, self.access.gas_rules(head.block_gas))?;
        let fees = &self.access.config.fees;
        let bid = first_bid(&head.market, fees, self.access.raises())?;
        allowed(cost(self.ordinary_gas(head), bid), AttemptKind::Bill, fees)?;
        Ok(self.budget(head)?.pays()?)
    }

    /// Returns what the account can still pay. An error while no price can be bid.
    pub(super) fn budget(&self, head: &EvmHead) -> Result<Budget, ChainError> {
        let bid = first_bid(&head.market, &self.access.config.fees, self.access.raises())?;
        self.budget_at(bid, head).ok_or_else(|| Unanswered::NoBalance.into())
    }

    /// The same at this price; none if no node tells the balance.
    fn budget_at(&self, bid: Bid, head: &EvmHead) -> Option<Budget> {
        let draft = PlaceCost::of_draft(bid, self.ordinary_cost(head, bid));
        self.in_flight.budget(draft, &head.holdings(), self.access.needed())
    }

    /// Returns the account's gas money and the prices, for metrics and warnings; none while no price can be bid.
    pub(super) fn vitals(&self, head: &EvmHead) -> Option<Vitals> {
        let fees = &self.access.config.fees;
        // If the chain asks more than is allowed, the batch costs the allowed amount: it waits for that price.
        let bid = first_bid(&head.market, fees, self.access.raises())
            .or_else(|_| cancel_bid(&head.market, fees))
            .ok()?;
        let (budget, gas) = (self.budget_at(bid, head)?, cost(self.ordinary_gas(head), bid));
        let asked = head.market.base_fee.filter(|_| !fees.legacy).or(head.market.gas_price);
        let of_price =
            asked.map(|asked| Headroom::of("fees.max_fee_per_gas", asked, fees.max_fee_per_gas.0));
        let of_all = Headroom::of("fees.max_tx_cost", gas, fees.max_tx_cost.0);
        Some(Vitals {
            age: head.seen().elapsed(),
            balance: budget.holds,
            in_flight: budget.in_flight,
            ordinary: self.ordinary_cost(head, bid),
            saved: U256::ZERO,
            resources: None,
            headrooms: of_price.into_iter().chain([of_all]).collect(),
        })
    }
}
