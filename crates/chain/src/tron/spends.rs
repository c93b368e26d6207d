//! The funds that pay for a transaction on TRON, and the possible cost of transactions that wait for a block.
//! Nothing on chain counts an account's transactions, so each is remembered with the block that it was seen in.

use super::resources::{Prices, Spend, to_pay};
use crate::commitments::Funds;
use alloy::primitives::{B256, U256};
use billing::Attempt;
use std::collections::BTreeMap;
use tron_node::Resources;
use tron_primitives::transaction::SignedBytes;

/// The account's funds, as one node tells them. The node includes the effects of transactions that wait in its own
/// pool, which may be counted twice so: that errs on the side of signing less.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccountFunds {
    /// The number of a block that it has seen: what that or an earlier one holds is paid.
    pub(super) block: u64,
    /// Sun.
    pub(super) balance: u64,
    /// The resources that the account can use without paying.
    pub(super) resources: Resources,
    /// The prices that the chain asks.
    pub(super) prices: Prices,
}

impl Funds for AccountFunds {
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
    pub(super) hash: B256,
    spend: Spend,
    /// The block that it was seen in.
    block: Option<u64>,
    /// True if the attempt was looked for already. An open attempt is looked for again and again.
    pub(super) looked_for: bool,
}

impl SpendOf {
    /// The possible cost of a draft.
    pub(super) fn draft(spend: Spend) -> Self {
        Self { hash: B256::ZERO, spend, block: None, looked_for: false }
    }

    /// The possible cost of an attempt that has just been signed.
    pub(super) fn signed(hash: B256, spend: Spend) -> Self {
        Self { hash, ..Self::draft(spend) }
    }

    /// The same of an attempt that was looked for, and seen in this block.
    pub(super) fn seen_in(self, block: Option<u64>) -> Self {
        Self { block, looked_for: true, ..self }
    }

    /// The possible cost of a signed attempt; none if its bytes cannot be read.
    pub(super) fn read(attempt: &Attempt) -> Option<Self> {
        let signed = &attempt.signed;
        let fee_limit = SignedBytes::read(&signed.raw).ok()?.unsigned.fee_limit;
        Some(Self::signed(signed.hash, Spend { fee_limit, size: signed.raw.len() }))
    }
}
