//! The times at which a lane looks at its chain. While nothing is open, looks are seldom, since every look is paid
//! for; a request for a signature has the chain looked at first, so that nothing is signed by what an idle lane
//! knew. If providers take only so many requests a day, looks at open batches keep far enough apart for that to
//! last.

use super::lane::Lane;
use billing::{Closed, Gate};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The time between looks at a lane of which there is nothing to tell. Somebody may still use its key: that use is
/// known before nodes forget the states that tell of it.
const NOTHING_TO_TELL: Duration = Duration::from_mins(2);

/// When a look ended: by what runs while the machine does, and by the clock (Unix ms), which goes on while the
/// machine sleeps.
#[derive(Clone, Copy, Debug)]
struct LastLook {
    at: Instant,
    at_ms: i64,
}

/// When something was last to be signed.
#[derive(Clone, Copy, Debug, Default)]
struct RequestTimes {
    last: Option<Instant>,
    /// The last that came soon after another.
    followed: Option<Instant>,
}

/// The extent of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Everything by which something may be signed.
    Whole,
    /// The news of open batches, and of others who use the account.
    News,
}

/// The rest of a lane between two looks.
#[derive(Debug, Default)]
pub(super) struct BetweenLooks {
    /// The last whole look; none before the first.
    whole: Mutex<Option<LastLook>>,
    /// The same until the next one has ended, where that may be longer ago than it ever is while requests come;
    /// none otherwise.
    since: Mutex<Option<LastLook>>,
    /// True if somebody waits for the next whole look.
    wanted: AtomicBool,
    requests: Mutex<RequestTimes>,
    wake: Notify,
    looked: Notify,
}

impl RequestTimes {
    fn another(&mut self, soon: Duration) {
        let now = Some(Instant::now());
        if self.last.is_some_and(|last| last.elapsed() < soon) {
            self.followed = now;
        }
        self.last = now;
    }
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
        let looked = Instant::now();
        loop {
            // Made before anything is judged: what changes afterwards wakes it.
            let woken = self.rest.wake.notified();
            let pause = self.pause(every);
            if pause > every || self.extent() == Extent::News {
                *self.rest.since.lock() = *self.rest.whole.lock();
            }
            let Some(until) = looked.checked_add(pause) else { return woken.await };
            tokio::select! {
                () = sleep_until(until) => return,
                () = woken => {}
            }
        }
    }

    /// The look has ended, well or not.
    pub(super) fn has_been_looked_at(&self, extent: Extent) {
        if extent == Extent::News {
            return;
        }
        let ended = LastLook { at: Instant::now(), at_ms: self.journal.now_ms() };
        *self.rest.whole.lock() = Some(ended);
        *self.rest.since.lock() = None;
        self.rest.wanted.store(false, Ordering::Relaxed);
        self.rest.looked.notify_waiters();
    }

    /// Returns the extent of the next look. While requests follow one another, each finds everything looked at and
    /// waits for nothing.
    pub(super) fn extent(&self) -> Extent {
        let facts = self.chain.facts();
        let soon = facts.poll_interval.saturating_mul(2);
        let is_young = |then: Option<Instant>, age| then.is_some_and(|then| then.elapsed() < age);
        let whole = self.rest.whole.lock().map(|look| look.at);
        let crowded = is_young(self.rest.requests.lock().followed, soon);
        let wanted = crowded || self.rest.wanted.load(Ordering::Relaxed);
        let known = is_young(whole, facts.idle_poll_interval) && self.is_settled();
        if known && !wanted && self.only_waits() { Extent::News } else { Extent::Whole }
    }

    /// Returns true if batches are open, and none of them may be signed again because of the prices and coins that
    /// a look tells of.
    fn only_waits(&self) -> bool {
        let alone = Duration::from_millis(self.rules.offer_again_ms);
        let tracked = self.tracked.lock();
        let mut each = tracked.values();
        !tracked.is_empty() && each.all(|batch| batch.in_block || batch.is_left_alone(alone))
    }

    /// Waits for a look where the last one is longer ago than it ever is while the lane is at work.
    pub(super) async fn wakes(&self) {
        let looked = self.rest.looked.notified();
        let every = self.chain.facts().poll_interval;
        self.rest.requests.lock().another(every.saturating_mul(2));
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
            return Duration::ZERO;
        }
        if !self.is_idle() {
            return every.max(self.chain.spread().min(idle));
        }
        let seldom = if self.rests() { NOTHING_TO_TELL } else { Duration::ZERO };
        let idle = if self.is_alone() { idle } else { Duration::ZERO };
        every.max(idle).max(seldom)
    }

    /// Returns true if nothing is open and nothing remains to be learnt or waited for. While the chain cannot be
    /// followed, or the lane is closed, looks are as frequent as ever.
    fn is_idle(&self) -> bool {
        self.undecided() == 0 && self.is_settled()
    }

    fn is_settled(&self) -> bool {
        let settled = match self.gate() {
            Gate::Open | Gate::Closed(Closed::OnlyFollows { .. }) => true,
            Gate::Opening | Gate::Closed(_) => false,
        };
        let watched = self.watched.load(Ordering::Relaxed) || self.journal.left_ms().is_none();
        settled && watched && self.follows_the_chain()
    }
}
