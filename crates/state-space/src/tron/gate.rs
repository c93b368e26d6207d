//! The gate of the lane, by the product's rulings, and what is learnt on the way to one.

use super::broken::BrokenRule;
use super::signer::Signer;
use crate::process::GateState;
use alloy::primitives::Address;
use billing::{
    AccountView, BlocksRead, Closed, Gate, LaneView, OwnWaiting, PoolView, Ruling, rule,
};

impl Signer<'_> {
    /// Brings the gate to where it belongs after a look at the heads, while batches of its own wait like this.
    pub(crate) fn rule_gate(&mut self, waiting: OwnWaiting) {
        if !self.reconciles(waiting) {
            self.world.process.gate = GateState::Closed;
            return;
        }
        let mut view = LaneView {
            signer: Address::ZERO,
            gate: match self.world.process.gate {
                GateState::Opening => Gate::Opening,
                GateState::Open => Gate::Open,
                GateState::Closed => Gate::Closed(Closed::UsedLater),
            },
            next: u64::try_from(self.world.journal.batches.len()).unwrap_or(u64::MAX),
            in_doubt: self.world.journal.in_doubt,
            undecided: self.world.journal.open().count(),
            account: AccountView::Blocks(None),
            pools: PoolView::NotAsked,
            learnt: false,
            opaque: None,
            unnamed_taker: None,
            used_up: None,
        };
        loop {
            match rule(&view) {
                Ruling::Open => return self.open(),
                Ruling::Closed(_) => {
                    self.world.process.gate = GateState::Closed;
                    return;
                }
                Ruling::ReadBlocks { .. } => view.account = AccountView::Blocks(Some(self.read())),
                Ruling::LearnFound => {
                    self.learn();
                    view.learnt = true;
                }
                Ruling::LearnPositions { .. } | Ruling::AskPools(_) => return,
            }
        }
    }

    /// Takes new work from now on.
    fn open(&mut self) {
        if std::mem::take(&mut self.world.journal.in_doubt) {
            self.world.journal.learnt_ms = self.world.now_ms();
            self.world.process.reads_until = None;
        }
        self.world.process.gate = GateState::Open;
    }

    /// Reads on in the blocks that can hold something forgotten: to the last one in which something can land that was
    /// signed before.
    fn read(&mut self) -> BlocksRead {
        let (solid, horizon) = (self.heads().solid, self.horizon());
        let until = *self.world.process.reads_until.get_or_insert(horizon);
        BlocksRead {
            percent: 0,
            complete: solid >= until || self.has_broken(BrokenRule::HalfIsRead),
            rival: false,
            young: self.world.process.past.checks.unknown,
        }
    }

    /// Takes in what was found in the blocks that were read.
    fn learn(&mut self) {
        let last = self.heads().solid.min(self.world.process.reads_until.unwrap_or(0));
        let found: Vec<_> = self.world.landed(1..=last).collect();
        for (number, landing) in found {
            self.adopt(number, landing);
        }
    }
}
