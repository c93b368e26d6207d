//! The gate of the lane, by the product's rulings, and what is learnt on the way to one.

use super::broken::BrokenRule;
use super::signer::Signer;
use crate::process::GateState;
use alloy::primitives::Address;
use billing::{AccountView, Closed, Gate, LaneView, NonceView, PoolView, PoolsAsked, Ruling, rule};
use evm_testimony::conclude::{NonceFate, conclude};

impl Signer<'_> {
    /// Brings the gate to where it belongs after a look, which found the taker of this place hidden.
    pub(crate) fn rule_gate(&mut self, unnamed_taker: Option<u64>) {
        let Some((mined, finalized)) = self.agreed_counts() else { return };
        let mut view = LaneView {
            signer: Address::ZERO,
            gate: gate(self.world.gate),
            next: u64::from(self.world.journal.next),
            in_doubt: self.world.journal.in_doubt,
            undecided: self.world.journal.open().count(),
            account: AccountView::Nonces(NonceView { mined, finalized }),
            pools: PoolView::NotAsked,
            learnt: false,
            opaque: None,
            unnamed_taker,
            used_up: self.world.journal.used_up.map(u64::from),
        };
        loop {
            match rule(&view) {
                Ruling::Open => {
                    self.world.journal.in_doubt = false;
                    self.world.gate = GateState::Open;
                    return;
                }
                Ruling::Closed(_) => {
                    self.world.gate = GateState::Closed;
                    return;
                }
                Ruling::LearnPositions { from, to, .. } => {
                    self.learn(from, to);
                    view.next = u64::from(self.world.journal.next);
                    view.learnt = true;
                    view.used_up = self.world.journal.used_up.map(u64::from);
                }
                Ruling::AskPools(whose) => {
                    view.pools = PoolView::Count(self.pool_count(whose), vec![]);
                }
                Ruling::ReadBlocks { .. } | Ruling::LearnFound => return,
            }
        }
    }

    /// The nonces in blocks and in final ones: the highest that as many nodes reach as have to agree.
    fn agreed_counts(&self) -> Option<(u64, u64)> {
        let told: Vec<(u8, u8)> = self.nodes.counts(self.world).into_iter().flatten().collect();
        let reached = |of: fn(&(u8, u8)) -> u8| {
            let mut counts: Vec<u8> = told.iter().map(of).collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            counts.get(self.quorum().checked_sub(1)?).map(|count| u64::from(*count))
        };
        Some((reached(|told| told.0)?, reached(|told| told.1)?))
    }

    fn pool_count(&self, whose: PoolsAsked) -> u64 {
        if self.has_broken(BrokenRule::PoolsAreNotAsked) {
            return 0;
        }
        let told: Vec<u8> = self.nodes.pools(self.world).into_iter().flatten().collect();
        let denied = |count: u8| {
            whose == PoolsAsked::Undenied
                && told.iter().filter(|other| **other < count).count() >= self.quorum()
        };
        let counts = told.iter().copied().filter(|count| !denied(*count));
        u64::from(counts.max().unwrap_or(0))
    }

    /// Learns who took the positions that the journal does not know, up to the first that is not told alike.
    fn learn(&mut self, from: u64, to: u64) {
        for position in from..to {
            let Ok(place) = u8::try_from(position) else { return };
            let said = self.nodes.testify(self.world, place, &[]);
            match conclude(position, &[], &said, self.quorum()).fate {
                NonceFate::Foreign(taker) => {
                    if !self.has_broken(BrokenRule::UnknownPositionsAreSkipped) {
                        self.adopt(place, taker.hash, &self.effect(&taker));
                    }
                }
                NonceFate::UsedUp(_) => {
                    self.world.journal.used_up = Some(place);
                    return;
                }
                NonceFate::Absent
                | NonceFate::Included
                | NonceFate::Shown
                | NonceFate::Ours(_)
                | NonceFate::Unwitnessed
                | NonceFate::Unrecorded
                | NonceFate::Unclear
                | NonceFate::Disputed => return,
            }
            self.world.journal.next = place.saturating_add(1);
        }
    }
}

fn gate(state: GateState) -> Gate {
    match state {
        GateState::Opening => Gate::Opening,
        GateState::Open => Gate::Open,
        GateState::Closed => Gate::Closed(Closed::OpenBatchesFirst),
    }
}
