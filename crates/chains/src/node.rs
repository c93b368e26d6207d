//! The handle on a chain that tests hold and HTTP faces serve: stepped by hand, or running by itself.

use crate::chain::{Block, Chain, Family, Orphans};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A node: one chain that many may ask and one at a time may change. Clones are the same node.
#[derive(Debug)]
pub struct Node<F: Family> {
    chain: Arc<Mutex<Chain<F>>>,
    running: Arc<Mutex<CancellationToken>>,
    tasks: TaskTracker,
}

impl<F: Family> Clone for Node<F> {
    fn clone(&self) -> Self {
        Self {
            chain: Arc::clone(&self.chain),
            running: Arc::clone(&self.running),
            tasks: self.tasks.clone(),
        }
    }
}

impl<F: Family> Node<F> {
    /// A node that makes no block until it is told to.
    pub fn new(chain: Chain<F>) -> Self {
        Self {
            chain: Arc::new(Mutex::new(chain)),
            running: Arc::new(Mutex::new(CancellationToken::new())),
            tasks: TaskTracker::new(),
        }
    }

    /// Another node on the same chain: it has seen every block so far, and has a pool of its own.
    #[must_use]
    pub fn split(&self) -> Self
    where
        F: Clone,
    {
        Self::new(self.chain().clone())
    }

    /// The chain, while the guard is held. Never held across an await.
    pub fn chain(&self) -> MutexGuard<'_, Chain<F>> {
        self.chain.lock()
    }

    /// Makes one block.
    pub fn step(&self) -> Arc<Block<F>> {
        self.chain().step()
    }

    /// Makes `blocks` blocks.
    pub fn steps(&self, blocks: u64) {
        let mut chain = self.chain();
        for _ in 0..blocks {
            chain.step();
        }
    }

    /// Makes blocks until what is in the head now is solid.
    pub fn solidify(&self) {
        let mut chain = self.chain();
        let target = chain.head().header.number;
        while chain.solid().header.number < target {
            chain.step();
        }
    }

    /// Leaves `slots` slots empty before the next block.
    pub fn skip(&self, slots: u64) {
        self.chain().miss(slots);
    }

    /// Takes the newest `depth` blocks away, never the solid one; returns them, oldest first.
    pub fn reorg(&self, depth: u64, orphans: Orphans) -> Vec<Arc<Block<F>>> {
        self.chain().reorg(depth, orphans)
    }

    /// From now on makes a block `every` so often, whatever the length of a slot, until [`Self::freeze`].
    /// Must be called inside a tokio runtime.
    pub fn run(&self, every: Duration) {
        let node = self.clone();
        self.run_with(every, move || {
            node.step();
        });
    }

    /// The same with another way of making a block.
    pub fn run_with(&self, every: Duration, step: impl Fn() + Send + 'static) {
        self.freeze();
        let stop = CancellationToken::new();
        *self.running.lock() = stop.clone();
        self.tasks.spawn(async move {
            let mut beat = tokio::time::interval(every);
            beat.tick().await; // the first one is at once
            while stop.run_until_cancelled(beat.tick()).await.is_some() {
                step();
            }
        });
    }

    /// Stops making blocks by itself: time stands still.
    pub fn freeze(&self) {
        self.running.lock().cancel();
    }
}
