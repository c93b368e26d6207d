//! The times at which a lane looks at its chain. While nothing is open, looks are seldom, since every look is paid
//! for; a request for a signature has the chain looked at first, so that nothing is signed by what an idle lane
//! knew. If providers take only so many requests a day, looks at open batches keep far enough apart for that to
//! last.

use chain::HeadExtent;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The time between looks at a lane of which there is nothing to tell, on a chain that bills no more. Its key may be
/// used elsewhere: that use is known before nodes forget the states that tell of it.
const NOTHING_TO_TELL: Duration = Duration::from_mins(2);

/// The time of a look: by what runs while the machine does, and by the clock (Unix ms), which goes on while the
/// machine sleeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookTime {
    at: Instant,
    at_ms: i64,
}

impl LookTime {
    /// Now, which the clock calls `at_ms`.
    pub(super) fn now(at_ms: i64) -> Self {
        Self { at: Instant::now(), at_ms }
    }

    /// Returns true if the time is at least `age` before now, which the clock calls `now_ms`.
    pub(super) fn is_past(self, age: Duration, now_ms: i64) -> bool {
        let passed_ms = now_ms.abs_diff(self.at_ms);
        self.at.elapsed() >= age || u128::from(passed_ms) >= age.as_millis()
    }
}

/// When something was last to be signed.
#[derive(Clone, Copy, Debug, Default)]
struct RequestTimes {
    last: Option<Instant>,
    /// The last that came soon after another.
    followed: Option<Instant>,
}

/// The work of a lane, as far as the time of its next look depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Something is to be learnt, or an open batch may have to be signed again.
    Busy,
    /// Batches are open, and all that they need is a block.
    OnlyWaits,
    /// Nothing is open. Other accounts of the chain wait for what this one did.
    IdleBesideOthers,
    /// Nothing is open, and the account is the only one of its chain.
    IdleAlone,
    /// Nothing is open, nothing new is begun on the whole chain, and there is nothing to tell.
    NothingToTell,
}

/// The intervals of a lane's looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Intervals {
    /// The interval between looks at a chain on which something is open.
    pub(super) poll: Duration,
    /// The same while nothing is.
    pub(super) idle: Duration,
    /// The least interval by which the requests that providers allow in a day last.
    pub(super) spread: Duration,
}

impl Intervals {
    /// The longest interval between looks at a lane on which something is open, or beside other accounts.
    pub(super) fn longest_at_work(self) -> Duration {
        self.poll.max(self.spread.min(self.idle))
    }
}

/// The times of a lane's looks.
#[derive(Debug, Default)]
pub(super) struct LookTimes {
    /// The last whole look; none before the first.
    whole: Mutex<Option<LookTime>>,
    /// The same until the next one has ended, where that may be longer ago than it ever is while requests come;
    /// none otherwise.
    since: Mutex<Option<LookTime>>,
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

impl LookTimes {
    /// There may be something to look at: the time of the next look is judged anew.
    pub(super) fn stir(&self) {
        self.wake.notify_waiters();
    }

    /// Waits until the lane is to be looked at again, `every` so often while it is at work.
    pub(super) async fn wait(
        &self,
        every: Duration,
        intervals: impl Fn() -> Intervals,
        work: impl Fn() -> Work,
    ) {
        let looked = Instant::now();
        loop {
            // Made before anything is judged: what changes afterwards wakes it.
            let woken = self.wake.notified();
            let (times, now) = (intervals(), work());
            let pause = self.pause(every, times, now);
            if pause > every || self.extent(times, now) == HeadExtent::News {
                *self.since.lock() = *self.whole.lock();
            }
            let Some(until) = looked.checked_add(pause) else { return woken.await };
            tokio::select! {
                () = sleep_until(until) => return,
                () = woken => {}
            }
        }
    }

    /// A look has ended, well or not.
    pub(super) fn ended(&self, extent: HeadExtent, now_ms: i64) {
        if extent == HeadExtent::News {
            return;
        }
        *self.whole.lock() = Some(LookTime::now(now_ms));
        *self.since.lock() = None;
        self.wanted.store(false, Ordering::Relaxed);
        self.looked.notify_waiters();
    }

    /// Returns the extent of the next look. While requests follow one another, each finds everything looked at and
    /// waits for nothing.
    pub(super) fn extent(&self, intervals: Intervals, work: Work) -> HeadExtent {
        let soon = intervals.poll.saturating_mul(2);
        let is_young = |then: Option<Instant>, age| then.is_some_and(|then| then.elapsed() < age);
        let whole = self.whole.lock().map(|look| look.at);
        let crowded = is_young(self.requests.lock().followed, soon);
        let wanted = crowded || self.wanted.load(Ordering::Relaxed);
        let known = is_young(whole, intervals.idle) && work == Work::OnlyWaits;
        if known && !wanted { HeadExtent::News } else { HeadExtent::Whole }
    }

    /// Waits for a look where the last one is longer ago than it ever is while the lane is at work.
    pub(super) async fn wake(&self, every: Duration, now_ms: i64) {
        self.requests.lock().another(every.saturating_mul(2));
        let since = *self.since.lock();
        if since.is_some_and(|since| since.is_past(every, now_ms)) {
            self.next_look().await;
        }
    }

    /// Has the lane looked at now, and waits until that look has ended, well or not.
    pub(super) async fn next_look(&self) {
        let looked = self.looked.notified();
        self.wanted.store(true, Ordering::Relaxed);
        self.stir();
        looked.await;
    }

    fn pause(&self, every: Duration, intervals: Intervals, work: Work) -> Duration {
        if self.wanted.load(Ordering::Relaxed) {
            return Duration::ZERO;
        }
        match work {
            Work::Busy | Work::OnlyWaits => every.max(intervals.spread.min(intervals.idle)),
            Work::IdleBesideOthers => every,
            Work::IdleAlone => every.max(intervals.idle),
            Work::NothingToTell => every.max(NOTHING_TO_TELL),
        }
    }
}
