//! The final blocks that nodes agreed on before. A block that was final once stays so: nodes that tell another one of
//! its height later are of another chain, or made one up, however many they are.

use crate::committees::Committees;
use crate::finality_proof::{By, FinalityProof};
use crate::seals::Seals;
use crate::witnesses::{Need, NewestFinal, Witnesses};
use ::node::{Dial, Fleet, FleetRules, JsonRpc, NodeId, NodeView, UnusableUrl, shared};
use alloy::primitives::B256;
use config::{EvmConfig, ProvenBy};
use evm_node as node;
use evm_proofs::block_id::BlockId;
use futures_util::future::join_all;
use host::clock::Clock;
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
pub struct FinalChain {
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
struct Others {
    witnesses: Option<Witnesses>,
    proof: Option<FinalityProof>,
}

/// Nodes hold another block at a height at which one was final before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "its nodes hold block {number} as {is}, and it was final as {was}: they are of another chain, or one of them \
     lies. Nothing is billed before they show the block that was final. If it is undone for good, look after what \
     was billed in such blocks, and set rewritten_until = {number}; a chain that was made anew needs a new journal"
)]
pub struct Rewritten {
    /// The height.
    pub number: u64,
    /// The hash of the block that was final.
    pub was: B256,
    /// The hash that they tell now.
    pub is: B256,
}

impl Others {
    /// The ways to them, as they are configured beside the nodes of `fleet`. Nothing is asked yet.
    fn dial(
        dial: &dyn Dial,
        config: &EvmConfig,
        clock: Clock,
        fleet: &Arc<Fleet<JsonRpc>>,
        rules: FleetRules,
    ) -> Result<Self, UnusableUrl> {
        let witnesses = Fleet::witnesses(dial, &config.witness_rpc, rules)?;
        let witnesses = Witnesses::of(witnesses, config.witness_rpc.len(), config.finality);
        let by = match &config.proven_by {
            None => return Ok(Self { witnesses, proof: None }),
            Some(ProvenBy::Committees(beacon)) => {
                let by = Committees::of(dial, beacon, clock, config.clock_tolerance);
                let key = "beacon.url".to_owned();
                By::Committees(Box::new(by.map_err(|problem| UnusableUrl { key, problem })?))
            }
            Some(ProvenBy::Seals(seals)) => {
                let seals = Seals::of(Arc::clone(fleet), seals, config.eip155_id, clock);
                By::Seals(Box::new(seals))
            }
        };
        Ok(Self { witnesses, proof: Some(FinalityProof::of(Arc::clone(fleet), by)) })
    }

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
    /// The chain whose blocks the nodes of `fleet` call final, and those who have to bear them out. Nothing was agreed
    /// yet, and nothing is asked.
    ///
    /// # Errors
    /// The first URL that cannot be used.
    pub fn dial(
        dial: &dyn Dial,
        config: &EvmConfig,
        clock: Clock,
        fleet: Arc<Fleet<JsonRpc>>,
        rules: FleetRules,
    ) -> Result<Self, UnusableUrl> {
        let others = Arc::new(Others::dial(dial, config, clock, &fleet, rules)?);
        let (asking, tasks, state) = (Arc::default(), TaskTracker::new(), Mutex::default());
        Ok(Self { fleet, others, asking, tasks, state, checking: Turn::default() })
    }

    /// Returns the witnesses as people see them.
    pub fn witness_views(&self) -> Vec<NodeView> {
        let Others { witnesses, proof } = &*self.others;
        let witnesses = witnesses.as_ref().map(Witnesses::views).unwrap_or_default();
        witnesses.into_iter().chain(proof.as_ref().map(FinalityProof::view)).collect()
    }

    /// Takes a block for final that was agreed on, as one is that decided something in an earlier process.
    pub fn trust(&self, block: BlockId) {
        let mut state = self.state.lock();
        if state.agreed.is_none_or(|agreed| agreed.number < block.number) {
            state.agreed = Some(block);
        }
    }

    /// Checks, when that is due, that nodes which call `newest` final still hold the agreed block.
    ///
    /// # Errors
    /// [`Rewritten`] while they hold another.
    pub async fn follow(&self, newest: u64) -> Result<(), Rewritten> {
        self.state.lock().told = newest;
        self.check(AGAIN).await
    }

    /// The same before something is decided by a final block.
    ///
    /// # Errors
    /// [`Rewritten`], likewise.
    pub async fn before_a_decision(&self) -> Result<(), Rewritten> {
        self.check(BEFORE_A_DECISION).await
    }

    async fn check(&self, again: Duration) -> Result<(), Rewritten> {
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
    fn judge(&self, agreed: BlockId, held: &[Held]) -> Result<(), Rewritten> {
        let told = held.iter().filter_map(|held| Some((held.node, held.at_agreed?)));
        let (bear_out, others): (Vec<_>, Vec<_>) = told.partition(|(_, hash)| *hash == agreed.hash);
        let Some((_, is)) = others.first().copied() else { return Ok(()) };
        if bear_out.len() < self.fleet.needed() {
            return Err(Rewritten { number: agreed.number, was: agreed.hash, is });
        }
        for (id, hash) in others {
            let lie =
                format!("about block {}, which was final before: now it is {hash}", agreed.number);
            self.fleet.caught_lying(id, &lie);
        }
        Ok(())
    }

    /// Returns true if all of those bear out the block that have to do so beside the nodes.
    pub async fn bears_out(&self, block: BlockId) -> bool {
        if let Some(witnesses) = &self.others.witnesses
            && witnesses.bear_out(block).await.is_err()
        {
            return false;
        }
        match &self.others.proof {
            Some(proof) => proof.bears_out(block).await,
            None => true,
        }
    }

    /// Returns the newest final block that all of those bear out, while nodes call `told` final; none without any of
    /// them. One that does not answer at once is not waited for: its last word counts.
    pub async fn borne_out(&self, told: u64, need: Need) -> Option<NewestFinal> {
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
    pub fn has_others(&self) -> bool {
        self.others.witnesses.is_some() || self.others.proof.is_some()
    }

    /// Returns why the last block that was to decide something is not borne out; none if it is.
    pub fn objection(&self) -> Option<String> {
        let Others { witnesses, proof } = &*self.others;
        let by_witnesses = witnesses.as_ref().and_then(Witnesses::objection);
        by_witnesses.or_else(|| proof.as_ref().and_then(FinalityProof::objection))
    }

    /// Returns true if all of them bear out a block by which nothing is decided.
    pub async fn knows(&self, block: BlockId) -> bool {
        if let Some(witnesses) = &self.others.witnesses
            && witnesses.ask(block).await.is_err()
        {
            return false;
        }
        match &self.others.proof {
            Some(proof) => proof.has_proven(block).await,
            None => true,
        }
    }

    /// Takes the newest final block for agreed if as many nodes hold the same as have to agree, and the witnesses too.
    async fn advance(&self, newest: u64, held: &[Held]) {
        let hashes: Vec<B256> = held.iter().filter_map(|held| held.at_newest).collect();
        let Some(hash) = shared(&hashes, self.fleet.needed()).copied() else { return };
        let block = BlockId { number: newest, hash };
        if !self.knows(block).await {
            return;
        }
        self.trust(block);
    }
}
