//! The nodes of a chain as a group, whatever they are asked: for metrics, for people, and for the pace of questions.

use super::client::Client;
use super::fleet::Fleet;
use super::health::State;
use super::member::Node;
use super::traffic::NodeTraffic;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A node as it is shown to people. Holds no URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// Its host; with its place where several nodes share the host.
    pub label: String,
    /// The provider that runs the node, as far as its URL tells.
    pub provider: String,
    /// The use that may be made of the node.
    pub state: State,
    /// The number of the newest block that it told of.
    pub head: Option<u64>,
    /// True if transactions are sent to the node and nothing is asked of it.
    pub send_only: bool,
    /// The last statement of the node that was found false, or different from the others'.
    pub reproach: Option<String>,
}

/// On whose word something is concluded that frees a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// One provider is configured: on its word alone.
    Alone,
    /// One provider is configured, whose final blocks others have to bear out.
    Witnessed,
    /// On that of two providers that say the same.
    Two,
}

impl Trust {
    /// The sentence for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Alone => "one provider: claims are released on its word alone",
            Self::Witnessed => {
                "one provider: claims are released on its word, by blocks that witnesses bear out"
            }
            Self::Two => "claims are released when two providers agree",
        }
    }
}

/// The nodes of one chain.
pub trait NodeGroup: Send + Sync + fmt::Debug {
    /// Returns the number of providers on whose word something is concluded.
    fn trust(&self) -> Trust;

    /// Returns the providers that are configured under several URLs, with the labels of those nodes.
    fn repeated_providers(&self) -> Vec<(String, Vec<String>)>;

    /// Returns the wait before each node is asked so many questions, so that its provider's daily allowance lasts
    /// for the day.
    fn spread(&self, questions: u64) -> Duration;

    /// Returns the questions to each node, and their results.
    fn traffic(&self) -> Vec<NodeTraffic>;

    /// Returns all nodes as people see them.
    fn views(&self) -> Vec<NodeView>;
}

impl<C: Client> NodeGroup for Fleet<C> {
    fn trust(&self) -> Trust {
        let mut providers = self.readers().map(|node| node.provider.as_str());
        let first = providers.next();
        if providers.any(|other| Some(other) != first) { Trust::Two } else { Trust::Alone }
    }

    fn repeated_providers(&self) -> Vec<(String, Vec<String>)> {
        let mut nodes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for node in self.readers() {
            nodes.entry(&node.provider).or_default().push(node.label.clone());
        }
        let repeated = nodes.into_iter().filter(|(_, labels)| labels.len() > 1);
        repeated.map(|(provider, labels)| (provider.to_owned(), labels)).collect()
    }

    fn spread(&self, questions: u64) -> Duration {
        let now = Instant::now();
        let waits = self.readers().filter_map(|node| node.allowance.as_ref());
        waits.map(|allowance| allowance.wait_for(questions, now)).max().unwrap_or_default()
    }

    fn traffic(&self) -> Vec<NodeTraffic> {
        let now = Instant::now();
        let view = |node: &Arc<Node<C>>| {
            let left = node.allowance.as_ref().map(|allowance| allowance.left(now));
            NodeTraffic { left, ..node.traffic.view(&node.label) }
        };
        self.nodes().iter().map(view).collect()
    }

    fn views(&self) -> Vec<NodeView> {
        let view = |node: &Arc<Node<C>>| NodeView {
            label: node.label.clone(),
            provider: node.provider.clone(),
            reproach: node.reproach(),
            state: node.state(),
            head: node.head().map(|head| head.number),
            send_only: node.send_only,
        };
        self.nodes().iter().map(view).collect()
    }
}
