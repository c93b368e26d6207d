//! Transactions that wait for a block, in the order in which they came.

use revm::primitives::B256;

/// A transaction that waits.
#[derive(Clone, Debug)]
pub struct Pending<T> {
    /// Its id.
    pub id: B256,
    /// The transaction.
    pub tx: T,
    /// The head's time (ms) when it came.
    pub since_ms: u64,
}

/// The pool of one node.
#[derive(Clone, Debug)]
pub struct Pool<T> {
    waiting: Vec<Pending<T>>,
    changes: u64,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { waiting: vec![], changes: 0 }
    }
}

impl<T> Pool<T> {
    /// Returns how often the pool has changed: tells if something computed from the pool is out of date.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns how many transactions wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns true if no transaction waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The waiting transactions, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Pending<T>> {
        self.waiting.iter()
    }

    /// The waiting transaction with an id.
    pub fn get(&self, id: &B256) -> Option<&Pending<T>> {
        self.waiting.iter().find(|pending| pending.id == *id)
    }

    /// Forgets one transaction; false if it was not there.
    pub fn remove(&mut self, id: &B256) -> bool {
        let before = self.len();
        self.retain(|pending| pending.id != *id);
        self.len() < before
    }

    /// Forgets all that `keep` does not hold on to.
    pub fn retain(&mut self, keep: impl FnMut(&Pending<T>) -> bool) {
        self.changes += 1;
        self.waiting.retain(keep);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.changes += 1;
        self.waiting.clear();
    }

    pub(super) fn touch(&mut self) {
        self.changes += 1;
    }

    pub(super) fn push(&mut self, pending: Pending<T>) {
        self.changes += 1;
        self.waiting.push(pending);
    }

    pub(super) fn take(&mut self) -> Vec<Pending<T>> {
        self.changes += 1;
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn put_back(&mut self, pending: Vec<Pending<T>>) {
        self.changes += 1;
        self.waiting.splice(0..0, pending);
    }
}
