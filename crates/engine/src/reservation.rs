//! The subscriptions for which a batch is being built right now, and their builders. In memory only: after a crash
//! nothing is being built.

use billing::{Admitted, PlanId, SubscribeId, UserHash};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use tokio::sync::Notify;

/// A subscription is known by its number and by its plan and user: a request holds both names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SubscriptionName {
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
    held: Mutex<HashSet<SubscriptionName>>,
    freed: Notify,
}

/// The right to build a batch for some subscriptions, until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    names: Vec<SubscriptionName>,
    shared: Arc<Shared>,
}

impl Reservations {
    /// Waits until nobody else builds for any of `entries`, then holds them all.
    pub(super) async fn hold(&self, entries: &[Admitted]) -> Held {
        let names: Vec<SubscriptionName> = entries
            .iter()
            .flat_map(|e| {
                [SubscriptionName::Number(e.subscribe), SubscriptionName::Record(e.plan, e.user)]
            })
            .collect();
        loop {
            let freed = self.shared.freed.notified();
            if self.take(&names) {
                return Held { names, shared: Arc::clone(&self.shared) };
            }
            freed.await;
        }
    }

    fn take(&self, names: &[SubscriptionName]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use billing::{Entry, Scalar, Values};
    use futures_util::FutureExt as _;
    use std::collections::BTreeMap;

    fn entry(subscribe: u8, user: u8) -> Admitted {
        Entry::parse(BTreeMap::from([
            ("subscribeId".into(), Scalar::Number(subscribe.to_string().into())),
            ("planId".into(), Scalar::Number("3".into())),
            ("userHash".into(), Scalar::Text(hex::encode([user; 32]).into())),
        ]))
        .unwrap()
        .admitted(Values::new())
    }

    #[tokio::test]
    async fn whoever_wants_what_is_being_billed_waits_and_nobody_else_does() {
        let reservations = Reservations::default();
        let held = reservations.hold(&[entry(1, 1), entry(2, 2)]).await;
        for (what, entries) in [
            ("the same", vec![entry(1, 1)]),
            ("the subscription", vec![entry(1, 9)]),
            ("the user", vec![entry(9, 2)]),
            ("one of several", vec![entry(8, 8), entry(2, 2)]),
        ] {
            assert!(reservations.hold(&entries).now_or_never().is_none(), "{what}");
        }
        assert!(reservations.hold(&[entry(8, 8)]).now_or_never().is_some(), "who waits holds none");
        let wanted = [entry(2, 2)];
        let mut waiting = std::pin::pin!(reservations.hold(&wanted));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(held);
        assert!(waiting.now_or_never().is_some(), "and is woken when it is free");
    }
}
