//! Permits for work: a fixed number for each name, which no other name can take.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The number of permits that each name has taken.
#[derive(Debug)]
pub struct Permits {
    each: usize,
    taken: Mutex<HashMap<Arc<str>, usize>>,
}

/// A permit; given back when it is dropped.
#[derive(Debug)]
pub struct Permit {
    of: Arc<Permits>,
    name: Arc<str>,
}

impl Permits {
    /// So many permits for `each` name.
    pub fn new(each: usize) -> Arc<Self> {
        Arc::new(Self { each, taken: Mutex::default() })
    }

    /// A permit of `name`. `None`: it has taken all of its own.
    pub fn take(self: &Arc<Self>, name: &str) -> Option<Permit> {
        let name: Arc<str> = name.into();
        let mut taken = self.taken.lock();
        let its = taken.entry(Arc::clone(&name)).or_default();
        if *its >= self.each {
            return None;
        }
        *its = its.saturating_add(1);
        drop(taken);
        Some(Permit { of: Arc::clone(self), name })
    }
}

impl Drop for Permit {
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
        let permits = Permits::new(2);
        let viewers = [permits.take("viewer"), permits.take("viewer")];
        assert!(viewers.iter().all(Option::is_some));
        assert!(permits.take("viewer").is_none());
        let operators = permits.take("operator");
        assert!(operators.is_some());
        drop(viewers);
        assert!(permits.take("viewer").is_some(), "given back");
        drop(operators);
        assert!(permits.taken.lock().is_empty(), "nobody is remembered who has nothing");
    }
}
