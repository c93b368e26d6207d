//! The fleet of a TRON chain's nodes.

use super::endpoints::{ApiUnusable, Endpoints};
use config::TvmConfig;
use node::{Dial, Fleet, FleetRules, Member, RealChain};

/// A node of the configuration that there are no clients for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nodes[{place}].{unusable}")]
pub struct UnusableNode {
    /// Its place in the list.
    pub place: usize,
    /// The URL that cannot be used, and why.
    pub unusable: ApiUnusable,
}

/// The fleet of a TRON chain's nodes. Nothing is asked yet.
pub fn fleet(dial: &dyn Dial, config: &TvmConfig) -> Result<Fleet<Endpoints>, UnusableNode> {
    let member = |(place, node)| {
        let client = Endpoints::dial(dial, node, config.rpc_timeout)
            .map_err(|unusable| UnusableNode { place, unusable })?;
        Ok(Member::asked(&node.full, client))
    };
    let members: Result<Vec<_>, _> = config.nodes.iter().enumerate().map(member).collect();
    let rules = FleetRules {
        chain: RealChain::Genesis(config.chain_id),
        timeout: config.rpc_timeout,
        a_day: config.max_requests_per_day,
        // A node that is busy shuts us out instead.
        passing: |_| false,
        seed: dial.seed(),
    };
    Ok(Fleet::of(members?, rules))
}
