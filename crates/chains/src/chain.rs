//! Blocks, two heads, a pool and forks. Knows nothing of money: that is the [`Family`]'s.
//!
//! The head is the newest block; the solid head (TRON: solidified, EVM: finalized) lags behind it, and no
//! reorganisation reaches it. One state is kept per block within [`Settings::keep`], so that calls and balances
//! can be asked for as of any of them.

mod block;
mod family;
mod pool;

pub use block::{Block, Commitments, Header, Included, Place};
pub use family::{Family, Site, Verdict};
pub use pool::{Pending, Pool};

use crate::clock::Clock;
use crate::state::{Hashes, State};
use revm::primitives::B256;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The settings of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The length of a slot (ms).
    pub slot_ms: u64,
    /// Number of blocks the solid head lags behind the head.
    pub lag: u64,
    /// The solid head moves when it can move by so many blocks at once.
    pub stride: u64,
    /// Number of states kept behind the head for reads by block, never fewer than `lag`.
    pub keep: u64,
    /// Depth, in blocks behind the head, at which a block is called safe (EVM `safe` tag).
    pub safe: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { slot_ms: 3000, lag: 19, stride: 1, keep: 256, safe: 4 }
    }
}

/// The fate of the transactions in blocks that a reorganisation removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphans {
    /// They wait in the pool again.
    Return,
    /// They are gone.
    Lose,
}

/// A chain of family `F`. A copy shares blocks and states with its original and costs little.
#[derive(Clone, Debug)]
pub struct Chain<F: Family> {
    family: F,
    settings: Settings,
    clock: Clock,
    blocks: Vec<Arc<Block<F>>>,
    states: HashMap<u64, Arc<State<F::Ledger>>>,
    places: HashMap<B256, (u64, usize)>,
    ids: HashMap<B256, u64>,
    pool: Pool<F::Tx>,
    solid: u64,
    forks: u64,
}

impl<F: Family> Chain<F> {
    /// A chain whose genesis block, made at `genesis.time_ms`, leaves `state`.
    pub fn new(
        family: F,
        settings: Settings,
        mut genesis: Header,
        state: State<F::Ledger>,
    ) -> Self {
        let id = family.seal(&mut genesis, &[]);
        let block = Arc::new(Block { header: genesis, id, body: vec![] });
        Self {
            family,
            settings,
            clock: Clock::new(settings.slot_ms),
            blocks: vec![block],
            states: HashMap::from([(0, Arc::new(state))]),
            places: HashMap::new(),
            ids: HashMap::from([(id, 0)]),
            pool: Pool::default(),
            solid: 0,
            forks: 0,
        }
    }

    /// The family's rules.
    pub fn family(&self) -> &F {
        &self.family
    }

    /// The family's rules, for changing chain parameters.
    pub fn family_mut(&mut self) -> &mut F {
        &mut self.family
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Changes how far the solid head lags (blocks). It never moves back.
    pub fn set_lag(&mut self, lag: u64) {
        self.settings.lag = lag;
        self.settle();
    }

    /// Changes by how many blocks at once the solid head moves at least: one or more.
    pub fn set_stride(&mut self, stride: u64) {
        self.settings.stride = stride.max(1);
        self.settle();
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The newest block.
    pub fn head(&self) -> &Arc<Block<F>> {
        self.blocks.last().expect("there is a genesis block")
    }

    /// The newest block that no reorganisation can remove.
    pub fn solid(&self) -> &Arc<Block<F>> {
        &self.blocks[at(self.solid)]
    }

    /// The newest block that is [`Settings::safe`] blocks deep, never older than the solid one.
    pub fn safe(&self) -> &Arc<Block<F>> {
        let number = self.head().header.number.saturating_sub(self.settings.safe);
        &self.blocks[at(number.max(self.solid))]
    }

    /// The block at a height.
    pub fn block(&self, number: u64) -> Option<&Arc<Block<F>>> {
        self.blocks.get(at(number))
    }

    /// The block with an id.
    pub fn block_by_id(&self, id: &B256) -> Option<&Arc<Block<F>>> {
        self.ids.get(id).and_then(|number| self.block(*number))
    }

    /// The state after the block at a height; None beyond the head and for states no longer kept.
    pub fn state(&self, number: u64) -> Option<&Arc<State<F::Ledger>>> {
        self.states.get(&number)
    }

    /// The state after the newest block.
    pub fn head_state(&self) -> &Arc<State<F::Ledger>> {
        &self.states[&self.head().header.number]
    }

    /// The state after the solid block.
    pub fn solid_state(&self) -> &Arc<State<F::Ledger>> {
        &self.states[&self.solid]
    }

    /// Writes the newest state outside any transaction. A reorganisation below the current head takes it back, and the solid
    /// state does not have it.
    pub fn edit(&mut self, change: impl FnOnce(&mut State<F::Ledger>)) {
        let number = self.head().header.number;
        let mut state = State::clone(self.head_state());
        change(&mut state);
        self.states.insert(number, Arc::new(state));
        self.pool.touch();
    }

    /// Writes every state that is kept, as if it had always been so: what a test finds when it begins.
    pub fn edit_all(&mut self, change: impl Fn(&mut State<F::Ledger>)) {
        let mut edited: Vec<[Arc<State<F::Ledger>>; 2]> = vec![];
        for state in self.states.values_mut() {
            let known = edited
                .iter()
                .find(|[old, _]| Arc::ptr_eq(old, state))
                .map(|[_, new]| Arc::clone(new));
            let new = known.unwrap_or_else(|| {
                let mut copy = State::clone(state);
                change(&mut copy);
                let new = Arc::new(copy);
                edited.push([Arc::clone(state), Arc::clone(&new)]);
                new
            });
            *state = new;
        }
        self.pool.touch();
    }

    /// Returns the place of a transaction on the chain, if it is there.
    pub fn find(&self, id: &B256) -> Option<Place<F>> {
        let (number, index) = *self.places.get(id)?;
        Some(Place { block: Arc::clone(self.block(number)?), index })
    }

    /// The pool.
    pub fn pool(&self) -> &Pool<F::Tx> {
        &self.pool
    }

    /// The pool, for dropping, replacing and clearing.
    pub fn pool_mut(&mut self) -> &mut Pool<F::Tx> {
        &mut self.pool
    }

    /// Puts a transaction into the pool. The face decides if the transaction may be there.
    pub fn submit(&mut self, tx: F::Tx) {
        let since_ms = self.head().header.time_ms;
        self.pool.push(Pending { id: F::id(&tx), tx, since_ms });
    }

    /// Leaves `slots` slots empty before the next block.
    pub fn miss(&mut self, slots: u64) {
        self.clock.miss(slots);
    }

    /// The header that the next block would have if no slot is missed, for calls "at pending".
    pub fn next_header(&self) -> Header {
        let head = self.head();
        self.family.open(head, self.clock.after(head.header.time_ms), self.forks)
    }

    /// Makes one block from the pool.
    pub fn step(&mut self) -> Arc<Block<F>> {
        let parent = Arc::clone(self.head());
        let time_ms = self.clock.tick(parent.header.time_ms);
        let mut header = self.family.open(&parent, time_ms, self.forks);
        let mut state = State::clone(self.head_state());
        let mut waiting = self.pool.take();
        let mut left = vec![];
        let mut body = vec![];
        let mut taken = HashSet::new();
        while let Some(index) = self.family.pick(&state, &waiting) {
            let pending = waiting.remove(index);
            if self.places.contains_key(&pending.id) || !taken.insert(pending.id) {
                continue; // delivered twice
            }
            let site = Site { header: &header, parent: &parent, body: &body, hashes: self };
            match self.family.include(site, &mut state, &pending.tx) {
                Verdict::Included(receipt) => body.push(Included { tx: pending.tx, receipt }),
                Verdict::Wait => left.push(pending),
                Verdict::Dropped => {}
            }
        }
        left.extend(waiting);
        self.pool.put_back(left);
        let id = self.family.seal(&mut header, &body);
        let unchanged = !self.family.close(&header, &mut state) && body.is_empty();
        let state = if unchanged { Arc::clone(self.head_state()) } else { Arc::new(state) };
        self.append(Arc::new(Block { header, id, body }), state)
    }

    /// Makes one block again that was made before: at `time_ms` (ms, a slot after the head), after `forks`
    /// reorganisations, of these transactions. Transactions waiting in the pool are left out.
    pub fn replay(&mut self, time_ms: u64, forks: u64, txs: Vec<F::Tx>) -> Arc<Block<F>> {
        self.forks = forks;
        let early_ms = time_ms.saturating_sub(self.next_header().time_ms);
        self.miss(early_ms / self.settings.slot_ms);
        let waiting = self.pool.take();
        for tx in txs {
            self.submit(tx);
        }
        let block = self.step();
        self.pool.clear();
        self.pool.put_back(waiting);
        block
    }

    /// Makes one block that knows nothing of this node's pool: somebody else made it.
    pub fn step_empty(&mut self) -> Arc<Block<F>> {
        let waiting = self.pool.take();
        let block = self.step();
        self.pool.put_back(waiting);
        block
    }

    /// Takes the newest `depth` blocks away, never the solid one, and returns them, oldest first. The blocks that
    /// follow are other blocks.
    pub fn reorg(&mut self, depth: u64, orphans: Orphans) -> Vec<Arc<Block<F>>> {
        let depth = depth.min(self.head().header.number - self.solid);
        let removed = self.blocks.split_off(self.blocks.len() - at(depth));
        self.forks += 1;
        for block in &removed {
            self.ids.remove(&block.id);
            self.states.remove(&block.header.number);
            for included in &block.body {
                self.places.remove(&F::id(&included.tx));
            }
        }
        if orphans == Orphans::Return {
            let since_ms = self.head().header.time_ms;
            let back = removed.iter().flat_map(|block| &block.body);
            let back = back.map(|included| {
                let tx = included.tx.clone();
                Pending { id: F::id(&tx), tx, since_ms }
            });
            self.pool.put_back(back.collect());
        }
        removed
    }

    /// Takes over the blocks of `other` up to a height, as a node does that hears of them late: its own
    /// blocks that differ go, and what is in a block leaves the pool. Nothing is run again.
    pub fn follow(&mut self, other: &Self, height: u64) {
        let height = height.min(other.head().header.number);
        let theirs = &other.blocks[..=at(height)];
        let mut common = self.blocks.len().min(theirs.len());
        while common > 0 && self.blocks[common - 1].id != theirs[common - 1].id {
            common -= 1;
        }
        if common == theirs.len() {
            return; // nothing new: an older height takes nothing back
        }
        for gone in self.blocks.split_off(common) {
            self.ids.remove(&gone.id);
            self.states.remove(&gone.header.number);
            for included in &gone.body {
                self.places.remove(&F::id(&included.tx));
            }
        }
        for block in &theirs[common..] {
            let known = other.state(block.header.number).or_else(|| other.state(height));
            let state = Arc::clone(known.unwrap_or_else(|| other.head_state()));
            self.append(Arc::clone(block), state);
        }
        self.forks = self.forks.max(other.forks);
        let places = &self.places;
        self.pool.retain(|pending| !places.contains_key(&pending.id));
    }

    fn append(&mut self, block: Arc<Block<F>>, state: Arc<State<F::Ledger>>) -> Arc<Block<F>> {
        let number = block.header.number;
        for (index, included) in block.body.iter().enumerate() {
            self.places.insert(F::id(&included.tx), (number, index));
        }
        self.ids.insert(block.id, number);
        self.blocks.push(Arc::clone(&block));
        self.states.insert(number, state);
        self.settle();
        block
    }

    fn settle(&mut self) {
        let head = self.head().header.number;
        let rule = self.family.solidified(&self.blocks);
        let solid = head.saturating_sub(self.settings.lag).min(rule);
        if solid >= self.solid.saturating_add(self.settings.stride) {
            self.solid = solid;
        }
        let kept = self.settings.keep.max(self.settings.lag);
        if let Some(old) = head.checked_sub(kept.saturating_add(1)).filter(|old| *old < self.solid)
        {
            self.states.remove(&old);
        }
    }
}

impl<F: Family> Hashes for Chain<F> {
    fn block_id(&self, number: u64) -> Option<B256> {
        self.block(number).map(|block| block.id)
    }
}

fn at(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
