//! The account's acts that are not irrevocable yet, as each node tells by itself: calls in its newest blocks, and
//! in its pool. One node that tells of a call is enough: what one node alone has may land. The signature of a call is
//! not checked, since other keys may sign for an account, so a node can make a call up.

use super::access::{Access, LONGEST_LIFE_MS};
use super::foreign_calls::{OwnCall, call_by};
use super::head::TronHead;
use super::head_watch::HeadWatch;
use super::horizon::SigningHorizon;
use super::newest_read::NewestRead;
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
use tron_node::{BlockReader, MissingBlock, Side, TronBlock};
use tron_primitives::block::ProvenBlock;

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
    /// Until when calls are waited for that say that they could land for longer than any can, Unix ms of blocks.
    longest: BTreeMap<B256, u64>,
}

impl NewestBlocks {
    /// Returns the call with a bound to how long it is waited for. No block holds a transaction that could land longer
    /// than [`LONGEST_LIFE_MS`] after the block before, so one that says so is made up, or can land only later: its
    /// bound is set when it is seen first, and gives way to its own time once it could land.
    fn bounded(&mut self, call: RevocableCall, head: &TronHead) -> RevocableCall {
        let longest_ms = head.newest.time_ms.saturating_add(LONGEST_LIFE_MS);
        let bound = |until_ms: u64| {
            if until_ms <= longest_ms {
                return until_ms;
            }
            *self.longest.entry(call.hash).or_insert(longest_ms)
        };
        RevocableCall { rival_until_ms: call.rival_until_ms.map(bound), ..call }
    }

    /// Forgets what is too much.
    fn forget_some(&mut self) {
        while self.others.len() > KEPT {
            self.others.pop_first();
        }
        while self.longest.len() > KEPT {
            self.longest.pop_first();
        }
    }
}

/// The answers of one node.
struct NodeTold {
    pool: PoolTold,
    /// The calls in its newest blocks.
    in_blocks: Vec<RevocableCall>,
    read: NewestRead,
    /// The reason why it did not tell of all its blocks; none if it did.
    unread: Option<ChainError>,
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

    /// Collects the calls that any fit node tells of. Pools are asked for all but `ours`; if `ours` is none, pools are
    /// not asked. That there is nothing else is an absence: fewer nodes than have to agree do not tell it.
    pub(super) async fn calls(
        &self,
        ours: Option<&BTreeSet<B256>>,
    ) -> Result<RevocableCalls, ChainError> {
        let head = self.head.current().await?;
        // From the first look on it is known what was signed before this process began.
        self.horizon.at_start(&head);
        let mut state = self.newest.lock().await;
        let NewestBlocks { read, others, .. } = &*state;
        let asked = self.access.fleet.fit().into_iter();
        let asked = asked.map(async |node| {
            let read = read.get(&node).cloned();
            (node, self.told_by(node, &head, read, ours, others).await)
        });
        let told = join_all(asked).await;
        let (mut all, mut tellers, mut failure) = (RevocableCalls::default(), 0_usize, None);
        for (node, NodeTold { pool, in_blocks, read, unread }) in told {
            // The calls that a node tells of count, also if these are not all.
            all.calls.extend(in_blocks.into_iter().map(|call| state.bounded(call, &head)));
            let pooled = pool.calls.into_iter().map(|call| state.bounded(call, &head));
            let lands = |call: &RevocableCall| {
                call.rival_until_ms.is_none_or(|until_ms| until_ms > head.solid.time_ms)
            };
            all.calls.extend(pooled.filter(lands));
            if let Some(error) = unread {
                failure.get_or_insert(error);
            } else {
                all.untold |= pool.untold;
                tellers = tellers.saturating_add(1);
            }
            state.read.insert(node, read);
            state.others.extend(pool.others);
        }
        state.forget_some();
        if tellers < self.access.fleet.needed() {
            all.unread = Some(failure.unwrap_or_else(|| Unanswered::TooFewNodes.into()));
        }
        Ok(all)
    }

    /// Reads one node on from `read`. Transactions of its pool that are `ours`, or known to be others', are not asked
    /// for.
    async fn told_by(
        &self,
        node: NodeId,
        head: &TronHead,
        read: Option<NewestRead>,
        ours: Option<&BTreeSet<B256>>,
        others: &BTreeSet<B256>,
    ) -> NodeTold {
        let mut read = read.unwrap_or_else(|| NewestRead::after(&head.solid));
        let Some(TronLook { newest, used_ms, .. }) = head.look_of(node) else {
            let unread = Some(Unanswered::Unread(head.newest.number).into());
            let in_blocks = read.tell_known(&head.solid);
            return NodeTold { pool: PoolTold::default(), in_blocks, read, unread };
        };
        if let Some(in_blocks) = read.tell_all(*used_ms, &head.solid) {
            return NodeTold { pool: PoolTold::default(), in_blocks, read, unread: None };
        }
        let mut pool = PoolTold::default();
        let mut shown = Ok(newest.clone());
        if let Some(ours) = ours.filter(|_| *used_ms >= newest.time_ms) {
            pool = self.pool_of(node, head, ours, others).await;
            // Asked after the pool: what has left it meanwhile is in a block up to this one.
            shown = newest_of(self.access.api_of(node), Side::Full).await;
        }
        let done = match shown {
            Ok(newest) => self.read_up_to(node, &newest, &mut read, head).await,
            Err(error) => Err(error),
        };
        let in_blocks = if done.is_ok() {
            read.ended(*used_ms);
            read.tell(&head.solid)
        } else {
            read.tell_known(&head.solid)
        };
        NodeTold { pool, in_blocks, read, unread: done.err() }
    }

    /// Reads on up to `newest`. If a block is missing, what was read before that block stays read. One that no answer
    /// proves is passed over once nobody can undo it: it decides nothing anywhere.
    async fn read_up_to(
        &self,
        node: NodeId,
        newest: &TronBlock,
        read: &mut NewestRead,
        head: &TronHead,
    ) -> Result<(), ChainError> {
        for mut from in [read.clone(), read.on_another_fork()] {
            if !from.leads_to(newest) {
                continue;
            }
            match self.read_newer(node, newest, &mut from, head).await {
                Ok(false) => {}
                Ok(true) => {
                    *read = from;
                    return Ok(());
                }
                Err(missing) => {
                    *read = from;
                    let mut after = match missing {
                        MissingBlock::Unproven(number) if number <= head.solid.number => {
                            read.passed_over(&head.solid)
                        }
                        MissingBlock::Unproven(_) | MissingBlock::Untold(_) => {
                            return Err(unread(missing));
                        }
                    };
                    if self.read_newer(node, newest, &mut after, head).await.map_err(unread)? {
                        *read = after;
                        return Ok(());
                    }
                    return Err(unread(missing));
                }
            }
        }
        // Too long ago.
        let mut anew = NewestRead::after(&head.solid);
        if self.read_newer(node, newest, &mut anew, head).await.map_err(unread)? {
            *read = anew;
            return Ok(());
        }
        Err(Unanswered::Unread(newest.number).into())
    }

    /// Reads on up to `newest`; returns false if the blocks do not follow those that were read.
    async fn read_newer(
        &self,
        node: NodeId,
        newest: &TronBlock,
        read: &mut NewestRead,
        head: &TronHead,
    ) -> Result<bool, MissingBlock> {
        let (first, end) = (read.last.number.saturating_add(1), newest.number.saturating_add(1));
        let starts = successors(Some(first), |start| start.checked_add(RANGE));
        let asked = starts
            .take_while(|start| *start < end)
            .map(|start| start..end.min(start.saturating_add(RANGE)))
            .map(|range| self.reader.blocks(node, Side::Full, range));
        let mut ranges = stream::iter(asked).buffered(RANGES_AT_ONCE);
        while let Some(blocks) = ranges.next().await {
            if !self.reads_blocks(read, &blocks?, head) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads these blocks; returns true if they follow the blocks that were read.
    fn reads_blocks(&self, read: &mut NewestRead, blocks: &[ProvenBlock], head: &TronHead) -> bool {
        for proven in blocks {
            let Ok(last) = read.last.followed_by(&TronBlock::from(proven)) else { return false };
            for one in proven.transactions() {
                if let Some(call) = call_by(self.access.signer(), one.raw_data()) {
                    read.found(last.number, self.revocable(one.id(), &call, head));
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

fn unread(missing: MissingBlock) -> ChainError {
    let (MissingBlock::Untold(number) | MissingBlock::Unproven(number)) = missing;
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
