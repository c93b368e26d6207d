//! The watch over the chain's head: one look at a time, as the nodes tell it together, and the last one kept. Views of
//! the chain for one preflight are of the block that it saw.

use super::access::Access;
use super::finality::{FinalNonce, FinalState};
use super::head::{EvmHead, together};
use super::node_look::{EvmLook, NodeLooks};
use super::proven_nonce::ProvenNonces;
use crate::confirm::OPINIONS;
use crate::head::{HeadLook as _, KeptHead, told_by_fit};
use crate::{ChainError, ClockGap, HeadExtent, HeadView, Unready};
use ::node::NodeId;
use billing::NonceView;
use evm_blocks::Need;
use evm_node::EvmNodeFacts;
use evm_node::{self as node, EvmAsker, View};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The looks of all nodes that were asked, each with its error.
type Looks = Vec<(NodeId, Result<EvmLook, ChainError>)>;

/// The watch over the head.
#[derive(Debug)]
pub(super) struct HeadWatch {
    access: Access,
    looks: NodeLooks,
    final_state: FinalState,
    head: KeptHead<EvmHead>,
}

impl HeadWatch {
    /// Nothing was looked at yet.
    pub(super) fn of(access: Access, nonces: Arc<ProvenNonces>) -> Self {
        let looks = NodeLooks::of(access.clone());
        let final_state = FinalState::of(access.clone(), nonces);
        Self { access, looks, final_state, head: KeptHead::unseen() }
    }

    /// Returns the newest look, and every one after it.
    pub(super) fn views(&self) -> watch::Receiver<Option<HeadView>> {
        self.head.views()
    }

    /// Returns the newest look.
    pub(super) fn last(&self) -> Option<Arc<EvmHead>> {
        self.head.last()
    }

    /// Looks at the head now. One look at a time.
    pub(super) async fn observe(&self) -> Result<Arc<EvmHead>, ChainError> {
        self.head.renewed(self.look_at_head()).await
    }

    /// Looks at the head for open batches alone.
    pub(super) async fn follow(&self) -> Result<Arc<EvmHead>, ChainError> {
        let Some(before) = self.head.last() else { return self.observe().await };
        let settled = before.nonces.finalized;
        let news = async {
            let began = Instant::now();
            let survey = self.access.fleet.survey(|id| self.news_of(id, &before, settled));
            self.head_of(survey.await, began, HeadExtent::News).await
        };
        self.head.renewed(news).await
    }

    async fn news_of(
        &self,
        id: NodeId,
        before: &EvmHead,
        settled: u64,
    ) -> Result<EvmLook, ChainError> {
        match before.nodes.iter().find(|(node, _)| *node == id) {
            Some((_, last)) => self.looks.news(id, last, settled).await,
            None => self.looks.look(id).await,
        }
    }

    /// Returns the last look if it is young enough, else a new one.
    pub(super) async fn current(&self) -> Result<Arc<EvmHead>, ChainError> {
        self.head.younger_than(self.young(), self.look_at_head()).await
    }

    /// Returns the age below which a look is taken for the newest.
    fn young(&self) -> Duration {
        self.access.config.poll_interval.saturating_mul(2)
    }

    async fn look_at_head(&self) -> Result<EvmHead, ChainError> {
        let began = Instant::now();
        let survey = self.access.fleet.survey(|id| self.looks.look(id));
        self.head_of(survey.await, began, HeadExtent::Whole).await
    }

    /// Returns the head that the nodes tell together. The look began at `seen`.
    async fn head_of(
        &self,
        told: Looks,
        seen: Instant,
        extent: HeadExtent,
    ) -> Result<EvmHead, ChainError> {
        let (fleet, is) = (&self.access.fleet, &self.final_state);
        let looks = told_by_fit(fleet, told, EvmLook::head_seen)
            .inspect_err(|_| self.forget_another_chain())?;
        let before = self.head.last();
        let before = before.as_deref();
        let final_chain = &self.access.final_chain;
        let told = is.final_block(&looks, before)?;
        let mined = is.mined(&looks);
        let settled = before.map_or(0, |head| head.nonces.finalized);
        let need = if mined > settled { Need::Awaited } else { Need::Idle };
        // A block that others do not bear out yet is not final yet, whatever the nodes call it.
        let borne_out = final_chain.borne_out(told, need).await;
        let known = before.map_or(0, |head| head.final_block);
        let final_block = borne_out.map_or(told, |newest| newest.number.min(told).max(known));
        final_chain.follow(final_block).await.map_err(Unready::Rewritten)?;
        let told = (looks.len() >= fleet.needed()).then_some(mined);
        let (FinalNonce { nonce: finalized, known_at }, final_time) =
            tokio::try_join!(is.finalized_nonce(final_block, &looks, told, before), async {
                Ok(is.final_time(&looks, final_block, before, extent).await)
            },)?;
        let nonces = NonceView { mined: mined.max(finalized), finalized };
        let head = together(looks, seen)?;
        let final_time = borne_out.map_or(final_time, |newest| newest.time.min(final_time));
        let final_time = final_time.max(before.map_or(0, |head| head.view.final_time));
        let view = HeadView { final_time, nonces: Some(nonces), ..head.view };
        Ok(EvmHead { view, nonces, final_block, finalized_at: known_at, ..head })
    }

    /// Forgets what was learnt of another chain: it says nothing of this one.
    fn forget_another_chain(&self) {
        if self.access.fleet.all_on_wrong_chain().is_some() {
            self.head.forget();
            self.looks.known.forget();
        }
    }

    /// Returns what is known of the nodes together; none before one of them was asked.
    pub(super) fn known(&self) -> Option<EvmNodeFacts> {
        self.looks.known.together()
    }

    /// The same. An error if there is no contract.
    pub(super) fn deployed(&self) -> Result<EvmNodeFacts, ChainError> {
        self.looks.known.with_contract()
    }

    /// The same; the nodes are asked when nothing is known.
    pub(super) async fn ready(&self) -> Result<EvmNodeFacts, ChainError> {
        if self.known().is_none() {
            self.current().await?;
        }
        self.deployed()
    }

    /// An error if the head is too far from this machine's clock to sign anything new by it.
    pub(super) fn timely(&self, head: &EvmHead) -> Result<(), Unready> {
        self.timely_at(head, self.access.account.clock.unix_ms())
    }

    /// The same by this machine's clock when the look was made, if the look is not young.
    pub(super) fn was_timely(&self, head: &EvmHead) -> Result<(), Unready> {
        self.timely_at(head, head.when_seen(self.access.account.clock, self.young()))
    }

    fn timely_at(&self, head: &EvmHead, now_ms: i64) -> Result<(), Unready> {
        let head_ms = head.view.head_time.saturating_mul(1000);
        ClockGap::within(head_ms, now_ms, self.access.config.clock_tolerance)
    }

    /// Returns the view for one preflight: the best node, and the block to ask about.
    pub(super) async fn view(&self) -> Result<View<'_>, ChainError> {
        let head = self.current().await?;
        self.view_at(&head).await
    }

    /// The same, with the block that `head` stands for.
    pub(super) async fn view_at(&self, head: &EvmHead) -> Result<View<'_>, ChainError> {
        let known = self.ready().await?;
        Ok(self.view_of(self.access.fleet.best(), head, known))
    }

    /// Returns one view for each of up to three nodes, of the block that a new look finds.
    pub(super) async fn fresh_views(&self) -> Result<Vec<(NodeId, View<'_>)>, ChainError> {
        let head = self.observe().await?;
        self.views_at(&head).await
    }

    /// Returns one view for each of up to three nodes, of the block that `head` stands for.
    pub(super) async fn views_at(
        &self,
        head: &EvmHead,
    ) -> Result<Vec<(NodeId, View<'_>)>, ChainError> {
        let known = self.ready().await?;
        let fleet = &self.access.fleet;
        let view = |id| {
            let ways = self.looks.known.ways_of(id);
            (id, self.view_of(fleet.only(id), head, EvmNodeFacts { ways, ..known }))
        };
        Ok(fleet.fit().into_iter().take(OPINIONS).map(view).collect())
    }

    /// Several nodes are asked about one block, by its number, so that one that lags errs instead of
    /// answering from the past. A lone node's newest block is asked for by name: it is never behind
    /// itself, and what the last look saw may be some seconds old.
    fn view_of<'a>(&self, rpc: EvmAsker<'a>, head: &EvmHead, known: EvmNodeFacts) -> View<'a> {
        let block = if self.access.needed() > 1 {
            node::quantity(head.view.head)
        } else {
            "latest".to_owned()
        };
        View { rpc, block, known }
    }
}
