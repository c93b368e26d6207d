//! The one clock of the platform, its chains and its callbacks, which people and tests move forward.
//!
//! It has two hands. The *moved* hand says what time it is in the sandbox: blocks, expiry of links, dates and the schedule of
//! callbacks follow it. The *machine's* hand is the time of this computer: signatures carry it, so that a merchant's own
//! program, which knows no other time, keeps talking to the platform after somebody moved the sandbox by a month.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A clock. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct Clock {
    hands: Arc<Mutex<Hands>>,
}

#[derive(Debug)]
struct Hands {
    /// The machine's time (ms), where a test has stopped it.
    stopped_ms: Option<u64>,
    /// The moved hand.
    moved: Moved,
}

/// The time in the sandbox, by how it passes.
#[derive(Clone, Copy, Debug)]
enum Moved {
    /// It runs with the machine's time, and is so much ahead of that (ms).
    Ahead(u64),
    /// It stands here (ms since the epoch) until somebody moves it.
    Standing(u64),
}

impl Clock {
    /// A clock whose moved hand is `ahead_ms` ahead of the machine's.
    pub fn new(ahead_ms: u64) -> Self {
        Self::with(Hands { stopped_ms: None, moved: Moved::Ahead(ahead_ms) })
    }

    /// A clock whose moved hand stands at `at_ms` (ms since the epoch) until a block or a person moves it: how fast the machine is
    /// changes nothing of what happens by it.
    pub fn standing(at_ms: u64) -> Self {
        Self::with(Hands { stopped_ms: None, moved: Moved::Standing(at_ms) })
    }

    /// A clock whose machine's hand stands still at `at_ms` (ms since the epoch).
    pub fn stopped(at_ms: u64) -> Self {
        Self::with(Hands { stopped_ms: Some(at_ms), moved: Moved::Ahead(0) })
    }

    fn with(hands: Hands) -> Self {
        Self { hands: Arc::new(Mutex::new(hands)) }
    }

    /// The machine's time (ms since the epoch).
    pub fn machine_ms(&self) -> u64 {
        self.hands.lock().machine_ms()
    }

    /// The time in the sandbox (ms since the epoch).
    pub fn now_ms(&self) -> u64 {
        self.hands.lock().now_ms()
    }

    /// The time in the sandbox (s since the epoch).
    pub fn now_s(&self) -> u64 {
        self.now_ms() / 1000
    }

    /// Returns the time that the sandbox is ahead of the machine (ms).
    pub fn ahead_ms(&self) -> u64 {
        let hands = self.hands.lock();
        hands.now_ms().saturating_sub(hands.machine_ms())
    }

    /// Moves the time in the sandbox on by so much (ms).
    pub fn advance(&self, by_ms: u64) {
        self.hands.lock().advance(by_ms);
    }

    /// Moves the time in the sandbox on to `to_ms`, unless it is later already: it never goes back.
    pub fn reach(&self, to_ms: u64) {
        let mut hands = self.hands.lock();
        let missing_ms = to_ms.saturating_sub(hands.now_ms());
        hands.advance(missing_ms);
    }
}

impl Hands {
    fn now_ms(&self) -> u64 {
        match self.moved {
            Moved::Ahead(ahead_ms) => self.machine_ms() + ahead_ms,
            Moved::Standing(at_ms) => at_ms,
        }
    }

    fn advance(&mut self, by_ms: u64) {
        match &mut self.moved {
            Moved::Ahead(ms) | Moved::Standing(ms) => *ms += by_ms,
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one door through which the machine's time comes in"
    )]
    fn machine_ms(&self) -> u64 {
        self.stopped_ms.unwrap_or_else(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }
}

/// A moment (ms since the epoch) as the platform writes dates: `YYYY-MM-DD HH:MM:SS`, UTC.
pub fn date(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map_or_else(String::new, |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moved_hand_moves_and_the_machines_does_not() {
        let clock = Clock::stopped(1_700_000_000_000);
        clock.advance(5_000);
        clock.reach(1_700_000_001_000);
        assert_eq!(clock.now_ms(), 1_700_000_005_000, "it never goes back");
        clock.reach(1_700_000_009_000);
        assert_eq!((clock.now_s(), clock.machine_ms()), (1_700_000_009, 1_700_000_000_000));
        assert_eq!(date(clock.now_ms()), "2023-11-14 22:13:29");
    }

    #[test]
    fn a_standing_hand_moves_when_it_is_moved_and_the_machines_runs_on() {
        let clock = Clock::standing(4_000_000_000_000);
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(clock.now_ms(), 4_000_000_000_000);
        assert!(clock.machine_ms() < clock.now_ms());
        clock.advance(5_000);
        clock.reach(4_000_000_001_000);
        assert_eq!(clock.now_ms(), 4_000_000_005_000);
    }
}
