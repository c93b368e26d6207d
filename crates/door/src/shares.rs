//! Places for work: a fixed number for each name. Places that one name has taken are never missed by another.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The number of places that each name has taken.
#[derive(Debug)]
pub struct Shares {
    each: usize,
    taken: Mutex<HashMap<Arc<str>, usize>>,
}

/// A place. Given back when it is dropped.
#[derive(Debug)]
pub struct Share {
    of: Arc<Shares>,
    name: Arc<str>,
}

impl Shares {
    /// So many places for `each`.
    pub fn new(each: usize) -> Arc<Self> {
        Arc::new(Self { each, taken: Mutex::default() })
    }

    /// A place of `name`. `None`: it has taken all of its own.
    pub fn take(self: &Arc<Self>, name: &str) -> Option<Share> {
        let name: Arc<str> = name.into();
        let mut taken = self.taken.lock();
        let its = taken.entry(Arc::clone(&name)).or_default();
        if *its >= self.each {
            return None;
        }
        *its = its.saturating_add(1);
        drop(taken);
        Some(Share { of: Arc::clone(self), name })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.of.taken.lock();
        let Some(its) = taken.get_mut(&self.name) else { return };
        *its = its.saturating_sub(1);
        if *its == 0 {
            taken.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_has_taken_is_not_missed_by_another() {
        let shares = Shares::new(2);
        let viewers = [shares.take("viewer"), shares.take("viewer")];
        assert!(viewers.iter().all(Option::is_some));
        assert!(shares.take("viewer").is_none());
        let operators = shares.take("operator");
        assert!(operators.is_some());
        drop(viewers);
        assert!(shares.take("viewer").is_some(), "given back");
        drop(operators);
        assert!(shares.taken.lock().is_empty(), "nobody is remembered who has nothing");
    }
}
