//! The last look at a chain's head, kept between beats so that a request needs none of its questions, and
//! what both families do with what each node told in it.

use super::{ChainError, HeadView, Unanswered};
use ::node::{Client, Fleet, HeadSeen, NodeId};
use host::clock::Clock;
use parking_lot::RwLock;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

/// The head of a chain, as its nodes tell it together.
pub(super) trait HeadLook {
    /// Returns the part of the look that the rest of the program is told.
    fn view(&self) -> HeadView;

    /// When it was made.
    fn seen(&self) -> Instant;

    /// The same by this machine's clock as it goes now, Unix ms. While nothing is open a look may be a minute
    /// old, and what was in time then is no reason to call the chain late now; nothing is signed by it.
    /// One that is younger than `young`, as on a chain at work, is judged by the time that it is.
    fn when_seen(&self, clock: Clock, young: Duration) -> i64 {
        let age = self.seen().elapsed();
        let age_ms = if age < young { 0 } else { age.as_millis() };
        clock.unix_ms().saturating_sub(i64::try_from(age_ms).unwrap_or(i64::MAX))
    }
}

/// The newest look at a head; none before the first.
#[derive(Debug)]
pub(super) struct KeptHead<H> {
    last: RwLock<Option<Arc<H>>>,
    view: watch::Sender<Option<HeadView>>,
    /// Held during a look.
    looking: Mutex<()>,
}

impl<H: HeadLook> KeptHead<H> {
    /// Nothing is known.
    pub(super) fn unseen() -> Self {
        Self { last: RwLock::new(None), view: watch::Sender::new(None), looking: Mutex::default() }
    }

    /// The newest look.
    pub(super) fn last(&self) -> Option<Arc<H>> {
        self.last.read().clone()
    }

    /// The newest look, and every one after it.
    pub(super) fn views(&self) -> watch::Receiver<Option<HeadView>> {
        self.view.subscribe()
    }

    /// Looks now. One look at a time.
    pub(super) async fn renewed(
        &self,
        look: impl Future<Output = Result<H, ChainError>>,
    ) -> Result<Arc<H>, ChainError> {
        let _turn = self.looking.lock().await;
        look.await.map(|head| self.keep(head))
    }

    /// The last look if it is younger than `age`, else a new one.
    pub(super) async fn younger_than(
        &self,
        age: Duration,
        look: impl Future<Output = Result<H, ChainError>>,
    ) -> Result<Arc<H>, ChainError> {
        let young = || self.last().filter(|head| head.seen().elapsed() < age);
        if let Some(head) = young() {
            return Ok(head);
        }
        let _turn = self.looking.lock().await;
        match young() {
            Some(head) => Ok(head),
            None => look.await.map(|head| self.keep(head)),
        }
    }

    /// Forgets the last look: it was of another chain.
    pub(super) fn forget(&self) {
        *self.last.write() = None;
    }

    fn keep(&self, head: H) -> Arc<H> {
        let head = Arc::new(head);
        *self.last.write() = Some(Arc::clone(&head));
        self.view.send_replace(Some(head.view()));
        head
    }
}

/// Collects the answers of the fit nodes, and notes how far each of them is. Fails if no node can be used.
pub(super) fn told_by_fit<C: Client, L>(
    fleet: &Fleet<C>,
    told: Vec<(NodeId, Result<L, ChainError>)>,
    seen: fn(&L) -> HeadSeen,
) -> Result<Vec<(NodeId, L)>, ChainError> {
    let (mut looks, mut failure) = (Vec::new(), None);
    for (id, look) in told {
        match look {
            Ok(look) => looks.push((id, look)),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    let heads: Vec<(NodeId, HeadSeen)> = looks.iter().map(|(id, look)| (*id, seen(look))).collect();
    fleet.note_heads(&heads);
    let fit = fleet.fit();
    looks.retain(|(id, _)| fit.contains(id));
    if looks.is_empty() {
        return Err(failure.unwrap_or_else(|| Unanswered::NoNode.into()));
    }
    Ok(looks)
}
