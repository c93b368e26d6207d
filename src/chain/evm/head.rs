//! The look at the head: what the node can do, where the chain stands, what gas costs, and what the
//! account holds. Kept between beats, so that a request needs none of these questions.

use super::fees::Market;
use super::{EvmChain, node, simulate};
use crate::chain::{ChainError, Places, Pulse};
use crate::config::Finality;
use alloy::primitives::U256;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::warn;

/// How long the node is trusted to be on the same chain, unless its connection breaks before.
const RECHECK: Duration = Duration::from_mins(10);

/// What a node turned out to be and to be able to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Whether there is code at the contract's address.
    pub(super) contract: bool,
    /// Whether there is code at the aggregator's address.
    pub(super) multicall: bool,
    /// Whether `eth_simulateV1` works.
    pub(super) simulates: bool,
    checked: Instant,
    breaks: u64,
}

/// One look at the head.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) pulse: Pulse,
    pub(super) places: Places,
    /// The newest block that counts as final.
    pub(super) final_block: u64,
    pub(super) market: Market,
    /// The most gas that a block may use.
    pub(super) block_gas: u64,
    /// What the signing account holds, wei.
    pub(super) balance: U256,
    seen: Instant,
}

impl EvmChain {
    /// Looks at the head now. One look at a time.
    pub(super) async fn observe(&self) -> Result<Arc<Head>, ChainError> {
        let _turn = self.beating.lock().await;
        self.observe_in_turn().await
    }

    /// The last look if it is young enough, else a new one.
    pub(super) async fn current(&self) -> Result<Arc<Head>, ChainError> {
        if let Some(head) = self.young() {
            return Ok(head);
        }
        let _turn = self.beating.lock().await;
        match self.young() {
            Some(head) => Ok(head),
            None => self.observe_in_turn().await,
        }
    }

    /// What is known of the node; it is asked when nothing is.
    pub(super) async fn ready(&self) -> Result<Known, ChainError> {
        let mut known = *self.known.read();
        if known.is_none() {
            self.current().await?;
            known = *self.known.read();
        }
        let known = known.ok_or_else(|| ChainError::Unavailable("not reached yet".to_owned()))?;
        if known.contract {
            return Ok(known);
        }
        Err(ChainError::CallFails(format!("there is no contract at {}", self.parts.facts.contract)))
    }

    fn young(&self) -> Option<Arc<Head>> {
        let young = self.parts.config.poll_interval.saturating_mul(2);
        self.head.read().clone().filter(|head| head.seen.elapsed() < young)
    }

    async fn observe_in_turn(&self) -> Result<Arc<Head>, ChainError> {
        let (rpc, me) = (&self.parts.rpc, self.parts.facts.signer);
        let seen = Instant::now();
        let fees = async {
            let legacy = self.parts.config.fees.legacy;
            Ok(if legacy {
                (None, Some(node::gas_price(rpc).await?))
            } else {
                (node::tip(rpc).await?, None)
            })
        };
        let (latest, final_block, taken, balance, (tip, gas_price), ()) = tokio::try_join!(
            async { Ok(node::header(rpc, "latest").await?) },
            self.final_tag(),
            async { Ok(node::nonce(rpc, me, "latest").await?) },
            async { Ok(node::balance(rpc, me).await?) },
            fees,
            self.learn_when_due(),
        )?;
        let latest = latest.ok_or_else(|| no_block("latest"))?;
        let final_block = match self.parts.config.finality {
            Finality::FinalizedTag => final_block,
            // A depth of 1 is the head itself.
            Finality::Depth(depth) => latest.number().saturating_sub(depth.saturating_sub(1)),
        };
        let without_base_fee = async {
            let missing = latest.base_fee().is_none() && gas_price.is_none();
            Ok(if missing { Some(node::gas_price(rpc).await?) } else { gas_price })
        };
        let (settled, gas_price) = tokio::try_join!(self.settled(final_block), without_base_fee)?;
        let places = Places { taken: taken.max(settled), settled };
        let (number, time) = (latest.number(), latest.time());
        let pulse = Pulse { head: number, head_time: time, places: Some(places) };
        let market = Market { base_fee: latest.base_fee(), tip, gas_price };
        let head = Head {
            pulse,
            places,
            final_block,
            market,
            block_gas: latest.gas_limit(),
            balance,
            seen,
        };
        Ok(self.publish(head))
    }

    fn publish(&self, head: Head) -> Arc<Head> {
        let head = Arc::new(head);
        *self.head.write() = Some(Arc::clone(&head));
        self.pulse.send_replace(Some(head.pulse));
        head
    }

    /// The number of the finalized block; 0 where finality is a depth and this is not asked.
    async fn final_tag(&self) -> Result<u64, ChainError> {
        match self.parts.config.finality {
            Finality::Depth(_) => Ok(0),
            Finality::FinalizedTag => {
                let header = node::header(&self.parts.rpc, "finalized").await?;
                Ok(header.ok_or_else(|| no_block("finalized"))?.number())
            }
        }
    }

    /// The nonce at the final block, asked by number: a node that lags behind then errs instead of
    /// answering from the past. What was settled once stays so; where the node has dropped the state
    /// of that block (finality stalls), nothing new is.
    async fn settled(&self, final_block: u64) -> Result<u64, ChainError> {
        let before = self.head.read().clone();
        let known = before.as_ref().map_or(0, |head| head.places.settled);
        if before.is_some_and(|head| head.final_block == final_block) {
            return Ok(known);
        }
        let (rpc, me) = (&self.parts.rpc, self.parts.facts.signer);
        let asked = node::nonce(rpc, me, &node::quantity(final_block)).await;
        match asked.map_err(ChainError::from) {
            Ok(settled) => Ok(settled.max(known)),
            Err(ChainError::Node { answer, .. }) => {
                warn!(block = final_block, %answer, "the node has no state of the final block");
                Ok(known)
            }
            Err(error) => Err(error),
        }
    }

    /// Asks what the node is, at the first look, every ten minutes, and after a broken exchange.
    async fn learn_when_due(&self) -> Result<(), ChainError> {
        let known = *self.known.read();
        let rpc = &self.parts.rpc;
        let fresh = known.is_some_and(|known| {
            known.contract && known.breaks == rpc.breaks() && known.checked.elapsed() < RECHECK
        });
        if fresh {
            return Ok(());
        }
        let config = &self.parts.config;
        let checked = Instant::now();
        let (id, contract, multicall, simulates) = tokio::try_join!(
            node::chain_id(rpc),
            node::has_code(rpc, self.parts.facts.contract),
            node::has_code(rpc, config.multicall),
            simulate::works(rpc, self.parts.facts.signer),
        )?;
        if id != config.eip155_id {
            *self.known.write() = None;
            *self.head.write() = None;
            let answer = format!("{id}, but this chain's eip155_id is {}", config.eip155_id);
            return Err(ChainError::Node { question: "eth_chainId", answer });
        }
        *self.known.write() =
            Some(Known { contract, multicall, simulates, checked, breaks: rpc.breaks() });
        Ok(())
    }
}

fn no_block(tag: &str) -> ChainError {
    let answer = format!("no {tag} block: set `finality` to a depth if this chain has none");
    ChainError::Node { question: "eth_getBlockByNumber", answer }
}
