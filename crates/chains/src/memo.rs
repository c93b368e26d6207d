//! Signatures are made and recovered once: both depend on nothing but their arguments, and a world that
//! is played again and again asks for the same ones.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;

/// So many results are kept.
const MOST: usize = 20_000;

/// The results of a function, by its arguments.
#[derive(Debug)]
pub(crate) struct Memo<K, V>(RefCell<HashMap<K, V>>);

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    /// Nothing is known yet.
    pub(crate) fn new() -> Self {
        Self(RefCell::new(HashMap::new()))
    }

    /// Returns the result of `make` for `key`, from memory if it is known. When memory is full, all results are
    /// forgotten.
    pub(crate) fn get(&self, key: K, make: impl FnOnce(&K) -> V) -> V {
        if let Some(known) = self.0.borrow().get(&key) {
            return known.clone();
        }
        let made = make(&key);
        let mut known = self.0.borrow_mut();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, made.clone());
        made
    }
}
