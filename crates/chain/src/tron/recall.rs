//! Transactions of our account that an old copy of the journal may not know, found in the
//! irrevocable blocks.
//!
//! TRON counts no transactions of an account, so nothing tells how many are missing. Any transaction signed before
//! this process began dies within the life that is signed here: once the irrevocable blocks are read without a gap
//! up to that time, all such transactions are found or can never land.

use super::TronChain;
use super::conclude::{LOGS_WITHIN, Record, record};
use super::head::TronHead;
use super::look::seconds;
use super::reading::{Reading, from_ms};
use crate::profiles::KnownProfiles;
use crate::{BlockScan, ChainError, ReadFrom, Unanswered};
use ::node::NodeId;
use alloy::primitives::{Address, B256};
use billing::{BlockRef, Execution, Foreign, ForeignEffect, ItemOutcome, Landed, Opaque, Slot};
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use journal::LearntUpTo;
use prost::Message as _;
use tracing::warn;
use tron_node::{BlockPoint, CallResult, Misfit, Side, Support, TronBlock};
use tron_primitives::address::{prefixed, unprefixed};
use tron_primitives::block::ProvenTransaction;
use tron_primitives::messages::{Raw, TRIGGER, TriggerSmartContract};

/// Highest number of blocks read in one call.
const BLOCKS_AT_MOST: u64 = 120;

/// Number of blocks that are asked for at once.
const AT_ONCE: u64 = 6;

/// Blocks are at least so far apart, ms. java-tron: common/.../core/config/Parameter.java,
/// `BLOCK_PRODUCED_INTERVAL`.
const SLOT_MS: u64 = 3_000;

/// A call of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnCall {
    pub(super) to: Address,
    data: Vec<u8>,
    /// Until when it can land, Unix ms of blocks.
    pub(super) expires_ms: u64,
}

/// Reads the call of a transaction of `owner`; none if the transaction calls no contract, or is another's. Reads
/// loosely: a call that we would not sign may have charged somebody all the same.
pub(super) fn call_by(owner: Address, raw_data: &[u8]) -> Option<OwnCall> {
    let raw = Raw::decode(raw_data).ok()?;
    let expires_ms = u64::try_from(raw.expiration).unwrap_or_default();
    let calls = raw.contract.into_iter().filter(|contract| contract.kind == TRIGGER);
    let mut calls = calls.filter_map(|contract| {
        TriggerSmartContract::decode(contract.parameter?.value.as_slice()).ok()
    });
    let call = calls.find(|call| call.owner_address == prefixed(owner))?;
    Some(OwnCall { to: unprefixed(&call.contract_address)?, data: call.data, expires_ms })
}

fn landed(sent: &ProvenTransaction, block: &TronBlock) -> Landed {
    let block = BlockRef { number: block.number, time: seconds(block.time_ms) };
    Landed { hash: sent.id(), block, record: None }
}

/// A transaction of ours, whatever it did.
fn use_of_the_account(sent: &ProvenTransaction, block: &TronBlock) -> Foreign {
    Foreign::Opaque(landed(sent, block))
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
    pub(super) async fn read_on(&self, from: ReadFrom) -> Result<BlockScan, ChainError> {
        let head = self.current().await?;
        let mut state = self.reading.lock().await;
        let mut reading = match state.take() {
            Some(reading) => reading,
            None => self.begin_reading(from, &head).await?,
        };
        if let Some(until_ms) = from.rival_until_ms {
            // It may land behind all that had to be read for what was signed before.
            let longest_ms = head.newest.time_ms.saturating_add(self.life_ms());
            reading.meets_rival(until_ms.min(longest_ms));
        }
        self.proceed(&mut state, reading, &head).await
    }

    /// Reads on from `since_ms` to the last block that an account can have used that was used last at
    /// `used_ms`: the one after the block of that time.
    pub(super) async fn read_between(
        &self,
        since_ms: i64,
        used_ms: i64,
    ) -> Result<BlockScan, ChainError> {
        let head = self.current().await?;
        let mut state = self.comparing.lock().await;
        let until_ms = u64::try_from(used_ms).unwrap_or_default().saturating_add(1);
        let reading = if let Some(reading) = state.take() {
            reading.until(until_ms)
        } else {
            let since_ms = u64::try_from(since_ms).unwrap_or_default();
            let first = self.block_before(since_ms, &head).await?;
            Reading::after(&first, until_ms).of_uses()
        };
        self.proceed(&mut state, reading, &head).await
    }

    /// Reads the blocks that become irrevocable, until nothing can land that was signed before.
    pub(super) async fn read_arrivals(&self) -> Result<BlockScan, ChainError> {
        let head = self.current().await?;
        let mut state = self.arriving.lock().await;
        let reading = if let Some(reading) = state.take() {
            reading
        } else {
            Reading::after(&head.solid, self.dead_after(&head)).of_uses()
        };
        self.proceed(&mut state, reading, &head).await
    }

    /// Forgets the findings that were read, which are learnt by now, also those that have landed since this process
    /// began.
    pub(super) async fn forget_what_was_read(&self) {
        *self.reading.lock().await = None;
        if let Some(arriving) = self.arriving.lock().await.as_mut() {
            arriving.forget_found();
        }
    }

    /// Returns the latest time of a head by which anything was signed before now, Unix ms: that head is not later
    /// than this one, or than this machine's clock, since nothing is signed by any other head.
    fn signed_at_the_latest(&self, head: &TronHead) -> u64 {
        let now_ms = u64::try_from(self.account.clock.unix_ms()).unwrap_or_default();
        head.newest.time_ms.max(now_ms)
    }

    /// When nothing can land any more that was signed before this process began, Unix ms of blocks. It
    /// begins when this is asked first.
    pub(super) fn dead_after(&self, head: &TronHead) -> u64 {
        let reckon = || self.signed_at_the_latest(head).saturating_add(self.life_ms());
        *self.dead_after.get_or_init(reckon)
    }

    async fn proceed(
        &self,
        state: &mut Option<Reading>,
        mut reading: Reading,
        head: &TronHead,
    ) -> Result<BlockScan, ChainError> {
        let before = reading.clone();
        let read = self.read_some(&mut reading, head).await;
        let BlockPoint { id, number, .. } = reading.last;
        let confirmed = id == before.last.id
            || self.finality.support(number, id, head.heights()).await == Support::Confirmed;
        if !confirmed {
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

    async fn begin_reading(&self, from: ReadFrom, head: &TronHead) -> Result<Reading, ChainError> {
        head.timely(self.account.clock.unix_ms())?;
        let until_ms = self.signed_at_the_latest(head).saturating_add(self.life_ms());
        let first = match self.block_read_last(from.read).await {
            Some(read) => read,
            None => self.block_before(from_ms(from.since_ms, self.life_ms()), head).await?,
        };
        Ok(Reading::after(&first, until_ms))
    }

    /// The block that an earlier process has read up to, if it is still what the nodes call irrevocable.
    async fn block_read_last(&self, read: Option<LearntUpTo>) -> Option<TronBlock> {
        let LearntUpTo { number, id } = read?;
        let found = self.reader.agreed_header(number).await?;
        (found.id == id).then_some(found)
    }

    /// An irrevocable block that is at or before this time. As many blocks back as slots fit in
    /// between, none can be later; the few that were missed are read in addition.
    async fn block_before(&self, from_ms: u64, head: &TronHead) -> Result<TronBlock, ChainError> {
        let mut block = head.solid.clone();
        while block.time_ms > from_ms && block.number > 0 {
            let back = block.time_ms.saturating_sub(from_ms).div_ceil(SLOT_MS);
            let number = block.number.saturating_sub(back);
            let found = self.reader.agreed_header(number).await;
            block = found.ok_or(Unanswered::Forgotten(number))?;
        }
        Ok(block)
    }

    async fn read_some(
        &self,
        reading: &mut Reading,
        head: &TronHead,
    ) -> Result<Result<(), Misfit>, ChainError> {
        let wanted = reading.wanted(head.solid.number, BLOCKS_AT_MOST);
        let asked = wanted.map(|number| self.reader.agreed(number));
        let at_once = usize::try_from(AT_ONCE).unwrap_or(1);
        let mut blocks = stream::iter(asked).buffered(at_once);
        while let Some(block) = blocks.next().await {
            // A node that lags does not have it yet.
            let Some(proven) = block else { break };
            let (block, mut found) = (TronBlock::from(&proven), Vec::new());
            let mut lands_until_ms = None;
            for one in proven.transactions() {
                let Some(call) = call_by(self.account.facts.signer, one.raw_data()) else {
                    continue;
                };
                let told = if reading.judges {
                    self.stranger(one, &call, &block, head).await?
                } else {
                    Some(use_of_the_account(one, &block))
                };
                if told.is_some() && call.expires_ms > self.dead_after(head) {
                    lands_until_ms = lands_until_ms.max(Some(call.expires_ms));
                }
                found.extend(told);
            }
            if let Err(misfit) = reading.read(&block, found) {
                return Ok(Err(misfit));
            }
            // No longer than what is signed here: somebody else's way to sign is not known.
            let longest_ms = block.time_ms.saturating_add(self.life_ms());
            if let Some(until_ms) = lands_until_ms {
                reading.meets_rival(until_ms.min(longest_ms));
            }
        }
        Ok(Ok(()))
    }

    /// A transaction of ours that may have charged somebody.
    async fn stranger(
        &self,
        sent: &ProvenTransaction,
        call: &OwnCall,
        block: &TronBlock,
        head: &TronHead,
    ) -> Result<Option<Foreign>, ChainError> {
        let effect = self.effect(sent, (call.to, &call.data), block, head).await?;
        Ok((effect != Ok(ForeignEffect::Other))
            .then(|| Foreign::new(0, landed(sent, block), effect)))
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
        Ok(without_logs(&self.account.profiles, call, succeeded))
    }

    /// Reads one node's record of a transaction in this block, on either side of the node.
    async fn record_in(&self, node: NodeId, id: B256, block: u64) -> Option<Record> {
        for side in [Side::Solidity, Side::Full] {
            let info = self.api_of(node).info(side, id).await.ok().flatten();
            if let Some(info) = info.filter(|info| info.block == block) {
                return record(info);
            }
        }
        None
    }
}

/// Returns the effect of a transaction of which no logs are told. A transaction that succeeded has charged
/// everybody whom its call names, or may have; the effect of a call to another contract is not known at all.
fn without_logs(
    profiles: &KnownProfiles,
    (to, data): (Address, &[u8]),
    succeeded: bool,
) -> Result<ForeignEffect, Opaque> {
    if !succeeded {
        return Ok(ForeignEffect::Other);
    }
    if !profiles.bills_through(to) {
        return Err(Opaque);
    }
    let items = profiles.charged_by(to, data).ok_or(Opaque)?;
    let unproven = items.iter().map(|_| ItemOutcome::Unproven).collect();
    let execution = Execution::Succeeded(unproven);
    Ok(ForeignEffect::Billed { contract: to, items, execution })
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
