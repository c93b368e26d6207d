//! The look of one node: its newest blocks, the account, and prices.

use super::access::Access;
use super::node_facts::{KnownNodes, TronNodeFacts};
use super::resources::Prices;
use super::spends::AccountFunds;
use crate::{ChainError, OddAnswer};
use ::node::{HeadSeen, NodeId};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tron_node::{Api, Authority, BlockReader, Resources, Side, TronBlock};

/// The answers of one node in one look.
#[derive(Clone, Debug)]
pub(super) struct TronLook {
    pub(super) newest: TronBlock,
    /// The newest irrevocable block.
    pub(super) solid: TronBlock,
    /// The funds of the signing account, with the effects of transactions that wait in the node's pool.
    funds: FundsAt,
    /// Time of the account's last use, what waits in the node's pool included, Unix ms of blocks.
    pub(super) used_ms: u64,
    /// The authority of the signing key alone.
    pub(super) own_key: Authority,
    pub(super) prices: Prices,
    /// Time for which a block lets one transaction compute, ms; none if the node does not tell.
    pub(super) cpu_ms: Option<u64>,
    /// Time of the way to the node and back, with a question that costs the node nothing.
    pub(super) way: Duration,
}

/// The funds of an account, and the newest block when they were asked for.
#[derive(Clone, Copy, Debug)]
struct FundsAt {
    block: u64,
    /// Sun.
    balance: u64,
    resources: Resources,
}

impl TronLook {
    /// Returns the node's newest block, as the fleet notes it.
    pub(super) fn head_seen(&self) -> HeadSeen {
        HeadSeen { number: self.newest.number, time: self.newest.time_ms.div_euclid(1000) }
    }

    /// Returns the account's funds at these prices.
    pub(super) fn funds(&self, prices: Prices) -> AccountFunds {
        let FundsAt { block, balance, resources } = self.funds;
        AccountFunds { block, balance, resources, prices }
    }
}

/// Asks single nodes for their looks.
#[derive(Debug)]
pub(super) struct NodeLooks {
    access: Access,
    reader: Arc<BlockReader>,
    pub(super) known: KnownNodes,
}

impl NodeLooks {
    /// No node was asked yet.
    pub(super) fn of(access: Access, reader: Arc<BlockReader>) -> Self {
        Self { known: KnownNodes::of(access.clone()), access, reader }
    }

    /// Returns the look of a node. `passed_ms` is the time that the head has passed, Unix ms.
    pub(super) async fn look(&self, id: NodeId, passed_ms: u64) -> Result<TronLook, ChainError> {
        self.access.fleet.verify_when_due(id).await?;
        let (api, me) = (self.access.api_of(id), self.access.signer());
        let (newest, way) = self.newest_shown(id).await?;
        // Asked after the block, so that what it holds is paid in what the account is said to have.
        let (solid, account, resources, known) = tokio::try_join!(
            newest_of(api, Side::Solidity),
            async { Ok(api.account(Side::Full, me).await?) },
            async { Ok(api.resources(me).await?) },
            self.known.learn_when_due(id, passed_ms),
        )?;
        let balance = account.as_ref().map_or(0, |account| account.balance);
        let used_ms = account.as_ref().map_or(0, |account| account.used_ms);
        let own_key = account.map_or(Authority::ALONE, |account| account.own_key);
        let TronNodeFacts { prices, cpu_ms, .. } = known;
        let funds = FundsAt { block: newest.number, balance, resources };
        Ok(TronLook { newest, solid, funds, used_ms, own_key, prices, cpu_ms, way })
    }

    /// Asks a node for the news since its look `last`: its newest block, uses of the account, and the irrevocable
    /// block if `solid_due` says of the newest block that this may tell something of an open batch.
    pub(super) async fn news(
        &self,
        id: NodeId,
        last: &TronLook,
        passed_ms: u64,
        solid_due: impl Fn(&TronBlock) -> bool,
    ) -> Result<TronLook, ChainError> {
        self.access.fleet.verify_when_due(id).await?;
        self.known.learn_when_due(id, passed_ms).await?;
        let (api, me) = (self.access.api_of(id), self.access.signer());
        let (newest, way) = self.newest_shown(id).await?;
        let due = solid_due(&newest);
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

    /// Returns the newest block of a node, and the time that asking for it took.
    async fn newest_shown(&self, id: NodeId) -> Result<(TronBlock, Duration), ChainError> {
        let began = Instant::now();
        let newest = self.reader.newest(id).await?.ok_or_else(no_block)?;
        Ok((newest, began.elapsed()))
    }
}

/// Returns the newest block of one side of a node.
pub(super) async fn newest_of(api: Api<'_>, side: Side) -> Result<TronBlock, ChainError> {
    api.block(side, None).await?.ok_or_else(no_block)
}

/// The error for a node that has no block.
pub(super) fn no_block() -> ChainError {
    ChainError::Node { question: "getblock", answer: OddAnswer::NoBlock }
}
