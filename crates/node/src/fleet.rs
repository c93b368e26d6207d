//! The nodes of one chain: which of them are fit to be asked, and how many have to say the same
//! before it counts.
//!
//! A read goes to the best node. A conclusion needs two providers where two are configured. Bytes to
//! send go to all. Decisions are pure (`agree`, `health`); everything else here asks and remembers.

use super::agree::{HeadSeen, out_of_step, reached_by};
use super::allowance::Allowance;
use super::client::Client;
use super::error::{AskError, Fault, RealChain};
use super::health::State;
use super::member::Node;
use super::redact::Redactor;
use super::retries::Retries;
use super::rules::{FleetRules, Member, NodeId};
use futures_util::future::join_all;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tracing::{error, warn};

/// All nodes of one chain.
pub struct Fleet<C> {
    nodes: Vec<Arc<Node<C>>>,
    rules: FleetRules,
    redactor: Redactor,
    retries: Retries,
    /// Sends that nobody waits for any more.
    tasks: TaskTracker,
}

impl<C: Client> Fleet<C> {
    /// A fleet of these nodes: those that are asked come before those that are only sent to.
    pub fn of(members: Vec<Member<C>>, rules: FleetRules) -> Self {
        let labels = labels(&members.iter().map(|member| member.host.clone()).collect::<Vec<_>>());
        let secrets = members.iter().map(|member| member.client.redactor().clone());
        let redactor = secrets.fold(Redactor::default(), Redactor::and);
        let mut allowances: BTreeMap<String, Arc<Allowance>> = BTreeMap::new();
        let now = Instant::now();
        let mut allowance = |provider: &str| {
            let a_day = rules.a_day?;
            let new = || Arc::new(Allowance::of(a_day, now));
            Some(Arc::clone(allowances.entry(provider.to_owned()).or_insert_with(new)))
        };
        let node = |((place, member), label): ((usize, Member<C>), String)| {
            let allowance = allowance(&member.provider);
            Arc::new(Node::new(NodeId(place), label, member, rules, allowance))
        };
        let nodes = members.into_iter().enumerate().zip(labels).map(node).collect();
        let retries = Retries::new(rules.seed);
        Self { nodes, rules, redactor, retries, tasks: TaskTracker::new() }
    }

    /// The nodes that count now, the best first, of each provider only the best. One that has not
    /// seen the block that two have reached comes after those that have: it would have to pass on
    /// what is asked about it. One that was silent in the last look comes last.
    pub fn fit(&self) -> Vec<NodeId> {
        let alive = self.alive();
        let mut fit: Vec<NodeId> = Vec::with_capacity(alive.len());
        for node in alive {
            let chosen = |id: &NodeId| self.node(*id).map(|node| &node.provider);
            if fit.iter().all(|id| chosen(id) != Some(&node.provider)) {
                fit.push(node.id);
            }
        }
        fit
    }

    fn alive(&self) -> Vec<Arc<Node<C>>> {
        let counts = |node: &&Arc<Node<C>>| matches!(node.state(), State::Alive | State::Silent);
        let mut alive: Vec<Arc<Node<C>>> = self.readers().filter(counts).map(Arc::clone).collect();
        let silent = |node: &Arc<Node<C>>| node.state() == State::Silent;
        let number = |node: &Arc<Node<C>>| node.head().map_or(0, |head| head.number);
        let reached = reached_by(alive.iter().map(number), alive.len().min(2));
        let late = |node: &Arc<Node<C>>| reached.is_some_and(|reached| number(node) < reached);
        alive.sort_by_cached_key(|node| (silent(node), late(node), Reverse(node.score()), node.id));
        alive
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
        let counts = |node: &&Arc<Node<C>>| matches!(node.state(), State::Alive | State::OutOfSync);
        let heads: Vec<(NodeId, HeadSeen)> = self
            .readers()
            .filter(counts)
            .filter_map(|node| Some((node.id, node.head()?)))
            .collect();
        let off = out_of_step(&heads);
        for node in self.readers() {
            node.set_behind(off.contains(&node.id));
        }
    }

    /// The nodes to look at: all that are asked and that may be asked now, however far they lag, and one
    /// on another chain when it is time to ask whether it still is. A fleet that would otherwise be
    /// silent looks at all.
    pub fn watched(&self) -> Vec<NodeId> {
        let usable =
            |node: &&Arc<Node<C>>| node.wrong_chain().is_none() || node.verification_is_due();
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
    pub async fn verify_when_due(&self, id: NodeId) -> Result<(), AskError> {
        match self.node(id) {
            Some(node) => node.verify_when_due().await,
            None => Err(AskError { question: "the chain's id", fault: Fault::NoNode }),
        }
    }

    /// Asks all nodes which chain they are on.
    pub async fn verify_all(&self) -> Vec<(NodeId, Result<(), AskError>)> {
        join_all(self.nodes.iter().map(async |node| (node.id, node.verify_when_due().await))).await
    }

    /// Returns the number of times that an exchange with this node has broken: facts learnt of the node before may
    /// not hold any more.
    pub fn breaks(&self, id: NodeId) -> u64 {
        self.node(id).map_or(0, |node| node.breaks())
    }

    /// A node said something false, as is now known for certain. It is not believed for an hour.
    pub fn caught_lying(&self, id: NodeId, what: &str) {
        if let Some(node) = self.node(id) {
            error!(node = node.label, "this node lied: {what}");
            node.lied(what);
        }
    }

    /// A node said something else than two others.
    pub fn dissented(&self, id: NodeId, what: &str) {
        if let Some(node) = self.node(id) {
            warn!(node = node.label, "this node disagrees with the others: {what}");
            node.dissented(what);
        }
    }

    /// A node was too slow for the others to wait for.
    pub fn kept_waiting(&self, id: NodeId) {
        if let Some(node) = self.node(id) {
            node.kept_waiting();
        }
    }

    /// A node gave no answer in a whole look.
    pub(super) fn was_silent(&self, id: NodeId) {
        if let Some(node) = self.node(id) {
            node.was_silent();
        }
    }

    /// Returns the name of a node.
    pub fn label(&self, id: NodeId) -> &str {
        self.node(id).map_or("", |node| &node.label)
    }

    pub(super) fn readers(&self) -> impl Iterator<Item = &Arc<Node<C>>> {
        self.nodes.iter().filter(|node| !node.send_only)
    }

    /// Takes what is secret about any of the nodes out of a text.
    pub fn clean(&self, text: &str) -> String {
        self.redactor.clean(text)
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&Arc<Node<C>>> {
        self.nodes.get(id.0)
    }

    /// The nodes to read from, the best first. When none is fit, any whose chain is certain: an
    /// answer of a node in trouble may still be had, and a fleet of one has no other.
    pub(super) fn ranked(&self) -> Vec<Arc<Node<C>>> {
        let alive = self.alive();
        if !alive.is_empty() {
            return alive;
        }
        let mut rest: Vec<Arc<Node<C>>> =
            self.readers().filter(|node| node.is_verified()).map(Arc::clone).collect();
        rest.sort_by_key(|node| (Reverse(node.score()), node.id));
        rest
    }

    /// The chain that the first node is on, when all of them are on a wrong one.
    pub fn all_on_wrong_chain(&self) -> Option<RealChain> {
        let wrong: Option<Vec<RealChain>> = self.readers().map(|node| node.wrong_chain()).collect();
        wrong?.first().copied()
    }

    pub(super) fn nobody(&self, question: &'static str) -> AskError {
        let configured = self.rules.chain;
        let wrong = self.all_on_wrong_chain();
        let fault =
            wrong.map_or(Fault::NoNode, |answered| Fault::WrongChain { answered, configured });
        AskError { question, fault }
    }

    /// Returns the client of a node.
    pub fn client(&self, id: NodeId) -> Option<&C> {
        self.node(id).map(|node| &node.client)
    }

    /// Returns the clients of all nodes that are asked.
    pub fn clients(&self) -> impl Iterator<Item = &C> {
        self.readers().map(|node| &node.client)
    }

    pub(super) fn nodes(&self) -> &[Arc<Node<C>>] {
        &self.nodes
    }

    pub(super) fn rules(&self) -> &FleetRules {
        &self.rules
    }

    pub(super) fn retries(&self) -> &Retries {
        &self.retries
    }

    pub(super) fn background(&self) -> &TaskTracker {
        &self.tasks
    }
}

impl<C> fmt::Debug for Fleet<C> {
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

#[cfg(test)]
mod tests;
