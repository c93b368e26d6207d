//! One read of one node: the best one, a second one when the first keeps us waiting, another one
//! when it fails.

use super::client::Client;
use super::error::{AskError, Fault};
use super::exchange::NoReply;
use super::fleet::Fleet;
use super::member::Node;
use super::rules::NodeId;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// No second node is asked before this, ms, however fast the first one usually is.
const SHORTEST_HEDGE_MS: u64 = 150;

/// Number of times that a failed read is repeated.
const RETRIES: usize = 2;

/// The node or nodes to ask.
#[derive(Debug)]
pub struct Asker<'a, C> {
    fleet: &'a Fleet<C>,
    only: Option<NodeId>,
}

impl<C> Clone for Asker<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Asker<'_, C> {}

impl<'a, C: Client> Asker<'a, C> {
    pub(super) fn new(fleet: &'a Fleet<C>, only: Option<NodeId>) -> Self {
        Self { fleet, only }
    }

    /// The one node that this asks; none when it asks whichever is best.
    pub fn only(&self) -> Option<NodeId> {
        self.only
    }

    /// The fleet that it asks.
    pub fn fleet(&self) -> &'a Fleet<C> {
        self.fleet
    }

    /// Asks. A read only: it may be asked twice.
    pub async fn put<R>(&self, question: C::Question) -> Result<R, AskError>
    where
        R: DeserializeOwned + Send,
    {
        match self.only {
            None => self.fleet.put(question).await,
            Some(id) => match self.fleet.node(id) {
                Some(node) => node.ask(&question).await,
                None => Err(AskError { question: C::name(&question), fault: Fault::NoNode }),
            },
        }
    }
}

impl<C: Client> Fleet<C> {
    /// Asks the best node, with a second one in reserve.
    pub fn best(&self) -> Asker<'_, C> {
        Asker::new(self, None)
    }

    /// Asks this node and no other.
    pub fn only(&self, id: NodeId) -> Asker<'_, C> {
        Asker::new(self, Some(id))
    }

    /// Asks the best node. A second one is asked as well when the answer takes longer than nearly
    /// all of them do, and another one when it fails; the first answer counts.
    pub async fn put<R>(&self, question: C::Question) -> Result<R, AskError>
    where
        R: DeserializeOwned + Send,
    {
        self.retries().earn();
        let nodes = self.ranked();
        let Some(first) = nodes.first() else { return Err(self.nobody(C::name(&question))) };
        let (begun, one) = (Instant::now(), |node: Arc<Node<C>>| {
            let question = &question;
            async move { node.ask::<R>(question).await }
        });
        let hedge = sleep(Duration::from_millis(first.p95_ms().max(SHORTEST_HEDGE_MS)));
        tokio::pin!(hedge);
        let mut running = FuturesUnordered::from_iter([one(Arc::clone(first))]);
        let mut unused = nodes.iter().skip(1);
        let (mut hedged, mut retries) = (nodes.len() < 2, 0);
        loop {
            let failed = tokio::select! {
                biased;
                Some(answer) = running.next() => match answer {
                    Err(error) if self.passes(&error.fault) => error,
                    answer => return answer,
                },
                () = &mut hedge, if !hedged => {
                    hedged = true;
                    running.extend(unused.next().cloned().map(one));
                    continue;
                }
            };
            if !running.is_empty() {
                continue;
            }
            let late = begun.elapsed() >= self.rules().timeout;
            if retries >= RETRIES || late || !self.retries().take() {
                return Err(failed);
            }
            retries = retries.saturating_add(1);
            if let Some(node) = unused.next() {
                running.push(one(Arc::clone(node)));
            } else {
                sleep(self.retries().pause(retries)).await;
                running.push(one(Arc::clone(first)));
            }
        }
    }

    /// Returns true if another try, or another node, may do better.
    fn passes(&self, fault: &Fault) -> bool {
        match fault {
            Fault::Node(error) => (self.rules().passing)(error),
            Fault::Lost(
                NoReply::Refused | NoReply::NoConnection | NoReply::TimedOut | NoReply::Broken,
            )
            | Fault::Http(_)
            | Fault::ShutOut { .. }
            | Fault::Garbled => true,
            Fault::Lost(NoReply::TooLong) | Fault::WrongChain { .. } | Fault::NoNode => false,
        }
    }
}
