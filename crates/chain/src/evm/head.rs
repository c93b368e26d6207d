//! The look at the head: where the chain stands, what gas costs, and what the account holds, as its
//! nodes tell it together.

use super::EvmChain;
use super::fees::{Bid, Market, allowed, cost, first_bid};
use super::in_flight::{Holding, PlaceCost};
use super::known::EvmNodeFacts;
use super::node::EvmAsker;
use super::node::{self, View};
use super::observe::{EvmLook, no_block};
use crate::confirm::{OPINIONS, can_be_looked_up};
use crate::head::{HeadLook, told_by_fit};
use crate::{Budget, CallFault, ChainError, ClockGap, HeadView, Unanswered, Unready};
use ::node::{NodeId, NonceSeen, median, reached_by, refuted};
use alloy::primitives::U256;
use billing::{AttemptKind, NonceView};
use config::Finality;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::warn;

/// One look at the head.
#[derive(Clone, Debug)]
pub(super) struct EvmHead {
    pub(super) pulse: HeadView,
    pub(super) nonces: NonceView,
    /// The newest block that counts as final.
    pub(super) final_block: u64,
    pub(super) market: Market,
    /// The most gas that a block may use.
    pub(super) block_gas: u64,
    /// The look of each fit node.
    pub(super) nodes: Vec<(NodeId, EvmLook)>,
    /// The final block at which the nonce is known.
    finalized_at: Option<u64>,
    seen: Instant,
}

/// The extent of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadReach {
    Whole,
    /// Only the facts that end a batch.
    News,
}

impl HeadLook for EvmHead {
    fn pulse(&self) -> HeadView {
        self.pulse
    }

    fn seen(&self) -> Instant {
        self.seen
    }
}

impl EvmHead {
    /// Returns the holdings of the signing account, as each fit node tells them.
    pub(super) fn holdings(&self) -> Vec<Holding> {
        self.nodes.iter().map(|(_, look)| look.holding).collect()
    }

    /// Returns the balance of the signing account, wei: the one that `needed` nodes say, or else the least that any
    /// says.
    pub(super) fn balance(&self, needed: usize) -> U256 {
        let told = || self.nodes.iter().map(|(_, look)| look.holding.balance);
        reached_by(told(), needed).or(told().min()).unwrap_or_default()
    }

    /// Returns true if the nodes know how many transactions of the account the newest final block has seen. A node
    /// that has forgotten that state cannot tell.
    pub(super) fn knows_final_nonce(&self) -> bool {
        self.finalized_at == Some(self.final_block)
    }
}

impl EvmChain {
    /// Looks at the head now. One look at a time.
    pub(super) async fn observe(&self) -> Result<Arc<EvmHead>, ChainError> {
        self.head.renewed(self.look_at_head()).await
    }

    /// Looks at the head for what is open alone.
    pub(super) async fn follow(&self) -> Result<Arc<EvmHead>, ChainError> {
        let Some(before) = self.head.last() else { return self.observe().await };
        let glances = self.glances(&before.nodes, before.nonces.finalized);
        self.head.renewed(self.head_of(glances, HeadReach::News)).await
    }

    /// The last look if it is young enough, else a new one.
    pub(super) async fn current(&self) -> Result<Arc<EvmHead>, ChainError> {
        self.head.younger_than(self.young(), self.look_at_head()).await
    }

    /// Below what age a look is taken for the newest.
    fn young(&self) -> Duration {
        self.parts.config.poll_interval.saturating_mul(2)
    }

    /// Returns the view for one preflight: the best node, and the block to ask about.
    pub(super) async fn view(&self) -> Result<View<'_>, ChainError> {
        let head = self.current().await?;
        self.view_at(&head).await
    }

    /// The same, with the block that `head` stands for.
    pub(super) async fn view_at(&self, head: &EvmHead) -> Result<View<'_>, ChainError> {
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
        head: &EvmHead,
    ) -> Result<Vec<(NodeId, View<'_>)>, ChainError> {
        let known = self.ready().await?;
        let fleet = &self.parts.fleet;
        let view = |id| {
            let ways = self.learnt.read().get(&id).map(|node| node.ways).unwrap_or_default();
            (id, self.view_of(fleet.only(id), head, EvmNodeFacts { ways, ..known }))
        };
        Ok(fleet.fit().into_iter().take(OPINIONS).map(view).collect())
    }

    /// Several nodes are asked about one block, by its number, so that one that lags errs instead of
    /// answering from the past. A lone node's newest block is asked for by name: it is never behind
    /// itself, and what the last look saw may be some seconds old.
    fn view_of<'a>(&self, rpc: EvmAsker<'a>, head: &EvmHead, known: EvmNodeFacts) -> View<'a> {
        let block = if self.parts.fleet.needed() > 1 {
            node::quantity(head.pulse.head)
        } else {
            "latest".to_owned()
        };
        View { rpc, block, known }
    }

    /// Returns what is known of the chain; the chain is asked when nothing is known.
    pub(super) async fn ready(&self) -> Result<EvmNodeFacts, ChainError> {
        let mut known = self.known();
        if known.is_none() {
            self.current().await?;
            known = self.known();
        }
        self.with_contract(known)
    }

    fn with_contract(&self, known: Option<EvmNodeFacts>) -> Result<EvmNodeFacts, ChainError> {
        let known = known.ok_or(Unanswered::NotReached)?;
        if known.contract {
            return Ok(known);
        }
        Err(CallFault::NoContract(self.account.facts.contract.to_string()).into())
    }

    async fn look_at_head(&self) -> Result<EvmHead, ChainError> {
        self.head_of(self.looks(), HeadReach::Whole).await
    }

    /// Returns the head that the nodes tell together.
    async fn head_of(
        &self,
        told: impl Future<Output = Vec<(NodeId, Result<EvmLook, ChainError>)>>,
        extent: HeadReach,
    ) -> Result<EvmHead, ChainError> {
        let seen = Instant::now();
        let looks = told_by_fit(&self.parts.fleet, told.await, EvmLook::head_seen)
            .inspect_err(|_| self.forget_another_chain())?;
        let before = self.head.last();
        let final_block = self.final_block(&looks, before.as_deref())?;
        let mined = self.mined(&looks);
        let told = (looks.len() >= self.parts.fleet.needed()).then_some(mined);
        let ((finalized, finalized_at), final_time) =
            tokio::try_join!(self.finalized_nonce(final_block, told, before.as_deref()), async {
                Ok(self.final_time(&looks, final_block, (before.as_deref(), extent)).await)
            },)?;
        let nonces = NonceView { mined: mined.max(finalized), finalized };
        let head = together(looks, seen)?;
        let pulse = HeadView { final_time, nonces: Some(nonces), ..head.pulse };
        Ok(EvmHead { pulse, nonces, final_block, finalized_at, ..head })
    }

    /// Forgets what was learnt of another chain: it says nothing of this one.
    fn forget_another_chain(&self) {
        if self.parts.fleet.all_on_wrong_chain().is_some() {
            self.head.forget();
            self.learnt.write().clear();
        }
    }

    /// The highest nonce that anybody tells of, unless two others that have seen as many blocks
    /// contradict: a lane closes when somebody else uses the account, and one node may see that first.
    fn mined(&self, looks: &[(NodeId, EvmLook)]) -> u64 {
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

    /// Returns the highest block that as many nodes call final as have to agree. A block that was final once stays
    /// so; where too few answer, no new block is final. No claim hangs on this block alone: the taker of a place
    /// counts in blocks that each node which shows it calls final itself, and guards end by times that enough bear
    /// out.
    fn final_block(
        &self,
        looks: &[(NodeId, EvmLook)],
        before: Option<&EvmHead>,
    ) -> Result<u64, ChainError> {
        let needed = self.parts.fleet.needed();
        let reached = match self.parts.config.finality {
            Finality::FinalizedTag => {
                let number = |(_, look): &(NodeId, EvmLook)| Some(look.finalized?.number());
                let told: Option<Vec<u64>> = looks.iter().map(number).collect();
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

    /// The latest time that as many nodes bear out as have to agree that a final block has, Unix
    /// seconds. Never goes back; where too few answer it stands still.
    async fn final_time(
        &self,
        looks: &[(NodeId, EvmLook)],
        final_block: u64,
        (before, extent): (Option<&EvmHead>, HeadReach),
    ) -> u64 {
        let known = before.map_or(0, |head| head.pulse.final_time);
        let told: Vec<u64> = match self.parts.config.finality {
            Finality::FinalizedTag => {
                looks.iter().filter_map(|(_, look)| Some(look.finalized?.time())).collect()
            }
            Finality::Depth(1) => looks.iter().map(|(_, look)| look.latest.time()).collect(),
            // No end of a batch hangs on it.
            Finality::Depth(_) if extent == HeadReach::News => return known,
            Finality::Depth(_) => {
                let block = node::quantity(final_block);
                let asked = looks.iter().map(|(id, _)| {
                    let (rpc, block) = (self.parts.fleet.only(*id), block.as_str());
                    async move { node::header(rpc, block).await.ok().flatten() }
                });
                let told = join_all(asked).await.into_iter().flatten();
                told.filter(|header| header.number() == final_block)
                    .map(|header| header.time())
                    .collect()
            }
        };
        reached_by(told, self.parts.fleet.needed()).unwrap_or_default().max(known)
    }

    /// Returns the nonce at the final block that as many nodes bear out as have to agree, asked by number: a node
    /// that lags behind then errs instead of answering from the past. A node that has dropped the state of that
    /// block tells what it counted at an earlier final one ([`Milestones`]). A nonce that was final once stays so;
    /// where too few answer, no new nonce is final. Also returns the final block at which the nonce is known.
    /// Nothing is asked where `mined`, the highest that enough nodes tell of the newest block, is what was final
    /// before: the nonce cannot be less at a block between the two, nor more.
    ///
    /// [`Milestones`]: super::milestones::Milestones
    async fn finalized_nonce(
        &self,
        final_block: u64,
        mined: Option<u64>,
        before: Option<&EvmHead>,
    ) -> Result<(u64, Option<u64>), ChainError> {
        let known = before.map_or(0, |head| head.nonces.finalized);
        let known_at = before.and_then(|head| head.finalized_at);
        if known_at == Some(final_block) {
            return Ok((known, known_at));
        }
        if known_at.is_some() && mined == Some(known) {
            return Ok((known, Some(final_block)));
        }
        let (mut nonces, mut forgetful, mut failure) = (Vec::new(), Vec::new(), None);
        for (id, answer) in self.nonces(&node::quantity(final_block)).await {
            match answer {
                Ok(nonce) => nonces.push(nonce),
                Err(error) => {
                    forgetful.push(id);
                    let words = matches!(error, ChainError::Node { .. });
                    failure = if words { Some(error) } else { failure.or(Some(error)) };
                }
            }
        }
        let needed = self.parts.fleet.needed();
        if let Some(nonce) = reached_by(nonces.iter().copied(), needed) {
            return Ok((nonce.max(known), Some(final_block)));
        }
        match failure {
            Some(ChainError::Node { answer, .. }) => {
                if before.is_none_or(|head| head.final_block != final_block) {
                    warn!(block = final_block, %answer, "the node has no state of the final block");
                }
                nonces.extend(self.at_milestones(&forgetful, final_block).await);
                let nonce = reached_by(nonces, needed).unwrap_or_default();
                Ok((nonce.max(known), known_at))
            }
            Some(error) if needed == 1 => Err(error),
            Some(_) | None => Ok((known, known_at)),
        }
    }

    /// An error where no request could be billed, by this look.
    pub(super) fn could_bill(&self, head: &EvmHead) -> Result<(), ChainError> {
        self.timely_at(head, head.when_seen(self.account.clock, self.young()))?;
        can_be_looked_up(&self.parts.fleet, &self.account.profile)?;
        self.with_contract(self.known())?;
        self.could_use_gas(head)?;
        let fees = &self.parts.config.fees;
        let bid = first_bid(&head.market, fees, self.raises())?;
        allowed(cost(self.ordinary_gas(head), bid), AttemptKind::Bill, fees)?;
        Ok(self.budget(head)?.pays()?)
    }

    /// An error where the head is too far from this machine's clock to sign anything new by it.
    pub(super) fn timely(&self, head: &EvmHead) -> Result<(), Unready> {
        self.timely_at(head, self.account.clock.unix_ms())
    }

    fn timely_at(&self, head: &EvmHead, now_ms: i64) -> Result<(), Unready> {
        let head_ms = head.pulse.head_time.saturating_mul(1000);
        ClockGap::within(head_ms, now_ms, self.parts.config.clock_tolerance)
    }

    /// Returns what the account can still pay. An error while no price can be bid.
    pub(super) fn budget(&self, head: &EvmHead) -> Result<Budget, ChainError> {
        let bid = first_bid(&head.market, &self.parts.config.fees, self.raises())?;
        self.budget_at(bid, head).ok_or_else(|| Unanswered::NoBalance.into())
    }

    /// The same at this price. None where no node tells what it holds.
    pub(super) fn budget_at(&self, bid: Bid, head: &EvmHead) -> Option<Budget> {
        let draft = PlaceCost::of_draft(bid, self.ordinary_cost(head, bid));
        self.in_flight.budget(draft, &head.holdings(), self.parts.fleet.needed())
    }
}

/// Returns the head that the looks tell together, but for nonces and finality. The head is the highest that two
/// nodes have reached, where there are two; prices are medians, so that no single node sets them.
fn together(looks: Vec<(NodeId, EvmLook)>, seen: Instant) -> Result<EvmHead, ChainError> {
    let each = || looks.iter().map(|(_, look)| look);
    let numbers = each().map(|look| look.latest.number());
    let number = reached_by(numbers, looks.len().min(2)).ok_or_else(|| no_block("latest"))?;
    // As the number: the time that two have reached, so that none alone moves it on.
    let times = each().map(|look| look.latest.time());
    let head_time = reached_by(times, looks.len().min(2)).unwrap_or_default();
    Ok(EvmHead {
        pulse: HeadView { head: number, head_time, final_time: 0, nonces: None },
        nonces: NonceView { mined: 0, finalized: 0 },
        final_block: 0,
        market: Market {
            base_fee: median(each().filter_map(|look| look.latest.base_fee())),
            tip: median(each().filter_map(|look| look.tips).map(|tips| tips.usual)),
            low_tip: median(each().filter_map(|look| look.tips).map(|tips| tips.low)),
            gas_price: median(each().filter_map(|look| look.gas_price)),
        },
        block_gas: median(each().map(|look| look.latest.gas_limit())).unwrap_or_default(),
        nodes: looks,
        finalized_at: None,
        seen,
    })
}
