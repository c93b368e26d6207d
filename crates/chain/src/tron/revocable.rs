//! The account's acts that are not irrevocable yet, as each node tells by itself: calls in its newest blocks, and
//! in its pool. One node that tells of a call is enough: the call was signed with the account's key.

use super::access::Access;
use super::foreign_calls::{OwnCall, call_by};
use super::head::TronHead;
use super::head_watch::HeadWatch;
use super::horizon::SigningHorizon;
use super::node_look::{TronLook, newest_of};
use crate::{ChainError, RevocableCall, RevocableCalls, Unanswered};
use ::node::NodeId;
use alloy::primitives::B256;
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::successors;
use std::sync::Arc;
use tokio::sync::Mutex;
use tron_node::{BlockPoint, BlockReader, MissingBlock, Side, TronBlock};
use tron_primitives::block::ProvenBlock;

/// Highest number of blocks read since the last that was read. If there are more, irrevocable blocks tell of the
/// missed calls after a start, and nothing tells of them later.
const BLOCKS_AT_MOST: u64 = 600;

/// Number of blocks that are asked for together: more might be too much for one answer.
const RANGE: u64 = 8;

/// Number of such questions that are asked at once.
const RANGES_AT_ONCE: usize = 2;

/// Number of transactions of a pool that are asked for at once.
const AT_ONCE: usize = 6;

/// Number of transactions of a pool that are asked for in one look.
const ASKED: usize = 240;

/// Number of transactions of others that are remembered.
const KEPT: usize = 8_192;

/// The blocks and pools read of nodes.
#[derive(Debug, Default)]
struct NewestBlocks {
    read: BTreeMap<NodeId, NewestRead>,
    /// Transactions in pools that are none of ours.
    others: BTreeSet<B256>,
}

/// The reading of one node's newest blocks.
#[derive(Clone, Debug)]
struct NewestRead {
    last: BlockPoint,
    /// The last of what was read that nobody can undo: other forks are read from here on.
    solid: BlockPoint,
    /// Calls of ours that were read last or are not irrevocable, and the number of the block of each.
    calls: Vec<(u64, RevocableCall)>,
}

impl NewestRead {
    fn after(block: &TronBlock) -> Self {
        Self { last: block.into(), solid: block.into(), calls: Vec::new() }
    }

    /// The same before anything was read that can be undone.
    fn on_another_fork(&self) -> Self {
        Self { last: self.solid, solid: self.solid, calls: Vec::new() }
    }

    /// The calls. Those that are irrevocable are told once: what was read late was young when nothing was read.
    fn tell(&mut self, solid: &TronBlock) -> Vec<RevocableCall> {
        let told = self.calls.iter().map(|(_, call)| *call).collect();
        self.calls.retain(|(number, _)| *number > solid.number);
        self.solid = if self.last.number < solid.number { self.last } else { solid.into() };
        told
    }

    /// The account was not used since the last block that was read. Up to a block that nobody can undo, which no
    /// server behind a node's door is behind, that need not be read.
    fn nothing_since(&mut self, solid: &TronBlock) {
        if solid.number > self.last.number {
            self.last = solid.into();
        }
    }

    /// Returns true if the next blocks up to `newest` can follow the blocks that were read.
    fn leads_to(&self, newest: &TronBlock) -> bool {
        let reached = self.last.number == newest.number && self.last.id == newest.id;
        let missing = newest.number.saturating_sub(self.last.number);
        reached || (1..=BLOCKS_AT_MOST).contains(&missing)
    }
}

/// The answers of one node.
struct NodeTold {
    calls: RevocableCalls,
    read: NewestRead,
    others: Vec<B256>,
}

/// Reads the account's acts that can still be undone.
#[derive(Debug)]
pub(super) struct RevocableScan {
    access: Access,
    head: Arc<HeadWatch>,
    reader: Arc<BlockReader>,
    horizon: Arc<SigningHorizon>,
    /// Held while the newest blocks and pools are read.
    newest: Mutex<NewestBlocks>,
}

impl RevocableScan {
    /// Nothing was read yet.
    pub(super) fn of(
        access: Access,
        head: Arc<HeadWatch>,
        reader: Arc<BlockReader>,
        horizon: Arc<SigningHorizon>,
    ) -> Self {
        Self { access, head, reader, horizon, newest: Mutex::default() }
    }

    /// Collects the calls that every fit node tells of. Pools are asked for all but `ours`; if `ours` is none,
    /// pools are not asked.
    pub(super) async fn calls(
        &self,
        ours: Option<&BTreeSet<B256>>,
    ) -> Result<RevocableCalls, ChainError> {
        let head = self.head.current().await?;
        // From the first look on it is known what was signed before this process began.
        self.horizon.at_start(&head);
        let mut state = self.newest.lock().await;
        let NewestBlocks { read, others } = &*state;
        let asked = self.access.fleet.fit().into_iter();
        let asked = asked.map(async |node| {
            let read = read.get(&node).cloned();
            (node, self.calls_at(node, &head, read, ours, others).await)
        });
        let told = join_all(asked).await;
        let mut all = RevocableCalls::default();
        for (node, told) in told {
            let NodeTold { calls: here, read, others } = match told {
                Ok(told) => told,
                // The calls that the other nodes tell of are known all the same.
                Err(error) => {
                    all.unread.get_or_insert(error);
                    continue;
                }
            };
            all.calls.extend(here.calls);
            all.untold |= here.untold;
            state.read.insert(node, read);
            state.others.extend(others);
        }
        while state.others.len() > KEPT {
            state.others.pop_first();
        }
        Ok(all)
    }

    /// Reads one node on from `read`. Transactions of its pool that are `ours`, or known to be others', are not asked
    /// for.
    async fn calls_at(
        &self,
        node: NodeId,
        head: &TronHead,
        read: Option<NewestRead>,
        ours: Option<&BTreeSet<B256>>,
        others: &BTreeSet<B256>,
    ) -> Result<NodeTold, ChainError> {
        let mut read = read.unwrap_or_else(|| NewestRead::after(&head.solid));
        let unread = || ChainError::from(Unanswered::Unread(head.newest.number));
        let TronLook { newest, used_ms, .. } = head.look_of(node).ok_or_else(unread)?;
        // A use of the account in a block bears the time of the block before.
        if *used_ms < read.last.time_ms {
            let calls =
                RevocableCalls { calls: read.tell(&head.solid), ..RevocableCalls::default() };
            read.nothing_since(&head.solid);
            return Ok(NodeTold { calls, read, others: Vec::new() });
        }
        let (mut pool, mut newest) = (PoolTold::default(), newest.clone());
        if let Some(ours) = ours.filter(|_| *used_ms >= newest.time_ms) {
            pool = self.pool_of(node, head, ours, others).await;
            // Asked after the pool: what has left it meanwhile is in a block up to this one.
            newest = newest_of(self.access.api_of(node), Side::Full).await?;
        }
        let mut read = self.read_up_to(node, &newest, read, head).await?;
        let mut calls = RevocableCalls { calls: pool.calls, untold: pool.untold, unread: None };
        calls.calls.extend(read.tell(&head.solid));
        Ok(NodeTold { calls, read, others: pool.others })
    }

    async fn read_up_to(
        &self,
        node: NodeId,
        newest: &TronBlock,
        read: NewestRead,
        head: &TronHead,
    ) -> Result<NewestRead, ChainError> {
        for read in [read.on_another_fork(), read].into_iter().rev() {
            if read.leads_to(newest)
                && let Some(read) = self.read_newer(node, newest, read, head).await?
            {
                return Ok(read);
            }
        }
        // Too long ago.
        let anew = NewestRead::after(&head.solid);
        let unread = || Unanswered::Unread(newest.number).into();
        self.read_newer(node, newest, anew, head).await?.ok_or_else(unread)
    }

    /// Reads on up to `newest`; none if the blocks do not follow those that were read.
    async fn read_newer(
        &self,
        node: NodeId,
        newest: &TronBlock,
        mut read: NewestRead,
        head: &TronHead,
    ) -> Result<Option<NewestRead>, ChainError> {
        let (first, end) = (read.last.number.saturating_add(1), newest.number.saturating_add(1));
        let starts = successors(Some(first), |start| start.checked_add(RANGE));
        let asked = starts
            .take_while(|start| *start < end)
            .map(|start| start..end.min(start.saturating_add(RANGE)))
            .map(|range| self.reader.blocks(node, Side::Full, range));
        let mut ranges = stream::iter(asked).buffered(RANGES_AT_ONCE);
        while let Some(blocks) = ranges.next().await {
            if !self.reads_blocks(&mut read, &blocks.map_err(unread)?, head) {
                return Ok(None);
            }
        }
        Ok(Some(read))
    }

    /// Reads these blocks; returns true if they follow the blocks that were read.
    fn reads_blocks(&self, read: &mut NewestRead, blocks: &[ProvenBlock], head: &TronHead) -> bool {
        for proven in blocks {
            let Ok(last) = read.last.followed_by(&TronBlock::from(proven)) else { return false };
            for one in proven.transactions() {
                if let Some(call) = call_by(self.access.signer(), one.raw_data()) {
                    read.calls.push((last.number, self.revocable(one.id(), &call, head)));
                }
            }
            read.last = last;
        }
        true
    }

    fn revocable(&self, hash: B256, call: &OwnCall, head: &TronHead) -> RevocableCall {
        let bills = self.access.account.profiles.bills_through(call.to);
        let dead_after = self.horizon.at_start(head);
        let rival_until_ms = Some(call.expires_ms).filter(|ms| *ms > dead_after);
        RevocableCall { hash, bills, rival_until_ms }
    }

    /// Reads the transactions in this node's pool that are neither `ours` nor known to be another's.
    async fn pool_of(
        &self,
        node: NodeId,
        head: &TronHead,
        ours: &BTreeSet<B256>,
        others: &BTreeSet<B256>,
    ) -> PoolTold {
        let api = self.access.api_of(node);
        let Ok(waiting) = api.pool().await else { return PoolTold::UNTOLD };
        let news = |id: &B256| !ours.contains(id) && !others.contains(id);
        let mut pool = PoolTold::default();
        let unknown: Vec<B256> = waiting.into_iter().filter(news).collect();
        pool.untold = unknown.len() > ASKED;
        let asked_for = unknown.into_iter().take(ASKED);
        let asked_for = asked_for.map(async |id| (id, api.waiting(id).await));
        let mut told = stream::iter(asked_for).buffered(AT_ONCE);
        while let Some((id, told)) = told.next().await {
            match told {
                Err(_) => pool.untold = true,
                // It has left the pool: if that was for a block, the block is read.
                Ok(None) => {}
                Ok(Some(raw)) => match call_by(self.access.signer(), &raw) {
                    Some(call) if call.expires_ms > head.solid.time_ms => {
                        pool.calls.push(self.revocable(id, &call, head));
                    }
                    Some(_) | None => pool.others.push(id),
                },
            }
        }
        pool
    }
}

fn unread(MissingBlock(number): MissingBlock) -> ChainError {
    Unanswered::Unread(number).into()
}

/// The contents of a node's pool besides the transactions already known.
#[derive(Default)]
struct PoolTold {
    calls: Vec<RevocableCall>,
    others: Vec<B256>,
    untold: bool,
}

impl PoolTold {
    /// It is not told.
    const UNTOLD: Self = Self { calls: Vec::new(), others: Vec::new(), untold: true };
}
