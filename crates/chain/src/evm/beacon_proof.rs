//! Final blocks of Ethereum, proven: the sync committees sign them from a pinned block on, and the headers between lead
//! from the newest one down to the block in question.

use super::proven_blocks::{NotBelow, ProvenBlocks};
use super::witnesses::NewestFinal;
use ::node::{
    Dial, Exchange, Fleet, JsonRpc, NoReply, NodeView, State as NodeState, Target, Undialable,
    decode,
};
use alloy::primitives::B256;
use beacon::answer::{Answer, Bootstrap, FinalityUpdate, Update};
use beacon::client::{Advance, FinalBlock, LightClient};
use beacon::network::{Network, period_of};
use beacon::unproven::Unproven;
use config::{BeaconConfig, BeaconNetwork};
use evm_proofs::block_id::BlockId;
use host::clock::Clock;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{error, info};

/// The interval at which the node is asked for a newer final block: a slot.
const AGAIN: Duration = Duration::from_secs(12);

/// Time for one answer. Those with committees have tens of kilobytes each.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The most updates that are asked for at once (`MAX_REQUEST_LIGHT_CLIENT_UPDATES` of the specification is 128).
const UPDATES: u64 = 16;

/// Why a block is not proven final.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotProven {
    /// The beacon node did not answer.
    #[error("the beacon node did not answer {question}: {why}")]
    Silent { question: &'static str, why: String },
    /// An answer of the beacon node proves nothing.
    #[error("the beacon node's {question} proves nothing: {why}")]
    Unproven { question: &'static str, why: Unproven },
    /// The answer was signed in a slot that is yet to come.
    #[error("the beacon node tells of a slot that is yet to come")]
    Future,
    /// The newest block that the committees signed does not stand on the block.
    #[error(transparent)]
    Below(#[from] NotBelow),
}

/// The proof of final blocks.
#[derive(Debug)]
pub(super) struct BeaconProof {
    exchange: Arc<dyn Exchange>,
    host: String,
    network: Network,
    checkpoint: B256,
    clock: Clock,
    tolerance: Duration,
    state: Mutex<State>,
    /// The last finding, for people.
    told: parking_lot::Mutex<Told>,
}

#[derive(Debug, Default)]
struct State {
    client: Option<LightClient>,
    asked: Option<Instant>,
    proven: ProvenBlocks,
}

#[derive(Clone, Debug, Default)]
struct Told {
    newest: Option<FinalBlock>,
    objection: Option<NotProven>,
}

impl BeaconProof {
    /// Nothing was asked yet.
    pub(super) fn of(
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
            told: parking_lot::Mutex::default(),
        })
    }

    /// Checks that the block is proven final.
    ///
    /// # Errors
    /// The reason why not, or not yet.
    pub(super) async fn bear_out(
        &self,
        fleet: &Fleet<JsonRpc>,
        block: BlockId,
    ) -> Result<(), NotProven> {
        let judged = self.ask_for(fleet, block).await;
        let objection = judged.as_ref().err().cloned();
        let before = std::mem::replace(&mut self.told.lock().objection, objection.clone());
        if let Some(why @ NotProven::Below(NotBelow::Another { .. })) = objection
            && before.as_ref() != Some(&why)
        {
            error!("nothing is decided by a block: {why}");
        }
        judged
    }

    /// The same of a block by which nothing is decided.
    pub(super) async fn ask_for(
        &self,
        fleet: &Fleet<JsonRpc>,
        block: BlockId,
    ) -> Result<(), NotProven> {
        let mut state = self.state.lock().await;
        let FinalBlock { number, hash, .. } = self.newest_for(&mut state, block.number).await?;
        Ok(state.proven.judge(fleet, BlockId { number, hash }, block).await?)
    }

    /// Returns the newest block that is proven final; asks for a newer one if it is lower than `wanted`.
    async fn newest_for(&self, state: &mut State, wanted: u64) -> Result<FinalBlock, NotProven> {
        let known = state.client.as_ref().map(LightClient::newest);
        let is_due = state.asked.is_none_or(|asked| asked.elapsed() >= AGAIN);
        match known {
            Some(newest) if newest.number >= wanted || !is_due => return Ok(newest),
            None if !is_due => {
                let (question, why) = ("light client bootstrap", "asked just now".to_owned());
                let last = self.told.lock().objection.clone();
                return Err(last.unwrap_or(NotProven::Silent { question, why }));
            }
            Some(_) | None => {}
        }
        state.asked = Some(Instant::now());
        let client = match state.client.take() {
            Some(client) => client,
            None => self.begin().await?,
        };
        let client = state.client.insert(client);
        self.advance(client).await?;
        let newest = self.finalized(client).await?;
        self.told.lock().newest = Some(newest);
        Ok(newest)
    }

    async fn begin(&self) -> Result<LightClient, NotProven> {
        let question = "light client bootstrap";
        let path = format!("eth/v1/beacon/light_client/bootstrap/{}", self.checkpoint);
        let answer: Answer<Bootstrap> = self.ask(question, &path, &[]).await?;
        let begun = LightClient::begin(self.network.clone(), self.checkpoint, &answer);
        let client = begun.map_err(|why| NotProven::Unproven { question, why })?;
        let FinalBlock { number, .. } = client.newest();
        info!(block = number, "final blocks are proven from the pinned one on");
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

    /// Returns the proof as people see it: beside the witnesses.
    pub(super) fn view(&self) -> NodeView {
        let Told { newest, objection } = self.told.lock().clone();
        let state = match (&newest, &objection) {
            (_, Some(NotProven::Silent { .. })) => NodeState::Silent,
            (None, _) => NodeState::Unverified,
            (Some(_), _) => NodeState::Alive,
        };
        NodeView {
            label: format!("beacon {}", self.host),
            provider: "sync committees".to_owned(),
            state,
            head: newest.map(|newest| newest.number),
            send_only: false,
            reproach: None,
        }
    }

    /// Returns the newest block that is proven final; block 0 before one is.
    pub(super) fn newest(&self) -> NewestFinal {
        let newest = self.told.lock().newest;
        newest.map_or_else(NewestFinal::default, |newest| NewestFinal {
            number: newest.number,
            time: newest.timestamp,
        })
    }

    /// Asks for a newer one, while nodes call `told` final, if it was not asked for just now.
    pub(super) async fn ask_for_newest(&self, told: u64) {
        let found = self.newest_for(&mut *self.state.lock().await, told).await;
        let mut told = self.told.lock();
        match (found, &told.objection) {
            (Err(why), _) => told.objection = Some(why),
            // The node answers again; the next look at a block tells anew why that is not proven.
            (
                Ok(_),
                Some(NotProven::Silent { .. } | NotProven::Unproven { .. } | NotProven::Future),
            ) => told.objection = None,
            (Ok(_), None | Some(NotProven::Below(_))) => {}
        }
    }

    /// Returns why the last block that was to decide something is not proven; none if it is.
    pub(super) fn objection(&self) -> Option<String> {
        self.told.lock().objection.as_ref().map(ToString::to_string)
    }
}
