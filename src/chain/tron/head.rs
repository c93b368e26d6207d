//! The look at the head: where the chain stands, what is irrevocable, what things cost, and what the
//! account has. Kept between beats, so that a request needs none of these questions.

use super::TronChain;
use super::api::{Api, Block, Parameters, Side};
use super::resources::{Means, Prices};
use crate::chain::{ChainError, Pulse};
use alloy::primitives::B256;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long the node is trusted to be on the same chain, and prices to be the same, unless an
/// exchange breaks or the chain's maintenance passes before.
const RECHECK: Duration = Duration::from_mins(10);

/// How far the newest irrevocable block may be behind the newest before nothing is signed, ms. About
/// a minute is usual (19 blocks); what is signed while finality stands still stays undecided.
const SOLID_TOLERANCE_MS: u64 = 600_000;

/// What a node turned out to be, and what its chain has voted for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Whether there is a contract at the billing contract's address.
    pub(super) contract: bool,
    /// Whether there is a contract at the aggregator's address.
    pub(super) multicall: bool,
    pub(super) prices: Prices,
    /// The id of block 0.
    pub(super) genesis: B256,
    /// When prices change next, Unix ms.
    maintenance_ms: u64,
    checked: Instant,
    breaks: u64,
}

/// One look at the head.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) pulse: Pulse,
    /// The newest block.
    pub(super) newest: Block,
    /// The newest irrevocable block.
    pub(super) solid: Block,
    /// What the signing account has, with the effects of what waits in the node's pool.
    pub(super) means: Means,
    pub(super) prices: Prices,
    /// How far the newest block may be from this machine's clock before nothing is signed.
    clock_tolerance: Duration,
    seen: Instant,
}

impl Head {
    /// An error where the newest block is too far from `now_ms`, or the newest irrevocable one from
    /// it, to sign anything by them.
    pub(super) fn timely(&self, now_ms: i64) -> Result<(), ChainError> {
        let now = u64::try_from(now_ms).unwrap_or_default();
        let off = self.newest.time_ms.abs_diff(now);
        let lag = self.newest.time_ms.saturating_sub(self.solid.time_ms);
        if lag > SOLID_TOLERANCE_MS {
            return Err(ChainError::Unavailable(format!(
                "its newest irrevocable block is {} s behind its newest: check the solidity node",
                lag.div_euclid(1000)
            )));
        }
        if Duration::from_millis(off) <= self.clock_tolerance {
            return Ok(());
        }
        let side = if self.newest.time_ms < now { "behind" } else { "ahead of" };
        Err(ChainError::Unavailable(format!(
            "its newest block is {} s {side} this machine's clock: check the node and the clock",
            off.div_euclid(1000)
        )))
    }
}

impl TronChain {
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
        self.current().await?;
        let known = *self.known.read();
        let known = known.ok_or_else(|| ChainError::Unavailable("not reached yet".to_owned()))?;
        if known.contract {
            return Ok(known);
        }
        let at = super::address::to_base58(self.parts.facts.contract);
        Err(ChainError::CallFails(format!("there is no contract at {at}")))
    }

    fn young(&self) -> Option<Arc<Head>> {
        let young = self.parts.settings.poll_interval.saturating_mul(2);
        self.head.read().clone().filter(|head| head.seen.elapsed() < young)
    }

    async fn observe_in_turn(&self) -> Result<Arc<Head>, ChainError> {
        let (api, me) = (&self.parts.api, self.parts.facts.signer);
        let seen = Instant::now();
        let before = self.head.read().clone();
        let passed = before.as_ref().map_or(0, |head| head.newest.time_ms);
        let (newest, solid, account, resources, known) = tokio::try_join!(
            newest(api, Side::Full),
            newest(api, Side::Solidity),
            async { Ok(api.account(Side::Full, me).await?) },
            async { Ok(api.resources(me).await?) },
            self.learn_when_due(passed),
        )?;
        // What was irrevocable once stays so; behind a load balancer another node may lag.
        let solid = match before {
            Some(head) if head.solid.number > solid.number => head.solid.clone(),
            Some(_) | None => solid,
        };
        let newest = if solid.number > newest.number { solid.clone() } else { newest };
        let balance = account.map_or(0, |account| account.balance);
        // Nothing on TRON counts an account's transactions.
        let pulse =
            Pulse { head: newest.number, head_time: newest.time_ms.div_euclid(1000), places: None };
        let means = Means { balance, resources };
        let clock_tolerance = self.parts.settings.clock_tolerance;
        let prices = known.prices;
        Ok(self.publish(Head { pulse, newest, solid, means, prices, clock_tolerance, seen }))
    }

    fn publish(&self, head: Head) -> Arc<Head> {
        let head = Arc::new(head);
        *self.head.write() = Some(Arc::clone(&head));
        self.pulse.send_replace(Some(head.pulse));
        head
    }

    /// Asks what the node is and what things cost: at the first look, every ten minutes, after the
    /// chain's maintenance, and after a broken exchange.
    async fn learn_when_due(&self, head_ms: u64) -> Result<Known, ChainError> {
        let before = *self.known.read();
        let api = &self.parts.api;
        if let Some(known) = before
            && known.contract
            && known.breaks == api.breaks()
            && known.checked.elapsed() < RECHECK
            && head_ms < known.maintenance_ms
        {
            return Ok(known);
        }
        let (checked, breaks) = (Instant::now(), api.breaks());
        let (genesis, parameters, maintenance_ms, contract, multicall) = tokio::try_join!(
            self.identify(before.map(|known| known.genesis)),
            async { Ok(api.parameters().await?) },
            async { Ok(api.next_maintenance_ms().await?) },
            async { Ok(api.contract(self.parts.facts.contract).await?.is_some()) },
            self.has_multicall(),
        )?;
        let prices = prices(&parameters)?;
        let known = Known { contract, multicall, prices, genesis, maintenance_ms, checked, breaks };
        *self.known.write() = Some(known);
        Ok(known)
    }

    async fn has_multicall(&self) -> Result<bool, ChainError> {
        match self.parts.settings.multicall {
            Some(at) => Ok(self.parts.api.contract(at).await?.is_some()),
            None => Ok(false),
        }
    }

    /// The id of block 0, the same on both sides, as configured and as before. On another chain
    /// nothing that was learnt holds any more.
    async fn identify(&self, before: Option<B256>) -> Result<B256, ChainError> {
        let identity = identity(&self.parts.api).await?;
        let wrong = match identity {
            Identity::Split => {
                Some("the full and the solidity node are on different chains".into())
            }
            Identity::One(genesis) => self.mismatch(genesis, before),
        };
        match (wrong, identity) {
            (None, Identity::One(genesis)) => Ok(genesis),
            (wrong, _) => {
                *self.known.write() = None;
                *self.head.write() = None;
                let answer = wrong.unwrap_or_default();
                Err(ChainError::Node { question: "getblock 0", answer })
            }
        }
    }

    fn mismatch(&self, genesis: B256, before: Option<B256>) -> Option<String> {
        let answered = chain_id(genesis);
        match (self.parts.settings.chain_id, before) {
            (Some(configured), _) if configured != answered => Some(format!(
                "the node is on chain {answered:#x}, but this chain is {configured:#x}"
            )),
            (_, Some(before)) if before != genesis => {
                Some(format!("the node is on chain {answered:#x}, and was on another before"))
            }
            _ => None,
        }
    }
}

/// Which chain a node is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// The id of its block 0.
    One(B256),
    /// Its two sides differ.
    Split,
}

/// Asks both sides for block 0.
pub(super) async fn identity(api: &Api) -> Result<Identity, ChainError> {
    let genesis = async |side| {
        let block = api.block(side, Some(0), false).await?.ok_or_else(no_block)?;
        Ok::<_, ChainError>(block.id)
    };
    let (full, solidity) = tokio::try_join!(genesis(Side::Full), genesis(Side::Solidity))?;
    Ok(if full == solidity { Identity::One(full) } else { Identity::Split })
}

/// The number that contracts and `eth_chainId` know a chain by: the last four bytes of the id of
/// its block 0.
pub(super) fn chain_id(genesis: B256) -> u32 {
    let [.., a, b, c, d] = genesis.0;
    u32::from_be_bytes([a, b, c, d])
}

async fn newest(api: &Api, side: Side) -> Result<Block, ChainError> {
    api.block(side, None, false).await?.ok_or_else(no_block)
}

fn no_block() -> ChainError {
    ChainError::Node { question: "getblock", answer: "no block".to_owned() }
}

fn prices(parameters: &Parameters) -> Result<Prices, ChainError> {
    let price = |name: &'static str| {
        let missing = || ChainError::Node { question: name, answer: "no such parameter".into() };
        parameters.get(name).ok_or_else(missing)
    };
    Ok(Prices {
        energy: price("getEnergyFee")?,
        bandwidth: price("getTransactionFee")?,
        max_fee_limit: price("getMaxFeeLimit")?,
    })
}
