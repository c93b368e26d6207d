//! Who is building a batch for which subscription right now. In memory only: after a crash nothing
//! is being built.

use crate::billing::{Entry, PlanId, SubscribeId, UserHash};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use tokio::sync::Notify;

/// A subscription is known by its number and by its plan and user: a request holds both names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Name {
    Number(SubscribeId),
    Record(PlanId, UserHash),
}

/// The subscriptions for which a batch is being built.
#[derive(Clone, Debug, Default)]
pub(super) struct Reservations {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    held: Mutex<HashSet<Name>>,
    freed: Notify,
}

/// The right to build a batch for some subscriptions, until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    names: Vec<Name>,
    shared: Arc<Shared>,
}

impl Reservations {
    /// Waits until nobody else builds for any of `entries`, then holds them all.
    pub(super) async fn hold(&self, entries: &[Entry]) -> Held {
        let names: Vec<Name> = entries
            .iter()
            .flat_map(|e| [Name::Number(e.subscribe), Name::Record(e.plan, e.user)])
            .collect();
        loop {
            let freed = self.shared.freed.notified();
            if self.take(&names) {
                return Held { names, shared: Arc::clone(&self.shared) };
            }
            freed.await;
        }
    }

    fn take(&self, names: &[Name]) -> bool {
        let mut held = self.shared.held.lock();
        let free = !names.iter().any(|name| held.contains(name));
        if free {
            held.extend(names);
        }
        free
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.shared.held.lock();
        for name in &self.names {
            held.remove(name);
        }
        drop(held);
        self.shared.freed.notify_waiters();
    }
}
