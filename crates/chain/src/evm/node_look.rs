//! The look of one node: its head, the account, and prices.

use super::access::Access;
use super::in_flight::Holding;
use super::known_nodes::KnownNodes;
use crate::{ChainError, OddAnswer};
use ::node::{AskError, Fault, HeadSeen, NodeId};
use config::Finality;
use evm_node as node;
use evm_node::{EvmAsker, Header, Tips};
use evm_testimony::errors::passing;

/// The answers of one node in one look.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvmLook {
    pub(super) latest: Header,
    /// The finalized block; none where finality is a depth and this is not asked.
    pub(super) finalized: Option<Header>,
    /// The account's transactions up to the newest block.
    pub(super) nonce: u64,
    /// The balance of the account, and the count of its transactions when that was asked.
    pub(super) holding: Holding,
    /// The tips of others; none if nobody tips.
    pub(super) tips: Option<Tips>,
    /// Wei per gas; none where it was not asked.
    pub(super) gas_price: Option<u128>,
}

impl EvmLook {
    /// Returns the node's newest block, as the fleet notes it.
    pub(super) fn head_seen(&self) -> HeadSeen {
        HeadSeen { number: self.latest.number(), time: self.latest.time() }
    }
}

/// Asks single nodes for their looks.
#[derive(Debug)]
pub(super) struct NodeLooks {
    access: Access,
    pub(super) known: KnownNodes,
}

impl NodeLooks {
    /// No node was asked yet.
    pub(super) fn of(access: Access) -> Self {
        Self { known: KnownNodes::of(access.clone()), access }
    }

    /// Returns the look of a node.
    pub(super) async fn look(&self, id: NodeId) -> Result<EvmLook, ChainError> {
        self.access.fleet.verify_when_due(id).await?;
        let (rpc, me) = (self.access.fleet.only(id), self.access.signer());
        let legacy = self.access.config.fees.legacy;
        let latest = async {
            let latest = node::header(rpc, "latest").await?.ok_or_else(|| no_block("latest"))?;
            let priced = legacy || latest.base_fee().is_none();
            let gas_price = if priced { Some(node::gas_price(rpc).await?) } else { None };
            Ok((latest, gas_price))
        };
        let tips = async { Ok(if legacy { None } else { node::tips(rpc).await? }) };
        let ((latest, gas_price), finalized, nonce, balance, tips, ()) = tokio::try_join!(
            latest,
            self.finalized(rpc),
            async { Ok(node::nonce(rpc, me, "latest").await?) },
            async { Ok(node::balance(rpc, me).await?) },
            tips,
            self.known.learn_when_due(id),
        )?;
        let holding = Holding { nonce, balance };
        Ok(EvmLook { latest, finalized, nonce, holding, tips, gas_price })
    }

    /// Asks a node for the news since its look `last`, when `settled` transactions of the account were final: for its
    /// newest block, and for the final block if something may have become final. In the state of the same block as
    /// before, the account has sent as much as before.
    pub(super) async fn news(
        &self,
        id: NodeId,
        last: &EvmLook,
        settled: u64,
    ) -> Result<EvmLook, ChainError> {
        self.access.fleet.verify_when_due(id).await?;
        self.known.learn_when_due(id).await?;
        let (rpc, me) = (self.access.fleet.only(id), self.access.signer());
        let latest = node::header(rpc, "latest").await?.ok_or_else(|| no_block("latest"))?;
        let nonce = if latest.hash == last.latest.hash {
            last.nonce
        } else {
            node::nonce(rpc, me, "latest").await?
        };
        let awaited = nonce > settled;
        let finalized = if awaited { self.finalized(rpc).await? } else { last.finalized };
        Ok(EvmLook { latest, finalized, nonce, ..*last })
    }

    async fn finalized(&self, rpc: EvmAsker<'_>) -> Result<Option<Header>, ChainError> {
        match self.access.config.finality {
            Finality::Depth(_) => Ok(None),
            Finality::FinalizedTag => {
                let header = node::header(rpc, "finalized").await.map_err(no_tag)?;
                Ok(Some(header.ok_or_else(|| no_block("finalized"))?))
            }
        }
    }
}

/// Chains without a finalized block say so with no block, or with an error of their own.
fn no_tag(asked: AskError) -> ChainError {
    let AskError { question, fault } = asked;
    if let Fault::Node(error) = &fault
        && !passing(error)
    {
        return ChainError::Node { question, answer: OddAnswer::NoFinalTag(error.clone()) };
    }
    AskError { question, fault }.into()
}

/// The error for a node that has no block of this name.
pub(super) fn no_block(tag: &'static str) -> ChainError {
    ChainError::Node { question: "eth_getBlockByNumber", answer: OddAnswer::NoBlockNamed(tag) }
}
