//! The lanes of a process, which are exchanged as a whole: what is at work is finished first, and what comes
//! meanwhile waits. So no request sees two of one account.

use super::lane::Lane;
use super::signing_lanes::SigningLanes;
use super::verdict::NoVerdict;
use billing::PlatformChainId;
use journal::LaneId;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{RwLockReadGuard, RwLockWriteGuard};
use tokio::time::{Instant, timeout, timeout_at};

/// All lanes at one time.
#[derive(Debug, Default)]
pub struct LaneSet {
    /// The lanes of each configured chain that may take new work, by the platform's id.
    pub of_chains: HashMap<PlatformChainId, SigningLanes>,
    /// Lanes of other accounts of these chains, which only end what they have begun.
    pub followers: Vec<Arc<Lane>>,
}

impl LaneSet {
    /// Every lane.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Lane>> {
        self.of_chains.values().flat_map(SigningLanes::all).chain(&self.followers)
    }

    /// Every chain with its lanes that may take new work, in the order of their numbers.
    pub fn chains(&self) -> Vec<&SigningLanes> {
        let mut chains: Vec<_> = self.of_chains.iter().collect();
        chains.sort_by_key(|(id, _)| **id);
        chains.into_iter().map(|(_, lanes)| lanes).collect()
    }

    /// Every lane of a chain: those that may take new work, then those that only end what they have begun.
    pub fn of_chain<'s>(&'s self, lanes: &'s SigningLanes) -> impl Iterator<Item = &'s Arc<Lane>> {
        lanes.all().chain(self.followers_of(lanes.any().id().chain))
    }

    /// The lanes that only end what they have begun on a chain.
    pub fn followers_of(&self, chain: PlatformChainId) -> impl Iterator<Item = &Arc<Lane>> {
        self.followers.iter().filter(move |lane| lane.id().chain == chain)
    }

    /// The lane of one account on one chain.
    pub fn lane(&self, id: LaneId) -> Option<&Arc<Lane>> {
        self.all().find(|lane| lane.id() == id)
    }
}

impl Lane {
    /// Goes on where another lane of the account has left off, in the same process and with the same
    /// journal: it counts on, and what that one had settled of the time before the process is settled.
    pub fn go_on_from(&self, before: &Self) {
        *self.tally.lock() = before.tally();
        let copy = |to: &AtomicBool, from: &AtomicBool| {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        };
        copy(&self.gas_is_low, &before.gas_is_low);
        copy(&self.gas_noted_low, &before.gas_noted_low);
        let nothing_left = before.journal.left_ms().is_none();
        let settled = before.compared.load(Ordering::Relaxed)
            && (nothing_left || before.watched.load(Ordering::Relaxed))
            && before.doubt().is_none();
        if settled {
            self.compared.store(true, Ordering::Relaxed);
            self.watched.store(true, Ordering::Relaxed);
            self.young.go_on_from(&before.young);
        }
    }
}

/// The lanes that there are now.
#[derive(Debug)]
pub(super) struct LanesNow {
    set: RwLock<Arc<LaneSet>>,
    /// Held by whatever is at work in a lane, and whole by whoever exchanges them.
    work: tokio::sync::RwLock<()>,
}

impl LanesNow {
    pub(super) fn new(set: LaneSet) -> Self {
        Self { set: RwLock::new(Arc::new(set)), work: tokio::sync::RwLock::new(()) }
    }

    pub(super) fn get(&self) -> Arc<LaneSet> {
        Arc::clone(&self.set.read())
    }

    /// The lanes of a chain, which are not exchanged while the guard is held.
    pub(super) async fn at_work(
        &self,
        chain: PlatformChainId,
        deadline: Instant,
    ) -> Result<(RwLockReadGuard<'_, ()>, SigningLanes), NoVerdict> {
        let begun = timeout_at(deadline, self.work.read()).await;
        let begun = begun.map_err(|_| NoVerdict::Deadline)?;
        let lanes = self.set.read().of_chains.get(&chain).cloned();
        Ok((begun, lanes.ok_or(NoVerdict::UnknownChain(chain))?))
    }
}

/// The lanes while nobody is at work in them. New work waits until this is dropped.
#[derive(Debug)]
pub struct IdleLanes<'a> {
    now: &'a LanesNow,
    _nobody: RwLockWriteGuard<'a, ()>,
}

impl<'a> IdleLanes<'a> {
    /// Waits until everything that is at work is finished; none where that takes longer than `patience`.
    pub(super) async fn of(now: &'a LanesNow, patience: Duration) -> Option<Self> {
        let nobody = timeout(patience, now.work.write()).await.ok()?;
        Some(Self { now, _nobody: nobody })
    }

    /// Has these lanes take the place of those that were.
    pub fn replace(self, set: LaneSet) {
        *self.now.set.write() = Arc::new(set);
    }
}
