//! The look of each node: its newest blocks, the account, prices, and the deployed contracts.

use super::TronChain;
use super::resources::Prices;
use super::spends::AccountMeans;
use crate::{CallFault, ChainError, OddAnswer, Unanswered};
use ::node::{HeadSeen, NodeId, reached_by};
use std::time::Duration;
use tokio::time::Instant;
use tron_node::{Api, Authority, Parameters, Resources, Side, TronBlock};

/// Time for which deployed contracts and prices are taken to be the same, unless an exchange breaks or the chain's
/// maintenance passes before.
const RECHECK: Duration = Duration::from_mins(10);

/// The facts that a node turned out to know, and the chain's voted parameters as it tells them.
#[derive(Clone, Copy, Debug)]
pub(super) struct TronNodeFacts {
    /// True if there is a contract at the billing contract's address.
    pub(super) contract: bool,
    /// True if there is a contract at the aggregator's address.
    pub(super) multicall: bool,
    prices: Prices,
    /// Time for which a block lets one transaction compute, ms; none if the node does not tell.
    cpu_ms: Option<u64>,
    /// When prices change next, Unix ms.
    maintenance_ms: u64,
    checked: Instant,
    breaks: u64,
}

/// The answers of one node in one look.
#[derive(Clone, Debug)]
pub(super) struct TronLook {
    pub(super) newest: TronBlock,
    /// The newest irrevocable block.
    pub(super) solid: TronBlock,
    /// The means of the signing account, with the effects of transactions that wait in the node's pool.
    means: MeansAt,
    /// When the account was last used, what waits in the node's pool included, Unix ms of blocks.
    pub(super) used_ms: u64,
    /// The authority of the signing key alone.
    pub(super) own_key: Authority,
    pub(super) prices: Prices,
    /// Time for which a block lets one transaction compute, ms; none if the node does not tell.
    pub(super) cpu_ms: Option<u64>,
    /// Time of the way to the node and back, with a question that costs the node nothing.
    pub(super) way: Duration,
}

/// The means of an account, and the newest block when they were asked for.
#[derive(Clone, Copy, Debug)]
struct MeansAt {
    block: u64,
    /// Sun.
    balance: u64,
    resources: Resources,
}

impl TronLook {
    pub(super) fn head_seen(&self) -> HeadSeen {
        HeadSeen { number: self.newest.number, time: self.newest.time_ms.div_euclid(1000) }
    }

    pub(super) fn means(&self, prices: Prices) -> AccountMeans {
        let MeansAt { block, balance, resources } = self.means;
        AccountMeans { block, balance, resources, prices }
    }
}

impl TronChain {
    /// Returns the look of every node.
    pub(super) async fn looks(&self) -> Vec<(NodeId, Result<TronLook, ChainError>)> {
        let passed = self.head.last().map_or(0, |head| head.newest.time_ms);
        self.parts.fleet.survey(|id| self.look_at(id, passed)).await
    }

    async fn look_at(&self, id: NodeId, passed_ms: u64) -> Result<TronLook, ChainError> {
        self.parts.fleet.verify_when_due(id).await?;
        let (api, me) = (self.api_of(id), self.account.facts.signer);
        let (newest, way) = self.newest_shown(id).await?;
        // Asked after the block, so that what it holds is paid in what the account is said to have.
        let (solid, account, resources, known) = tokio::try_join!(
            newest_of(api, Side::Solidity),
            async { Ok(api.account(Side::Full, me).await?) },
            async { Ok(api.resources(me).await?) },
            self.learn_when_due(id, passed_ms),
        )?;
        let balance = account.as_ref().map_or(0, |account| account.balance);
        let used_ms = account.as_ref().map_or(0, |account| account.used_ms);
        let own_key = account.map_or(Authority::ALONE, |account| account.own_key);
        let TronNodeFacts { prices, cpu_ms, .. } = known;
        let means = MeansAt { block: newest.number, balance, resources };
        Ok(TronLook { newest, solid, means, used_ms, own_key, prices, cpu_ms, way })
    }

    /// Asks every node for what it tells beyond `before`.
    pub(super) async fn glances(
        &self,
        before: &[(NodeId, TronLook)],
    ) -> Vec<(NodeId, Result<TronLook, ChainError>)> {
        let passed = self.head.last().map_or(0, |head| head.newest.time_ms);
        self.parts.fleet.survey(|id| self.glance_at(id, (before, passed))).await
    }

    /// Asks for the newest block, for uses of the account, and for what is irrevocable where that may tell
    /// something of an open batch.
    async fn glance_at(
        &self,
        id: NodeId,
        (before, passed_ms): (&[(NodeId, TronLook)], u64),
    ) -> Result<TronLook, ChainError> {
        let Some((_, last)) = before.iter().find(|(node, _)| *node == id) else {
            return self.look_at(id, passed_ms).await;
        };
        self.parts.fleet.verify_when_due(id).await?;
        self.learn_when_due(id, passed_ms).await?;
        let (api, me) = (self.api_of(id), self.account.facts.signer);
        let (newest, way) = self.newest_shown(id).await?;
        let due = self.solid_due.lock().is_reached_by(&newest);
        let (solid, account) = tokio::try_join!(
            async {
                if due { newest_of(api, Side::Solidity).await } else { Ok(last.solid.clone()) }
            },
            async { Ok::<_, ChainError>(api.account(Side::Full, me).await?) },
        )?;
        let used_ms = account.as_ref().map_or(0, |account| account.used_ms);
        let own_key = account.map_or(Authority::ALONE, |account| account.own_key);
        Ok(TronLook { newest, solid, used_ms, own_key, way, ..last.clone() })
    }

    /// The newest block of a node, and how long that took. Its header is kept: it may prove what is below it.
    async fn newest_shown(&self, id: NodeId) -> Result<(TronBlock, Duration), ChainError> {
        let began = Instant::now();
        let newest = self.reader.newest(id).await?.ok_or_else(no_block)?;
        Ok((newest, began.elapsed()))
    }

    /// Returns the deployed contracts that the fit nodes know together; asks the nodes when nothing is known. A
    /// contract is there when any node says so; the aggregator is used when two nodes, or all there are, say that
    /// it is there.
    pub(super) async fn ready(&self) -> Result<Deployed, ChainError> {
        self.current().await?;
        self.deployed()
    }

    /// The same as far as the last look tells.
    pub(super) fn deployed(&self) -> Result<Deployed, ChainError> {
        let deployed = self.known().ok_or(Unanswered::NotReached)?;
        if deployed.contract {
            return Ok(deployed);
        }
        let at = super::address::to_base58(self.account.facts.contract);
        Err(CallFault::NoContract(at).into())
    }

    fn known(&self) -> Option<Deployed> {
        let learnt = self.learnt.read();
        let fit: Vec<TronNodeFacts> =
            self.parts.fleet.fit().iter().filter_map(|id| learnt.get(id)).copied().collect();
        let multicall = reached_by(fit.iter().map(|known| known.multicall), fit.len().min(2))?;
        Some(Deployed { contract: fit.iter().any(|known| known.contract), multicall })
    }

    /// Asks what is deployed and what things cost: at the first look, every ten minutes, after the
    /// chain's maintenance, and after a broken exchange.
    async fn learn_when_due(
        &self,
        id: NodeId,
        passed_ms: u64,
    ) -> Result<TronNodeFacts, ChainError> {
        let before = self.learnt.read().get(&id).copied();
        let breaks = self.parts.fleet.breaks(id);
        let fresh = |known: &TronNodeFacts| {
            known.contract
                && known.breaks == breaks
                && known.checked.elapsed() < RECHECK
                && passed_ms < known.maintenance_ms
        };
        if let Some(known) = before.filter(fresh) {
            return Ok(known);
        }
        let (api, checked) = (self.api_of(id), Instant::now());
        let there = async |at| Ok::<_, ChainError>(api.contract(at).await?.is_some());
        let (parameters, maintenance_ms, contract, multicall) = tokio::try_join!(
            async { Ok(api.parameters().await?) },
            async { Ok(api.next_maintenance_ms().await?) },
            there(self.account.facts.contract),
            async {
                match self.parts.config.multicall {
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
}

/// Deployed contract code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deployed {
    /// The billing contract.
    pub(super) contract: bool,
    /// The aggregator.
    pub(super) multicall: bool,
}

pub(super) async fn newest_of(api: Api<'_>, side: Side) -> Result<TronBlock, ChainError> {
    api.block(side, None).await?.ok_or_else(no_block)
}

pub(super) fn no_block() -> ChainError {
    ChainError::Node { question: "getblock", answer: OddAnswer::NoBlock }
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
