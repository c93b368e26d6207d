//! The means that pay for a transaction on TRON, and the possible cost of transactions that wait for a block.
//! Nothing on chain counts an account's transactions, so each is remembered with the block that it was seen in.

use super::TronChain;
use super::resources::{Prices, Spend, to_pay};
use super::transaction::SignedBytes;
use crate::promises::Means;
use alloy::primitives::{B256, U256};
use billing::{Attempt, Slot};
use std::collections::{BTreeMap, BTreeSet};
use tron_node::Resources;

/// The account's means, as one node tells them. The node includes the effects of transactions that wait in its own
/// pool, which may be counted twice so: that errs on the side of signing less.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccountMeans {
    /// The number of a block that it has seen: what that or an earlier one holds is paid.
    pub(super) block: u64,
    /// Sun.
    pub(super) balance: u64,
    /// The resources that the account can use without paying.
    pub(super) resources: Resources,
    /// The prices that the chain asks.
    pub(super) prices: Prices,
}

impl Means for AccountMeans {
    type Cost = SpendOf;

    fn holds(&self) -> U256 {
        U256::from(self.balance)
    }

    fn owes(&self, signed: &BTreeMap<u64, SpendOf>, drafts: &[SpendOf]) -> U256 {
        let unpaid = |one: &&SpendOf| one.block.is_none_or(|block| block > self.block);
        let spends = signed.values().chain(drafts).filter(unpaid).map(|one| one.spend);
        U256::from(to_pay(spends, &self.prices, &self.resources))
    }
}

/// The possible cost of a place's newest attempt, or of a draft; attempts before the newest are dead.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpendOf {
    /// The hash of the attempt; zero for a draft.
    hash: B256,
    spend: Spend,
    /// The block that it was seen in.
    block: Option<u64>,
    /// True if the attempt was looked for already. An open attempt is looked for again and again.
    looked_for: bool,
}

impl SpendOf {
    /// Of a draft.
    pub(super) fn draft(spend: Spend) -> Self {
        Self { hash: B256::ZERO, spend, block: None, looked_for: false }
    }

    /// Of an attempt that has just been signed.
    pub(super) fn signed(hash: B256, spend: Spend) -> Self {
        Self { hash, ..Self::draft(spend) }
    }

    fn read(attempt: &Attempt) -> Option<Self> {
        let signed = &attempt.signed;
        let fee_limit = SignedBytes::read(&signed.raw).ok()?.unsigned.fee_limit;
        Some(Self::signed(signed.hash, Spend { fee_limit, size: signed.raw.len() }))
    }
}

impl TronChain {
    /// Takes down what an open batch may cost, and the block that its newest attempt was seen in.
    pub(super) fn note_spend<A: AsRef<Attempt>>(&self, slot: &Slot<A>, block: Option<u64>) {
        let newest = slot.attempts.newest().as_ref();
        let known = self.promises.at(slot.position).filter(|one| one.hash == newest.signed.hash);
        if let Some(one) = known.or_else(|| SpendOf::read(newest)) {
            self.promises.note(slot.position, |_| SpendOf { block, looked_for: true, ..one });
        }
    }

    /// Forgets what is not open any more: what was looked for once, and is not one of these.
    pub(super) fn keep_spends<A>(&self, slots: &[&Slot<A>]) {
        let open: BTreeSet<u64> = slots.iter().map(|slot| slot.position).collect();
        self.promises.keep(|position, one| !one.looked_for || open.contains(&position));
    }
}
