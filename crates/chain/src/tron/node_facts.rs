//! The facts that a node turned out to know besides what it tells in every look: contracts that are deployed, and the
//! chain's voted parameters.

use super::access::Access;
use super::resources::Prices;
use crate::{CallFault, ChainError, OddAnswer, Unanswered};
use ::node::{NodeId, reached_by};
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;
use tron_node::Parameters;
use tron_primitives::address::to_base58;

/// Time for which deployed contracts and prices are taken to be the same, unless an exchange breaks or the chain's
/// maintenance passes before.
const RECHECK: Duration = Duration::from_mins(10);

/// The facts that a node turned out to know, and the chain's voted parameters as it tells them.
#[derive(Clone, Copy, Debug)]
pub(super) struct TronNodeFacts {
    /// True if there is a contract at the billing contract's address.
    contract: bool,
    /// True if there is a contract at the aggregator's address.
    multicall: bool,
    pub(super) prices: Prices,
    /// Time for which a block lets one transaction compute, ms; none if the node does not tell.
    pub(super) cpu_ms: Option<u64>,
    /// Time of the next change of prices, Unix ms.
    maintenance_ms: u64,
    checked: Instant,
    breaks: u64,
}

/// Deployed contract code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deployed {
    /// True if the billing contract is there.
    contract: bool,
    /// True if the aggregator is there.
    pub(super) multicall: bool,
}

/// The facts known of each node.
#[derive(Debug)]
pub(super) struct KnownNodes {
    access: Access,
    learnt: RwLock<BTreeMap<NodeId, TronNodeFacts>>,
}

impl KnownNodes {
    /// No node is known yet.
    pub(super) fn of(access: Access) -> Self {
        Self { access, learnt: RwLock::default() }
    }

    /// Returns the deployed contracts that the fit nodes know together, as far as the last look tells. A contract is
    /// there when any node says so; the aggregator is used when two nodes, or all there are, say that it is there.
    pub(super) fn deployed(&self) -> Result<Deployed, ChainError> {
        let deployed = self.together().ok_or(Unanswered::NotReached)?;
        if deployed.contract {
            return Ok(deployed);
        }
        Err(CallFault::NoContract(to_base58(self.access.contract())).into())
    }

    fn together(&self) -> Option<Deployed> {
        let learnt = self.learnt.read();
        let fit: Vec<TronNodeFacts> =
            self.access.fleet.fit().iter().filter_map(|id| learnt.get(id)).copied().collect();
        let multicall = reached_by(fit.iter().map(|known| known.multicall), fit.len().min(2))?;
        Some(Deployed { contract: fit.iter().any(|known| known.contract), multicall })
    }

    /// Asks a node for what is deployed and what things cost: at the first look, every ten minutes, after the chain's
    /// maintenance, and after a broken exchange. `passed_ms` is the time that the head has passed, Unix ms.
    pub(super) async fn learn_when_due(
        &self,
        id: NodeId,
        passed_ms: u64,
    ) -> Result<TronNodeFacts, ChainError> {
        let before = self.learnt.read().get(&id).copied();
        let breaks = self.access.fleet.breaks(id);
        let fresh = |known: &TronNodeFacts| {
            known.contract
                && known.breaks == breaks
                && known.checked.elapsed() < RECHECK
                && passed_ms < known.maintenance_ms
        };
        if let Some(known) = before.filter(fresh) {
            return Ok(known);
        }
        let (api, checked) = (self.access.api_of(id), Instant::now());
        let there = async |at| Ok::<_, ChainError>(api.contract(at).await?.is_some());
        let (parameters, maintenance_ms, contract, multicall) = tokio::try_join!(
            async { Ok(api.parameters().await?) },
            async { Ok(api.next_maintenance_ms().await?) },
            there(self.access.contract()),
            async {
                match self.access.config.multicall {
                    Some(at) => there(at).await,
                    None => Ok(false),
                }
            },
        )?;
        let (prices, cpu_ms) = (prices(&parameters)?, parameters.get("getMaxCpuTimeOfOneTx"));
        let known =
            TronNodeFacts { contract, multicall, prices, cpu_ms, maintenance_ms, checked, breaks };
        self.learnt.write().insert(id, known);
        Ok(known)
    }

    /// Forgets every fact: it was learnt of another chain.
    pub(super) fn forget(&self) {
        self.learnt.write().clear();
    }

    /// Returns true if nothing is known of any node.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.learnt.read().is_empty()
    }
}

fn prices(parameters: &Parameters) -> Result<Prices, ChainError> {
    let price = |name: &'static str| {
        let missing = || ChainError::Node { question: name, answer: OddAnswer::NoParameter };
        parameters.get(name).ok_or_else(missing)
    };
    Ok(Prices {
        energy: price("getEnergyFee")?,
        bandwidth: price("getTransactionFee")?,
        max_fee_limit: price("getMaxFeeLimit")?,
    })
}
