//! The time for which nodes have told different records of one final block.

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;
use tracing::error;

/// The time for which two nodes may contradict each other about a final block before a person is called. Nodes
/// index a block within seconds, and within minutes after a restart. A contradiction that lasts longer is a record
/// that one of them keeps otherwise, or a lie, and does not end by itself.
const PATIENCE: Duration = Duration::from_mins(10);

#[derive(Clone, Debug)]
struct Dispute {
    since: Instant,
    /// The nodes, once it has lasted too long.
    told: Option<Vec<String>>,
}

/// Nodes that have told different records of one final block for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastingDispute {
    /// The place of the batch in its lane.
    pub position: u64,
    /// The nodes, by their labels.
    pub nodes: Vec<String>,
}

/// The places of a lane whose end nodes dispute.
#[derive(Debug, Default)]
pub(super) struct Disputes(Mutex<BTreeMap<u64, Dispute>>);

impl Disputes {
    /// A place is disputed now, by these nodes. True once, when it has been for too long: then a person
    /// is called. Nothing else ends it, and the claims stay meanwhile.
    pub(super) fn goes_on(&self, chain: &str, position: u64, nodes: &[String]) -> bool {
        let mut disputes = self.0.lock();
        let new = || Dispute { since: Instant::now(), told: None };
        let dispute = disputes.entry(position).or_insert_with(new);
        if dispute.told.is_some() || dispute.since.elapsed() < PATIENCE {
            return false;
        }
        let mut nodes = nodes.to_vec();
        nodes.sort_unstable();
        dispute.told = Some(nodes.clone());
        error!(
            chain,
            position,
            nodes = nodes.join(" and "),
            "these nodes have told different records of one final block for ten minutes: the batch \
             cannot end before they agree, or another node bears one of them out"
        );
        true
    }

    /// Those that have lasted too long.
    pub(super) fn lasting(&self) -> Vec<LastingDispute> {
        let disputes = self.0.lock();
        let told = disputes.iter().filter_map(|(position, dispute)| {
            let nodes = dispute.told.clone()?;
            Some(LastingDispute { position: *position, nodes })
        });
        told.collect()
    }

    /// A place is not disputed any more.
    pub(super) fn ended(&self, position: u64) {
        self.0.lock().remove(&position);
    }

    /// Forgets all places but those that are still open.
    pub(super) fn keep(&self, open: impl IntoIterator<Item = u64>) {
        let open: BTreeSet<u64> = open.into_iter().collect();
        self.0.lock().retain(|position, _| open.contains(position));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    fn goes_on(disputes: &Disputes, position: u64) -> bool {
        disputes.goes_on("a chain", position, &["a".to_owned(), "b".to_owned()])
    }

    #[tokio::test(start_paused = true)]
    async fn a_dispute_that_lasts_ten_minutes_calls_a_person_once() {
        let disputes = Disputes::default();
        assert!(!goes_on(&disputes, 7));
        advance(PATIENCE.saturating_sub(Duration::from_secs(1))).await;
        assert!(!goes_on(&disputes, 7) && !goes_on(&disputes, 8));
        assert_eq!(disputes.lasting(), []);
        advance(Duration::from_secs(1)).await;
        assert!(goes_on(&disputes, 7));
        assert!(!goes_on(&disputes, 7), "once");
        assert!(!goes_on(&disputes, 8), "each by itself");
        let named = LastingDispute { position: 7, nodes: vec!["a".to_owned(), "b".to_owned()] };
        assert_eq!(disputes.lasting(), [named]);
        disputes.ended(8);
        advance(PATIENCE).await;
        assert!(!goes_on(&disputes, 8), "it began anew");
        disputes.keep([8]);
        assert_eq!(disputes.lasting(), []);
        advance(PATIENCE).await;
        assert!(!goes_on(&disputes, 7) && goes_on(&disputes, 8));
    }
}
