//! The answers of each node in one look: its head, the account, prices, and the node's abilities.

use super::in_flight::Holding;
use super::known::{EvmNodeFacts, Ways};
use super::node::EvmAsker;
use super::node::{Header, Tips};
use super::{EvmChain, node, passing, reader, simulate};
use crate::{ChainError, MostSent, OddAnswer, Unanswered};
use ::node::{AskError, Fault, HeadSeen, NodeId, reached_by, undenied};
use config::Finality;
use futures_util::future::join_all;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;
use tracing::warn;

/// The time for which the abilities of a node are taken for granted, unless its connection breaks before.
const RECHECK: Duration = Duration::from_mins(10);

/// The first bytes of the code of an account that has delegated itself to a contract (EIP-7702).
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

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
    /// None where nobody tips.
    pub(super) tips: Option<Tips>,
    /// Wei per gas; none where it was not asked.
    pub(super) gas_price: Option<u128>,
}

impl EvmLook {
    pub(super) fn head_seen(&self) -> HeadSeen {
        HeadSeen { number: self.latest.number(), time: self.latest.time() }
    }
}

impl EvmChain {
    /// Returns the look of every node.
    pub(super) async fn looks(&self) -> Vec<(NodeId, Result<EvmLook, ChainError>)> {
        self.parts.fleet.survey(|id| self.look_at(id)).await
    }

    async fn look_at(&self, id: NodeId) -> Result<EvmLook, ChainError> {
        self.parts.fleet.verify_when_due(id).await?;
        let (rpc, me) = (self.parts.fleet.only(id), self.account.facts.signer);
        let legacy = self.parts.config.fees.legacy;
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
            self.learn_when_due(id),
        )?;
        let holding = Holding { nonce, balance };
        Ok(EvmLook { latest, finalized, nonce, holding, tips, gas_price })
    }

    /// Returns what every node tells beyond `before`, when `settled` transactions of the account were final.
    pub(super) async fn glances(
        &self,
        before: &[(NodeId, EvmLook)],
        settled: u64,
    ) -> Vec<(NodeId, Result<EvmLook, ChainError>)> {
        self.parts.fleet.survey(|id| self.glance_at(id, (before, settled))).await
    }

    /// Asks for the newest block. In the state of the same block as before, the account has sent as much as before.
    /// The final block is asked for where something may have become final.
    async fn glance_at(
        &self,
        id: NodeId,
        (before, settled): (&[(NodeId, EvmLook)], u64),
    ) -> Result<EvmLook, ChainError> {
        let Some((_, last)) = before.iter().find(|(node, _)| *node == id) else {
            return self.look_at(id).await;
        };
        self.parts.fleet.verify_when_due(id).await?;
        self.learn_when_due(id).await?;
        let (rpc, me) = (self.parts.fleet.only(id), self.account.facts.signer);
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
        match self.parts.config.finality {
            Finality::Depth(_) => Ok(None),
            Finality::FinalizedTag => {
                let header = node::header(rpc, "finalized").await.map_err(no_tag)?;
                Ok(Some(header.ok_or_else(|| no_block("finalized"))?))
            }
        }
    }

    /// The account's nonce at `block`, as every fit node tells it.
    pub(super) async fn nonces(&self, block: &str) -> Vec<(NodeId, Result<u64, ChainError>)> {
        let (fleet, me) = (&self.parts.fleet, self.account.facts.signer);
        let asked = fleet
            .fit()
            .into_iter()
            .map(async |id| (id, node::nonce(fleet.only(id), me, block).await.map_err(Into::into)));
        join_all(asked).await
    }

    /// The highest nonce that a node knows of, what waits in its pool included, unless as many others deny
    /// it as have to agree. That nothing more waits is an absence: too few that tell so are no answer.
    pub(super) async fn undenied_nonce(&self) -> Result<MostSent, ChainError> {
        let (mined, waiting) = tokio::join!(self.nonces("latest"), self.nonces("pending"));
        let fleet = &self.parts.fleet;
        let mined: BTreeMap<NodeId, u64> =
            mined.into_iter().filter_map(|(id, nonce)| Some((id, nonce.ok()?))).collect();
        let mut failure = None;
        let mut told = Vec::new();
        for (id, nonce) in waiting {
            match nonce {
                Ok(nonce) => {
                    let mined = mined.get(&id).copied().unwrap_or_default();
                    told.push((id, nonce.max(mined)));
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let nonces = told.iter().map(|(_, nonce)| *nonce);
        let count =
            undenied(nonces, fleet.needed()).ok_or_else(|| failure.unwrap_or_else(too_few))?;
        let knows = told.into_iter().filter(|(_, nonce)| *nonce >= count);
        let told_by = knows.map(|(id, _)| fleet.label(id).to_owned()).collect();
        Ok(MostSent { count, told_by })
    }

    /// The highest nonce that any fit node knows of, its pool included, and who does. All of them
    /// have to tell: the one that does not may hold what the others have forgotten.
    pub(super) async fn highest_nonce(&self) -> Result<MostSent, ChainError> {
        let (mined, waiting) = tokio::join!(self.nonces("latest"), self.nonces("pending"));
        let fleet = &self.parts.fleet;
        let mut told = Vec::new();
        for (id, nonce) in mined.into_iter().chain(waiting) {
            let nonce = nonce.map_err(|error| {
                let node = fleet.label(id).to_owned();
                Unanswered::NoNonce { node, why: Box::new(error) }
            })?;
            told.push((id, nonce));
        }
        let count = told.iter().map(|(_, nonce)| *nonce).max().unwrap_or_default();
        let tellers: BTreeSet<NodeId> = told.iter().map(|(id, _)| *id).collect();
        if tellers.len() < fleet.needed() {
            return Err(too_few());
        }
        let knows = |id: &NodeId| told.contains(&(*id, count));
        let told_by = tellers.into_iter().filter(knows).map(|id| fleet.label(id).to_owned());
        Ok(MostSent { count, told_by: told_by.collect() })
    }

    /// Returns what the fit nodes know together; none before one of them was asked. A contract is there when any
    /// says so; a way of asking is used when two say that it works, or all there are.
    pub(super) fn known(&self) -> Option<EvmNodeFacts> {
        let learnt = self.learnt.read();
        let fit: Vec<EvmNodeFacts> =
            self.parts.fleet.fit().iter().filter_map(|id| learnt.get(id)).copied().collect();
        let any = fit.first()?;
        let borne_out = fit.iter().map(|known| known.multicall);
        Some(EvmNodeFacts {
            contract: fit.iter().any(|known| known.contract),
            multicall: reached_by(borne_out, fit.len().min(2)).unwrap_or(false),
            held_at_once: reached_by(fit.iter().map(|known| known.held_at_once), fit.len().min(2))
                .unwrap_or(u64::MAX),
            ways: Ways {
                simulates: fit.iter().all(|known| known.ways.simulates),
                reader: fit.iter().all(|known| known.ways.reader),
            },
            ..*any
        })
    }

    /// Asks what the node can do, at the first look, every ten minutes, and after a broken exchange.
    async fn learn_when_due(&self, id: NodeId) -> Result<(), ChainError> {
        let known = self.learnt.read().get(&id).copied();
        let (rpc, breaks) = (self.parts.fleet.only(id), self.parts.fleet.breaks(id));
        let fresh = known.is_some_and(|known| {
            known.contract && known.breaks == breaks && known.checked.elapsed() < RECHECK
        });
        if fresh {
            return Ok(());
        }
        let config = &self.parts.config;
        let checked = Instant::now();
        let facts = &self.account.facts;
        let (contract, multicall, signer, simulates, reader) = tokio::try_join!(
            node::code(rpc, facts.contract),
            node::code(rpc, config.multicall),
            node::code(rpc, facts.signer),
            simulate::works(rpc, facts.signer),
            reader::works(rpc, facts.signer, config.gas_limit_cap),
        )?;
        let (contract, multicall) = (!contract.is_empty(), !multicall.is_empty());
        let held_at_once = if signer.starts_with(&DELEGATION) { 1 } else { u64::MAX };
        if held_at_once == 1 && known.is_none_or(|known| known.held_at_once > 1) {
            warn!(
                chain = facts.name, signer = %facts.signer,
                "the signing account is delegated to a contract (EIP-7702): nodes hold one of its \
                 transactions at a time"
            );
        }
        // Code that is there is part of the answer: nothing is put in its place.
        let ways = Ways { simulates, reader: reader && signer.is_empty() };
        let known = EvmNodeFacts { contract, multicall, ways, held_at_once, checked, breaks };
        self.learnt.write().insert(id, known);
        Ok(())
    }
}

fn too_few() -> ChainError {
    Unanswered::TooFewNodes.into()
}

/// Chains without a finalized block say so with no block, or with an error of their own.
fn no_tag(asked: AskError) -> ChainError {
    let AskError { question, fault } = asked;
    if let Fault::Node(said) = &fault
        && !passing(said)
    {
        return ChainError::Node { question, answer: OddAnswer::NoFinalTag(said.clone()) };
    }
    AskError { question, fault }.into()
}

pub(super) fn no_block(tag: &'static str) -> ChainError {
    ChainError::Node { question: "eth_getBlockByNumber", answer: OddAnswer::NoBlockNamed(tag) }
}
