//! How long nodes have told different records of one final block.

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;

/// How long two nodes may contradict each other about a final block before a person is called. Nodes
/// index a block within seconds, and within minutes after a restart; what lasts longer is a record
/// that one of them keeps otherwise, or a lie, and does not end by itself.
const PATIENCE: Duration = Duration::from_mins(10);

#[derive(Clone, Copy, Debug)]
struct Dispute {
    since: Instant,
    told: bool,
}

/// The places of the line that nodes dispute.
#[derive(Debug, Default)]
pub(super) struct Disputes(Mutex<BTreeMap<u64, Dispute>>);

impl Disputes {
    /// A place is disputed now. True once, when it has been for too long.
    pub(super) fn lasts_too_long(&self, position: u64) -> bool {
        let mut disputes = self.0.lock();
        let new = || Dispute { since: Instant::now(), told: false };
        let dispute = disputes.entry(position).or_insert_with(new);
        let late = dispute.since.elapsed() >= PATIENCE && !dispute.told;
        dispute.told |= late;
        late
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

    #[tokio::test(start_paused = true)]
    async fn a_dispute_that_lasts_ten_minutes_calls_a_person_once() {
        let disputes = Disputes::default();
        assert!(!disputes.lasts_too_long(7));
        advance(PATIENCE.saturating_sub(Duration::from_secs(1))).await;
        assert!(!disputes.lasts_too_long(7) && !disputes.lasts_too_long(8));
        advance(Duration::from_secs(1)).await;
        assert!(disputes.lasts_too_long(7));
        assert!(!disputes.lasts_too_long(7), "once");
        assert!(!disputes.lasts_too_long(8), "each by itself");
        disputes.ended(8);
        advance(PATIENCE).await;
        assert!(!disputes.lasts_too_long(8), "it began anew");
        disputes.keep([8]);
        advance(PATIENCE).await;
        assert!(!disputes.lasts_too_long(7) && disputes.lasts_too_long(8));
    }
}
