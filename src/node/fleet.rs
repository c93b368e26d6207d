//! The RPC nodes of one chain: which of them are fit to be asked, and how many have to say the same
//! before it counts.
//!
//! A read goes to the best node. A conclusion needs two where two are configured. Bytes to send go to
//! all. Decisions are pure (`agree`, `health`); everything else here asks and remembers.

mod agree;
mod ask;
mod broadcast;
mod health;
mod node;

pub use agree::{HeadSeen, NonceSeen, median, reached_by, refuted, shared};
pub use ask::Asker;
pub use broadcast::Said;
pub use health::State;

use crate::config::RpcUrl;
use crate::node::exchange::{Dial, Target, Undialable};
use crate::node::rpc::{Fault, NodeError, Rpc, RpcError};
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use node::Node;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio_util::task::TaskTracker;
use tracing::{error, warn};

/// A node's place in the configuration: first those of `rpc`, then those of `send_only`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub usize);

/// What all nodes of a fleet are held to.
#[derive(Clone, Copy, Debug)]
pub struct FleetRules {
    /// The id that every node must answer for (EIP-155).
    pub chain_id: u64,
    /// How long one exchange may take.
    pub timeout: Duration,
    /// Whether a node's error says that it cannot answer at the moment, while another one may.
    pub passing: fn(&NodeError) -> bool,
}

/// A node as it is shown to people. Holds no URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// Its host; with its place where several nodes share the host.
    pub label: String,
    /// What it may be used for.
    pub state: State,
    /// The number of the newest block that it told of.
    pub head: Option<u64>,
    /// Whether transactions are sent to it and nothing is asked of it.
    pub send_only: bool,
}

/// Said of a fleet in which nobody can bear anybody out.
pub const ALONE: &str = "one node: claims are released on its word alone";

/// A URL of the configuration that no client can be made for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct Unusable {
    /// Where it stands: `rpc[1]`.
    pub key: String,
    /// What is wrong with it.
    pub problem: Undialable,
}

/// Not enough nodes said the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{question}: {needed} nodes must give the same answer, and of {asked} that were asked no {needed} did"
)]
pub struct NoAgreement {
    /// What was asked.
    pub question: &'static str,
    /// How many had to agree.
    pub needed: usize,
    /// How many were asked.
    pub asked: usize,
}

/// All nodes of one chain.
pub struct Fleet {
    nodes: Vec<Arc<Node>>,
    rules: FleetRules,
    retries: Retries,
    /// Sends that nobody waits for any more.
    tasks: TaskTracker,
}

impl Fleet {
    /// A fleet of the nodes at `rpc`, which are asked, and at `send_only`, which are not.
    pub fn new(
        dial: &dyn Dial,
        rpc: &[RpcUrl],
        send_only: &[RpcUrl],
        rules: FleetRules,
    ) -> Result<Self, Unusable> {
        let all: Vec<&RpcUrl> = rpc.iter().chain(send_only).collect();
        let labels = labels(&all.iter().map(|url| url.host()).collect::<Vec<_>>());
        let mut nodes = Vec::with_capacity(all.len());
        for ((place, url), label) in all.into_iter().enumerate().zip(labels) {
            let sends = place.checked_sub(rpc.len());
            let target = Target { url, key: None, timeout: rules.timeout };
            let client = Rpc::new(dial, target).map_err(|problem| {
                let key = sends.map_or(format!("rpc[{place}]"), |at| format!("send_only[{at}]"));
                Unusable { key, problem }
            })?;
            nodes.push(Arc::new(Node::new(NodeId(place), label, sends.is_some(), client, rules)));
        }
        Ok(Self { nodes, rules, retries: Retries::default(), tasks: TaskTracker::new() })
    }

    /// Asks the best node, with a second one in reserve.
    pub fn best(&self) -> Asker<'_> {
        Asker { fleet: self, only: None }
    }

    /// Asks this node and no other.
    pub fn only(&self, id: NodeId) -> Asker<'_> {
        Asker { fleet: self, only: Some(id) }
    }

    /// How many nodes have to say the same before it counts: two where two are configured.
    pub fn needed(&self) -> usize {
        if self.readers().count() >= 2 { 2 } else { 1 }
    }

    /// Whether there is nobody to contradict a node.
    pub fn is_alone(&self) -> bool {
        self.needed() < 2
    }

    /// The nodes that may be asked now, the best first. One that has not seen the block that two
    /// have reached comes after those that have: it would have to pass on what is asked about it.
    pub fn fit(&self) -> Vec<NodeId> {
        let mut fit: Vec<&Arc<Node>> =
            self.readers().filter(|node| node.state() == State::Alive).collect();
        let number = |node: &Arc<Node>| node.head().map_or(0, |head| head.number);
        let reached = reached_by(fit.iter().map(|node| number(node)), fit.len().min(2));
        let late = |node: &Arc<Node>| reached.is_some_and(|reached| number(node) < reached);
        fit.sort_by_cached_key(|node| (late(node), Reverse(node.score()), node.id));
        fit.into_iter().map(|node| node.id).collect()
    }

    /// Asks every fit node at once, for conclusions. The answers are in the order of the fitness.
    pub async fn each<R>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Vec<(NodeId, Result<R, RpcError>)>
    where
        R: DeserializeOwned + Send,
    {
        let asked = self.fit().into_iter().map(async |id| {
            let answer = self.only(id).ask(method, params.clone()).await;
            (id, answer)
        });
        join_all(asked).await
    }

    /// What two fit nodes say alike (one, in a fleet of one), as soon as they have.
    pub async fn agreed<R>(&self, method: &'static str, params: Value) -> Result<R, NoAgreement>
    where
        R: DeserializeOwned + PartialEq + Send,
    {
        let fit = self.fit();
        let (needed, asked) = (self.needed(), fit.len());
        let mut running: FuturesUnordered<_> = fit
            .into_iter()
            .map(|id| {
                let params = params.clone();
                async move { self.only(id).ask::<R>(method, params).await }
            })
            .collect();
        let mut answers: Vec<R> = Vec::new();
        while let Some(answer) = running.next().await {
            let Ok(answer) = answer else { continue };
            if answers.iter().filter(|other| **other == answer).count().saturating_add(1) >= needed
            {
                return Ok(answer);
            }
            answers.push(answer);
        }
        Err(NoAgreement { question: method, needed, asked })
    }

    /// The newest heads that were told of, of the fit nodes, the best node first.
    pub fn heads(&self) -> Vec<(NodeId, HeadSeen)> {
        let head = |id: NodeId| Some((id, self.node(id)?.head()?));
        self.fit().into_iter().filter_map(head).collect()
    }

    /// Remembers heads, and decides who is out of step with the others.
    pub fn note_heads(&self, seen: &[(NodeId, HeadSeen)]) {
        for (id, head) in seen {
            if let Some(node) = self.node(*id) {
                node.set_head(*head);
            }
        }
        let counts = |node: &&Arc<Node>| matches!(node.state(), State::Alive | State::OutOfSync);
        let heads: Vec<(NodeId, HeadSeen)> = self
            .readers()
            .filter(counts)
            .filter_map(|node| Some((node.id, node.head()?)))
            .collect();
        let off = agree::out_of_step(&heads);
        for node in self.readers() {
            node.set_behind(off.contains(&node.id));
        }
    }

    /// The nodes to look at: all that are asked and that may be asked now, whatever chain they are
    /// on or however far they lag. A fleet that would otherwise be silent looks at all.
    pub fn watched(&self) -> Vec<NodeId> {
        let usable = |node: &&Arc<Node>| node.wrong_chain().is_none();
        let admitted: Vec<NodeId> = self
            .readers()
            .filter(usable)
            .filter(|node| node.admits() && node.state() != State::Quarantined)
            .map(|node| node.id)
            .collect();
        if admitted.is_empty() {
            return self.readers().filter(usable).map(|node| node.id).collect();
        }
        admitted
    }

    /// Asks a node which chain it is on, when that is due: at first, every ten minutes, and after a
    /// broken exchange.
    pub async fn verify_when_due(&self, id: NodeId) -> Result<(), RpcError> {
        match self.node(id) {
            Some(node) => node.verify_when_due().await,
            None => Err(RpcError { method: "eth_chainId", fault: Fault::NoNode }),
        }
    }

    /// Asks all nodes which chain they are on.
    pub async fn verify_all(&self) -> Vec<(NodeId, Result<(), RpcError>)> {
        join_all(self.nodes.iter().map(async |node| (node.id, node.verify_when_due().await))).await
    }

    /// How often an exchange with this node has broken: what was learnt of it may not hold any more.
    pub fn breaks(&self, id: NodeId) -> u64 {
        self.node(id).map_or(0, |node| node.breaks())
    }

    /// A node said something false, as is now known for certain. It is not believed for an hour.
    pub fn caught_lying(&self, id: NodeId, what: &str) {
        if let Some(node) = self.node(id) {
            error!(node = node.label, "this node lied: {what}");
            node.lied();
        }
    }

    /// A node said something else than two others.
    pub fn dissented(&self, id: NodeId, what: &str) {
        if let Some(node) = self.node(id) {
            warn!(node = node.label, "this node disagrees with the others: {what}");
            node.dissented();
        }
    }

    /// A node was too slow for the others to wait for.
    pub fn kept_waiting(&self, id: NodeId) {
        if let Some(node) = self.node(id) {
            node.kept_waiting();
        }
    }

    /// All nodes as people see them.
    pub fn views(&self) -> Vec<NodeView> {
        let view = |node: &Arc<Node>| NodeView {
            label: node.label.clone(),
            state: node.state(),
            head: node.head().map(|head| head.number),
            send_only: node.send_only,
        };
        self.nodes.iter().map(view).collect()
    }

    /// What a node is called.
    pub fn label(&self, id: NodeId) -> &str {
        self.node(id).map_or("", |node| &node.label)
    }

    fn readers(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.iter().filter(|node| !node.send_only)
    }

    fn node(&self, id: NodeId) -> Option<&Arc<Node>> {
        self.nodes.get(id.0)
    }

    /// The nodes to read from, the best first. When none is fit, any whose chain is certain: an
    /// answer of a node in trouble may still be had, and a fleet of one has no other.
    fn ranked(&self) -> Vec<Arc<Node>> {
        let fit: Vec<Arc<Node>> =
            self.fit().into_iter().filter_map(|id| self.node(id)).map(Arc::clone).collect();
        if !fit.is_empty() {
            return fit;
        }
        let mut rest: Vec<Arc<Node>> =
            self.readers().filter(|node| node.is_verified()).map(Arc::clone).collect();
        rest.sort_by_key(|node| (Reverse(node.score()), node.id));
        rest
    }

    /// The chain that the first node is on, when all of them are on a wrong one.
    pub fn all_on_wrong_chain(&self) -> Option<u64> {
        let wrong: Option<Vec<u64>> = self.readers().map(|node| node.wrong_chain()).collect();
        wrong?.first().copied()
    }

    fn nobody(&self, method: &'static str) -> RpcError {
        let fault = self.all_on_wrong_chain().map_or(Fault::NoNode, |answered| Fault::WrongChain {
            answered,
            configured: self.rules.chain_id,
        });
        RpcError { method, fault }
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.nodes.iter().map(|node| &node.label)).finish()
    }
}

/// The hosts, with their place where one of them occurs twice.
fn labels(hosts: &[String]) -> Vec<String> {
    let label = |(place, host): (usize, &String)| {
        let alone = hosts.iter().filter(|other| *other == host).count() == 1;
        if alone { host.clone() } else { format!("{host}[{place}]") }
    };
    hosts.iter().enumerate().map(label).collect()
}

/// Holds retries to a tenth of all questions, so that a fleet in trouble is not asked twice as much.
#[derive(Debug)]
struct Retries(AtomicU32);

/// What one retry costs, and what one question earns is one.
const RETRY_COST: u32 = 10;

/// How much may be saved up: thirty retries.
const MOST_SAVED: u32 = 300;

impl Default for Retries {
    fn default() -> Self {
        Self(AtomicU32::new(MOST_SAVED))
    }
}

impl Retries {
    fn earn(&self) {
        let more = |saved: u32| (saved < MOST_SAVED).then(|| saved.saturating_add(1));
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok();
    }

    fn take(&self) -> bool {
        let less = |saved: u32| saved.checked_sub(RETRY_COST);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

#[cfg(test)]
mod tests;
