//! The final blocks that nodes agreed on before. A block that was final once stays so: nodes that tell another one of
//! its height later are of another chain, or made one up, however many they are.

use super::finality_proof::FinalityProof;
use super::witnesses::{Need, NewestFinal, Witnesses};
use crate::Unready;
use ::node::{Fleet, JsonRpc, NodeId, NodeView, shared};
use alloy::primitives::B256;
use evm_node as node;
use evm_proofs::block_id::BlockId;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex as Turn;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

/// The interval at which nodes are asked for the block that was agreed.
const AGAIN: Duration = Duration::from_mins(10);

/// The same where something is about to be decided.
const BEFORE_A_DECISION: Duration = Duration::from_mins(1);

/// The time that a look waits for those who bear out final blocks.
const AT_ONCE: Duration = Duration::from_millis(500);

/// The chain of final blocks, as far as it was agreed on.
#[derive(Debug)]
pub(super) struct FinalChain {
    fleet: Arc<Fleet<JsonRpc>>,
    /// Those that have to bear out a final block as well.
    others: Arc<Others>,
    /// True while they are asked for their newest final blocks.
    asking: Arc<AtomicBool>,
    tasks: TaskTracker,
    state: Mutex<State>,
    /// Held during a check.
    checking: Turn<()>,
}

/// Those that have to bear out a final block beside the nodes, where they are configured.
#[derive(Debug)]
pub(super) struct Others {
    pub(super) witnesses: Option<Witnesses>,
    pub(super) proof: Option<FinalityProof>,
}

impl Others {
    /// Asks them for their newest final blocks, while nodes call `told` final.
    async fn ask(&self, told: u64, need: Need) {
        if let Some(witnesses) = &self.witnesses {
            witnesses.ask_for_newest().await;
        }
        if let Some(proof) = &self.proof {
            proof.ask_for_newest(told, need).await;
        }
    }
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
    pub(super) fn of(fleet: Arc<Fleet<JsonRpc>>, others: Others) -> Self {
        let others = Arc::new(others);
        let (asking, tasks) = (Arc::default(), TaskTracker::new());
        Self { fleet, others, asking, tasks, state: Mutex::default(), checking: Turn::default() }
    }

    /// Returns the witnesses as people see them.
    pub(super) fn witness_views(&self) -> Vec<NodeView> {
        let Others { witnesses, proof } = &*self.others;
        let witnesses = witnesses.as_ref().map(Witnesses::views).unwrap_or_default();
        witnesses.into_iter().chain(proof.as_ref().map(FinalityProof::view)).collect()
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

    /// Returns true if all of those bear out the block that have to do so beside the nodes.
    pub(super) async fn bears_out(&self, block: BlockId) -> bool {
        if let Some(witnesses) = &self.others.witnesses
            && witnesses.bear_out(block).await.is_err()
        {
            return false;
        }
        match &self.others.proof {
            Some(proof) => proof.bears_out(&self.fleet, block).await,
            None => true,
        }
    }

    /// Returns the newest final block that all of those bear out, while nodes call `told` final; none without any of
    /// them. One that does not answer at once is not waited for: its last word counts.
    pub(super) async fn borne_out(&self, told: u64, need: Need) -> Option<NewestFinal> {
        let Others { witnesses, proof } = &*self.others;
        if self.has_others() && !self.asking.swap(true, Ordering::AcqRel) {
            let (others, asking) = (Arc::clone(&self.others), Arc::clone(&self.asking));
            let asked = self.tasks.spawn(async move {
                others.ask(told, need).await;
                asking.store(false, Ordering::Release);
            });
            drop(timeout(AT_ONCE, asked).await);
        }
        let witnesses = witnesses.as_ref().map(Witnesses::newest);
        let proof = proof.as_ref().map(FinalityProof::newest);
        witnesses.into_iter().chain(proof).reduce(|one, other| NewestFinal {
            number: one.number.min(other.number),
            time: one.time.min(other.time),
        })
    }

    /// Returns true if others than the nodes have to bear out final blocks.
    pub(super) fn has_others(&self) -> bool {
        self.others.witnesses.is_some() || self.others.proof.is_some()
    }

    /// Returns why the last block that was to decide something is not borne out; none if it is.
    pub(super) fn objection(&self) -> Option<String> {
        let Others { witnesses, proof } = &*self.others;
        let by_witnesses = witnesses.as_ref().and_then(Witnesses::objection);
        by_witnesses.or_else(|| proof.as_ref().and_then(FinalityProof::objection))
    }

    /// Takes the newest final block for agreed if as many nodes hold the same as have to agree, and the witnesses too.
    async fn advance(&self, newest: u64, held: &[Held]) {
        let hashes: Vec<B256> = held.iter().filter_map(|held| held.at_newest).collect();
        let Some(hash) = shared(&hashes, self.fleet.needed()).copied() else { return };
        let block = BlockId { number: newest, hash };
        if let Some(witnesses) = &self.others.witnesses
            && witnesses.ask(block).await.is_err()
        {
            return;
        }
        if let Some(proof) = &self.others.proof
            && !proof.has_proven(&self.fleet, block).await
        {
            return;
        }
        self.trust(block);
    }
}
