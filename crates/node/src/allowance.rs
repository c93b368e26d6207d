//! The number of requests that a provider may get in a day. No request is refused for it: the looks at the chain
//! are spaced so that the requests last for the day.

use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// A day, ms.
const DAY_MS: u128 = 86_400_000;

/// Into how many parts a day's requests are cut: one may be used at once, the others come back over the day. So
/// whatever was done, no day of 24 hours has more than was allowed.
const PARTS: u128 = 4;

/// The cost of a request, in units of which a millisecond gives back as many as the whole day has requests, but for
/// the part that may be used at once.
const REQUEST: u128 = DAY_MS.saturating_mul(PARTS);

/// So few that a look at the chain has to wait for more.
const FEW: u128 = REQUEST.saturating_mul(10);

/// The requests that one provider may still get.
#[derive(Debug)]
pub(super) struct Allowance {
    a_day: u64,
    used: Mutex<Used>,
}

#[derive(Debug)]
struct Used {
    /// The amount that was taken and has not come back.
    taken: u128,
    at: Instant,
    /// True if it was logged that no more is left.
    told: bool,
}

/// The news of an allowance after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Too little is left for a look, for the first time since there was plenty.
    UsedUp,
    /// There is plenty again.
    Recovered,
}

impl Allowance {
    /// So many a day, none of them used.
    pub(super) fn of(a_day: u64, now: Instant) -> Self {
        Self { a_day, used: Mutex::new(Used { taken: 0, at: now, told: false }) }
    }

    /// Takes `many`, also where none is left.
    pub(super) fn take(&self, many: u64, now: Instant) -> Option<News> {
        let most = self.at_once();
        let mut used = self.used.lock();
        self.give_back(&mut used, now);
        used.taken = used.taken.saturating_add(REQUEST.saturating_mul(many.into()));
        match (used.told, used.taken) {
            (false, taken) if most.saturating_sub(taken) < FEW => {
                used.told = true;
                Some(News::UsedUp)
            }
            (true, taken) if taken < most >> 1 => {
                used.told = false;
                Some(News::Recovered)
            }
            (true | false, _) => None,
        }
    }

    /// Returns the number of requests that may be taken at once now.
    pub(super) fn left(&self, now: Instant) -> u64 {
        let mut used = self.used.lock();
        self.give_back(&mut used, now);
        let left = self.at_once().saturating_sub(used.taken).checked_div(REQUEST);
        left.and_then(|left| left.try_into().ok()).unwrap_or(u64::MAX)
    }

    /// Returns the time until `many` requests may be taken.
    pub(super) fn wait_for(&self, many: u64, now: Instant) -> Duration {
        let mut used = self.used.lock();
        self.give_back(&mut used, now);
        let then = used.taken.saturating_add(REQUEST.saturating_mul(many.into()));
        let lacks = then.saturating_sub(self.at_once());
        let ms = lacks.checked_div(self.back_in_a_ms()).unwrap_or_default();
        Duration::from_millis(ms.try_into().unwrap_or(u64::MAX))
    }

    fn at_once(&self) -> u128 {
        u128::from(self.a_day).saturating_mul(DAY_MS)
    }

    fn back_in_a_ms(&self) -> u128 {
        u128::from(self.a_day).saturating_mul(PARTS.saturating_sub(1))
    }

    fn give_back(&self, used: &mut Used, now: Instant) {
        let passed = now.saturating_duration_since(used.at).as_millis();
        used.taken = used.taken.saturating_sub(self.back_in_a_ms().saturating_mul(passed));
        used.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_day_has_more_than_is_allowed_and_waiting_is_enough() {
        let begun = Instant::now();
        let allowance = Allowance::of(10_000, begun);
        assert_eq!(allowance.left(begun), 2_500, "a quarter at once");
        assert_eq!(allowance.wait_for(2_500, begun), Duration::ZERO);
        let (mut now, mut taken, mut news) = (begun, 0, vec![]);
        while now < begun + Duration::from_hours(24) {
            news.extend(allowance.take(5, now));
            taken += 5;
            now += allowance.wait_for(5, now).max(Duration::from_secs(2));
        }
        assert!((9_900..=10_010).contains(&taken), "{taken}");
        assert_eq!(news, [News::UsedUp]);
        now += Duration::from_hours(12);
        assert_eq!(allowance.take(1, now), Some(News::Recovered));
    }

    #[test]
    fn what_has_to_be_asked_is_asked_and_paid_back_later() {
        let begun = Instant::now();
        let allowance = Allowance::of(10_000, begun);
        assert_eq!(allowance.take(3_000, begun), Some(News::UsedUp));
        assert_eq!(allowance.left(begun), 0);
        let wait = allowance.wait_for(1, begun);
        assert!(wait > Duration::from_hours(1) && wait < Duration::from_hours(2), "{wait:?}");
        assert_eq!(allowance.left(begun + wait + Duration::from_millis(10)), 1);
    }
}
