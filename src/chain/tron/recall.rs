//! Transactions of our account that an old copy of the journal may not know, found in the
//! irrevocable blocks.
//!
//! TRON counts no transactions of an account, so nothing tells how many are missing. What was signed
//! before this process began dies within the life that is signed here: once the irrevocable blocks
//! are read without a gap up to that time, all of it is found or can never land.

use super::TronChain;
use super::api::{CallResult, Side, TronBlock};
use super::conclude::{LOGS_WITHIN, Record, record};
use super::death::Misfit;
use super::head::TronHead;
use super::look::seconds;
use super::proofs::{Support, proven};
use crate::billing::{
    BlockRef, Execution, Foreign, ForeignEffect, ItemOutcome, Landed, Opaque, Slot,
};
use crate::chain::{ChainError, Recall, Unanswered};
use crate::node::NodeId;
use alloy::primitives::{Address, B256};
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use prost::Message as _;
use tracing::warn;
use tron_primitives::address::{prefixed, unprefixed};
use tron_primitives::block::{ProvenBlock, ProvenTransaction};
use tron_primitives::messages::{Raw, TRIGGER, TriggerSmartContract};

/// How many blocks are read at most in one call.
const BLOCKS_AT_MOST: u64 = 120;

/// How many blocks are asked for at once.
const AT_ONCE: u64 = 6;

/// Blocks are at least so far apart, ms. java-tron: common/.../core/config/Parameter.java,
/// `BLOCK_PRODUCED_INTERVAL`.
const SLOT_MS: u64 = 3_000;

/// How much earlier reading begins than the journal's knowledge ends, besides a transaction's life:
/// its times are this machine's, and those of blocks are not.
const MARGIN_MS: u64 = 600_000;

/// How far the irrevocable blocks are read, and what was found.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// When the first block's successors began, Unix ms.
    from_ms: u64,
    /// Nothing that was signed before lands in a block after the first one at or past this time,
    /// Unix ms.
    until_ms: u64,
    last: Last,
    /// Whether it is looked at what transactions did.
    judges: bool,
    found: Vec<Foreign>,
}

/// The block that was read last.
#[derive(Clone, Copy, Debug)]
struct Last {
    id: B256,
    number: u64,
    time_ms: u64,
}

impl From<&TronBlock> for Last {
    fn from(block: &TronBlock) -> Self {
        Self { id: block.id, number: block.number, time_ms: block.time_ms }
    }
}

impl Reading {
    /// Nothing is read yet but the block that comes before all that can hold something forgotten.
    fn after(first: &TronBlock, until_ms: u64) -> Self {
        let (last, found) = (first.into(), Vec::new());
        Self { from_ms: first.time_ms, until_ms, last, judges: true, found }
    }

    /// The numbers of the blocks to read next, where those up to `solid` are irrevocable.
    fn wanted(&self, solid: u64, most: u64) -> std::ops::RangeInclusive<u64> {
        let first = self.last.number.saturating_add(1);
        let last =
            if self.complete() { 0 } else { solid.min(self.last.number.saturating_add(most)) };
        first..=last
    }

    /// Takes the next block, and what was found in it.
    fn read(&mut self, block: &TronBlock, found: Vec<Foreign>) -> Result<(), Misfit> {
        if self.last.number.checked_add(1) != Some(block.number) {
            return Err(Misfit::Other);
        }
        if block.parent != self.last.id || block.time_ms <= self.last.time_ms {
            return Err(Misfit::Link);
        }
        self.last = block.into();
        self.found.extend(found);
        Ok(())
    }

    /// The first block at or past the time counts itself, since its parent's time decides about it.
    fn complete(&self) -> bool {
        self.last.time_ms >= self.until_ms
    }

    fn so_far(&self) -> Recall {
        let whole = self.until_ms.saturating_sub(self.from_ms).max(1);
        let read = self.last.time_ms.saturating_sub(self.from_ms).min(whole);
        let percent = read.saturating_mul(100).checked_div(whole).unwrap_or(100);
        Recall { found: self.found.clone(), percent, complete: self.complete() }
    }
}

/// Whom a transaction of `owner` calls, and with what; none where it calls no contract, or is
/// another's. Read loosely: what we would not sign may have charged somebody all the same.
fn call_by(owner: Address, raw_data: &[u8]) -> Option<(Address, Vec<u8>)> {
    let raw = Raw::decode(raw_data).ok()?;
    let calls = raw.contract.into_iter().filter(|contract| contract.kind == TRIGGER);
    let mut calls = calls.filter_map(|contract| {
        TriggerSmartContract::decode(contract.parameter?.value.as_slice()).ok()
    });
    let call = calls.find(|call| call.owner_address == prefixed(owner))?;
    Some((unprefixed(&call.contract_address)?, call.data))
}

impl TronChain {
    /// When the account was last used, as the latest that any node tells: one that lies has blocks read
    /// for nothing, and one that hides a use is not alone where there are two.
    pub(super) async fn last_use(&self) -> Result<Option<u64>, ChainError> {
        self.current().await?;
        let me = self.account.facts.signer;
        let asked = self.parts.fleet.fit().into_iter();
        let asked = asked.map(async |id| self.api_of(id).account(Side::Solidity, me).await);
        let mut latest = None;
        for told in join_all(asked).await {
            latest = latest.max(told?.map(|account| account.used_ms).filter(|ms| *ms > 0));
        }
        Ok(latest)
    }

    /// Reads on.
    pub(super) async fn read_on(&self, since_ms: i64) -> Result<Recall, ChainError> {
        let head = self.current().await?;
        let mut state = self.reading.lock().await;
        let reading = match state.take() {
            Some(reading) => reading,
            None => self.begin_reading(since_ms, &head).await?,
        };
        self.proceed(&mut state, reading, &head).await
    }

    /// Reads on from `since_ms` to the last block that an account can have used that was used last at
    /// `used_ms`: the one after the block of that time.
    pub(super) async fn read_between(
        &self,
        since_ms: i64,
        used_ms: i64,
    ) -> Result<Recall, ChainError> {
        let head = self.current().await?;
        let mut state = self.comparing.lock().await;
        let until_ms = u64::try_from(used_ms).unwrap_or_default().saturating_add(1);
        let reading = if let Some(reading) = state.take() {
            Reading { until_ms, ..reading }
        } else {
            let since_ms = u64::try_from(since_ms).unwrap_or_default();
            let first = self.block_before(since_ms, &head).await?;
            Reading { judges: false, ..Reading::after(&first, until_ms) }
        };
        self.proceed(&mut state, reading, &head).await
    }

    /// Reads the blocks that become irrevocable, until nothing can land that was signed before.
    pub(super) async fn read_arrivals(&self) -> Result<Recall, ChainError> {
        let head = self.current().await?;
        let mut state = self.arriving.lock().await;
        let reading = if let Some(reading) = state.take() {
            reading
        } else {
            let until_ms = self.signed_at_the_latest(&head).saturating_add(self.life_ms());
            Reading { judges: false, ..Reading::after(&head.solid, until_ms) }
        };
        self.proceed(&mut state, reading, &head).await
    }

    /// What was signed before now was signed by a head that is not later than this one, or than this
    /// machine's clock: no other head is signed by. Unix ms.
    fn signed_at_the_latest(&self, head: &TronHead) -> u64 {
        let now_ms = u64::try_from(self.account.clock.unix_ms()).unwrap_or_default();
        head.newest.time_ms.max(now_ms)
    }

    async fn proceed(
        &self,
        state: &mut Option<Reading>,
        mut reading: Reading,
        head: &TronHead,
    ) -> Result<Recall, ChainError> {
        let before = reading.clone();
        let read = self.read_some(&mut reading, head).await;
        let Last { id, number, .. } = reading.last;
        let stands =
            id == before.last.id || self.support(number, id, head).await == Support::Stands;
        if !stands {
            *state = Some(before);
            return Err(Unanswered::Unwitnessed(number).into());
        }
        let so_far = reading.so_far();
        match read {
            Ok(Ok(())) => {}
            Ok(Err(misfit)) => {
                warn!(block = reading.last.number, %misfit, "the irrevocable blocks do not fit; beginning anew");
                return Err(ChainError::Node { question: "getblock", answer: misfit.into() });
            }
            Err(error) => {
                *state = Some(reading);
                return Err(error);
            }
        }
        *state = Some(reading);
        Ok(so_far)
    }

    async fn begin_reading(&self, since_ms: i64, head: &TronHead) -> Result<Reading, ChainError> {
        head.timely(self.account.clock.unix_ms())?;
        let latest = self.signed_at_the_latest(head);
        let margin = self.life_ms().saturating_add(MARGIN_MS);
        let from_ms = u64::try_from(since_ms).unwrap_or_default().saturating_sub(margin);
        let first = self.block_before(from_ms, head).await?;
        Ok(Reading::after(&first, latest.saturating_add(self.life_ms())))
    }

    /// An irrevocable block that is at or before this time. As many blocks back as slots fit in
    /// between, none can be later; the few that were missed are read in addition.
    async fn block_before(&self, from_ms: u64, head: &TronHead) -> Result<TronBlock, ChainError> {
        let mut block = head.solid.clone();
        while block.time_ms > from_ms && block.number > 0 {
            let back = block.time_ms.saturating_sub(from_ms).div_ceil(SLOT_MS);
            let number = block.number.saturating_sub(back);
            let fleet = &self.parts.fleet;
            let told = |id: NodeId| self.block_header(id, number);
            let found = fleet.agreed("about an irrevocable block", told).await;
            block = found.map_err(|_| Unanswered::Forgotten(number))?;
        }
        Ok(block)
    }

    /// The header of an irrevocable block. Nobody has signed block 0: it is known by its id.
    async fn block_header(&self, node: NodeId, number: u64) -> Option<TronBlock> {
        if number == 0 {
            return self.api_of(node).block(Side::Solidity, Some(0), false).await.ok().flatten();
        }
        let header = self.header(node, Side::Solidity, number).await?;
        Some(TronBlock::from(&header))
    }

    async fn read_some(
        &self,
        reading: &mut Reading,
        head: &TronHead,
    ) -> Result<Result<(), Misfit>, ChainError> {
        let wanted = reading.wanted(head.solid.number, BLOCKS_AT_MOST);
        let asked = wanted.map(|number| self.block_told_alike(number));
        let at_once = usize::try_from(AT_ONCE).unwrap_or(1);
        let mut blocks = stream::iter(asked).buffered(at_once);
        while let Some(block) = blocks.next().await {
            // A node that lags does not have it yet.
            let Some(proven) = block else { break };
            let (block, mut found) = (TronBlock::from(&proven), Vec::new());
            for one in proven.transactions() {
                found.extend(if reading.judges {
                    self.stranger(one, &block, head).await?
                } else {
                    self.use_of_the_account(one, &block)
                });
            }
            if let Err(misfit) = reading.read(&block, found) {
                return Ok(Err(misfit));
            }
        }
        Ok(Ok(()))
    }

    /// A transaction of ours, whatever it did.
    fn use_of_the_account(&self, sent: &ProvenTransaction, block: &TronBlock) -> Option<Foreign> {
        call_by(self.account.facts.signer, sent.raw_data())?;
        let block = BlockRef { number: block.number, time: seconds(block.time_ms) };
        Some(Foreign::Opaque(Landed { hash: sent.id(), block, record: None }))
    }

    /// A transaction of ours that may have charged somebody.
    async fn stranger(
        &self,
        sent: &ProvenTransaction,
        block: &TronBlock,
        head: &TronHead,
    ) -> Result<Option<Foreign>, ChainError> {
        let Some((to, data)) = call_by(self.account.facts.signer, sent.raw_data()) else {
            return Ok(None);
        };
        let effect = self.effect(sent, (to, &data), block, head).await?;
        let block = BlockRef { number: block.number, time: seconds(block.time_ms) };
        Ok((effect != Ok(ForeignEffect::Other))
            .then(|| Foreign::new(0, Landed { hash: sent.id(), block, record: None }, effect)))
    }

    async fn effect(
        &self,
        sent: &ProvenTransaction,
        call: (Address, &[u8]),
        block: &TronBlock,
        head: &TronHead,
    ) -> Result<Result<ForeignEffect, Opaque>, ChainError> {
        let (id, result) = (sent.id(), CallResult::of_ending(sent.ending()));
        let untold = || Unanswered::Untold(id);
        let result = result.ok_or_else(untold)?;
        let succeeded = result == CallResult::Succeeded;
        let fleet = &self.parts.fleet;
        let told = |node: NodeId| self.record_in(node, id, block.number);
        if let Ok(record) = fleet.agreed("about what a transaction did", told).await
            && record.result == result
        {
            return Ok(self.account.profiles.effect(
                None::<&Slot>,
                Some(call),
                succeeded,
                &record.logs,
            ));
        }
        if head.solid.number < block.number.saturating_add(LOGS_WITHIN) {
            return Err(untold().into());
        }
        Ok(self.without_logs(call, succeeded))
    }

    /// What one node records of a transaction in this block, on either side of it.
    async fn record_in(&self, node: NodeId, id: B256, block: u64) -> Option<Record> {
        for side in [Side::Solidity, Side::Full] {
            let info = self.api_of(node).info(side, id).await.ok().flatten();
            if let Some(info) = info.filter(|info| info.block == block) {
                return record(info);
            }
        }
        None
    }

    /// The irrevocable block with this number and all that is in it, as enough providers tell it.
    async fn block_told_alike(&self, number: u64) -> Option<ProvenBlock> {
        let fleet = &self.parts.fleet;
        let told = |id: NodeId| proven((fleet, &self.signers), id, number);
        fleet.agreed("about an irrevocable block", told).await.ok()
    }

    /// The node keeps no logs: whoever was to be charged may have been.
    fn without_logs(
        &self,
        (to, data): (Address, &[u8]),
        succeeded: bool,
    ) -> Result<ForeignEffect, Opaque> {
        let profiles = &self.account.profiles;
        if !succeeded || !profiles.bills_through(to) {
            return Ok(ForeignEffect::Other);
        }
        let items = profiles.charged_by(to, data).ok_or(Opaque)?;
        let unproven = items.iter().map(|_| ItemOutcome::Unproven).collect();
        let execution = Execution::Succeeded(unproven);
        Ok(ForeignEffect::Billed { contract: to, items, execution })
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
