//! Times and limits that the scheduler's decisions obey. Plain values: decisions read no clock.

use super::standing::Advice;
use sha2::{Digest as _, Sha256};

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The longest pause after which a Signer that gave no verdict is obeyed, milliseconds.
const LONGEST_ASKED: i64 = HOUR;

/// Times in milliseconds; lists of pauses grow, and the last one repeats.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// Pauses between posts while the advice is WAIT.
    pub(crate) wait_ms: Vec<i64>,
    /// The same for USER: each post is also the look whether the customer has acted.
    pub(crate) user_ms: Vec<i64>,
    /// The same for FIX.
    pub(crate) fix_ms: Vec<i64>,
    /// The same for RETRY.
    pub(crate) retry_ms: Vec<i64>,
    /// The same for LOST: until the platform lists the next period.
    pub(crate) lost_ms: Vec<i64>,
    /// When the merchant is reminded, counted from the first decline, that a customer must act.
    pub(crate) reminders_ms: Vec<i64>,
    /// Number of refusals with RETRY in a row that become an alarm.
    pub(crate) alarm_after: u32,
    /// For how long a charged subscription that is still listed is taken for the list's lag.
    pub(crate) settle_ms: i64,
    /// Pauses between posts of a batch that heard no verdict.
    pub(crate) silence_ms: Vec<i64>,
    /// For how long a chain that refused a batch as too large is believed to take no larger one.
    pub(crate) ceiling_ms: i64,
    /// Pauses between looks at an open transaction.
    pub(crate) look_ms: Vec<i64>,
    /// Over how long those that fall due together are spread.
    pub(crate) spread_ms: i64,
    /// Time for which settled records are kept.
    pub(crate) keep_ms: i64,
    /// Time for which books may differ before the difference is named.
    pub(crate) patience: Patience,
}

/// The times for which each kind of difference between the books may last before it is named, milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    /// Charged at finality, and no callback says so: the platform's six tries take 18 min 45 s.
    pub(crate) callback: i64,
    /// A callback names a transaction that charged nobody, as far as the Signer knows.
    pub(crate) outcome: i64,
    /// A transaction is open. For as long a transaction that the Signer does not know holds its subscriptions: a
    /// person who hears of it has time to put the right journal back.
    pub(crate) open: i64,
    /// A batch was planned and has no verdict.
    pub(crate) verdict: i64,
    /// Listed, and neither posted nor held for a reason.
    pub(crate) unposted: i64,
    /// Charged or ended on chain, and still listed.
    pub(crate) listed: i64,
}

impl Rules {
    /// The same, with those that fall due together spread over so long. Nobody is late within it.
    pub(crate) fn with_spread(mut self, spread_ms: i64) -> Self {
        self.patience.unposted = self.patience.unposted.saturating_add(spread_ms);
        Self { spread_ms, ..self }
    }

    /// The same, with what is settled kept for so long.
    pub(crate) fn with_keep(self, keep_ms: i64) -> Self {
        Self { keep_ms, ..self }
    }

    /// The same rules with every time `pace` times shorter, but for a millisecond at least.
    pub(crate) fn at_pace(mut self, pace: u32) -> Self {
        let pace = i64::from(pace.max(1));
        let shorter = |ms: &mut i64| *ms = ms.div_euclid(pace).max(1);
        let patience = &mut self.patience;
        let lists = [
            &mut self.wait_ms,
            &mut self.user_ms,
            &mut self.fix_ms,
            &mut self.retry_ms,
            &mut self.lost_ms,
            &mut self.reminders_ms,
            &mut self.silence_ms,
            &mut self.look_ms,
        ];
        lists.into_iter().flatten().for_each(shorter);
        let times = [
            &mut self.settle_ms,
            &mut self.ceiling_ms,
            &mut self.spread_ms,
            &mut self.keep_ms,
            &mut patience.callback,
            &mut patience.outcome,
            &mut patience.open,
            &mut patience.verdict,
            &mut patience.unposted,
            &mut patience.listed,
        ];
        times.into_iter().for_each(shorter);
        self
    }

    /// The pause before a batch that heard no verdict is posted again, at least as long as the Signer asked for.
    pub(crate) fn silence(&self, tries: u32, asked_ms: i64) -> i64 {
        step(&self.silence_ms, tries).max(asked_ms.min(LONGEST_ASKED))
    }

    /// The longest such pause.
    pub(crate) fn longest_silence(&self) -> i64 {
        longest(&self.silence_ms).max(late(LONGEST_ASKED))
    }

    /// The pauses for an advice.
    pub(crate) fn pauses(&self, advice: Advice) -> &[i64] {
        match advice {
            Advice::Wait => &self.wait_ms,
            Advice::User => &self.user_ms,
            Advice::Retry => &self.retry_ms,
            Advice::Lost => &self.lost_ms,
            Advice::Fix | Advice::Stop | Advice::Done => &self.fix_ms,
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            wait_ms: vec![10 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR],
            user_ms: vec![HOUR, 4 * HOUR, 12 * HOUR, DAY, 2 * DAY],
            fix_ms: vec![HOUR, 6 * HOUR, DAY],
            retry_ms: vec![MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR],
            lost_ms: vec![HOUR, 6 * HOUR, DAY],
            reminders_ms: vec![DAY, 3 * DAY, 5 * DAY, 7 * DAY],
            alarm_after: 6,
            settle_ms: HOUR,
            silence_ms: vec![SECOND, 5 * SECOND, 15 * SECOND, MINUTE, 5 * MINUTE],
            ceiling_ms: HOUR,
            look_ms: vec![5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE],
            spread_ms: 0,
            keep_ms: 90 * DAY,
            patience: Patience {
                callback: 20 * MINUTE,
                outcome: 45 * MINUTE,
                open: HOUR,
                verdict: 15 * MINUTE,
                unposted: HOUR,
                listed: 6 * HOUR,
            },
        }
    }
}

/// A place within a window (ms): from 0 up to its end, the same for the same subscription always.
pub(crate) fn place(window_ms: i64, chain: i64, id: i64) -> i64 {
    let mut digest = Sha256::new();
    digest.update(chain.to_be_bytes());
    digest.update(id.to_be_bytes());
    let [a, b, c, d, ..]: [u8; 32] = digest.finalize().into();
    i64::from(u32::from_be_bytes([a, b, c, d])).checked_rem(window_ms.max(1)).unwrap_or(0)
}

/// A pause that is longer by up to a tenth, so that those who began it together do not end it
/// together.
pub(crate) fn jittered(pause_ms: i64, chain: i64, id: i64) -> i64 {
    pause_ms.saturating_add(place(pause_ms.div_euclid(10), chain, id))
}

/// The end of such a pause at the latest.
fn late(pause_ms: i64) -> i64 {
    pause_ms.saturating_add(pause_ms.div_euclid(10))
}

/// The longest of these pauses, moved on as far as it may be.
pub(crate) fn longest(pauses: &[i64]) -> i64 {
    late(pauses.iter().copied().max().unwrap_or(MINUTE))
}

/// Returns true if a pause until then is not over. One that ends further ahead than it can be long was written down
/// while the clock was wrong, and is no reason to wait.
pub(crate) fn is_ahead(until_ms: i64, longest_ms: i64, now_ms: i64) -> bool {
    until_ms > now_ms && until_ms <= now_ms.saturating_add(longest_ms)
}

/// The pause after so many tries, the first being 1. The last of the list repeats.
pub(crate) fn step(pauses: &[i64], tries: u32) -> i64 {
    let at = usize::try_from(tries.saturating_sub(1)).unwrap_or(usize::MAX);
    pauses.get(at).or(pauses.last()).copied().unwrap_or(MINUTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_fall_due_together_have_places_all_over_the_window() {
        let places: Vec<i64> = (0..1000).map(|id| place(3_600_000, 139, id)).collect();
        for minute in 0..60 {
            let here = places.iter().filter(|place| place.div_euclid(60_000) == minute).count();
            assert!((3..40).contains(&here), "minute {minute} has {here} of 1000");
        }
        assert_eq!(place(3_600_000, 139, 7), place(3_600_000, 139, 7));
        assert_eq!(place(0, 139, 7), 0);
        let pauses: Vec<i64> = (0..1000).map(|id| jittered(60_000, 139, id)).collect();
        assert!(pauses.iter().all(|pause| (60_000..66_000).contains(pause)));
        assert!(pauses.iter().any(|pause| *pause > 65_000), "nobody comes later");
    }

    #[test]
    fn whoever_waits_for_a_place_is_not_missed() {
        let rules = Rules::default().with_spread(HOUR).at_pace(2);
        assert_eq!((rules.spread_ms, rules.patience.unposted), (30 * MINUTE, HOUR));
    }
}
