//! One read of one node: the best one, a second one when the first keeps us waiting, another one
//! when it fails.

use super::node::Node;
use super::{Fleet, NodeId};
use crate::node::exchange::NoReply;
use crate::node::rpc::{Fault, NodeError, RpcError};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// No second node is asked before this, ms, however fast the first one usually is.
const SHORTEST_HEDGE_MS: u64 = 150;

/// How often a read that failed is made again.
const RETRIES: usize = 2;

/// The longest pause before the first retry on the same node, ms. Doubles with each.
const LONGEST_PAUSE_MS: u64 = 100;

/// Whom to ask.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) only: Option<NodeId>,
}

impl Asker<'_> {
    /// The one node that this asks; none when it asks whichever is best.
    pub fn only(&self) -> Option<NodeId> {
        self.only
    }

    /// Asks. A read only: it may be asked twice.
    pub async fn ask<R>(&self, method: &'static str, params: Value) -> Result<R, RpcError>
    where
        R: DeserializeOwned + Send,
    {
        match self.only {
            None => self.fleet.ask(method, params).await,
            Some(id) => match self.fleet.node(id) {
                Some(node) => node.ask(method, params).await,
                None => Err(RpcError { method, fault: Fault::NoNode }),
            },
        }
    }
}

impl Fleet {
    /// Asks the best node. A second one is asked as well when the answer takes longer than nearly
    /// all of them do, and another one when it fails; the first answer counts.
    pub async fn ask<R>(&self, method: &'static str, params: Value) -> Result<R, RpcError>
    where
        R: DeserializeOwned + Send,
    {
        self.retries.earn();
        let nodes = self.ranked();
        let Some(first) = nodes.first() else { return Err(self.nobody(method)) };
        let (begun, one) = (Instant::now(), |node: Arc<Node>| {
            let params = &params;
            async move { node.ask::<_, R>(method, params).await }
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
            let late = begun.elapsed() >= self.rules.timeout;
            if retries >= RETRIES || late || !self.retries.take() {
                return Err(failed);
            }
            retries = retries.saturating_add(1);
            if let Some(node) = unused.next() {
                running.push(one(Arc::clone(node)));
            } else {
                sleep(jitter(retries)).await;
                running.push(one(Arc::clone(first)));
            }
        }
    }

    /// Whether another try, or another node, may do better.
    fn passes(&self, fault: &Fault) -> bool {
        match fault {
            Fault::Node(error) => self.is_passing(error),
            Fault::Lost(NoReply::TooLong) | Fault::WrongChain { .. } | Fault::NoNode => false,
            Fault::Lost(
                NoReply::Refused | NoReply::NoConnection | NoReply::TimedOut | NoReply::Broken,
            )
            | Fault::Http(_)
            | Fault::Garbled => true,
        }
    }

    fn is_passing(&self, error: &NodeError) -> bool {
        (self.rules.passing)(error)
    }
}

/// A pause before the `retry`-th retry, evenly spread, so that many who failed together do not come
/// back together.
fn jitter(retry: usize) -> Duration {
    let mut byte = [u8::MAX];
    // Without chance the pause is the longest.
    getrandom::getrandom(&mut byte).unwrap_or_default();
    let longest = LONGEST_PAUSE_MS.saturating_mul(u64::try_from(retry).unwrap_or(1));
    let [share] = byte;
    Duration::from_millis(longest.saturating_mul(share.into()).div_euclid(255))
}
