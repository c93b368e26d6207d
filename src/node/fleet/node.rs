//! One node of a fleet: its connection pool, its name in logs, and what is known of its health.

use super::agree::HeadSeen;
use super::health::{Health, State};
use super::{FleetRules, NodeId};
use crate::node::rpc::{Fault, Rpc, RpcError};
use alloy::primitives::U64;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::Instant;
use tracing::{error, info, warn};

const CHAIN_ID: &str = "eth_chainId";

#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: NodeId,
    /// Its host, and its place where several share the host. Holds no key.
    pub(super) label: String,
    pub(super) send_only: bool,
    rpc: Rpc,
    rules: FleetRules,
    born: Instant,
    health: Mutex<Health>,
    head: Mutex<Option<HeadSeen>>,
    /// The state that was logged last.
    told: Mutex<State>,
    /// Held while it is asked which chain it is on.
    verifying: tokio::sync::Mutex<()>,
}

impl Node {
    pub(super) fn new(
        id: NodeId,
        label: String,
        send_only: bool,
        rpc: Rpc,
        rules: FleetRules,
    ) -> Self {
        Self {
            id,
            label,
            send_only,
            rpc,
            rules,
            born: Instant::now(),
            health: Mutex::new(Health::new()),
            head: Mutex::new(None),
            told: Mutex::new(State::Unverified),
            verifying: tokio::sync::Mutex::new(()),
        }
    }

    pub(super) fn state(&self) -> State {
        self.health.lock().state(self.now_ms())
    }

    pub(super) fn is_verified(&self) -> bool {
        self.health.lock().is_verified()
    }

    pub(super) fn wrong_chain(&self) -> Option<u64> {
        self.health.lock().wrong_chain()
    }

    pub(super) fn admits(&self) -> bool {
        self.health.lock().admits(self.now_ms())
    }

    pub(super) fn score(&self) -> u64 {
        self.health.lock().score()
    }

    pub(super) fn p95_ms(&self) -> u64 {
        self.health.lock().p95_ms()
    }

    pub(super) fn head(&self) -> Option<HeadSeen> {
        *self.head.lock()
    }

    pub(super) fn set_head(&self, head: HeadSeen) {
        *self.head.lock() = Some(head);
    }

    pub(super) fn set_behind(&self, behind: bool) {
        self.change(|health, _| health.set_behind(behind));
    }

    pub(super) fn dissented(&self) {
        self.change(|health, _| health.dissented());
    }

    pub(super) fn lied(&self) {
        self.change(Health::lied);
    }

    /// It took longer than anybody could wait.
    pub(super) fn kept_waiting(&self) {
        self.change(Health::kept_waiting);
    }

    /// How often an exchange has broken.
    pub(super) fn breaks(&self) -> u64 {
        self.rpc.breaks()
    }

    /// Asks it, and remembers how that went.
    pub(super) async fn ask<P, R>(&self, method: &'static str, params: P) -> Result<R, RpcError>
    where
        P: Serialize + Send + Sync,
        R: DeserializeOwned,
    {
        let begun = Instant::now();
        self.change(Health::begins);
        let answer = self.rpc.ask(method, params).await;
        let took_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let works = match &answer {
            Ok(_) => true,
            Err(RpcError { fault: Fault::Node(error), .. }) => !(self.rules.passing)(error),
            Err(_) => false,
        };
        self.change(
            |health, now_ms| {
                if works { health.succeeded(took_us) } else { health.failed(now_ms) }
            },
        );
        answer
    }

    /// Asks it which chain it is on, if that is due. Whoever asks at the same time waits for the one
    /// answer.
    pub(super) async fn verify_when_due(&self) -> Result<(), RpcError> {
        let due = || self.health.lock().verification_is_due(self.now_ms(), self.breaks());
        if due() {
            let _turn = self.verifying.lock().await;
            if due() {
                self.verify().await?;
            }
        }
        match self.wrong_chain() {
            None => Ok(()),
            Some(answered) => Err(self.on_wrong_chain(answered)),
        }
    }

    async fn verify(&self) -> Result<(), RpcError> {
        let breaks = self.breaks();
        let answered = self.ask::<_, U64>(CHAIN_ID, json!([])).await?.to::<u64>();
        if answered == self.rules.chain_id {
            self.change(|health, now_ms| health.verified(now_ms, breaks));
            return Ok(());
        }
        self.change(|health, _| health.is_on(answered));
        Err(self.on_wrong_chain(answered))
    }

    fn on_wrong_chain(&self, answered: u64) -> RpcError {
        let fault = Fault::WrongChain { answered, configured: self.rules.chain_id };
        RpcError { method: CHAIN_ID, fault }
    }

    /// Milliseconds since the fleet began.
    fn now_ms(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn change(&self, change: impl FnOnce(&mut Health, u64)) {
        let now_ms = self.now_ms();
        let state = {
            let mut health = self.health.lock();
            change(&mut health, now_ms);
            health.state(now_ms)
        };
        let before = std::mem::replace(&mut *self.told.lock(), state);
        if before != state {
            self.tell(before, state);
        }
    }

    fn tell(&self, before: State, now: State) {
        let (node, chain) = (&self.label, self.rules.chain_id);
        match now {
            State::WrongChain => {
                let answered = self.wrong_chain().unwrap_or_default();
                error!(
                    node,
                    "this node is on chain {answered}, not on {chain}; it is not used any more"
                );
            }
            State::Quarantined => {
                error!(node, "this node said something false; it is not believed for an hour");
            }
            State::Alive if before == State::Unverified => info!(node, "the node answers"),
            State::Alive => info!(node, "the node is used again"),
            State::Unverified | State::OutOfSync | State::Busy => {
                warn!(node, "the node is not used: {}", now.word());
            }
        }
    }
}
