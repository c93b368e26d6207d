//! Final blocks of Ethereum: its sync committees sign them, and are followed from a pinned block on.

use crate::pin::{OldPin, Pinned};
use crate::progress::{Progress, ProvenFinal};
use ::node::{Dial, Exchange, NoReply, Target, Undialable, decode};
use alloy::primitives::B256;
use beacon::answer::{Answer, Bootstrap, FinalityUpdate, Update};
use beacon::client::{Advance, FinalBlock, LightClient};
use beacon::network::{Network, period_of};
use beacon::unproven::Unproven;
use config::{BeaconConfig, BeaconNetwork};
use evm_proofs::block_id::BlockId;
use host::clock::Clock;
use serde::de::DeserializeOwned;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::info;

/// The interval at which the node is asked for a newer final block: a slot.
const AGAIN: Duration = Duration::from_secs(12);

/// Time for one answer. Those with committees have tens of kilobytes each.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The most updates that are asked for at once (`MAX_REQUEST_LIGHT_CLIENT_UPDATES` of the specification is 128).
const UPDATES: u64 = 16;

/// Why no newer block is proven.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotProven {
    /// The beacon node did not answer.
    #[error("the beacon node did not answer {question}: {why}")]
    Silent { question: &'static str, why: String },
    /// An answer of the beacon node proves nothing.
    #[error("the beacon node's {question} proves nothing: {why}")]
    Unproven { question: &'static str, why: Unproven },
    /// The answer was signed in a slot that is yet to come.
    #[error("the beacon node tells of a slot that is yet to come")]
    Future,
}

impl NotProven {
    /// Returns true if the node did not answer.
    pub(crate) fn is_silence(&self) -> bool {
        matches!(self, Self::Silent { .. })
    }
}

/// The sync committees of a network, and the way to their signatures.
#[derive(Debug)]
pub(crate) struct Committees {
    exchange: Arc<dyn Exchange>,
    host: String,
    network: Network,
    checkpoint: B256,
    clock: Clock,
    tolerance: Duration,
    state: Mutex<State>,
    old_pin: OnceLock<OldPin>,
}

#[derive(Debug, Default)]
struct State {
    client: Option<LightClient>,
    asked: Option<Instant>,
}

impl Committees {
    /// Nothing was asked yet.
    pub(crate) fn of(
        dial: &dyn Dial,
        config: &BeaconConfig,
        clock: Clock,
        tolerance: Duration,
    ) -> Result<Self, Undialable> {
        let target = Target { url: &config.url, key: None, timeout: TIMEOUT };
        let network = match config.network {
            BeaconNetwork::Mainnet => Network::mainnet(),
            BeaconNetwork::Sepolia => Network::sepolia(),
            BeaconNetwork::Hoodi => Network::hoodi(),
        };
        Ok(Self {
            exchange: dial.dial(target)?,
            host: config.url.host(),
            network,
            checkpoint: config.checkpoint,
            clock,
            tolerance,
            state: Mutex::default(),
            old_pin: OnceLock::new(),
        })
    }

    /// Returns the age of the pinned block, if it was too old at the start.
    pub(crate) fn old_pin(&self) -> Option<&OldPin> {
        self.old_pin.get()
    }

    /// Returns the host of the beacon node.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Asks for the newest final block, unless that was done just now.
    ///
    /// # Errors
    /// The reason why none is proven.
    pub(crate) async fn go_on(&self) -> Result<Progress, NotProven> {
        let mut state = self.state.lock().await;
        if state.asked.is_some_and(|asked| asked.elapsed() < AGAIN) {
            return Ok(Progress::NotDue);
        }
        state.asked = Some(Instant::now());
        let client = match state.client.take() {
            Some(client) => client,
            None => self.begin().await?,
        };
        let client = state.client.insert(client);
        self.advance(client).await?;
        let FinalBlock { number, hash, timestamp: time, .. } = self.finalized(client).await?;
        Ok(Progress::Proven(ProvenFinal { block: BlockId { number, hash }, time }))
    }

    async fn begin(&self) -> Result<LightClient, NotProven> {
        let question = "light client bootstrap";
        let path = format!("eth/v1/beacon/light_client/bootstrap/{}", self.checkpoint);
        let answer: Answer<Bootstrap> = self.ask(question, &path, &[]).await?;
        let begun = LightClient::begin(self.network.clone(), self.checkpoint, &answer);
        let client = begun.map_err(|why| NotProven::Unproven { question, why })?;
        let FinalBlock { number, slot, .. } = client.newest();
        info!(block = number, "final blocks are proven from the pinned one on");
        let time = self.network.time_of(slot);
        if let Some(old) = time.and_then(|t| OldPin::told(Pinned::FinalBlock, t, self.clock)) {
            self.old_pin.get_or_init(|| old);
        }
        Ok(client)
    }

    /// Steps to the committee of the present, as far as the node tells.
    async fn advance(&self, client: &mut LightClient) -> Result<(), NotProven> {
        let question = "light client updates";
        let now = u64::try_from(self.clock.unix_ms().div_euclid(1000)).unwrap_or_default();
        let slots = now.saturating_sub(self.network.genesis_time);
        let present =
            period_of(slots.checked_div(self.network.seconds_per_slot).unwrap_or_default());
        while client.period() < present {
            let query = [("start_period", client.period()), ("count", UPDATES)];
            let path = "eth/v1/beacon/light_client/updates";
            let answers: Vec<Answer<Update>> = self.ask(question, path, &query).await?;
            let mut stepped = false;
            for answer in &answers {
                let advanced = client.advance(answer);
                let advanced = advanced.map_err(|why| NotProven::Unproven { question, why })?;
                stepped |= advanced == Advance::Stepped;
            }
            if !stepped {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn finalized(&self, client: &mut LightClient) -> Result<FinalBlock, NotProven> {
        let question = "light client finality update";
        let path = "eth/v1/beacon/light_client/finality_update";
        let answer: Answer<FinalityUpdate> = self.ask(question, path, &[]).await?;
        let latest = self.clock.unix_ms().div_euclid(1000);
        let latest = u64::try_from(latest).unwrap_or_default();
        let latest = latest.saturating_add(self.tolerance.as_secs());
        if self.network.time_of(answer.signature_slot()).is_none_or(|time| time > latest) {
            return Err(NotProven::Future);
        }
        client.finalized(&answer).map_err(|why| NotProven::Unproven { question, why })
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        question: &'static str,
        path: &str,
        query: &[(&str, u64)],
    ) -> Result<T, NotProven> {
        let silent = |why: String| NotProven::Silent { question, why };
        let reply = self.exchange.get(path, query).await;
        let reply = reply.map_err(|why: NoReply| silent(why.to_string()))?;
        if !reply.is_success() {
            return Err(silent(format!("HTTP {}", reply.status)));
        }
        decode(&reply.body).map_err(|_| silent("not in the form of the beacon REST API".to_owned()))
    }
}
