//! The testimony of every node that counts about one batch, asked for anew in each look.

use super::access::Access;
use super::case::Case;
use super::head::TronHead;
use super::tracks::{InclusionSeen, Tracks};
use super::tx_record::tx_record;
use ::node::{AskError, NodeId};
use alloy::primitives::B256;
use futures_util::future::join_all;
use std::sync::Arc;
use tracing::debug;
use tron_node::{BlockPoint, Side};
use tron_testimony::conclude::{LOGS_WITHIN, Shown, TronTestimony, record};

/// The testimonies of one look, by node.
pub(super) type Testimonies = Vec<(NodeId, TronTestimony)>;

/// Asks for testimonies.
#[derive(Debug)]
pub(super) struct TestimonyReader {
    pub(super) access: Access,
    pub(super) tracks: Arc<Tracks>,
}

impl TestimonyReader {
    /// Collects the testimony of every node that counts about a batch.
    pub(super) async fn collect(&self, case: Option<&Case>, head: &TronHead) -> Testimonies {
        let Some(case) = case else { return Vec::new() };
        let fit = self.access.fleet.fit().into_iter();
        let mut all: Testimonies = fit.map(|id| (id, TronTestimony::default())).collect();
        if case.expired {
            self.ask_records(&case.attempts, &mut all).await;
            return all;
        }
        let newest = [case.tx.id];
        let block = match self.tracks.seen(case.tx.id, head) {
            Some(block) => {
                for (_, testimony) in &mut all {
                    testimony.shown = Shown::In(block);
                }
                Some(block)
            }
            None => self.ask_heads(case.tx.id, head, &mut all).await,
        };
        if block.is_some_and(|block| block <= head.solid.number) {
            self.ask_records(&newest, &mut all).await;
            let holds = |(_, testimony): &(NodeId, TronTestimony)| {
                testimony.records.values().any(Option::is_some)
            };
            if !all.iter().any(holds) {
                // Other blocks than those that were told of have become irrevocable, or they lag.
                self.tracks.set_seen(case.tx.id, None);
                for (_, testimony) in &mut all {
                    testimony.shown = Shown::Untold;
                }
            }
        }
        all
    }

    /// Asks every node's head for a transaction that can still land; returns the lowest block that any node shows the
    /// transaction in.
    async fn ask_heads(&self, id: B256, head: &TronHead, all: &mut Testimonies) -> Option<u64> {
        let asked = all.iter_mut().map(async |(node, testimony)| {
            let info = self.access.api_of(*node).info(Side::Full, id).await;
            testimony.shown = match info.map_err(untold(id)) {
                Ok(Some(info)) => Shown::In(info.block),
                Ok(None) => Shown::No,
                Err(()) => Shown::Untold,
            };
        });
        join_all(asked).await;
        let shown = all.iter().filter_map(|(_, testimony)| testimony.shown.block());
        let blocks: Vec<u64> = shown.collect();
        let first = blocks.iter().min().copied();
        let enough = blocks.len() >= self.access.fleet.needed();
        let last = blocks.into_iter().max().filter(|_| enough);
        let seen = last.map(|block| InclusionSeen { block, head: head.newest.number });
        self.tracks.set_seen(id, seen);
        first
    }

    /// Asks every node for its irrevocable records of these transactions.
    async fn ask_records(&self, ids: &[B256], all: &mut Testimonies) {
        let asked = all.iter_mut().map(async |(node, testimony)| {
            for id in ids {
                let info = self.access.api_of(*node).info(Side::Solidity, *id).await;
                let found = match info.map_err(untold(*id)) {
                    Ok(None) => Some(None),
                    Ok(Some(info)) => {
                        testimony.told.extend(tx_record(&info).map(|told| (*id, told)));
                        record(info).map(Some)
                    }
                    Err(()) => None,
                };
                testimony.records.extend(found.map(|found| (*id, found)));
            }
        });
        join_all(asked).await;
    }

    /// Asks again about the newest attempt, which is in the irrevocable block `place`, those nodes that have not told
    /// what it did: their full sides may have, which may be other servers. In the end the result of the call alone
    /// decides, and what became of the single items stays unproven.
    pub(super) async fn ask_late(
        &self,
        id: B256,
        place: BlockPoint,
        head: &TronHead,
        all: &mut Testimonies,
    ) {
        let late = head.solid.number >= place.number.saturating_add(LOGS_WITHIN);
        let asked = all.iter_mut().map(async |(node, testimony)| {
            if testimony.records.get(&id).is_some_and(Option::is_some) {
                return;
            }
            let api = self.access.api_of(*node);
            let info = api.info(Side::Full, id).await.map_err(untold(id)).ok().flatten();
            let told = info.as_ref().and_then(tx_record);
            testimony.told.extend(told.map(|told| (id, told)));
            let record = info.and_then(record).filter(|record| record.block == place.number);
            testimony.records.extend(record.map(|record| (id, Some(record))));
            if late {
                let result = api.call_result(Side::Solidity, id).await.map_err(untold(id));
                testimony.result = result.ok().flatten();
            }
        });
        join_all(asked).await;
    }
}

fn untold(id: B256) -> impl FnOnce(AskError) {
    move |error| debug!(tx.hash = %id, %error, "no answer")
}
