//! How often a lane is looked at. While nothing is open that is seldom, since every look is paid for; whoever
//! wants something signed has the chain looked at first, so that nothing is signed by what an idle lane knew. Where
//! providers may be asked so much in a day and no more, looks at open batches keep as far apart as that lasts.

use super::lane::Lane;
use crate::billing::{Closed, Gate};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How often a lane is looked at of which there is nothing to tell. Somebody may still use its key: what
/// that did is known before nodes forget the states that tell of it.
const NOTHING_TO_TELL: Duration = Duration::from_mins(2);

/// When a look ended: by what runs while the machine does, and by the clock (Unix ms), which goes on while the
/// machine sleeps.
#[derive(Clone, Copy, Debug)]
struct LastLook {
    at: Instant,
    at_ms: i64,
}

/// The rest of a lane between two looks.
#[derive(Debug, Default)]
pub(super) struct BetweenLooks {
    /// The look before the rest, until the next one has ended; none while the lane is at work.
    since: Mutex<Option<LastLook>>,
    /// Whether somebody waits for the next look.
    wanted: AtomicBool,
    wake: Notify,
    looked: Notify,
}

impl BetweenLooks {
    /// There may be something to look at: how long to rest is judged anew.
    pub(super) fn stir(&self) {
        self.wake.notify_waiters();
    }
}

impl Lane {
    /// Waits until the lane is to be looked at again, `every` so often while it is at work.
    pub(super) async fn rests_for(&self, every: Duration) {
        let looked = LastLook { at: Instant::now(), at_ms: self.journal.now_ms() };
        loop {
            // Made before anything is judged: what changes afterwards wakes it.
            let woken = self.rest.wake.notified();
            let pause = self.pause(every);
            if pause > every {
                *self.rest.since.lock() = Some(looked);
            }
            let Some(until) = looked.at.checked_add(pause) else { return woken.await };
            tokio::select! {
                () = sleep_until(until) => return,
                () = woken => {}
            }
        }
    }

    /// The look has ended, well or not.
    pub(super) fn has_been_looked_at(&self) {
        *self.rest.since.lock() = None;
        self.rest.wanted.store(false, Ordering::Relaxed);
        self.rest.looked.notify_waiters();
    }

    /// Waits for a look where the last one is longer ago than it ever is while the lane is at work.
    pub(super) async fn wakes(&self) {
        let looked = self.rest.looked.notified();
        let every = self.chain.facts().poll_interval;
        let stale = |since: LastLook| {
            let passed_ms = self.journal.now_ms().abs_diff(since.at_ms);
            since.at.elapsed() >= every || u128::from(passed_ms) >= every.as_millis()
        };
        let since = *self.rest.since.lock();
        if since.is_some_and(stale) {
            self.rest.wanted.store(true, Ordering::Relaxed);
            self.rest.stir();
            looked.await;
        }
    }

    fn pause(&self, every: Duration) -> Duration {
        let idle = self.chain.facts().idle_poll_interval;
        if self.rest.wanted.load(Ordering::Relaxed) {
            return every;
        }
        if !self.is_idle() {
            return every.max(self.chain.spread().min(idle));
        }
        let seldom = if self.rests() { NOTHING_TO_TELL } else { Duration::ZERO };
        let idle = if self.is_alone() { idle } else { Duration::ZERO };
        every.max(idle).max(seldom)
    }

    /// Whether nothing is open and nothing remains to be learnt or waited for. While the chain cannot be
    /// followed, or the lane is closed, that is looked at as often as ever.
    fn is_idle(&self) -> bool {
        let settled = match self.gate() {
            Gate::Open | Gate::Closed(Closed::OnlyFollows { .. }) => true,
            Gate::Opening | Gate::Closed(_) => false,
        };
        let watched = self.watched.load(Ordering::Relaxed) || self.journal.left_ms().is_none();
        settled && watched && self.undecided() == 0 && self.follows_well()
    }
}
