//! The look at the head, as the nodes tell it together: where the chain stands, what is irrevocable,
//! what things cost, and what the account has.

use super::TronChain;
use super::observe::{TronLook, no_block};
use super::resources::{Prices, affordable};
use super::spends::{AccountMeans, SpendOf};
use crate::confirm::can_be_looked_up;
use crate::head::{HeadLook, told_by_fit};
use crate::{ChainError, ClockGap, HeadView, Purse, Unanswered, Unready};
use ::node::{NodeId, median, reached_by, shared};
use config::TvmConfig;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tron_node::{Authority, Heights, SolidHead, TronBlock, solid_head};

/// Longest lag of the newest irrevocable block behind the newest before nothing is signed, ms. About a minute is
/// usual (19 blocks); transactions that are signed while finality stands still stay undecided.
const SOLID_TOLERANCE_MS: u64 = 600_000;

/// The same where providers tell different irrevocable blocks, ms: one that is behind, or that lies for once, is
/// none of that.
const PARTED_MS: u64 = 180_000;

/// The newest block that two nodes have reached, where there are two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tip {
    /// Its number.
    pub(super) number: u64,
    /// Its time, Unix ms.
    pub(super) time_ms: u64,
}

/// One look at the head.
#[derive(Clone, Debug)]
pub(super) struct TronHead {
    pub(super) pulse: HeadView,
    /// The newest block of the chain.
    pub(super) newest: Tip,
    /// The newest block that as many providers as have to agree call irrevocable.
    pub(super) solid: TronBlock,
    /// At which height providers tell different irrevocable blocks, since none was told alike.
    pub(super) parted: Option<u64>,
    /// The means of the signing account, as each fit node tells them.
    pub(super) means: Vec<AccountMeans>,
    /// The look of each fit node.
    nodes: Vec<(NodeId, TronLook)>,
    /// Why the signing key cannot sign alone, where as many providers as have to agree say so.
    pub(super) not_alone: Option<Authority>,
    pub(super) prices: Prices,
    /// Longest time that a simulation of more than one charge may take as seen from here; none if the nodes do not
    /// tell what the chain allows.
    pub(super) longest_run: Option<Duration>,
    /// Longest gap between the newest block and this machine's clock before nothing is signed.
    clock_tolerance: Duration,
    seen: Instant,
}

impl HeadLook for TronHead {
    fn pulse(&self) -> HeadView {
        self.pulse
    }

    fn seen(&self) -> Instant {
        self.seen
    }
}

impl TronHead {
    /// An error where the newest block is too far from `now_ms`, or the newest irrevocable one from
    /// it, to sign anything by them.
    pub(super) fn timely(&self, now_ms: i64) -> Result<(), Unready> {
        let lag = self.newest.time_ms.saturating_sub(self.solid.time_ms);
        if let Some(number) = self.parted.filter(|_| lag > PARTED_MS) {
            return Err(Unready::Parted(number));
        }
        if lag > SOLID_TOLERANCE_MS {
            return Err(Unready::Stalled(Duration::from_millis(lag)));
        }
        ClockGap::within(self.newest.time_ms, now_ms, self.clock_tolerance)
    }
}

impl TronHead {
    /// Returns the look of this node; none if the node was not asked.
    pub(super) fn told_by(&self, node: NodeId) -> Option<&TronLook> {
        self.nodes.iter().find(|(id, _)| *id == node).map(|(_, look)| look)
    }

    /// Returns the newest block and the newest irrevocable one.
    pub(super) fn heights(&self) -> Heights<'_> {
        Heights { newest: self.newest.number, solid: &self.solid }
    }

    /// Returns true if a simulation of so many charges took so long that a block might stop it. One charge is as
    /// little as can be asked for: nothing is gained by asking for less.
    pub(super) fn too_long(&self, took: Duration, charges: usize) -> bool {
        charges > 1 && self.longest_run.is_some_and(|longest| took > longest)
    }
}

impl TronChain {
    /// Looks at the head now. One look at a time.
    pub(super) async fn observe(&self) -> Result<Arc<TronHead>, ChainError> {
        self.head.renewed(self.look_at_head()).await
    }

    /// Looks at the head for what is open alone.
    pub(super) async fn follow(&self) -> Result<Arc<TronHead>, ChainError> {
        let Some(before) = self.head.last() else { return self.observe().await };
        self.head.renewed(async { self.head_of(self.glances(&before.nodes).await).await }).await
    }

    /// The last look if it is young enough, else a new one.
    pub(super) async fn current(&self) -> Result<Arc<TronHead>, ChainError> {
        self.head.younger_than(self.young(), self.look_at_head()).await
    }

    /// Below what age a look is taken for the newest.
    fn young(&self) -> Duration {
        self.parts.config.poll_interval.saturating_mul(2)
    }

    /// An error where no request could be billed, by this look.
    pub(super) fn could_bill(&self, head: &TronHead) -> Result<(), ChainError> {
        head.timely(head.when_seen(self.account.clock, self.young()))?;
        can_be_looked_up(&self.parts.fleet, &self.account.profile)?;
        self.deployed()?;
        self.could_pay_for_energy(head)?;
        Ok(self.purse(head)?.pays()?)
    }

    /// An error where energy is too dear for even one charge.
    pub(super) fn could_pay_for_energy(&self, head: &TronHead) -> Result<(), ChainError> {
        affordable(&self.last_draft.lock().estimate, &head.prices, self.energy_rules())
    }

    /// Returns the purse of the account, the amount that it can still pay.
    pub(super) fn purse(&self, head: &TronHead) -> Result<Purse, ChainError> {
        let ordinary = SpendOf::draft(self.ordinary(head));
        let purse = self.promises.purse(ordinary, &head.means, self.parts.fleet.needed());
        Ok(purse.ok_or(Unanswered::NoBalance)?)
    }

    async fn look_at_head(&self) -> Result<TronHead, ChainError> {
        self.head_of(self.looks().await).await
    }

    /// Returns the head that the nodes tell together.
    async fn head_of(
        &self,
        told: Vec<(NodeId, Result<TronLook, ChainError>)>,
    ) -> Result<TronHead, ChainError> {
        let fleet = &self.parts.fleet;
        let looks = told_by_fit(fleet, told, TronLook::head_seen)
            .inspect_err(|_| self.forget_another_chain())?;
        let before = self.head.last();
        let (solid, parted) = self.solid_head(&looks, before.as_deref()).await?;
        let told: Vec<Authority> = looks.iter().map(|(_, look)| look.own_key).collect();
        let head = together(looks, solid, &self.parts.config)?;
        let agreed = shared(&told, fleet.needed()).copied();
        let not_alone = agreed.filter(|own_key| !own_key.suffices());
        Ok(TronHead { parted, not_alone, ..head })
    }

    /// Forgets what was learnt of another chain: it says nothing of this one.
    fn forget_another_chain(&self) {
        if self.parts.fleet.all_on_wrong_chain().is_some() {
            self.head.forget();
            self.learnt.write().clear();
        }
    }

    /// Returns the highest block that as many providers as have to agree call irrevocable, each by the same id. A
    /// block that was irrevocable once stays so; if too few providers answer, no new block is.
    async fn solid_head(
        &self,
        looks: &[(NodeId, TronLook)],
        before: Option<&TronHead>,
    ) -> Result<(TronBlock, Option<u64>), ChainError> {
        let fleet = &self.parts.fleet;
        let needed = fleet.needed();
        let known = before.map(|head| head.solid.number);
        let mut parted = before.and_then(|head| head.parted);
        let number = reached_by(looks.iter().map(|(_, look)| look.solid.number), needed);
        let newer = number.filter(|number| known.is_none_or(|known| *number > known));
        if let Some(number) = newer {
            let newest: Vec<_> = looks.iter().map(|(id, look)| (*id, &look.solid)).collect();
            match solid_head(fleet, number, &newest).await {
                SolidHead::Alike(block) => return Ok((block, None)),
                SolidHead::Differently => parted = Some(number),
                SolidHead::TooFew => {}
            }
        }
        let solid = before.map(|head| head.solid.clone());
        let solid = solid.ok_or(Unanswered::NothingIrrevocable { needed })?;
        Ok((solid, parted))
    }
}

/// Combines the looks, besides what is irrevocable. The head is the highest block that two nodes have reached,
/// where there are two; prices are medians, so that no single node sets them.
fn together(
    looks: Vec<(NodeId, TronLook)>,
    solid: TronBlock,
    config: &TvmConfig,
) -> Result<TronHead, ChainError> {
    let each = || looks.iter().map(|(_, look)| look);
    let two = looks.len().min(2);
    let number = reached_by(each().map(|look| look.newest.number), two).ok_or_else(no_block)?;
    let time_ms = reached_by(each().map(|look| look.newest.time_ms), two).ok_or_else(no_block)?;
    let newest = Tip { number: number.max(solid.number), time_ms: time_ms.max(solid.time_ms) };
    let middle = |of: fn(&TronLook) -> u64| median(each().map(of)).unwrap_or_default();
    let prices = Prices {
        energy: middle(|look| look.prices.energy),
        bandwidth: middle(|look| look.prices.bandwidth),
        max_fee_limit: middle(|look| look.prices.max_fee_limit),
    };
    let means = each().map(|look| look.means(prices)).collect();
    let cpu_ms = median(each().filter_map(|look| look.cpu_ms));
    // The node that answers a simulation is not known, so the longest way counts.
    let way = each().map(|look| look.way).max().unwrap_or_default();
    let longest_run = cpu_ms.map(|ms| {
        let percent = config.fees.max_run_percent;
        let run = Duration::from_millis(ms).saturating_mul(percent).checked_div(100);
        run.unwrap_or_default().saturating_add(way)
    });
    // Nothing on TRON counts an account's transactions.
    let head_time = newest.time_ms.div_euclid(1000);
    let final_time = solid.time_ms.div_euclid(1000);
    let pulse = HeadView { head: newest.number, head_time, final_time, nonces: None };
    let (clock_tolerance, seen) = (config.clock_tolerance, Instant::now());
    let not_alone = None;
    Ok(TronHead {
        pulse,
        newest,
        solid,
        parted: None,
        means,
        nodes: looks,
        not_alone,
        prices,
        longest_run,
        clock_tolerance,
        seen,
    })
}
