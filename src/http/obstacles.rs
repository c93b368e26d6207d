//! The obstacles of each chain, since when, and the remedy: for the page.

use super::AppState;
use billing::{PlatformChainId, coin_symbol};
use engine::{NotReady, SigningLanes};
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Interval at which obstacles are looked for.
const EVERY: Duration = Duration::from_secs(5);

/// Since when which obstacle stands in the way of a chain.
#[derive(Debug, Default)]
pub(super) struct Obstacles(Mutex<ObstaclesSeen>);

#[derive(Debug, Default)]
struct ObstaclesSeen {
    /// When each was seen first, Unix seconds, and whether it may have begun before.
    since: BTreeMap<(PlatformChainId, &'static str), (i64, bool)>,
    /// The chains of which it was seen since this process began what stands in their way.
    looked_at: BTreeSet<PlatformChainId>,
}

/// An obstacle that stands in the way of a chain now.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StandingObstacle {
    obstacle: &'static str,
    said: String,
    /// Unix seconds.
    since: i64,
    /// True if the obstacle may have begun before: it was there when the process began.
    since_at_least: bool,
    what_to_do: String,
}

impl Obstacles {
    /// Returns the obstacles of a chain at `now`, Unix seconds.
    pub(super) fn of(&self, lanes: &SigningLanes, now: i64) -> Vec<StandingObstacle> {
        let facts = lanes.any().chain.facts();
        let coin = coin_symbol(facts.family, facts.network);
        self.note(facts.id, coin, lanes.not_ready(), now)
    }

    fn note(
        &self,
        chain: PlatformChainId,
        coin: &str,
        standing: Vec<(NotReady, String)>,
        now: i64,
    ) -> Vec<StandingObstacle> {
        let words: Vec<&str> = standing.iter().map(|(obstacle, _)| obstacle.word()).collect();
        let ObstaclesSeen { since, looked_at } = &mut *self.0.lock();
        since.retain(|(of, word), _| *of != chain || words.contains(word));
        let began = (now, !looked_at.contains(&chain));
        if !words.contains(&NotReady::Unseen.word()) {
            looked_at.insert(chain);
        }
        let told = standing.into_iter().map(|(obstacle, said)| {
            let word = obstacle.word();
            let (since, since_at_least) = *since.entry((chain, word)).or_insert(began);
            let what_to_do = advice(obstacle).replace(COIN, coin);
            StandingObstacle { obstacle: word, said, since, since_at_least, what_to_do }
        });
        told.collect()
    }
}

/// Placeholder in an advice for the chain's own coin.
const COIN: &str = "{coin}";

/// Returns the advice to a person about an obstacle.
fn advice(obstacle: NotReady) -> &'static str {
    match obstacle {
        NotReady::Unseen => {
            "Wait for the first look at the chain; if it does not come, see its nodes below."
        }
        NotReady::Nodes => {
            "See the nodes below: bring one back, or add another to the configuration and restart."
        }
        NotReady::Key => {
            "See that the store that has the key can be reached, and that it still has it."
        }
        NotReady::GasMoney => "Send {coin} to the account that the sentence names.",
        NotReady::Fees => {
            "Wait until the chain asks less, or raise the ceiling in the configuration and restart."
        }
        NotReady::Clock => {
            "Set the clock of this machine, or ask the provider why its newest block is old."
        }
        NotReady::Finality => "Wait: the chain's own finality stands still, and nothing is lost.",
        NotReady::Journal => {
            "See to the journal's disk or server: nothing is signed until it takes a commit."
        }
        NotReady::OldCopy => "Wait until what the copy has forgotten is learnt from the chain.",
        NotReady::UnknownTransactions => {
            "Find out who used the account; what the page on incidents says is next."
        }
        NotReady::KeyElsewhere => "Stop whoever else signs with the key: two must not.",
        NotReady::Permission => {
            "Give the signing account the permission that it lacks; nothing is to be done here."
        }
        NotReady::Brake => "Read why transactions fail, mend it, and restart.",
        NotReady::Other => {
            "The sentence says what is wrong; the page on incidents says what is next."
        }
    }
}

/// Looks until `stop` since when something stands in the way, where there is a page to tell it.
pub async fn watch_obstacles(state: Arc<AppState>, stop: CancellationToken) {
    if !state.limits.page {
        return;
    }
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let now = state.engine.journal.now_ms().div_euclid(1000);
        for lanes in state.engine.lanes().chains() {
            state.obstacles.of(lanes, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_told_with_its_beginning_until_it_is_over() {
        let obstacles = Obstacles::default();
        let nodes = || (NotReady::Nodes, "no node answers".to_owned());
        let fees = || (NotReady::Fees, "gas is dear".to_owned());
        let told = |chain, standing, now| {
            let told = obstacles.note(PlatformChainId(chain), "POL", standing, now);
            told.iter().map(|one| (one.obstacle, one.since, one.since_at_least)).collect::<Vec<_>>()
        };
        let unseen = (NotReady::Unseen, "its node has not answered yet".to_owned());
        assert_eq!(told(1, vec![unseen], 5), [("unseen", 5, true)]);
        assert_eq!(told(1, vec![nodes()], 10), [("nodes", 10, true)], "it may have begun before");
        assert_eq!(told(2, vec![nodes()], 20), [("nodes", 20, true)], "another chain's is another");
        assert_eq!(told(1, vec![nodes(), fees()], 30), [("nodes", 10, true), ("fees", 30, false)]);
        assert_eq!(told(1, vec![fees()], 40), [("fees", 30, false)]);
        assert_eq!(told(1, vec![nodes()], 50), [("nodes", 50, false)], "it was over in between");
        let starved = vec![(NotReady::GasMoney, "the account 0xA1 holds 0 POL".to_owned())];
        let starved = obstacles.note(PlatformChainId(1), "POL", starved, 60);
        assert_eq!(starved[0].what_to_do, "Send POL to the account that the sentence names.");
    }
}
