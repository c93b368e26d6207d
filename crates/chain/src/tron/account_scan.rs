//! The account's history, read from irrevocable blocks: transactions that the journal may have forgotten, uses of the
//! account beside open batches, and transactions that were on their way when this process began. Nothing on TRON counts an account's
//! transactions, so blocks are read without a gap.
//!
//! A transaction that was signed before a moment lands within the life that is signed here: once the irrevocable blocks
//! are read without a gap up to that time, all such transactions are found or can never land.

use super::access::Access;
use super::foreign_calls::{ForeignCalls, call_by, use_of_the_account};
use super::head::TronHead;
use super::head_watch::HeadWatch;
use super::horizon::SigningHorizon;
use super::reading::{Reading, from_ms};
use super::revocable::RevocableScan;
use crate::{BlockHistory, BlockScan, ChainError, ReadFrom, RevocableCalls, ScanRange, Unanswered};
use alloy::primitives::B256;
use async_trait::async_trait;
use futures_util::future::join_all;
use journal::LearntUpTo;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::Mutex;
use tracing::warn;
use tron_node::{BlockPoint, BlockReader, Finality, Misfit, Side, Support, TronBlock};
use tron_primitives::block::ProvenBlock;

/// Highest number of blocks read in one call.
const BLOCKS_AT_MOST: u64 = 120;

/// Number of blocks that are asked for at once.
const AT_ONCE: usize = 6;

/// Blocks are at least so far apart, ms. java-tron: common/.../core/config/Parameter.java,
/// `BLOCK_PRODUCED_INTERVAL`.
pub(super) const SLOT_MS: u64 = 3_000;

/// The end of one reading.
enum Interrupted {
    /// A block does not fit those before it.
    Misfit(Misfit),
    /// A node gave no answer.
    Failed(ChainError),
}

/// Reads what the account did.
#[derive(Debug)]
pub(super) struct AccountScan {
    access: Access,
    head: Arc<HeadWatch>,
    reader: Arc<BlockReader>,
    finality: Arc<Finality>,
    calls: ForeignCalls,
    horizon: Arc<SigningHorizon>,
    revocable: RevocableScan,
    /// Held while blocks are read for what was forgotten.
    forgotten: Mutex<Option<Reading>>,
    /// Held while blocks are read for what landed beside open batches.
    uses: Mutex<Option<Reading>>,
    /// Held while blocks are read for what was on its way when this process began.
    arrivals: Mutex<Option<Reading>>,
}

impl AccountScan {
    /// Nothing was read yet.
    pub(super) fn of(
        access: Access,
        head: Arc<HeadWatch>,
        reader: Arc<BlockReader>,
        finality: Arc<Finality>,
    ) -> Self {
        let horizon = Arc::new(SigningHorizon::of(access.clone()));
        let revocable = RevocableScan::of(
            access.clone(),
            Arc::clone(&head),
            Arc::clone(&reader),
            Arc::clone(&horizon),
        );
        let calls = ForeignCalls { access: access.clone() };
        Self {
            access,
            head,
            reader,
            finality,
            calls,
            horizon,
            revocable,
            forgotten: Mutex::default(),
            uses: Mutex::default(),
            arrivals: Mutex::default(),
        }
    }

    /// Reads on for what the journal may have forgotten.
    async fn read_forgotten(&self, from: ReadFrom) -> Result<BlockScan, ChainError> {
        let head = self.head.current().await?;
        let mut state = self.forgotten.lock().await;
        let mut reading = match state.take() {
            Some(reading) => reading,
            None => self.begin_forgotten(from, &head).await?,
        };
        if let Some(until_ms) = from.rival_until_ms {
            // It may land behind all that had to be read for what was signed before.
            let longest_ms = head.newest.time_ms.saturating_add(self.access.life_ms());
            reading.meets_rival(until_ms.min(longest_ms));
        }
        self.proceed(&mut state, reading, &head).await
    }

    async fn begin_forgotten(
        &self,
        from: ReadFrom,
        head: &TronHead,
    ) -> Result<Reading, ChainError> {
        head.timely(self.access.now_ms())?;
        let until_ms = self.horizon.now(head);
        let first = match self.block_read_last(from.read).await {
            Some(read) => read,
            None => self.block_before(from_ms(from.since_ms, self.access.life_ms()), head).await?,
        };
        Ok(Reading::after(&first, until_ms))
    }

    /// Reads on from `since_ms` to the last block that an account can have used that was used last at
    /// `used_ms`: the one after the block of that time.
    async fn read_uses(&self, since_ms: i64, used_ms: i64) -> Result<BlockScan, ChainError> {
        let head = self.head.current().await?;
        let mut state = self.uses.lock().await;
        let until_ms = u64::try_from(used_ms).unwrap_or_default().saturating_add(1);
        let reading = if let Some(reading) = state.take() {
            reading.until(until_ms)
        } else {
            // A block of just that time is read as well.
            let before_ms = u64::try_from(since_ms).unwrap_or_default().saturating_sub(1);
            let first = self.block_before(before_ms, &head).await?;
            Reading::after(&first, until_ms).of_uses()
        };
        self.proceed(&mut state, reading, &head).await
    }

    /// Reads the blocks that become irrevocable, until nothing can land that was signed before.
    async fn read_arrivals(&self) -> Result<BlockScan, ChainError> {
        let head = self.head.current().await?;
        let mut state = self.arrivals.lock().await;
        // It stays in the state: were it lost, today's head would be the first block, and the blocks before unread.
        let reading = self.begin_arrivals(&mut state, &head).clone();
        self.proceed(&mut state, reading, &head).await
    }

    /// Returns the reading of the blocks that become irrevocable, begun here if it was not yet.
    fn begin_arrivals<'a>(
        &self,
        state: &'a mut Option<Reading>,
        head: &TronHead,
    ) -> &'a mut Reading {
        state.get_or_insert_with(|| {
            Reading::after(&head.solid, self.horizon.at_start(head)).of_uses()
        })
    }

    /// Reads on, and leaves in `state` where to begin the next time. After a misfit a reading that stands in `state`
    /// begins anew from its own first block; another one is begun by its caller.
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
            Ok(()) => {}
            Err(Interrupted::Misfit(misfit)) => {
                warn!(block = reading.last.number, %misfit, "the irrevocable blocks do not fit; beginning anew");
                *state = state.take().map(Reading::anew);
                return Err(ChainError::Node { question: "getblock", answer: misfit.into() });
            }
            Err(Interrupted::Failed(error)) => {
                *state = Some(reading);
                return Err(error);
            }
        }
        *state = Some(reading);
        Ok(so_far)
    }

    /// Returns the block that an earlier process has read up to, if it is still what the nodes call irrevocable.
    async fn block_read_last(&self, read: Option<LearntUpTo>) -> Option<TronBlock> {
        let LearntUpTo { number, id } = read?;
        self.reader.agreed_header(number).await.filter(|found| found.id == id)
    }

    /// Returns an irrevocable block that is at or before this time. As many blocks back as slots fit in
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

    /// Reads the next few blocks. Nothing else is asked while blocks are on their way: questions that nobody waits for
    /// keep their turns at a node, and accounts that read beside each other would wait for those turns for ever.
    async fn read_some(&self, reading: &mut Reading, head: &TronHead) -> Result<(), Interrupted> {
        let mut wanted = reading.wanted(head.solid.number, BLOCKS_AT_MOST);
        while !wanted.is_empty() {
            let asked = wanted.by_ref().take(AT_ONCE).map(|number| self.reader.agreed(number));
            for block in join_all(asked).await {
                // A node that lags does not have it yet.
                let Some(proven) = block else { return Ok(()) };
                self.read_block(reading, &proven, head).await?;
            }
        }
        Ok(())
    }

    /// Reads one block.
    async fn read_block(
        &self,
        reading: &mut Reading,
        proven: &ProvenBlock,
        head: &TronHead,
    ) -> Result<(), Interrupted> {
        let (block, mut found) = (TronBlock::from(proven), Vec::new());
        let mut lands_until_ms = None;
        for one in proven.transactions() {
            let Some(call) = call_by(self.access.signer(), one.raw_data()) else { continue };
            let foreign = if reading.judges {
                self.calls.read(one, &call, &block, head).await.map_err(Interrupted::Failed)?
            } else {
                Some(use_of_the_account(one, &block))
            };
            if foreign.is_some() && call.expires_ms > self.horizon.at_start(head) {
                lands_until_ms = lands_until_ms.max(Some(call.expires_ms));
            }
            found.extend(foreign);
        }
        reading.read(&block, found).map_err(Interrupted::Misfit)?;
        // No longer than what is signed here: somebody else's way to sign is not known.
        let longest_ms = block.time_ms.saturating_add(self.access.life_ms());
        if let Some(until_ms) = lands_until_ms {
            reading.meets_rival(until_ms.min(longest_ms));
        }
        Ok(())
    }
}

#[async_trait]
impl BlockHistory for AccountScan {
    /// The latest time that any node tells: a node that hides a use is not alone if there are two. A later time than
    /// that of the agreed irrevocable blocks does not count, since a node that lies may tell one that no block reaches:
    /// such a use is in a block that [`ScanRange::Arrivals`] reads, which begins no later than here.
    async fn last_used(&self) -> Result<Option<u64>, ChainError> {
        let head = self.head.current().await?;
        self.begin_arrivals(&mut *self.arrivals.lock().await, &head);
        let (fleet, me) = (&self.access.fleet, self.access.signer());
        let asked = fleet.fit().into_iter();
        let asked = asked.map(async |id| self.access.api_of(id).account(Side::Solidity, me).await);
        let (told, failed): (Vec<_>, Vec<_>) =
            join_all(asked).await.into_iter().partition(Result::is_ok);
        // That the account was not used is an absence: too few that tell so are no answer.
        if told.len() < fleet.needed() {
            let why = failed.into_iter().find_map(Result::err).map(ChainError::from);
            return Err(why.unwrap_or_else(|| Unanswered::TooFewNodes.into()));
        }
        // A use in a block bears the time of the block before.
        let last_ms = head.solid.time_ms.saturating_sub(1);
        let used = told.into_iter().flatten().flatten().map(|account| account.used_ms);
        Ok(used.filter(|ms| *ms > 0).max().map(|ms| ms.min(last_ms)))
    }

    async fn scan_blocks(&self, range: ScanRange) -> Result<BlockScan, ChainError> {
        match range {
            ScanRange::Uses { since_ms, used_ms } => self.read_uses(since_ms, used_ms).await,
            ScanRange::Arrivals => self.read_arrivals().await,
            ScanRange::Forgotten(from) => self.read_forgotten(from).await,
        }
    }

    /// Forgets the findings, which are learnt by now, also those that have landed since this process began.
    async fn end_scan(&self) {
        *self.forgotten.lock().await = None;
        if let Some(arrivals) = self.arrivals.lock().await.as_mut() {
            arrivals.forget_found();
        }
    }

    async fn revocable_calls(
        &self,
        ours: Option<&BTreeSet<B256>>,
    ) -> Result<RevocableCalls, ChainError> {
        self.revocable.calls(ours).await
    }
}
