//! The look at the head, as the nodes tell it together: where the chain stands, what is irrevocable,
//! what things cost, and what the account has.

use super::node_look::{TronLook, no_block};
use super::resources::Prices;
use super::spends::AccountFunds;
use crate::head::HeadLook;
use crate::{ChainError, ClockGap, HeadView, Unready};
use ::node::{NodeId, median, reached_by};
use config::TvmConfig;
use std::time::Duration;
use tokio::time::Instant;
use tron_node::{Authority, Heights, TronBlock};

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
    pub(super) view: HeadView,
    /// The newest block of the chain.
    pub(super) newest: Tip,
    /// The newest block that as many providers as have to agree call irrevocable.
    pub(super) solid: TronBlock,
    /// The height at which providers tell different irrevocable blocks, while no newer block is told alike.
    pub(super) parted: Option<u64>,
    /// The means of the signing account, as each fit node tells them.
    pub(super) funds: Vec<AccountFunds>,
    /// The look of each fit node.
    pub(super) nodes: Vec<(NodeId, TronLook)>,
    /// The authority of the signing key, if as many providers as have to agree say that it cannot sign alone.
    pub(super) not_alone: Option<Authority>,
    pub(super) prices: Prices,
    /// Longest time that a simulation of more than one charge may take as seen from here; none if the nodes do not
    /// tell what the chain allows.
    pub(super) longest_run: Option<Duration>,
    /// Longest gap between the newest block and this machine's clock before nothing is signed.
    pub(super) clock_tolerance: Duration,
    pub(super) seen: Instant,
}

impl HeadLook for TronHead {
    fn view(&self) -> HeadView {
        self.view
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
    pub(super) fn look_of(&self, node: NodeId) -> Option<&TronLook> {
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

/// Combines the looks, besides what is irrevocable. The head is the highest block that two nodes have reached,
/// where there are two; prices are medians, so that no single node sets them.
pub(super) fn together(
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
    let funds = each().map(|look| look.funds(prices)).collect();
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
    let view = HeadView { head: newest.number, head_time, final_time, nonces: None };
    let (clock_tolerance, seen) = (config.clock_tolerance, Instant::now());
    let not_alone = None;
    Ok(TronHead {
        view,
        newest,
        solid,
        parted: None,
        funds,
        nodes: looks,
        not_alone,
        prices,
        longest_run,
        clock_tolerance,
        seen,
    })
}

/// Returns a time in seconds.
pub(super) fn seconds(ms: u64) -> u64 {
    ms.div_euclid(1000)
}
