//! Slots of figures in which everything is decided: kept, so that a page over a month does not add all of it up each
//! time. Beside them the slots that one answer did not come to the end of, for the same caller's next request.

use super::{BegunSlot, FigureSlot};
use billing::PlatformChainId;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Time a slot is taken to be the same: a person may resolve a charge, and refusals are forgotten some day.
const KEPT_FOR: Duration = Duration::from_mins(30);

/// Time since the end of a slot before it is kept, seconds: the slot's last lines are written down by then.
const SETTLED_S: i64 = 3600;

/// Number of slots kept: a year of days for each of a few who ask.
const MOST: usize = 4_096;

/// Time a begun slot waits for its caller to ask on.
const BEGUN_FOR: Duration = Duration::from_mins(2);

/// Number of begun slots kept for one caller. One more, and the oldest has to begin anew.
const MOST_BEGUN: usize = 8;

/// The states of lines that may still change.
const OPEN: [&str; 2] = ["open", "unproven"];

/// The key of a slot: the chains that the caller may see, and the start and end, Unix seconds.
pub(super) type FigureKey = (Option<Vec<PlatformChainId>>, i64, i64);

/// Slots that were added up, and slots that were begun.
#[derive(Debug, Default)]
pub(in crate::http) struct KeptFigures {
    /// Each with the time at which it was added up.
    whole: Mutex<BTreeMap<FigureKey, (Instant, Vec<FigureSlot>)>>,
    /// By the label of the caller, of configured callers alone.
    begun: Mutex<BTreeMap<String, VecDeque<KeptBegun>>>,
}

/// A begun slot, and when it was left.
#[derive(Debug)]
struct KeptBegun {
    key: FigureKey,
    left: Instant,
    slot: BegunSlot,
}

impl KeptFigures {
    /// The slots of one time, one for each chain with lines in it, if they are known.
    pub(super) fn of(&self, key: &FigureKey, now: Instant) -> Option<Vec<FigureSlot>> {
        let kept = self.whole.lock();
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
        let mut kept = self.whole.lock();
        if kept.len() >= MOST {
            kept.retain(|_, (at, _)| now.saturating_duration_since(*at) < KEPT_FOR);
        }
        if kept.len() < MOST {
            kept.insert(key, (now, slots.to_vec()));
        }
    }

    /// The slot as the caller's last request has left it, no longer kept.
    pub(super) fn take_begun(
        &self,
        caller: &str,
        key: &FigureKey,
        now: Instant,
    ) -> Option<BegunSlot> {
        let mut begun = self.begun.lock();
        let its = begun.get_mut(caller)?;
        its.retain(|one| now.saturating_duration_since(one.left) < BEGUN_FOR);
        let at = its.iter().position(|one| one.key == *key)?;
        its.remove(at).map(|one| one.slot)
    }

    /// Keeps a begun slot for the caller. Of two requests for one slot the one that came further is kept.
    pub(super) fn keep_begun(&self, caller: &str, key: FigureKey, slot: BegunSlot, now: Instant) {
        let mut begun = self.begun.lock();
        let its = begun.entry(caller.to_owned()).or_default();
        if its.iter().any(|one| one.key == key && one.slot.after > slot.after) {
            return;
        }
        its.retain(|one| one.key != key);
        its.push_back(KeptBegun { key, left: now, slot });
        if its.len() > MOST_BEGUN {
            its.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use billing::BatchId;
    use ledger::{LedgerPlace, PlaceInBatch};

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

    #[test]
    fn a_begun_slot_is_its_callers_and_goes_on_for_a_while() {
        let (kept, now) = (KeptFigures::default(), Instant::now());
        let key = |end: usize| (None, 0, i64::try_from(end).unwrap());
        let slot = |batch| {
            let item = PlaceInBatch::Charge(0);
            let after = Some(LedgerPlace { batch: BatchId(batch), item });
            BegunSlot { after, ..BegunSlot::default() }
        };
        let take = |caller, end, now| {
            let begun = kept.take_begun(caller, &key(end), now);
            begun.map(|slot| slot.after.unwrap().batch.0)
        };
        kept.keep_begun("one", key(1), slot(128), now);
        kept.keep_begun("one", key(1), slot(64), now);
        assert_eq!(take("other", 1, now), None);
        assert_eq!(take("one", 2, now), None);
        assert_eq!(take("one", 1, now), Some(128), "the one that came further");
        assert_eq!(take("one", 1, now), None, "a request goes on with it");
        kept.keep_begun("one", key(1), slot(64), now);
        assert_eq!(take("one", 1, now + BEGUN_FOR), None);
        for end in 0..=MOST_BEGUN {
            kept.keep_begun("one", key(end), slot(64), now);
        }
        assert_eq!((take("one", 0, now), take("one", 1, now)), (None, Some(64)));
    }
}
