//! Another configuration, taken up by a Signer that runs: all of it, or nothing.
//!
//! For the chains it is what a restart would be, without the process, its port and its journal being let go:
//! adapters are made beside those that work; requests that are at work are finished and those that come wait;
//! and everything that is open is taken up from the journal by the new lanes.

use super::connect::{self, Connected};
use super::lanes::{self, Lanes};
use super::{Machine, Running, limits, look_once};
use crate::auth::Callers;
use crate::http::ReloadRequest;
use crate::telemetry;
use config::{Changes, Config, ConfigErrors};
use engine::{LaneSet, Watcher};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

/// Why another configuration was not taken up: everything that stands in the way. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct NotReloaded(Vec<String>);

impl NotReloaded {
    fn one(why: &impl ToString) -> Self {
        Self(vec![why.to_string()])
    }
}

/// Those that look at the chains, until they are to stop.
#[derive(Debug)]
pub(super) struct Watch {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Watch {
    pub(super) fn begin(watchers: Vec<Watcher>) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        for watcher in watchers {
            tasks.spawn(watcher.run(stop.clone()));
        }
        Self { tasks, stop }
    }

    /// Waits until each has finished what it is at.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Running {
    /// Waits for a caller who wants the configuration read again.
    pub async fn reload_asked(&mut self) -> Option<ReloadRequest> {
        self.reloads.recv().await
    }

    /// Takes up what was read, in the name of `by`. Tells which keys have other values now.
    pub async fn reload(
        &mut self,
        read: Result<Config, ConfigErrors>,
        by: &str,
        machine: Machine<'_>,
    ) -> Result<Vec<String>, NotReloaded> {
        let taken = self.take_up(read, by, machine).await;
        match &taken {
            Ok(keys) => info!(by, keys = keys.join(" "), "the configuration was taken up anew"),
            Err(why) => warn!(by, %why, "the configuration was not taken up; nothing was changed"),
        }
        taken
    }

    async fn take_up(
        &mut self,
        read: Result<Config, ConfigErrors>,
        by: &str,
        machine: Machine<'_>,
    ) -> Result<Vec<String>, NotReloaded> {
        let next = read.map_err(|why| NotReloaded::one(&why))?;
        let changes = self.config.changes(&next);
        let callers = Callers::new(next.callers.clone());
        let chains = connect::all(&next, machine).await;
        let (changes, callers, chains) = match (changes, callers, chains) {
            (Ok(changes), Ok(callers), Ok(chains)) => (changes, callers, chains),
            (changes, callers, chains) => {
                let fixed = changes.err().unwrap_or_default();
                let mut faults: Vec<_> = fixed.iter().map(ToString::to_string).collect();
                faults.extend(callers.err().map(|fault| format!("callers: {fault}")));
                faults.extend(chains.err().map(|fault| fault.to_string()));
                return Err(NotReloaded(faults));
            }
        };
        self.same_accounts(&chains)?;
        if changes.concern_chains() {
            self.exchange_lanes(&chains, &changes, by).await?;
        } else {
            let noted = self.engine.journal.note_reload(by, &changes.keys).await;
            noted.map_err(|why| NotReloaded::one(&why))?;
        }
        self.door.exchange_callers((!next.callers.is_empty()).then_some(callers));
        telemetry::exchange_filter(&next.log);
        self.config = next;
        Ok(changes.keys)
    }

    /// A key under the same name is another one when its file was replaced.
    fn same_accounts(&self, chains: &[Connected]) -> Result<(), NotReloaded> {
        let lanes = self.engine.lanes();
        let changed = |chain: &&Connected| {
            let now = chain.signers().map(|signer| signer.facts().signer);
            let signing = lanes.of_chains.get(&chain.id());
            signing.is_none_or(|lanes| !lanes.all().map(|lane| lane.id().signer).eq(now))
        };
        let changed = chains.iter().filter(changed);
        let faults: Vec<_> = changed
            .map(|chain| {
                let id = chain.id();
                format!("chains.{id}.key: cannot change while the Signer runs: restart it")
            })
            .collect();
        if faults.is_empty() { Ok(()) } else { Err(NotReloaded(faults)) }
    }

    async fn exchange_lanes(
        &mut self,
        chains: &[Connected],
        changes: &Changes,
        by: &str,
    ) -> Result<(), NotReloaded> {
        let engine = Arc::clone(&self.engine);
        let patience = self.config.http.request_deadline;
        let idle = engine.idle_lanes(patience).await;
        let idle = idle.ok_or_else(|| {
            NotReloaded::one(&"requests that are at work were not finished in time: try again")
        })?;
        let before = engine.lanes();
        self.watch.end().await;
        let made = async {
            let journal = engine.journal.taken_up_again().await;
            let journal = journal.map_err(|why| NotReloaded::one(&why))?;
            let made = lanes::take_up(chains, &journal).await;
            let made = made.map_err(|why| NotReloaded::one(&why))?;
            let noted = engine.journal.note_reload(by, &changes.keys).await;
            noted.map_err(|why| NotReloaded::one(&why))?;
            Ok(made)
        };
        match made.await {
            Ok(Lanes { set, watchers }) => {
                for (lane, old) in
                    set.all().filter_map(|lane| Some((lane, before.lane(lane.id())?)))
                {
                    lane.go_on_from(old);
                }
                set.of_chains.values().for_each(|lanes| limits::tell(lanes.any()));
                look_once(&watchers).await;
                idle.replace(set);
                self.watch = Watch::begin(watchers);
                Ok(())
            }
            Err(why) => {
                self.watch = Watch::begin(watchers_of(&before));
                Err(why)
            }
        }
    }
}

/// Those who look after lanes.
fn watchers_of(lanes: &LaneSet) -> Vec<Watcher> {
    let watcher = |lane: &Arc<engine::Lane>| {
        let every = lane.chain.facts().poll_interval;
        Watcher { lane: Arc::clone(lane), every }
    };
    lanes.all().map(watcher).collect()
}
