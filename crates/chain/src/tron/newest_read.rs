//! The part of one node's newest blocks that is read, and the account's calls in them. Pure.

use crate::RevocableCall;
use tron_node::{BlockPoint, TronBlock};

/// Highest number of blocks read since the last that was read. If there are more, irrevocable blocks tell of the
/// missed calls after a start, and nothing tells of them later.
const BLOCKS_AT_MOST: u64 = 600;

/// The reading of one node's newest blocks.
#[derive(Clone, Debug)]
pub(super) struct NewestRead {
    pub(super) last: BlockPoint,
    /// The last of what was read that nobody can undo: other forks are read from here on.
    solid: BlockPoint,
    /// The account's last use as the node told of it at the last reading, Unix ms of blocks; none before the first.
    used_ms: Option<u64>,
    /// Calls of ours that were read last or are not irrevocable, and the number of the block of each.
    calls: Vec<(u64, RevocableCall)>,
}

impl NewestRead {
    pub(super) fn after(block: &TronBlock) -> Self {
        let (last, solid) = (block.into(), block.into());
        Self { last, solid, used_ms: None, calls: Vec::new() }
    }

    /// The same before anything was read that can be undone.
    pub(super) fn on_another_fork(&self) -> Self {
        Self { last: self.solid, calls: Vec::new(), ..self.clone() }
    }

    /// The same from the irrevocable block `solid` on, with the calls that were read.
    pub(super) fn passed_over(&self, solid: &TronBlock) -> Self {
        Self { calls: self.calls.clone(), ..Self::after(solid) }
    }

    /// Takes a call in the block that is read next.
    pub(super) fn found(&mut self, block: u64, call: RevocableCall) {
        self.calls.push((block, call));
    }

    /// Everything was read that the node told of while the account's last use was at `used_ms`.
    pub(super) fn ended(&mut self, used_ms: u64) {
        self.used_ms = Some(used_ms);
    }

    /// Tells the calls if all uses of an account that was used last at `used_ms` are read; none if there may be others.
    /// A use in a block bears the time of the block before. While a use can be undone, only an unchanged time says that
    /// nothing is unread: on another fork, a call may be in an earlier block. Once nobody can undo the use, blocks are
    /// read on once more: two forks may hold different calls of the same time.
    pub(super) fn tell_all(
        &mut self,
        used_ms: u64,
        solid: &TronBlock,
    ) -> Option<Vec<RevocableCall>> {
        if used_ms < self.solid.time_ms {
            let told = self.tell(solid);
            // No server behind a node's door is behind such a block.
            if solid.number > self.last.number {
                (self.last, self.solid) = (solid.into(), solid.into());
            }
            return Some(told);
        }
        let unchanged = self.used_ms == Some(used_ms) && used_ms < self.last.time_ms;
        (unchanged && used_ms >= solid.time_ms).then(|| self.tell_known(solid))
    }

    /// Tells the calls that were read. Those that are irrevocable are told once: what was read late was young when
    /// nothing was read.
    pub(super) fn tell_known(&mut self, solid: &TronBlock) -> Vec<RevocableCall> {
        let told = self.calls.iter().map(|(_, call)| *call).collect();
        self.calls.retain(|(number, _)| *number > solid.number);
        told
    }

    /// The same once everything is read: what nobody can undo of that is not read again.
    pub(super) fn tell(&mut self, solid: &TronBlock) -> Vec<RevocableCall> {
        self.solid = if self.last.number < solid.number { self.last } else { solid.into() };
        self.tell_known(solid)
    }

    /// Returns true if the next blocks up to `newest` can follow the blocks that were read.
    pub(super) fn leads_to(&self, newest: &TronBlock) -> bool {
        let reached = self.last.number == newest.number && self.last.id == newest.id;
        let missing = newest.number.saturating_sub(self.last.number);
        reached || (1..=BLOCKS_AT_MOST).contains(&missing)
    }
}
