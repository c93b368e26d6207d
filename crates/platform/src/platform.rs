//! The platform: one merchant, two chains, one clock, one database, and whoever serves them holds this handle.

mod beat;
mod controls;
mod deliver;
mod dues;
mod follow;
mod late;
mod links;
mod payout;
mod planning;
mod side;
mod steps;
mod tell;
mod wallets;

pub(crate) use dues::{Dues, MANY};
pub(crate) use links::{LinkError, NewLink};
pub(crate) use planning::{Proposal, State as PlanState};
pub use side::{SYMBOL, Side};
pub(crate) use steps::{Case, Last, Order, StepError};
pub(crate) use tell::{RECHARGE_URL, withdrawal_body};

use crate::auth::Credentials;
use crate::chain::{self, Nodes, Setup};
use crate::clock::Clock;
use crate::roads::Roads;
use crate::store::plans::Plan;
use crate::store::{self, Store, subscriptions};
use parking_lot::RwLock;
use sandbox_chains::town::{PLAN, TRIAL};
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::broadcast;

/// The platform's id of the Ethereum chain.
pub const EVM_CHAIN: u32 = 139;
/// The platform's id of the TRON chain.
pub const TRON_CHAIN: u32 = 136;

/// A month of the plans (s).
pub(crate) const MONTH_S: u64 = 30 * 86_400;

/// Number of lines that a slow reader of the log may be behind.
const LINES: usize = 1024;

/// Longest time that a merchant may take to answer a callback.
const PATIENCE: Duration = Duration::from_secs(10);

/// When blocks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As on a real chain: one in every slot of the moved clock.
    Live,
    /// One on each chain, this often; the moved clock runs ahead with them.
    Fast(Duration),
    /// Only when somebody asks for one.
    ByHand,
}

/// The settings of a platform.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of its state; none keeps the state in memory.
    pub state: Option<PathBuf>,
    /// When blocks are made.
    pub pace: Pace,
    /// Number of subscribers from the start, on each chain. A stored state keeps its number.
    pub people: u64,
    /// The number of the one of them with a free month, from 1; 0 if nobody has.
    pub trial: u64,
    /// Sandboxes with other seeds give other numbers to subscriptions and orders. A stored state keeps its seed.
    pub seed: u16,
    /// The clock.
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Self { state: None, pace: Pace::ByHand, people: 0, trial: 0, seed: 0, clock: Clock::new(0) }
    }
}

/// Why a platform does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The state cannot be read or written.
    #[error("the platform's state: {0}")]
    Store(#[from] store::Error),
    /// The directory of the state cannot be made, or not be locked.
    #[error("the state in {}: {why}", directory.display())]
    Directory {
        /// The expected location.
        directory: PathBuf,
        /// The system's message.
        why: std::io::Error,
    },
    /// Another process works on the state.
    #[error("another sandbox runs on the state in {}: end it first, or name another directory", .0.display())]
    Held(PathBuf),
    /// The stored blocks come out otherwise than they were.
    #[error(
        "block {number} of chain {chain} cannot be made again from the state: it is of another version of the sandbox; begin with an empty directory"
    )]
    OtherVersion {
        /// The platform's id of the chain.
        chain: u32,
        /// The height.
        number: u64,
    },
    /// A port cannot be opened, or the HTTP client cannot be made.
    #[error("the platform cannot listen or call: {0}")]
    Network(String),
}

/// The handle on a platform. Clones are the same platform.
#[derive(Clone)]
pub struct Platform(Arc<Inner>);

impl fmt::Debug for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Platform").field("pace", &self.pace()).finish_non_exhaustive()
    }
}

struct Inner {
    clock: Clock,
    pace: RwLock<Pace>,
    /// Blocks are made by hand only, whatever the pace.
    held: AtomicBool,
    /// While it is held, no other process works on the state.
    _lock: Option<File>,
    store: Store,
    sides: [Side; 2],
    nodes: Nodes,
    credentials: Credentials,
    client: reqwest::Client,
    lines: broadcast::Sender<String>,
    /// Held while blocks are made and what follows from them is done.
    turn: tokio::sync::Mutex<()>,
    /// Held while a user's step is taken: of two presses of one button the second sees what the first did.
    step: parking_lot::Mutex<()>,
    /// Held while callbacks are sent by the schedule.
    sending: tokio::sync::Mutex<()>,
    roads: Roads,
}

impl Platform {
    /// Founds a platform, or takes up the one that is stored. Computes for a while: best called off the runtime's threads.
    pub fn found(options: &Options) -> Result<Self, StartError> {
        let lock = options.state.as_deref().map(take).transpose()?;
        let store = Store::open(options.state.as_deref())?;
        let clock = options.clock.clone();
        clock.advance(store.number("ahead_ms", 0)?);
        let people = store.number("people", options.people)?;
        let trial = store.number("trial", options.trial)?;
        let seed = store.number("seed", options.seed.into())?;
        let stored = match (store.stored(EVM_CHAIN, 0)?, store.stored(TRON_CHAIN, 0)?) {
            (Some(evm), Some(tron)) => Some([evm.time_ms, tron.time_ms]),
            (None, _) | (_, None) => None,
        };
        let (nodes, [evm, tron]) =
            chain::found(Setup { people, trial, seed, now_ms: clock.now_ms(), stored });
        let side = |id, settled: chain::Settlement| Side {
            id,
            chain: settled.chain,
            town: settled.town,
            currency: id * 10 + 1,
            decimals: settled.decimals,
            pen: Arc::default(),
        };
        let client = reqwest::Client::builder()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| StartError::Network(error.to_string()))?;
        let platform = Self(Arc::new(Inner {
            clock,
            pace: RwLock::new(options.pace),
            held: AtomicBool::new(false),
            _lock: lock,
            store,
            sides: [side(EVM_CHAIN, evm), side(TRON_CHAIN, tron)],
            nodes,
            credentials: credentials(),
            client,
            lines: broadcast::Sender::new(LINES),
            turn: tokio::sync::Mutex::new(()),
            step: parking_lot::Mutex::new(()),
            sending: tokio::sync::Mutex::new(()),
            roads: Roads::default(),
        }));
        platform.restore()?;
        if stored.is_none() {
            platform.settle_down([people, trial, seed])?;
        }
        platform.follow_all()?;
        Ok(platform)
    }

    /// Makes the stored blocks again, on top of the founding, which comes out the same each time.
    fn restore(&self) -> Result<(), StartError> {
        for side in self.sides() {
            let founded = side.chain.head();
            if let Some(stored) = self.store().stored(side.id, founded.number)?
                && stored.id != founded.id
            {
                return Err(StartError::OtherVersion { chain: side.id, number: founded.number });
            }
            loop {
                let blocks = self.store().above(side.id, side.chain.head().number, 500)?;
                for block in &blocks {
                    if !side.chain.replay(block) {
                        let number = block.point.number;
                        return Err(StartError::OtherVersion { chain: side.id, number });
                    }
                }
                if blocks.is_empty() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Writes down what the founding settled: its size, its plans, its subscribers.
    fn settle_down(&self, sizes: [u64; 3]) -> Result<(), store::Error> {
        for (name, size) in ["people", "trial", "seed"].into_iter().zip(sizes) {
            self.store().set(name, &size.to_string())?;
        }
        let now_ms = self.clock().now_ms();
        for side in self.sides() {
            for (plan, name, delay_s) in
                [(PLAN, "Monthly", 0), (TRIAL, "Monthly, first month free", MONTH_S)]
            {
                let plan = Plan {
                    id: plan,
                    chain: side.id,
                    version: side.town.version,
                    name: name.to_owned(),
                    amount: side.town.price.to_string(),
                    interval_s: MONTH_S,
                    periods: 0,
                    delay_s,
                    proposer: "alice".to_owned(),
                    propose_tx: String::new(),
                    approver: Some("bob".to_owned()),
                    approve_tx: None,
                    created_ms: now_ms,
                };
                self.store().add_plan(&plan)?;
                self.store().approved(&plan)?;
            }
            for (number, person) in (1..).zip(&side.town.people) {
                subscriptions::put(
                    &self.store().lock(),
                    &subscriptions::Subscription {
                        id: person.subscribe_id,
                        out_trade_no: out_trade_no(side.id, person.subscribe_id),
                        external_user: format!("subscriber {number}"),
                        user_hash: person.user_hash.to_string(),
                        plan: person.plan,
                        chain: side.id,
                        version: side.town.version,
                        notify_url: None,
                        created_ms: now_ms,
                    },
                )?;
            }
        }
        Ok(())
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Both chains, Ethereum first.
    pub fn sides(&self) -> &[Side; 2] {
        &self.0.sides
    }

    /// The chain with an id.
    pub fn side(&self, id: u32) -> Option<&Side> {
        self.sides().iter().find(|side| side.id == id)
    }

    /// Both nodes.
    pub fn nodes(&self) -> &Nodes {
        &self.0.nodes
    }

    /// Returns the credentials that the merchant signs with.
    pub fn credentials(&self) -> &Credentials {
        &self.0.credentials
    }

    /// When blocks are made.
    pub fn pace(&self) -> Pace {
        if self.is_held() { Pace::ByHand } else { *self.0.pace.read() }
    }

    /// Returns true if blocks are made by hand only until they are let go.
    pub fn is_held(&self) -> bool {
        self.0.held.load(Ordering::Relaxed)
    }

    /// Makes blocks by hand only, or lets them go on by their pace.
    pub fn set_held(&self, held: bool) {
        self.0.held.store(held, Ordering::Relaxed);
    }

    /// Makes blocks by another pace from now on.
    pub fn set_pace(&self, pace: Pace) {
        *self.0.pace.write() = pace;
    }

    /// Returns the roads between programs, with their faults.
    pub fn roads(&self) -> &Roads {
        &self.0.roads
    }

    /// Every call as it arrives or leaves, one line each.
    pub fn lines(&self) -> broadcast::Receiver<String> {
        self.0.lines.subscribe()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    /// Tells whoever listens; that nobody does is no fault.
    pub(crate) fn say(&self, line: String) {
        drop(self.0.lines.send(line));
    }
}

/// Takes the directory of the state for this process alone.
fn take(directory: &Path) -> Result<File, StartError> {
    let place = || directory.to_owned();
    let taken = store::take(directory);
    let taken = taken.map_err(|why| StartError::Directory { directory: place(), why })?;
    taken.ok_or_else(|| StartError::Held(place()))
}

/// Returns the credentials of the sandbox's one merchant. Everybody knows them.
fn credentials() -> Credentials {
    Credentials {
        key: "sandbox-merchant".to_owned(),
        secret: "everybody-knows-this-api-secret".to_owned(),
    }
}

/// The order number of a subscription: a text of its own, from which nothing can be read.
pub(crate) fn out_trade_no(chain: u32, id: u64) -> String {
    let hash = alloy::primitives::keccak256(format!("order {chain} {id}"));
    format!("SUB{}", hex::encode_upper(&hash[..9]))
}
