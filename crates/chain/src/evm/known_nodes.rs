//! The nodes' abilities, asked for now and then: contracts that are deployed, and ways to run a call.

use super::access::Access;
use super::simulate::Probe;
use super::{reader, simulate};
use crate::{CallFault, ChainError, Unanswered};
use ::node::{NodeId, reached_by};
use evm_node as node;
use evm_node::{EvmNodeFacts, Ways};
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;
use tracing::warn;

/// The time for which the abilities of a node are taken for granted, unless its connection breaks before.
const RECHECK: Duration = Duration::from_mins(10);

/// The same where the node was too slow to show one of them.
const RECHECK_SLOW: Duration = Duration::from_secs(15);

/// The first bytes of the code of an account that has delegated itself to a contract (EIP-7702).
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

/// The facts known of each node.
#[derive(Debug)]
pub(super) struct KnownNodes {
    access: Access,
    learnt: RwLock<BTreeMap<NodeId, EvmNodeFacts>>,
}

impl KnownNodes {
    /// No node is known yet.
    pub(super) fn of(access: Access) -> Self {
        Self { access, learnt: RwLock::default() }
    }

    /// Returns what the fit nodes know together; none before one of them was asked. A contract is there when any
    /// says so; a way of asking is used when two say that it works, or all there are.
    pub(super) fn together(&self) -> Option<EvmNodeFacts> {
        let learnt = self.learnt.read();
        let fit: Vec<EvmNodeFacts> =
            self.access.fleet.fit().iter().filter_map(|id| learnt.get(id)).copied().collect();
        let any = fit.first()?;
        let multicall = fit.iter().map(|known| known.multicall);
        Some(EvmNodeFacts {
            contract: fit.iter().any(|known| known.contract),
            multicall: reached_by(multicall, fit.len().min(2)).unwrap_or(false),
            held_at_once: reached_by(fit.iter().map(|known| known.held_at_once), fit.len().min(2))
                .unwrap_or(u64::MAX),
            ways: Ways {
                simulates: fit.iter().all(|known| known.ways.simulates),
                reader: fit.iter().all(|known| known.ways.reader),
            },
            ..*any
        })
    }

    /// The same. An error if nothing is known, or if there is no contract.
    pub(super) fn with_contract(&self) -> Result<EvmNodeFacts, ChainError> {
        let known = self.together().ok_or(Unanswered::NotReached)?;
        if known.contract {
            return Ok(known);
        }
        Err(CallFault::NoContract(self.access.contract().to_string()).into())
    }

    /// Returns the ways in which one node runs a call.
    pub(super) fn ways_of(&self, id: NodeId) -> Ways {
        self.learnt.read().get(&id).map(|node| node.ways).unwrap_or_default()
    }

    /// Asks what a node can do: at the first look, every ten minutes, sooner where it was slow, and after a broken exchange.
    pub(super) async fn learn_when_due(&self, id: NodeId) -> Result<(), ChainError> {
        let known = self.learnt.read().get(&id).copied();
        let (rpc, breaks) = (self.access.fleet.only(id), self.access.fleet.breaks(id));
        let fresh = known.is_some_and(|known| {
            known.contract && known.breaks == breaks && Instant::now() < known.until
        });
        if fresh {
            return Ok(());
        }
        let config = &self.access.config;
        let asked = Instant::now();
        let me = self.access.signer();
        let (contract, multicall, signer, simulates, reader) = tokio::try_join!(
            node::code(rpc, self.access.contract()),
            node::code(rpc, config.multicall),
            node::code(rpc, me),
            simulate::probe(rpc, me),
            reader::probe(rpc, me, config.gas_limit_cap),
        )?;
        let (contract, multicall) = (!contract.is_empty(), !multicall.is_empty());
        let held_at_once = if signer.starts_with(&DELEGATION) { 1 } else { u64::MAX };
        if held_at_once == 1 && known.is_none_or(|known| known.held_at_once > 1) {
            warn!(
                chain = self.access.chain(), signer = %me,
                "the signing account is delegated to a contract (EIP-7702): nodes hold one of its \
                 transactions at a time"
            );
        }
        // Code that is there is part of the answer: nothing is put in its place.
        let ways = Ways {
            simulates: simulates == Probe::Works,
            reader: reader == Probe::Works && signer.is_empty(),
        };
        // A node that is too slow for one question is not asked again at each look.
        let too_slow = [simulates, reader].into_iter().filter(|probe| *probe == Probe::TooSlow);
        let too_slow = u64::try_from(too_slow.count()).unwrap_or_default();
        let breaks = breaks.saturating_add(too_slow);
        let until = asked.checked_add(if too_slow > 0 { RECHECK_SLOW } else { RECHECK });
        let until = until.unwrap_or(asked);
        let known = EvmNodeFacts { contract, multicall, ways, held_at_once, until, breaks };
        self.learnt.write().insert(id, known);
        Ok(())
    }

    /// Forgets every fact: it was learnt of another chain.
    pub(super) fn forget(&self) {
        self.learnt.write().clear();
    }
}
