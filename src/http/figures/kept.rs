//! Slots of figures in which everything is decided: kept, so that a page over a month does not add all of it up each
//! time.

use super::FigureSlot;
use billing::PlatformChainId;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time a slot is taken to be the same: a person may resolve a charge, and refusals are forgotten some day.
const KEPT_FOR: Duration = Duration::from_mins(30);

/// Time since the end of a slot before it is kept, seconds: the slot's last lines are written down by then.
const SETTLED_S: i64 = 3600;

/// Number of slots kept: a year of days for each of a few who ask.
const MOST: usize = 4_096;

/// The states of lines that may still change.
const OPEN: [&str; 2] = ["open", "unproven"];

/// The key of a slot: the chains that the caller may see, and the start and end, Unix seconds.
pub(super) type FigureKey = (Option<Vec<PlatformChainId>>, i64, i64);

/// Slots that were added up, and when.
#[derive(Debug, Default)]
pub(in crate::http) struct KeptFigures(Mutex<BTreeMap<FigureKey, (Instant, Vec<FigureSlot>)>>);

impl KeptFigures {
    /// The slots of one time, one for each chain with lines in it, if they are known.
    pub(super) fn of(&self, key: &FigureKey, now: Instant) -> Option<Vec<FigureSlot>> {
        let kept = self.0.lock();
        let (at, slots) = kept.get(key)?;
        (now.saturating_duration_since(*at) < KEPT_FOR).then(|| slots.clone())
    }

    /// Keeps them if nothing in them is open; `now_s` is the time, Unix seconds.
    pub(super) fn keep(&self, key: FigureKey, slots: &[FigureSlot], now: Instant, now_s: i64) {
        let open =
            slots.iter().any(|slot| OPEN.iter().any(|state| slot.states.contains_key(*state)));
        if open || key.2.saturating_add(SETTLED_S) > now_s {
            return;
        }
        let mut kept = self.0.lock();
        if kept.len() >= MOST {
            kept.retain(|_, (at, _)| now.saturating_duration_since(*at) < KEPT_FOR);
        }
        if kept.len() < MOST {
            kept.insert(key, (now, slots.to_vec()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(state: &str) -> FigureSlot {
        FigureSlot { states: BTreeMap::from([(state.to_owned(), 7)]), ..FigureSlot::default() }
    }

    #[test]
    fn what_is_decided_is_kept_for_a_while_and_what_is_open_or_new_is_not() {
        let (kept, now) = (KeptFigures::default(), Instant::now());
        let key = |chains| (chains, 0, 100);
        let known = |key, now| kept.of(&key, now).map(|slots| slots.len());
        let long_ago = 100 + SETTLED_S;
        kept.keep(key(None), &[slot("charged"), slot("open")], now, long_ago);
        kept.keep(key(None), &[slot("charged")], now, 99 + SETTLED_S);
        assert_eq!(known(key(None), now), None, "it may still change");
        kept.keep(key(None), &[slot("charged"), slot("refused")], now, long_ago);
        assert_eq!(known(key(None), now), Some(2));
        assert_eq!(known(key(Some(vec![])), now), None, "of others it tells nothing");
        assert_eq!(known(key(None), now + KEPT_FOR), None);
    }
}
