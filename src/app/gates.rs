//! Writes down when a lane begins or ceases to take new work, for whoever follows the history.

use billing::Gate;
use engine::{Engine, Lane, LaneError};
use journal::LaneId;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Interval between two looks at the lanes.
const EVERY: Duration = Duration::from_secs(1);

/// Time a lane stays unchanged before its state is written down: a lane that opens and closes again within this
/// time leaves no row.
const SETTLED: Duration = Duration::from_secs(10);

/// The known state of one lane.
#[derive(Debug)]
struct LaneSeen {
    /// Why it takes no new work; none where it does.
    closed: Option<String>,
    /// Since when that is so. A reason that is worded anew, with another number in it, is the same.
    since: Instant,
    /// The last state written down: true if the lane takes new work.
    written: Option<bool>,
    /// The last state logged.
    said: Option<bool>,
}

/// Returns the reason why a lane takes no new work; none if it does. A fault of the journal is left out, because it
/// cannot be written down in the journal.
fn closed(lane: &Lane) -> Option<String> {
    match lane.gate() {
        Gate::Opening => Some(lane.unopened().to_string()),
        Gate::Open => lane
            .error()
            .filter(|why| !matches!(why, LaneError::Journal(_)))
            .map(|why| why.to_string()),
        Gate::Closed(why) => Some(why.to_string()),
    }
}

/// A state of a gate that is to be written down.
struct GateNote {
    lane: LaneId,
    /// Why the lane takes no new work. None: it takes some.
    closed: Option<String>,
}

/// Follows every lane until `stop`.
pub(super) async fn record(engine: Arc<Engine>, stop: CancellationToken) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut all: HashMap<LaneId, LaneSeen> = HashMap::new();
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        for note in news(&engine, &mut all) {
            let GateNote { lane: id, closed } = note;
            let open = closed.is_none();
            match engine.journal.lane(id).note_gate(closed).await {
                Ok(()) => {
                    if let Some(seen) = all.get_mut(&id) {
                        seen.written = Some(open);
                    }
                }
                Err(problem) => warn!(%problem, "that a lane opened or closed cannot be written"),
            }
        }
    }
}

/// Returns the states that have lasted long enough and are not written down.
fn news(engine: &Engine, all: &mut HashMap<LaneId, LaneSeen>) -> Vec<GateNote> {
    let now = Instant::now();
    let mut news = Vec::new();
    for lane in engine.lanes().all().filter(|lane| !lane.rests()) {
        let closed = closed(lane);
        let unseen = LaneSeen { closed: None, since: now, written: None, said: None };
        let seen = all.entry(lane.id()).or_insert(unseen);
        if seen.closed.is_none() != closed.is_none() {
            seen.since = now;
        }
        seen.closed = closed;
        let open = seen.closed.is_none();
        if seen.written != Some(open) && now.duration_since(seen.since) >= SETTLED {
            say(lane, seen);
            news.push(GateNote { lane: lane.id(), closed: seen.closed.clone() });
        }
    }
    news
}

/// Says once that nothing is signed although the gate is open, and once that it is again: the gate itself tells
/// of its own.
fn say(lane: &Lane, seen: &mut LaneSeen) {
    let (chain, account) = (&lane.chain.facts().name, lane.account());
    let before = seen.said.replace(seen.closed.is_none());
    match &seen.closed {
        Some(why) if before != Some(false) && lane.gate() == Gate::Open => {
            warn!(chain, account, "nothing is signed: {why}");
        }
        None if before == Some(false) => info!(chain, account, "new work is signed again"),
        Some(_) | None => {}
    }
}
