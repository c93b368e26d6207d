//! The account's nonce as every node tells it: at a block, with what waits in pools, and at a time that has passed.

use super::access::Access;
use crate::{ChainError, MostSent, OddAnswer, Unanswered};
use ::node::{NodeId, reached_by, undenied};
use alloy::consensus::Transaction as _;
use evm_node as node;
use evm_node::first_above;
use evm_proofs::transactions::ProvenTransaction;
use futures_util::future::join_all;
use std::collections::{BTreeMap, BTreeSet};

/// Asks for the account's nonce.
#[derive(Clone, Debug)]
pub(super) struct Nonces {
    pub(super) access: Access,
}

impl Nonces {
    /// Returns the account's nonce at `block`, as every fit node tells it.
    pub(super) async fn at(&self, block: &str) -> Vec<(NodeId, Result<u64, ChainError>)> {
        let (fleet, me) = (&self.access.fleet, self.access.signer());
        let asked = fleet
            .fit()
            .into_iter()
            .map(async |id| (id, node::nonce(fleet.only(id), me, block).await.map_err(Into::into)));
        join_all(asked).await
    }

    /// Returns the nonce after the highest of the account's transactions in the pool of each fit node that tells its
    /// content. A node counts what waits up to the first gap alone; what waits behind one can land as well. The account
    /// has signed each, so nobody can deny any.
    async fn signed_in_pools(&self) -> BTreeMap<NodeId, u64> {
        let (fleet, me) = (&self.access.fleet, self.access.signer());
        let asked = fleet.fit().into_iter().map(async |id| {
            let content = node::pool_content(fleet.only(id), me).await.ok()?;
            let read = content.transactions().filter_map(ProvenTransaction::of_answer);
            let own = read.filter(|tx| self.may_land_here(tx) && tx.sender() == Some(me));
            Some((id, own.map(|tx| tx.envelope().nonce()).max()?.checked_add(1)?))
        });
        join_all(asked).await.into_iter().flatten().collect()
    }

    /// Returns true if the transaction is one of this chain, or of every chain.
    fn may_land_here(&self, tx: &ProvenTransaction) -> bool {
        tx.envelope().chain_id().is_none_or(|id| id == self.access.config.eip155_id)
    }

    /// Returns the highest nonce that a node knows of, what waits in its pool included, unless as many others deny
    /// it as have to agree. That nothing more waits is an absence: too few that tell so are no answer.
    pub(super) async fn undenied(&self) -> Result<MostSent, ChainError> {
        let (mined, waiting, signed) =
            tokio::join!(self.at("latest"), self.at("pending"), self.signed_in_pools());
        let fleet = &self.access.fleet;
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
        let count = signed.values().copied().fold(count, u64::max);
        let knows = told.into_iter().chain(signed).filter(|(_, nonce)| *nonce >= count);
        let knows: BTreeSet<NodeId> = knows.map(|(id, _)| id).collect();
        let told_by = knows.into_iter().map(|id| fleet.label(id).to_owned()).collect();
        Ok(MostSent { count, told_by })
    }

    /// Returns the highest nonce that any fit node knows of, its pool included, and the nodes that do. All of them
    /// have to tell: the one that does not may hold what the others have forgotten.
    pub(super) async fn highest(&self) -> Result<MostSent, ChainError> {
        let (mined, waiting, signed) =
            tokio::join!(self.at("latest"), self.at("pending"), self.signed_in_pools());
        let fleet = &self.access.fleet;
        let mut told = Vec::new();
        for (id, nonce) in mined.into_iter().chain(waiting) {
            let nonce = nonce.map_err(|error| {
                let node = fleet.label(id).to_owned();
                Unanswered::NoNonce { node, why: Box::new(error) }
            })?;
            told.push((id, nonce));
        }
        told.extend(signed);
        let count = told.iter().map(|(_, nonce)| *nonce).max().unwrap_or_default();
        let tellers: BTreeSet<NodeId> = told.iter().map(|(id, _)| *id).collect();
        if tellers.len() < fleet.needed() {
            return Err(too_few());
        }
        let knows = |id: &NodeId| told.contains(&(*id, count));
        let told_by = tellers.into_iter().filter(knows).map(|id| fleet.label(id).to_owned());
        Ok(MostSent { count, told_by: told_by.collect() })
    }

    /// Returns the number of transactions that the account had sent at `at_ms` (Unix ms of this machine, whose clock
    /// may be as wrong as it may be where something is signed), as many nodes tell it as have to agree: asked at the
    /// newest final block that is not later. A node that tells too many would hide what was sent since, so none does
    /// so alone.
    pub(super) async fn before(&self, at_ms: i64, final_block: u64) -> Result<u64, ChainError> {
        let at_s = u64::try_from(at_ms.div_euclid(1000)).unwrap_or_default();
        let at_s = at_s.saturating_sub(self.access.config.clock_tolerance.as_secs());
        let fleet = &self.access.fleet;
        let asked = fleet.fit().into_iter().map(|id| self.told_before(id, at_s, final_block));
        let (told, failed): (Vec<_>, Vec<_>) =
            join_all(asked).await.into_iter().partition(Result::is_ok);
        let needed = fleet.needed();
        reached_by(told.into_iter().flatten(), needed).ok_or_else(|| {
            let why = failed.into_iter().find_map(Result::err);
            let why = why.unwrap_or_else(|| Unanswered::TooFewNodes.into());
            Unanswered::NoPast { needed, at_s, why: Box::new(why) }.into()
        })
    }

    /// Returns the number that one node tells, up to `at_s` (Unix seconds).
    async fn told_before(
        &self,
        id: NodeId,
        at_s: u64,
        final_block: u64,
    ) -> Result<u64, ChainError> {
        let rpc = self.access.fleet.only(id);
        let time_of = async |block| {
            let header = node::header(rpc, &node::quantity(block)).await?;
            let nothing =
                ChainError::Node { question: "eth_getBlockByNumber", answer: OddAnswer::NoBlock };
            Ok::<_, ChainError>(header.ok_or(nothing)?.time())
        };
        let block = match first_above(at_s, None, final_block, time_of).await? {
            None => final_block,
            Some(later) => match later.checked_sub(1) {
                None => return Ok(0),
                Some(block) => block,
            },
        };
        Ok(node::nonce_at(rpc, self.access.signer(), block).await?)
    }
}

fn too_few() -> ChainError {
    Unanswered::TooFewNodes.into()
}
