//! The final blocks that nodes agreed on before. A block that was final once stays so: nodes that tell another one of
//! its height later are of another chain, or made one up, however many they are.

use super::witnesses::Witnesses;
use crate::Unready;
use ::node::{Fleet, JsonRpc, NodeId, NodeView, shared};
use alloy::primitives::B256;
use evm_node as node;
use evm_proofs::walk::BlockId;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex as Turn;
use tokio::time::Instant;

/// The interval at which nodes are asked for the block that was agreed.
const AGAIN: Duration = Duration::from_mins(10);

/// The same where something is about to be decided.
const BEFORE_A_DECISION: Duration = Duration::from_mins(1);

/// The chain of final blocks, as far as it was agreed on.
#[derive(Debug)]
pub(super) struct FinalChain {
    fleet: Arc<Fleet<JsonRpc>>,
    /// The endpoints that have to bear out a final block as well, if any are configured.
    pub(super) witnesses: Option<Witnesses>,
    state: Mutex<State>,
    /// Held during a check.
    checking: Turn<()>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The newest final block that was agreed on, by this process or by one before it.
    agreed: Option<BlockId>,
    /// The newest block that nodes call final.
    told: u64,
    /// When nodes were last asked for the agreed block; none before, and after they showed another.
    asked: Option<Instant>,
}

/// The blocks that a node holds at two heights.
struct Held {
    node: NodeId,
    /// At the height of the agreed block; none if that is not told, or none was agreed.
    at_agreed: Option<B256>,
    /// At the height of the newest final one.
    at_newest: Option<B256>,
}

impl FinalChain {
    /// Nothing was agreed yet.
    pub(super) fn of(fleet: Arc<Fleet<JsonRpc>>, witnesses: Option<Witnesses>) -> Self {
        Self { fleet, witnesses, state: Mutex::default(), checking: Turn::default() }
    }

    /// Returns the witnesses as people see them.
    pub(super) fn witness_views(&self) -> Vec<NodeView> {
        self.witnesses.as_ref().map(Witnesses::views).unwrap_or_default()
    }

    /// Takes a block for final that was agreed on, as one is that decided something in an earlier process.
    pub(super) fn trust(&self, block: BlockId) {
        let mut state = self.state.lock();
        if state.agreed.is_none_or(|agreed| agreed.number < block.number) {
            state.agreed = Some(block);
        }
    }

    /// Checks, when that is due, that nodes which call `newest` final still hold the agreed block.
    ///
    /// # Errors
    /// [`Unready::Rewritten`] while they hold another.
    pub(super) async fn follow(&self, newest: u64) -> Result<(), Unready> {
        self.state.lock().told = newest;
        self.check(AGAIN).await
    }

    /// The same before something is decided by a final block.
    pub(super) async fn before_a_decision(&self) -> Result<(), Unready> {
        self.check(BEFORE_A_DECISION).await
    }

    async fn check(&self, again: Duration) -> Result<(), Unready> {
        let is_due = || self.state.lock().asked.is_none_or(|asked| asked.elapsed() >= again);
        if !is_due() {
            return Ok(());
        }
        let _turn = self.checking.lock().await;
        if !is_due() {
            return Ok(());
        }
        let State { agreed, told: newest, .. } = *self.state.lock();
        let asked = self.fleet.fit().into_iter().map(|id| self.held(id, agreed, newest));
        let held = join_all(asked).await;
        if let Some(agreed) = agreed {
            self.judge(agreed, &held).inspect_err(|_| self.state.lock().asked = None)?;
        }
        self.state.lock().asked = Some(Instant::now());
        self.advance(newest, &held).await;
        Ok(())
    }

    async fn held(&self, id: NodeId, agreed: Option<BlockId>, newest: u64) -> Held {
        let at = async |number: Option<u64>| {
            let number = number?;
            let header =
                node::header(self.fleet.only(id), &node::quantity(number)).await.ok()??;
            (header.number() == number).then_some(header.hash)
        };
        // Nothing is final before the first block.
        let newest = (newest > 0).then_some(newest);
        let (at_agreed, at_newest) = tokio::join!(at(agreed.map(|block| block.number)), at(newest));
        Held { node: id, at_agreed, at_newest }
    }

    /// Judges what nodes hold at the height of the agreed block. One that holds another lied, if as many bear out the
    /// agreed block as have to agree. One that does not tell says nothing: whoever could make up a later block would
    /// tell this one truly.
    fn judge(&self, agreed: BlockId, held: &[Held]) -> Result<(), Unready> {
        let told = held.iter().filter_map(|held| Some((held.node, held.at_agreed?)));
        let (bear_out, others): (Vec<_>, Vec<_>) = told.partition(|(_, hash)| *hash == agreed.hash);
        let Some((_, is)) = others.first().copied() else { return Ok(()) };
        if bear_out.len() < self.fleet.needed() {
            return Err(Unready::Rewritten { number: agreed.number, was: agreed.hash, is });
        }
        for (id, hash) in others {
            let lie =
                format!("about block {}, which was final before: now it is {hash}", agreed.number);
            self.fleet.caught_lying(id, &lie);
        }
        Ok(())
    }

    /// Takes the newest final block for agreed if as many nodes hold the same as have to agree, and the witnesses too.
    async fn advance(&self, newest: u64, held: &[Held]) {
        let hashes: Vec<B256> = held.iter().filter_map(|held| held.at_newest).collect();
        let Some(hash) = shared(&hashes, self.fleet.needed()).copied() else { return };
        let block = BlockId { number: newest, hash };
        if let Some(witnesses) = &self.witnesses
            && witnesses.ask(block).await.is_err()
        {
            return;
        }
        self.trust(block);
    }
}
