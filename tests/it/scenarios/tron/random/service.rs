//! The Signer without its door, in this process, on the chain's own clock.

use crate::world::town::Town;
use alloy::primitives::B256;
use billing::{Again, Entry, Family, ItemOutcome, Mode, Order, Protection, Rules, Scalar};
use chain::tron::{TronChain, TronParts};
use chain::{Signatory, SigningAccount};
use config::{Config, FamilyConfig};
use contract::Profile;
use engine::{Answer, ChainAccounts, Engine, Lane, LaneSet, LaneSettings, Role, Watcher};
use host::clock::Clock;
use journal::{LineOutcome, Recorded};
use keys::{KeySource, TestKeys};
use merchant_signer::app::journal_place;
use node::Http;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The time of the chain (Unix ms). One world at a time sets it.
static NOW: AtomicI64 = AtomicI64::new(0);

/// How long a transaction lives: five blocks.
const TTL: Duration = Duration::from_secs(15);

pub(super) struct Service {
    engine: Engine,
    watcher: Watcher,
    lane: Arc<Lane>,
    node: sandbox_chains::tron::TronNode,
}

/// How a batch stands.
pub(super) struct Told {
    pub(super) state: &'static str,
    pub(super) attempts: Vec<B256>,
    /// Who was charged, by subscription.
    pub(super) charged: Vec<i64>,
}

impl Service {
    pub(super) async fn start(town: &Town) -> Self {
        let node = town.tron().node.clone();
        set_clock(&node);
        let directory = town.installation.path();
        let text = std::fs::read_to_string(directory.join("signer.toml")).unwrap();
        let config = Config::from_toml(&text, &[]).unwrap();
        let journal = journal_place::open(&config.journal).unwrap();
        let chain = Arc::new(connect(&config, directory).await);
        // What nodes do not have is offered again at every look.
        let again = Again::Renew { most: 3, within_ms: 3_600_000 };
        let rules = Rules { offer_again_ms: 0, again, protection: Protection::Free };
        let (role, guard) = (Role::Signs, Duration::from_mins(1));
        let settings = LaneSettings { role, rules, guard, gas_warn_billings: 0, chain_bills: true };
        let accounts = ChainAccounts::default();
        let lane = Arc::new(Lane::new(chain, journal.clone(), settings, &accounts));
        lane.resume().await.unwrap();
        let id = config.chains[0].platform_id;
        let lanes = HashMap::from([(id, Arc::clone(&lane).into())]);
        let engine = Engine::new(LaneSet { of_chains: lanes, followers: vec![] }, journal);
        let watcher = Watcher { lane: Arc::clone(&lane), every: Duration::ZERO };
        Self { engine, watcher, lane, node }
    }

    /// As a process ends; what was not decided is taken up by the next.
    pub(super) async fn stop(self) {
        self.engine.tasks.close();
        self.engine.tasks.wait().await;
    }

    pub(super) async fn look(&self) {
        set_clock(&self.node);
        self.watcher.look().await;
    }

    pub(super) fn undecided(&self) -> usize {
        self.lane.batches.count()
    }

    pub(super) fn is_shut_out(&self) -> bool {
        self.lane.error().is_some_and(|why| why.to_string().contains("wants no questions"))
    }

    /// What keeps the lane from going on.
    pub(super) fn plight(&self) -> String {
        let (trouble, held_up) = (self.lane.error(), self.lane.batches.held_up());
        format!("{:?}, {trouble:?}, {held_up:?}", self.lane.gate())
    }

    /// Bills those that can be. The hash, if there is a transaction now or was one before.
    pub(super) async fn bill(&self, list: &[Value]) -> Result<B256, String> {
        set_clock(&self.node);
        let entries = list.iter().map(|entry| Entry::parse(fields(entry)).unwrap()).collect();
        let order = Order { mode: Mode::Partial, ..Order::admit(entries, 100).unwrap() };
        let chain = *self.engine.lanes().of_chains.keys().next().unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        match self.engine.bill(chain, order, deadline).await {
            Ok(Answer::Sent(sent)) => Ok(sent.transaction.hash()),
            Ok(Answer::Refused(refused, earlier)) => {
                let known = earlier.first().map(|one| one.by.hash);
                known.ok_or_else(|| format!("{refused:?}"))
            }
            Ok(Answer::DryRun(_)) => Err("it was no dry run".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(super) async fn billing(&self, hash: B256) -> Told {
        let billing = self.engine.billing_by_hash(hash).await.unwrap().expect("it was promised");
        let charged = billing
            .items
            .iter()
            .filter(|line| line.outcome == Some(LineOutcome::Told(ItemOutcome::Charged)));
        Told {
            state: billing.state.word(),
            attempts: billing.attempts.iter().map(Recorded::hash).collect(),
            charged: charged.map(|line| line.item.subscribe.0).collect(),
        }
    }
}

fn set_clock(node: &sandbox_chains::tron::TronNode) {
    let now = node.node().chain().head().header.time_ms;
    NOW.store(now.try_into().unwrap(), Ordering::Relaxed);
}

fn fields(entry: &Value) -> billing::Fields {
    let scalar = |value: &Value| match value {
        Value::String(text) => Scalar::Text(text.clone().into()),
        Value::Number(digits) => Scalar::Number(digits.to_string().into()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Scalar::Nested,
    };
    entry
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.as_str().into(), scalar(value)))
        .collect()
}

async fn connect(config: &Config, directory: &std::path::Path) -> TronChain {
    let chain = &config.chains[0];
    let FamilyConfig::Tvm(tvm) = &chain.family else { panic!("it is on TRON") };
    let file = KeySource::File { path: directory.join("evm.key") };
    let key = Arc::new(file.load("key", TestKeys::Allowed).unwrap().into());
    let profile = Profile::parse(&tvm.billing, Family::Tvm).unwrap();
    let clock = Clock::telling(|| NOW.load(Ordering::Relaxed));
    let account = SigningAccount::new(chain, profile, &Signatory::Key(key), clock);
    let mut config = tvm.as_ref().clone();
    config.rpc_timeout = Duration::from_millis(400);
    (config.expiry, config.billing.deadline) = (TTL, TTL);
    config.poll_interval = Duration::ZERO;
    let fleet = Arc::new(tron_node::fleet(&Http::default(), &config).unwrap());
    TronChain::connect(account, TronParts::new(fleet, config.into())).await.unwrap()
}
