//! The watch over the chain's head: one look at a time, as the nodes tell it together, and the last one kept.

use super::access::Access;
use super::head::{TronHead, together};
use super::node_facts::Deployed;
use super::node_look::{NodeLooks, TronLook};
use super::solid_due::SolidDue;
use crate::head::{KeptHead, told_by_fit};
use crate::{ChainError, HeadView, Unanswered};
use ::node::{NodeId, reached_by, shared};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tron_node::{Authority, BlockReader, SolidHead, TronBlock, solid_head};

/// The looks of all nodes that were asked, each with its error.
type Looks = Vec<(NodeId, Result<TronLook, ChainError>)>;

/// The newest irrevocable block, and the height at which providers tell different ones.
struct Irrevocable {
    solid: TronBlock,
    parted: Option<u64>,
}

/// The watch over the head.
#[derive(Debug)]
pub(super) struct HeadWatch {
    access: Access,
    looks: NodeLooks,
    head: KeptHead<TronHead>,
    /// The moment from which the nodes are asked what is irrevocable, while open batches are followed.
    solid_due: Mutex<SolidDue>,
}

impl HeadWatch {
    /// Nothing was looked at yet.
    pub(super) fn of(access: Access, reader: Arc<BlockReader>) -> Self {
        let looks = NodeLooks::of(access.clone(), reader);
        Self { access, looks, head: KeptHead::unseen(), solid_due: Mutex::default() }
    }

    /// Returns the newest look, and every one after it.
    pub(super) fn views(&self) -> watch::Receiver<Option<HeadView>> {
        self.head.views()
    }

    /// Returns the newest look.
    pub(super) fn last(&self) -> Option<Arc<TronHead>> {
        self.head.last()
    }

    /// Sets the moment from which the irrevocable block is asked for.
    pub(super) fn set_solid_due(&self, due: SolidDue) {
        *self.solid_due.lock() = due;
    }

    /// Looks at the head now. One look at a time.
    pub(super) async fn observe(&self) -> Result<Arc<TronHead>, ChainError> {
        self.head.renewed(self.look_at_head()).await
    }

    /// Looks at the head for open batches alone.
    pub(super) async fn follow(&self) -> Result<Arc<TronHead>, ChainError> {
        let Some(before) = self.head.last() else { return self.observe().await };
        let passed_ms = before.newest.time_ms;
        let news = async {
            let survey = self.access.fleet.survey(|id| self.news_of(id, &before, passed_ms));
            self.head_of(survey.await).await
        };
        self.head.renewed(news).await
    }

    async fn news_of(
        &self,
        id: NodeId,
        before: &TronHead,
        passed_ms: u64,
    ) -> Result<TronLook, ChainError> {
        let due = |newest: &TronBlock| self.solid_due.lock().is_reached_by(newest);
        match before.look_of(id) {
            Some(last) => self.looks.news(id, last, passed_ms, due).await,
            None => self.looks.look(id, passed_ms).await,
        }
    }

    /// Returns the last look if it is young enough, else a new one.
    pub(super) async fn current(&self) -> Result<Arc<TronHead>, ChainError> {
        self.head.younger_than(self.young(), self.look_at_head()).await
    }

    /// Returns the age below which a look is taken for the newest.
    pub(super) fn young(&self) -> Duration {
        self.access.config.poll_interval.saturating_mul(2)
    }

    /// Returns the deployed contracts; asks the nodes when nothing is known.
    pub(super) async fn ready(&self) -> Result<Deployed, ChainError> {
        self.current().await?;
        self.deployed()
    }

    /// Returns the deployed contracts as far as the last look tells.
    pub(super) fn deployed(&self) -> Result<Deployed, ChainError> {
        self.looks.known.deployed()
    }

    async fn look_at_head(&self) -> Result<TronHead, ChainError> {
        let passed_ms = self.head.last().map_or(0, |head| head.newest.time_ms);
        let survey = self.access.fleet.survey(|id| self.looks.look(id, passed_ms));
        self.head_of(survey.await).await
    }

    /// Returns the head that the nodes tell together.
    async fn head_of(&self, told: Looks) -> Result<TronHead, ChainError> {
        let fleet = &self.access.fleet;
        let looks = told_by_fit(fleet, told, TronLook::head_seen)
            .inspect_err(|_| self.forget_another_chain())?;
        let before = self.head.last();
        let Irrevocable { solid, parted } = self.irrevocable(&looks, before.as_deref()).await?;
        let told: Vec<Authority> = looks.iter().map(|(_, look)| look.own_key).collect();
        let head = together(looks, solid, &self.access.config)?;
        let agreed = shared(&told, fleet.needed()).copied();
        let not_alone = agreed.filter(|own_key| !own_key.suffices());
        Ok(TronHead { parted, not_alone, ..head })
    }

    /// Forgets what was learnt of another chain: it says nothing of this one.
    fn forget_another_chain(&self) {
        if self.access.fleet.all_on_wrong_chain().is_some() {
            self.head.forget();
            self.looks.known.forget();
        }
    }

    /// Returns the highest block that as many providers as have to agree call irrevocable, each by the same id. A
    /// block that was irrevocable once stays so; if too few providers answer, no new block is.
    async fn irrevocable(
        &self,
        looks: &[(NodeId, TronLook)],
        before: Option<&TronHead>,
    ) -> Result<Irrevocable, ChainError> {
        let fleet = &self.access.fleet;
        let needed = fleet.needed();
        let known = before.map(|head| head.solid.number);
        let mut parted = before.and_then(|head| head.parted);
        let number = reached_by(looks.iter().map(|(_, look)| look.solid.number), needed);
        let newer = number.filter(|number| known.is_none_or(|known| *number > known));
        if let Some(number) = newer {
            let newest: Vec<_> = looks.iter().map(|(id, look)| (*id, &look.solid)).collect();
            match solid_head(fleet, number, &newest).await {
                SolidHead::Alike(solid) => return Ok(Irrevocable { solid, parted: None }),
                SolidHead::Differently => parted = Some(number),
                SolidHead::TooFew => {}
            }
        }
        let solid = before.map(|head| head.solid.clone());
        let solid = solid.ok_or(Unanswered::NothingIrrevocable { needed })?;
        Ok(Irrevocable { solid, parted })
    }

    /// Forgets the last look.
    #[cfg(test)]
    pub(super) fn forget(&self) {
        self.head.forget();
    }

    /// Returns true if nothing is known of any node or of the head.
    #[cfg(test)]
    pub(super) fn knows_nothing(&self) -> bool {
        self.looks.known.is_empty() && self.head.last().is_none()
    }
}
