//! The members of a fleet, and the rules that its nodes are held to.

use super::error::{NodeError, RealChain};
use config::RpcUrl;
use std::time::Duration;

/// A node's place in the configuration: first those that are asked, then those that are only sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub usize);

/// The rules that all nodes of a fleet are held to.
#[derive(Clone, Copy, Debug)]
pub struct FleetRules {
    /// The chain that every node must be on.
    pub chain: RealChain,
    /// Longest time that one exchange may take.
    pub timeout: Duration,
    /// True if a node's error says that the node cannot answer at the moment, while another one may.
    pub passing: fn(&NodeError) -> bool,
    /// Number of requests that each provider may get in a day; none if requests are not counted.
    pub a_day: Option<u64>,
    /// Seed that spreads the pauses before retries, from the dialler ([`Dial::seed`]).
    ///
    /// [`Dial::seed`]: super::exchange::Dial::seed
    pub seed: u64,
}

/// A node that a fleet is made of.
#[derive(Debug)]
pub struct Member<C> {
    /// The host that it is called by.
    pub host: String,
    /// Provider that runs the node. Two nodes of one provider count once.
    pub provider: String,
    /// True if transactions are sent to the node and nothing is asked of it.
    pub send_only: bool,
    /// The way to it.
    pub client: C,
}

impl<C> Member<C> {
    /// A node that is asked at `url`.
    pub fn asked(url: &RpcUrl, client: C) -> Self {
        Self { host: url.host(), provider: url.provider(), send_only: false, client }
    }

    /// A node to which transactions are sent at `url`, and of which nothing is asked.
    pub fn sent_to(url: &RpcUrl, client: C) -> Self {
        Self { send_only: true, ..Self::asked(url, client) }
    }
}
