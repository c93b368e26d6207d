//! The look at the head: where the chain stands, what gas costs, and what the account holds, as its
//! nodes tell it together. Kept between beats, so that a request needs none of these questions.

use super::fees::Market;
use super::node::Asker;
use super::node::{self, View};
use super::observe::{Look, no_block};
use super::{EvmChain, observe};
use crate::chain::confirm::OPINIONS;
use crate::chain::{ChainError, Places, Pulse};
use crate::config::Finality;
use crate::node::{HeadSeen, NodeId, NonceSeen, median, reached_by, refuted};
use alloy::primitives::U256;
use std::sync::Arc;
use tokio::time::Instant;
use tracing::warn;

pub(super) use observe::Known;

/// One look at the head.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) pulse: Pulse,
    pub(super) places: Places,
    /// The newest block that counts as final.
    pub(super) final_block: u64,
    pub(super) market: Market,
    /// The most gas that a block may use.
    pub(super) block_gas: u64,
    /// What the signing account holds, wei.
    pub(super) balance: U256,
    /// What each fit node told.
    pub(super) nodes: Vec<(NodeId, Look)>,
    /// The final block at which the settled nonce is known.
    settled_at: Option<u64>,
    seen: Instant,
}

impl EvmChain {
    /// Looks at the head now. One look at a time.
    pub(super) async fn observe(&self) -> Result<Arc<Head>, ChainError> {
        let _turn = self.account.beating.lock().await;
        self.observe_in_turn().await
    }

    /// The last look if it is young enough, else a new one.
    pub(super) async fn current(&self) -> Result<Arc<Head>, ChainError> {
        if let Some(head) = self.young() {
            return Ok(head);
        }
        let _turn = self.account.beating.lock().await;
        match self.young() {
            Some(head) => Ok(head),
            None => self.observe_in_turn().await,
        }
    }

    /// Whom to ask about which block, for one preflight: the best node.
    pub(super) async fn view(&self) -> Result<View<'_>, ChainError> {
        let head = self.current().await?;
        self.view_at(&head).await
    }

    /// The same, with the block that `head` stands for.
    pub(super) async fn view_at(&self, head: &Head) -> Result<View<'_>, ChainError> {
        let known = self.ready().await?;
        Ok(self.view_of(self.parts.fleet.best(), head, known))
    }

    /// One view for each of up to three nodes, of the block that a new look finds.
    pub(super) async fn fresh_views(&self) -> Result<Vec<(NodeId, View<'_>)>, ChainError> {
        let head = self.observe().await?;
        self.views_at(&head).await
    }

    /// One view for each of up to three nodes, of the block that `head` stands for.
    pub(super) async fn views_at(
        &self,
        head: &Head,
    ) -> Result<Vec<(NodeId, View<'_>)>, ChainError> {
        let known = self.ready().await?;
        let fleet = &self.parts.fleet;
        let view = |id| {
            let simulates = self.learnt.read().get(&id).is_some_and(|known| known.simulates);
            (id, self.view_of(fleet.only(id), head, known.but(simulates)))
        };
        Ok(fleet.fit().into_iter().take(OPINIONS).map(view).collect())
    }

    /// Several nodes are asked about one block, by its number, so that one that lags errs instead of
    /// answering from the past. A lone node's newest block is asked for by name: it is never behind
    /// itself, and what the last look saw may be some seconds old.
    fn view_of<'a>(&self, rpc: Asker<'a>, head: &Head, known: Known) -> View<'a> {
        let block = if self.parts.fleet.needed() > 1 {
            node::quantity(head.pulse.head)
        } else {
            "latest".to_owned()
        };
        View { rpc, block, known }
    }

    /// What is known of the chain; it is asked when nothing is.
    pub(super) async fn ready(&self) -> Result<Known, ChainError> {
        let mut known = self.known();
        if known.is_none() {
            self.current().await?;
            known = self.known();
        }
        let known = known.ok_or_else(|| ChainError::Unavailable("not reached yet".to_owned()))?;
        if known.contract {
            return Ok(known);
        }
        Err(ChainError::CallFails(format!(
            "there is no contract at {}",
            self.account.facts.contract
        )))
    }

    fn young(&self) -> Option<Arc<Head>> {
        let young = self.parts.config.poll_interval.saturating_mul(2);
        self.head.read().clone().filter(|head| head.seen.elapsed() < young)
    }

    async fn observe_in_turn(&self) -> Result<Arc<Head>, ChainError> {
        let seen = Instant::now();
        let fleet = &self.parts.fleet;
        let (mut looks, mut failure) = (Vec::new(), None);
        for (id, look) in self.looks().await {
            match look {
                Ok(look) => looks.push((id, look)),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let heads: Vec<(NodeId, HeadSeen)> =
            looks.iter().map(|(id, look)| (*id, look.head_seen())).collect();
        fleet.note_heads(&heads);
        let fit = fleet.fit();
        looks.retain(|(id, _)| fit.contains(id));
        if looks.is_empty() {
            if fleet.all_on_wrong_chain().is_some() {
                *self.head.write() = None;
                self.learnt.write().clear();
            }
            let silent = || ChainError::Unavailable("no node can be used".to_owned());
            return Err(failure.unwrap_or_else(silent));
        }
        let before = self.head.read().clone();
        let final_block = self.final_block(&looks, before.as_deref())?;
        let (settled, settled_at) = self.settled(final_block, before.as_deref()).await?;
        let places = Places { taken: self.taken(&looks).max(settled), settled };
        let head = together(looks, seen)?;
        let pulse = Pulse { places: Some(places), ..head.pulse };
        Ok(self.publish(Head { pulse, places, final_block, settled_at, ..head }))
    }

    /// The highest nonce that anybody tells of, unless two others that have seen as many blocks
    /// contradict: a lane closes when somebody else uses the account, and one node may see that first.
    fn taken(&self, looks: &[(NodeId, Look)]) -> u64 {
        let told: Vec<NonceSeen> = looks
            .iter()
            .map(|(node, look)| NonceSeen {
                node: *node,
                head: look.latest.number(),
                nonce: look.nonce,
            })
            .collect();
        let refuted = refuted(&told);
        for id in &refuted {
            self.parts.fleet.dissented(*id, "about the account's nonce");
        }
        let believed = told.iter().filter(|told| !refuted.contains(&told.node));
        believed.map(|told| told.nonce).max().unwrap_or_default()
    }

    fn publish(&self, head: Head) -> Arc<Head> {
        let head = Arc::new(head);
        *self.head.write() = Some(Arc::clone(&head));
        self.account.pulse.send_replace(Some(head.pulse));
        head
    }

    /// The highest block that as many nodes call final as have to agree. What was final once stays
    /// so; where too few answer, nothing new is.
    fn final_block(
        &self,
        looks: &[(NodeId, Look)],
        before: Option<&Head>,
    ) -> Result<u64, ChainError> {
        let needed = self.parts.fleet.needed();
        let reached = match self.parts.config.finality {
            Finality::FinalizedTag => {
                let told: Option<Vec<u64>> = looks.iter().map(|(_, look)| look.finalized).collect();
                reached_by(told.ok_or_else(|| no_block("finalized"))?, needed)
            }
            Finality::Depth(depth) => {
                let heads = looks.iter().map(|(_, look)| look.latest.number());
                // A depth of 1 is the head itself.
                reached_by(heads, needed).map(|head| head.saturating_sub(depth.saturating_sub(1)))
            }
        };
        let known = before.map_or(0, |head| head.final_block);
        Ok(if needed > 1 { reached.unwrap_or(0).max(known) } else { reached.unwrap_or(known) })
    }

    /// The nonce at the final block that as many nodes bear out as have to agree, asked by number: a
    /// node that lags behind then errs instead of answering from the past. What was settled once
    /// stays so; where too few answer, or have dropped the state of that block (finality stalls),
    /// nothing new is.
    async fn settled(
        &self,
        final_block: u64,
        before: Option<&Head>,
    ) -> Result<(u64, Option<u64>), ChainError> {
        let known = before.map_or(0, |head| head.places.settled);
        let known_at = before.and_then(|head| head.settled_at);
        if known_at == Some(final_block) {
            return Ok((known, known_at));
        }
        let asked = self.nonces(&node::quantity(final_block)).await;
        let (mut nonces, mut failure) = (Vec::new(), None);
        for (_, answer) in asked {
            match answer {
                Ok(nonce) => nonces.push(nonce),
                Err(error) => failure = Some(error),
            }
        }
        let needed = self.parts.fleet.needed();
        match (reached_by(nonces, needed), failure) {
            (Some(settled), _) => Ok((settled.max(known), Some(final_block))),
            (None, Some(ChainError::Node { answer, .. })) => {
                if before.is_none_or(|head| head.final_block != final_block) {
                    warn!(block = final_block, %answer, "the node has no state of the final block");
                }
                Ok((known, known_at))
            }
            (None, Some(error)) if needed == 1 => Err(error),
            (None, _) => Ok((known, known_at)),
        }
    }
}

/// What the looks tell together, but for places and finality. The head is the highest that two nodes
/// have reached, where there are two; prices and funds are medians, so that no single node sets them.
fn together(looks: Vec<(NodeId, Look)>, seen: Instant) -> Result<Head, ChainError> {
    let each = || looks.iter().map(|(_, look)| look);
    let numbers = each().map(|look| look.latest.number());
    let number = reached_by(numbers, looks.len().min(2)).ok_or_else(|| no_block("latest"))?;
    // As the number: the time that two have reached, so that none alone moves it on.
    let times = each().map(|look| look.latest.time());
    let head_time = reached_by(times, looks.len().min(2)).unwrap_or_default();
    Ok(Head {
        pulse: Pulse { head: number, head_time, places: None },
        places: Places { taken: 0, settled: 0 },
        final_block: 0,
        market: Market {
            base_fee: median(each().filter_map(|look| look.latest.base_fee())),
            tip: median(each().filter_map(|look| look.tips).map(|tips| tips.usual)),
            low_tip: median(each().filter_map(|look| look.tips).map(|tips| tips.low)),
            gas_price: median(each().filter_map(|look| look.gas_price)),
        },
        block_gas: median(each().map(|look| look.latest.gas_limit())).unwrap_or_default(),
        balance: median(each().map(|look| look.balance)).unwrap_or_default(),
        nodes: looks,
        settled_at: None,
        seen,
    })
}
