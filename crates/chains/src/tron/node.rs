//! A TRON node: a chain, the pool's own view of it, and the switches a real node has.

use super::family::Tron;
use super::ledger::Ledger;
use super::tx::Tx;
use super::witness::{Election, Witness};
use crate::chain::{Block, Chain, Header, Orphans, Settings};
use crate::faults::Faults;
use crate::node::Node;
use crate::state::State;
use parking_lot::Mutex;
use revm::primitives::{Address, B256};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::execute;
use super::family::SLOT_MS;

/// A node drops what has waited longer (ms).
const PATIENCE_MS: u64 = 60_000;

/// The switches of a node.
#[expect(clippy::struct_excessive_bools, reason = "a node has that many independent switches")]
#[derive(Clone, Debug)]
pub struct Options {
    /// `vm.supportConstant`.
    pub constant_calls: bool,
    /// `vm.estimateEnergy`.
    pub estimate_energy: bool,
    /// `vm.maxEnergyLimitForConstant`.
    pub constant_energy: u64,
    /// `storage.transHistory.switch`: off, and infos are never found.
    pub history: bool,
    /// `node.rpc.trxCacheEnable`: a txid once seen is a duplicate for ever, even if it was refused.
    pub trx_cache: bool,
    /// `node.unsolidifiedBlockCheck`: refuse while more blocks than this wait to be solid.
    pub max_unsolidified: Option<u64>,
    /// `node.rpc.minEffectiveConnection` without peers: refuse everything.
    pub lonely: bool,
    /// More pending transactions than this, and the node is busy.
    pub max_pending: usize,
    /// Endpoints that are switched off, by their last path segment.
    pub disabled: BTreeSet<String>,
    /// Blocks are made by others, to whom this node's pool is not relayed: what is accepted waits, and is dropped after 60 s.
    pub isolated: bool,
    /// True if `eth_call` takes `input` beside `data`, as 4.8.2 does.
    pub input_alias: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            constant_calls: true,
            estimate_energy: true,
            constant_energy: 100_000_000,
            history: true,
            trx_cache: false,
            max_unsolidified: None,
            lonely: false,
            max_pending: 2000,
            disabled: BTreeSet::new(),
            isolated: false,
            input_alias: false,
        }
    }
}

/// By how many blocks at once the solid head moves.
const STRIDE: u64 = 3;

/// The handle on a TRON node. Clones are the same node.
#[derive(Clone, Debug)]
pub struct TronNode {
    node: Node<Tron>,
    options: Arc<Mutex<Options>>,
    session: Arc<Mutex<Session>>,
    pub(super) seen: Arc<Mutex<HashSet<B256>>>,
    /// Number of calls that were asked about.
    pub(super) asked: Arc<AtomicU64>,
    faults: Faults,
}

/// The head's state plus what the pool's transactions would do, run outside any block.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    key: (B256, u64),
    pub(super) state: Arc<State<Ledger>>,
    pub(super) rets: HashMap<B256, &'static str>,
}

impl TronNode {
    /// A node over a new chain whose genesis is at `genesis_ms` (ms), and whose solid head lags by `lag` blocks
    /// and moves by three at once, as a real node's moves late and far.
    pub fn new(tron: Tron, genesis_ms: u64, lag: u64, state: State<Ledger>) -> Self {
        let settings = Settings { slot_ms: SLOT_MS, lag, stride: STRIDE, ..Settings::default() };
        let genesis = Header { time_ms: genesis_ms, ..Header::default() };
        let chain = Chain::new(tron, settings, genesis, state);
        Self {
            node: Node::new(chain),
            options: Arc::default(),
            session: Arc::default(),
            seen: Arc::default(),
            asked: Arc::default(),
            faults: Faults::default(),
        }
    }

    /// Another node on the same chain, with the same switches: it has seen every block so far, and has a
    /// pool and failures of its own.
    #[must_use]
    pub fn split(&self) -> Self {
        Self {
            node: self.node.split(),
            options: Arc::new(Mutex::new(self.options())),
            session: Arc::default(),
            seen: Arc::new(Mutex::new(self.seen.lock().clone())),
            asked: Arc::default(),
            faults: Faults::default(),
        }
    }

    /// The chain under it, for looking and for rare changes.
    pub fn node(&self) -> &Node<Tron> {
        &self.node
    }

    /// Returns the faults that can be caused.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The switches as they are.
    pub fn options(&self) -> Options {
        self.options.lock().clone()
    }

    /// Changes switches.
    pub fn configure(&self, change: impl FnOnce(&mut Options)) {
        change(&mut self.options.lock());
    }

    /// Sets a chain parameter, as a vote would.
    pub fn set_param(&self, key: &str, value: i64) {
        self.node.chain().family_mut().params.set(key, value);
    }

    /// Elects witnesses, as votes would: they make the blocks after the next maintenance. Earlier elections that
    /// have not begun are forgotten.
    pub fn elect(&self, witnesses: Vec<Witness>) {
        let mut chain = self.node.chain();
        let head = chain.head().header.time_ms;
        let from_ms = chain.family().next_maintenance(&chain.head().header);
        let elections = &mut chain.family_mut().elections;
        elections.retain(|election| election.from_ms <= head);
        elections.push(Election { from_ms, witnesses });
    }

    /// Makes a contract dearer by `factor` ten-thousandths from now on.
    pub fn set_energy_factor(&self, contract: Address, factor: u64) {
        self.node.chain().edit(|state| {
            let ledger = state.ledger_mut();
            let cycle = ledger.cycle;
            let heat = &mut ledger.contract_mut(contract).heat;
            (heat.factor, heat.cycle, heat.usage) = (factor, cycle, 0);
        });
    }

    /// Makes one block, and drops what has waited for 60 s of block time.
    pub fn step(&self) -> Arc<Block<Tron>> {
        let mut chain = self.node.chain();
        let block = if self.options().isolated { chain.step_empty() } else { chain.step() };
        let now = block.header.time_ms;
        chain.pool_mut().retain(|pending| now < pending.since_ms + PATIENCE_MS);
        block
    }

    /// Makes `blocks` blocks.
    pub fn steps(&self, blocks: u64) {
        for _ in 0..blocks {
            self.step();
        }
    }

    /// Makes blocks until what is in the head now is solid.
    pub fn solidify(&self) {
        let target = self.node.chain().head().header.number;
        while self.node.chain().solid().header.number < target {
            self.step();
        }
    }

    /// Leaves `slots` slots empty before the next block.
    pub fn skip(&self, slots: u64) {
        self.node.skip(slots);
    }

    /// Takes the newest `depth` blocks away, never the solid one; returns them, oldest first.
    pub fn reorg(&self, depth: u64, orphans: Orphans) -> Vec<Arc<Block<Tron>>> {
        self.node.reorg(depth, orphans)
    }

    /// Kill -9 and start again: the pool is lost, and so are the blocks that were not solid.
    pub fn restart(&self) {
        let mut chain = self.node.chain();
        chain.pool_mut().clear();
        let depth = chain.head().header.number;
        chain.reorg(depth, Orphans::Lose);
        self.seen.lock().clear();
    }

    /// Makes a block `every` so often until [`Self::freeze`]. Must be called inside a tokio runtime.
    pub fn run(&self, every: Duration) {
        let this = self.clone();
        self.node.run_with(every, move || {
            this.step();
        });
    }

    /// Stops making blocks by itself.
    pub fn freeze(&self) {
        self.node.freeze();
    }

    /// The pool's view of the chain, brought up to date. A transaction that no longer fits leaves the pool.
    pub(super) fn session(&self, chain: &mut Chain<Tron>) -> Session {
        let mut session = self.session.lock();
        if session.key == (chain.head().id, chain.pool().changes())
            && session.key.0 == chain.head().id
        {
            return session.clone();
        }
        let mut state = State::clone(chain.head_state());
        let mut rets = HashMap::new();
        let waiting: Vec<Tx> = chain.pool().iter().map(|pending| pending.tx.clone()).collect();
        for tx in waiting {
            let mut after = state.clone();
            match execute::apply(&dry_run(chain), &mut after, &tx) {
                Ok(info) => {
                    rets.insert(tx.id, info.ret());
                    state = after;
                }
                Err(_) => {
                    chain.pool_mut().remove(&tx.id);
                }
            }
        }
        *session = Session {
            key: (chain.head().id, chain.pool().changes()),
            state: Arc::new(state),
            rets,
        };
        session.clone()
    }

    /// Puts a transaction into the pool, with what its dry run made of the pool's view.
    pub(super) fn pool(
        &self,
        chain: &mut Chain<Tron>,
        tx: Tx,
        state: State<Ledger>,
        ret: &'static str,
    ) {
        let id = tx.id;
        chain.submit(tx);
        let mut session = self.session.lock();
        session.key = (chain.head().id, chain.pool().changes());
        session.state = Arc::new(state);
        session.rets.insert(id, ret);
    }
}

/// The setting of the pool's dry run: no block, so time and number are 0.
pub(super) fn dry_run(chain: &Chain<Tron>) -> execute::Setting<'_> {
    chain.family().setting(&Header::default(), chain.head().header.time_ms, chain)
}
