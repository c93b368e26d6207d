//! Refusals: which subscriptions were not charged, when, for whom and why. They are kept for a time in a
//! file of their own, `<journal>.refusals`, which is written behind requests: the journal's commits have
//! nothing to do with it, and nothing about money follows from it.

mod file;

use crate::filter::{LedgerFilter, LedgerOrder, LedgerPlace};
use alloy::primitives::{B256, U256};
use billing::{
    BatchId, CallerLabel, ChargeTerms, FailCode, Family, Period, PlanId, PlatformChainId, Refused,
    SubscribeId, UserHash,
};
use config::JournalPlace;
use file::RefusalFile;
use host::clock::Clock;
use host::disk::{Space, space};
use journal::sql::{SqlError, SqlResult};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Number of refusals that may wait to be written. Further refusals are dropped.
const WAITING: usize = 10_000;

/// A request that refused something, as it was answered.
#[derive(Clone, Debug)]
pub struct RefusedRequest {
    /// The chain that it was for.
    pub chain: PlatformChainId,
    /// That chain's family.
    pub family: Family,
    /// The label of whoever asked; none where nobody had to sign.
    pub caller: Option<CallerLabel>,
    /// The caller's name for the request.
    pub request_id: Option<String>,
    /// Every subscription that was refused.
    pub refused: Vec<Refused>,
}

/// A subscription that was refused for one reason, once or several times in one UTC day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRefusal {
    /// Place in the ledger, given by the first of these refusals.
    pub place: LedgerPlace,
    /// When it was refused first, Unix ms.
    pub first_ms: i64,
    /// When it was refused last, Unix ms.
    pub last_ms: i64,
    /// Number of refusals, 1 or more.
    pub times: u64,
    /// The chain.
    pub chain: PlatformChainId,
    /// That chain's family.
    pub family: Family,
    /// The subscription.
    pub subscribe: SubscribeId,
    /// Its plan.
    pub plan: PlanId,
    /// Its user.
    pub user: UserHash,
    /// The period, where it was known.
    pub period: Option<Period>,
    /// The amount to be charged, in token base units, if known.
    pub amount: Option<U256>,
    /// Wallet and token, as far as they were known.
    pub terms: ChargeTerms,
    /// The customer's allowance at the last refusal, in token base units, if read.
    pub allowance: Option<U256>,
    /// The customer's balance at the last refusal.
    pub balance: Option<U256>,
    /// Why.
    pub code: FailCode,
    /// More words.
    pub detail: Option<String>,
    /// The label of whoever asked.
    pub caller: Option<CallerLabel>,
    /// The request that heard it last.
    pub request_id: Option<String>,
    /// The transaction that held the claim, where one did.
    pub tx_hash: Option<B256>,
}

/// A refusal that is not written yet.
#[derive(Debug)]
struct WaitingRefusal {
    at_ms: i64,
    request: Arc<RefusedRequest>,
    refused: Refused,
}

/// The places between which refusals are looked for, both left out; none where there is no such end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LedgerSpan {
    pub(crate) after: Option<LedgerPlace>,
    pub(crate) before: Option<LedgerPlace>,
}

/// The handle. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Refusals(Arc<RefusalsInner>);

#[derive(Debug)]
struct RefusalsInner {
    /// `<journal>.refusals`, or beside the mark of a journal on a server.
    path: PathBuf,
    min_free_bytes: u64,
    keep: Duration,
    clock: Clock,
    waiting: Mutex<Vec<WaitingRefusal>>,
    /// None until it could be opened.
    sheet: Mutex<Option<RefusalFile>>,
    /// The newest batch of the journal that is known of here: what is written now comes behind it.
    newest_batch: AtomicI64,
    dropped: AtomicU64,
}

/// Why refusals were not written. They are counted, and gone.
#[derive(Debug, thiserror::Error)]
pub enum Unkept {
    /// The disk is nearly full, and what is left is the journal's.
    #[error("the disk has less than journal.min_free left")]
    NoRoom,
    /// The file cannot be used.
    #[error("the file of refusals beside the journal: {0}")]
    File(#[from] SqlError),
}

impl Refusals {
    /// Those beside this journal; none where they are not kept. Nothing is opened yet.
    pub fn of(journal: &JournalPlace, clock: Clock) -> Option<Self> {
        Some(Self(Arc::new(RefusalsInner {
            path: journal.beside(".refusals"),
            min_free_bytes: journal.min_free_bytes(),
            keep: journal.keep_refusals()?,
            clock,
            waiting: Mutex::default(),
            sheet: Mutex::default(),
            newest_batch: AtomicI64::default(),
            dropped: AtomicU64::default(),
        })))
    }

    /// Has them written soon. Waits for no disk; what finds no room is counted and gone.
    pub fn note(&self, mut request: RefusedRequest) {
        let (at_ms, refused) = (self.0.clock.unix_ms(), std::mem::take(&mut request.refused));
        let (count, request) = (refused.len(), Arc::new(request));
        let mut waiting = self.0.waiting.lock();
        let room = WAITING.saturating_sub(waiting.len()).min(count);
        let kept = refused.into_iter().take(room);
        waiting.extend(kept.map(|refused| WaitingRefusal {
            at_ms,
            request: Arc::clone(&request),
            refused,
        }));
        self.drop_some(count.saturating_sub(room));
    }

    /// Returns the number of refusals that were not kept since the start, or not for as long as they should be.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Notes a batch of the journal. Refusals written from now on come behind it in the ledger.
    pub fn seen(&self, newest: BatchId) {
        self.0.newest_batch.fetch_max(newest.0, Ordering::Relaxed);
    }

    /// The journal was opened, and has no batch behind `newest`: what came behind one in a journal that is
    /// lost comes behind this one now.
    pub fn begin(&self, newest: BatchId) -> Result<(), Unkept> {
        self.seen(newest);
        if self.0.path.exists() {
            self.open(&mut self.0.sheet.lock())?.begin(newest)?;
        }
        Ok(())
    }

    /// Writes what waits, and now and then forgets what is old enough. Blocks the thread.
    pub fn write(&self) -> Result<(), Unkept> {
        let mut sheet = self.0.sheet.lock();
        let waiting = std::mem::take(&mut *self.0.waiting.lock());
        let written = self.write_all(&mut sheet, &waiting);
        if written.is_err() {
            self.drop_some(waiting.len());
        }
        written
    }

    fn write_all(
        &self,
        sheet: &mut Option<RefusalFile>,
        waiting: &[WaitingRefusal],
    ) -> Result<(), Unkept> {
        let directory = self.0.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let room = match space(directory.unwrap_or(Path::new("."))) {
            Ok(Space::Free(free)) => free >= self.0.min_free_bytes,
            Ok(Space::ReadOnly) | Err(_) => false,
        };
        if waiting.is_empty() && (sheet.is_none() || !room) {
            return Ok(());
        }
        if !room {
            return Err(Unkept::NoRoom);
        }
        let sheet = self.open(sheet)?;
        sheet.add(waiting, self.0.newest_batch.load(Ordering::Relaxed))?;
        let keep_ms = i64::try_from(self.0.keep.as_millis()).unwrap_or(i64::MAX);
        let lost = sheet.sweep(self.0.clock.unix_ms().saturating_sub(keep_ms))?;
        self.drop_some(lost);
        Ok(())
    }

    /// At most `limit` refusals of a span that a filter wants, in the order that is asked for: with what
    /// waited to be written. Blocks the thread.
    pub(crate) fn read(
        &self,
        filter: &LedgerFilter,
        order: LedgerOrder,
        span: LedgerSpan,
        limit: usize,
    ) -> SqlResult<Vec<KeptRefusal>> {
        // Refusals that could not be written are counted, and are missing here.
        drop(self.write());
        let mut sheet = self.0.sheet.lock();
        if sheet.is_none() && !self.0.path.exists() {
            return Ok(Vec::new());
        }
        self.open(&mut sheet)?.read(filter, order, span, limit)
    }

    fn open<'a>(&self, sheet: &'a mut Option<RefusalFile>) -> SqlResult<&'a mut RefusalFile> {
        match sheet {
            Some(sheet) => Ok(sheet),
            none => Ok(none.insert(RefusalFile::open(&self.0.path)?)),
        }
    }

    fn drop_some(&self, count: usize) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.0.dropped.fetch_add(count, Ordering::Relaxed);
    }
}
