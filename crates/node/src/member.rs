//! One node of a fleet: its connections, its name in logs, and what is known of its health.

use super::agree::HeadSeen;
use super::allowance::{Allowance, News};
use super::client::{Client, read_answer};
use super::error::{AskError, Fault, RealChain};
use super::exchange::NoReply;
use super::health::{Health, State};
use super::rules::{FleetRules, Member, NodeId};
use super::traffic::Traffic;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::time::Instant;
use tracing::{error, info, warn};

/// Name of the question that asks a node for its chain.
const CHAIN: &str = "chain_id";

#[derive(Debug)]
pub(super) struct Node<C> {
    pub(super) id: NodeId,
    /// Its host, and its place where several share the host. Holds no key.
    pub(super) label: String,
    /// The provider that runs the node.
    pub(super) provider: String,
    pub(super) send_only: bool,
    pub(super) client: C,
    /// The questions to the node, for machines.
    pub(super) traffic: Traffic,
    /// The requests that its provider may still get; none if they are not counted.
    pub(super) allowance: Option<Arc<Allowance>>,
    rules: FleetRules,
    born: Instant,
    breaks: AtomicU64,
    health: Mutex<Health>,
    head: Mutex<Option<HeadSeen>>,
    /// The last thing that it was found to say otherwise than others, or falsely.
    reproach: Mutex<Option<String>>,
    /// The state that was logged last.
    told: Mutex<State>,
    /// Held while it is asked which chain it is on.
    verifying: tokio::sync::Mutex<()>,
}

impl<C: Client> Node<C> {
    pub(super) fn new(
        id: NodeId,
        label: String,
        member: Member<C>,
        rules: FleetRules,
        allowance: Option<Arc<Allowance>>,
    ) -> Self {
        let Member { provider, send_only, client, .. } = member;
        Self {
            id,
            label,
            provider,
            send_only,
            client,
            traffic: Traffic::default(),
            allowance,
            rules,
            born: Instant::now(),
            breaks: AtomicU64::new(0),
            health: Mutex::new(Health::new()),
            head: Mutex::new(None),
            reproach: Mutex::new(None),
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

    pub(super) fn wrong_chain(&self) -> Option<RealChain> {
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

    pub(super) fn dissented(&self, what: &str) {
        *self.reproach.lock() = Some(format!("disagreed with the others {what}"));
        self.change(|health, _| health.dissented());
    }

    pub(super) fn lied(&self, what: &str) {
        *self.reproach.lock() = Some(format!("lied: {what}"));
        self.change(Health::lied);
    }

    /// Returns the fault that the node was last caught at.
    pub(super) fn reproach(&self) -> Option<String> {
        self.reproach.lock().clone()
    }

    /// It took longer than anybody could wait.
    pub(super) fn kept_waiting(&self) {
        self.change(Health::kept_waiting);
    }

    /// Returns the number of the node's answers.
    pub(super) fn answers(&self) -> u64 {
        self.health.lock().answers()
    }

    /// It gave no answer at all in a look.
    pub(super) fn was_silent(&self) {
        self.change(Health::was_silent);
    }

    /// Returns the number of exchanges that have failed other than by the node's own word. When the number has
    /// grown, the node behind the URL may be another one than before.
    pub(super) fn breaks(&self) -> u64 {
        self.breaks.load(Ordering::Relaxed)
    }

    /// Asks it, and remembers how that went.
    pub(super) async fn ask<R: DeserializeOwned>(
        &self,
        question: &C::Question,
    ) -> Result<R, AskError> {
        let asked = async {
            let answer = self.client.ask(question).await.and_then(|raw| read_answer(&raw));
            answer.map_err(|fault| AskError { question: C::name(question), fault })
        };
        self.measured(C::name(question), 1, asked).await
    }

    /// So many requests go to its provider.
    fn counts(&self, requests: u64) {
        let Some(allowance) = &self.allowance else { return };
        let (node, provider) = (&self.label, &self.provider);
        match allowance.take(requests, Instant::now()) {
            Some(News::UsedUp) => warn!(
                node,
                provider,
                "what this provider may be asked in a day is used up for now: looks at the chain keep further apart"
            ),
            Some(News::Recovered) => {
                info!(node, provider, "this provider may be asked as usual again");
            }
            None => {}
        }
    }

    async fn measured<R>(
        &self,
        method: &'static str,
        requests: u64,
        asked: impl Future<Output = Result<R, AskError>>,
    ) -> Result<R, AskError> {
        self.counts(requests);
        let (begun, answers) = (Instant::now(), self.answers());
        self.change(Health::begins);
        self.traffic.asked(method);
        let answer = asked.await;
        let took = begun.elapsed();
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let works = match answer.as_ref().map_err(|error| &error.fault) {
            Ok(_) => true,
            Err(Fault::Node(error)) => !(self.rules.passing)(error),
            Err(Fault::ShutOut { .. }) => false,
            Err(
                Fault::Lost(_)
                | Fault::Http(_)
                | Fault::Garbled
                | Fault::WrongChain { .. }
                | Fault::NoNode,
            ) => {
                self.breaks.fetch_add(1, Ordering::Relaxed);
                false
            }
        };
        match &answer {
            Err(error) if !works => self.traffic.unanswered(method, &error.fault),
            Ok(_) | Err(_) => self.traffic.answered(method, took),
        }
        // An error in a node's own words is no silence, whatever it is worth.
        let spoke = matches!(
            &answer,
            Err(AskError { fault: Fault::Node(_) | Fault::Http(429) | Fault::ShutOut { .. }, .. })
        );
        let late = matches!(&answer, Err(AskError { fault: Fault::Lost(NoReply::TimedOut), .. }));
        self.change(|health, now_ms| {
            if works {
                health.succeeded(took_us);
                return;
            }
            health.failed(now_ms);
            if spoke {
                health.spoke();
            }
            if late && health.answers() == answers {
                health.hangs();
            }
        });
        answer
    }

    /// Returns true if it is time to ask the node for its chain.
    pub(super) fn verification_is_due(&self) -> bool {
        self.health.lock().verification_is_due(self.now_ms(), self.breaks())
    }

    /// Asks the node for its chain, if that is due. Callers at the same time wait for the one answer.
    pub(super) async fn verify_when_due(&self) -> Result<(), AskError> {
        let due = || self.verification_is_due();
        if due() {
            let _turn = self.verifying.lock().await;
            if due() {
                let verified = self.verify().await;
                if self.wrong_chain().is_none() {
                    verified?;
                }
            }
        }
        match self.wrong_chain() {
            None => Ok(()),
            Some(answered) => Err(self.on_wrong_chain(answered)),
        }
    }

    async fn verify(&self) -> Result<(), AskError> {
        let breaks = self.breaks();
        let answered = self.measured(CHAIN, self.client.doors(), self.client.chains()).await;
        let answered = answered.inspect_err(|_| self.change(Health::named_none))?;
        let wrong = answered.into_iter().find(|chain| *chain != self.rules.chain);
        let Some(answered) = wrong else {
            self.change(|health, now_ms| health.verified(now_ms, breaks));
            return Ok(());
        };
        self.change(|health, now_ms| health.is_on(answered, now_ms));
        Err(self.on_wrong_chain(answered))
    }

    fn on_wrong_chain(&self, answered: RealChain) -> AskError {
        let fault = Fault::WrongChain { answered, configured: self.rules.chain };
        AskError { question: "the chain's id", fault }
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
        let (node, chain) = (&self.label, self.rules.chain);
        match now {
            State::WrongChain => {
                let answered = self.wrong_chain().unwrap_or(chain);
                error!(
                    node,
                    "this node is on chain {answered}, not on {chain}; it is not used until it has \
                     named {chain} for ten minutes"
                );
            }
            State::Quarantined => {
                error!(node, "this node said something false; it is not believed for an hour");
            }
            State::Alive if before == State::Unverified => info!(node, "the node answers"),
            State::Alive => info!(node, "the node is used again"),
            State::Silent => {
                warn!(node, "the node gave no answer at all: the others are asked first");
            }
            State::Unverified | State::OutOfSync | State::Busy => {
                warn!(node, "the node is not used: {}", now.word());
            }
        }
    }
}
