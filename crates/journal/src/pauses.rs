//! The pauses of chains, as the last commit left them.

use crate::NotWritten;
use crate::job::{Job, RanWrite};
use crate::model::{OtherPause, Pause, Switch};
use crate::queue::{WorkQueue, tell_if_heard};
use crate::tables::pauses;
use billing::PlatformChainId;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The pauses. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Pauses {
    /// Written by the journal's thread alone.
    known: Arc<RwLock<BTreeMap<PlatformChainId, Pause>>>,
    queue: WorkQueue,
}

impl Pauses {
    pub(crate) fn new(known: BTreeMap<PlatformChainId, Pause>, queue: WorkQueue) -> Self {
        Self { known: Arc::new(RwLock::new(known)), queue }
    }

    /// Returns the pause of a chain, if somebody paused it.
    pub fn of(&self, chain: PlatformChainId) -> Option<Pause> {
        self.known.read().get(&chain).cloned()
    }

    /// Pauses or resumes chains. Once it is told, nothing new is signed on a paused one.
    /// `by` is who does it, and when.
    pub async fn set(&self, switch: Switch, by: Pause) -> Result<(), NotWritten<OtherPause>> {
        let (tell, told) = oneshot::channel();
        let known = Arc::clone(&self.known);
        let job = Job::Write(Box::new(move |conn| {
            let set = pauses::set(conn, &switch, &by);
            let keep = set.is_ok();
            let reply = Box::new(move || {
                let now_known = |now| *known.write() = now;
                tell_if_heard(tell, set.map(now_known));
            });
            RanWrite { keep, reply }
        }));
        self.queue.put(job).await?;
        told.await.map_err(|_| self.queue.lost())?
    }
}
