//! The history as a feed: what happened, row by row, for whoever follows it from a place of his own.
//!
//! A place is a row and the beginning of its digest, so that it is never mistaken for a row of another
//! history. When an older copy was put back, the places that its followers had reached are not in it, or
//! are other rows: they go on where the copies part, and hear again what they may have heard otherwise.

use alloy::primitives::{Address, B256};
use billing::{AttemptKind, BatchId, PlatformChainId};
use journal::sql::{OptionalExtension as _, Row, SqlError, SqlResult};
use journal::{Billing, HistoryEvent, Journal, JournalError, Reading, Recorded, Renames};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// The number of rows that one step looks at: a commit waits for no more than these.
const STEP: usize = 64;

/// The number of charges that one step tells of, but for those of its first row.
const CHARGES: usize = 1_000;

/// A row of the history and what tells it from the same row of another one: the first bytes of its
/// digest. Row 0 is before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowMark {
    /// The row, from 1 on.
    pub row: i64,
    /// The first bytes of the row's digest.
    pub digest: [u8; 4],
}

/// The progress of a follower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedPlace {
    /// The last row that he heard.
    pub heard: RowMark,
    /// The newest row up to it that tells of an older copy put back; row 0 where there is none.
    pub restored: RowMark,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedKind {
    /// A billing was signed and is durable.
    Accepted,
    /// A billing was learnt from the chain: the journal was restored, or the account used elsewhere.
    Learnt,
    /// Another transaction was signed in a billing's place.
    SignedAgain(AttemptKind),
    /// The chain has decided a billing.
    Settled,
    /// A person has said what became of an unproven charge.
    Resolved,
    /// Nothing new is signed on a chain.
    Paused,
    /// Something new may be signed again.
    Resumed,
    /// An account takes new work.
    LaneOpened,
    /// An account takes no new work.
    LaneClosed,
    /// The gas money of an account runs low.
    GasLow,
    /// It lasts again.
    GasLasts,
    /// An older copy of the journal was put back.
    Restored,
    /// An account did something that the journal does not know.
    InDoubt,
    /// All of that is learnt.
    Learned,
    /// A transaction of the account that charges nobody.
    UsedElsewhere,
    /// A chain has another id.
    ChainRenamed,
    /// Another contract is billed through.
    ContractChanged,
    /// Claims of another installation were taken over.
    Imported,
}

impl FeedKind {
    /// The kind of a row of the history. None: the row is of no concern to followers.
    fn of(event: HistoryEvent, body: &RowBody) -> Option<Self> {
        Some(match event {
            HistoryEvent::Accepted => Self::Accepted,
            HistoryEvent::Adopted => Self::Learnt,
            HistoryEvent::SignedAgain
                if body.kind.as_deref() == Some(AttemptKind::Cancel.word()) =>
            {
                Self::SignedAgain(AttemptKind::Cancel)
            }
            HistoryEvent::SignedAgain => Self::SignedAgain(AttemptKind::Bill),
            HistoryEvent::Settled => Self::Settled,
            HistoryEvent::Resolved => Self::Resolved,
            HistoryEvent::Paused => Self::Paused,
            HistoryEvent::Resumed => Self::Resumed,
            HistoryEvent::Gate if body.open == Some(true) => Self::LaneOpened,
            HistoryEvent::Gate => Self::LaneClosed,
            HistoryEvent::Gas if body.low == Some(true) => Self::GasLow,
            HistoryEvent::Gas => Self::GasLasts,
            HistoryEvent::Restored => Self::Restored,
            HistoryEvent::UsedWithoutJournal => Self::InDoubt,
            HistoryEvent::LearntForgotten => Self::Learned,
            HistoryEvent::UsedElsewhere => Self::UsedElsewhere,
            HistoryEvent::ChainRenamed => Self::ChainRenamed,
            HistoryEvent::ContractChanged => Self::ContractChanged,
            HistoryEvent::Imported => Self::Imported,
            HistoryEvent::ClaimsPassedOn
            | HistoryEvent::PlaceTaken
            | HistoryEvent::LaneOpened
            | HistoryEvent::BlocksRead
            | HistoryEvent::TakenUp
            | HistoryEvent::AllTakenUp
            | HistoryEvent::Reconciled
            | HistoryEvent::ChainBound
            | HistoryEvent::Profile
            | HistoryEvent::Migrated
            | HistoryEvent::LogBegun => return None,
        })
    }
}

/// The content of one row.
#[derive(Clone, Debug)]
pub struct FeedEvent {
    /// The place that a follower has reached with it.
    pub place: FeedPlace,
    /// When it was written, Unix ms.
    pub at_ms: i64,
    /// The event.
    pub kind: FeedKind,
    /// The chain, by the id that it has now; none where all are concerned.
    pub chain: Option<PlatformChainId>,
    /// The account.
    pub signer: Option<Address>,
    /// The billing, as it stands now.
    pub billing: Option<Arc<Billing>>,
    /// The transaction that the row is about.
    pub transaction: Option<B256>,
    /// Which charge of the billing, where it is about one.
    pub item: Option<usize>,
    /// The finding of a person about that charge: `charged` or `free`.
    pub resolution: Option<String>,
    /// The person who did it.
    pub by: Option<String>,
    /// Why.
    pub why: Option<String>,
}

/// The findings of one step.
#[derive(Clone, Debug)]
pub struct FeedStep {
    /// The events, oldest first.
    pub events: Vec<FeedEvent>,
    /// The place of the last row that was looked at.
    pub reached: FeedPlace,
    /// True if there are rows behind that place.
    pub more: bool,
}

/// Why nothing was told.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum NotTold {
    /// The place is in no history that this one goes back to.
    #[error(
        "this place is in no history that this journal goes back to: it is another journal, or an older copy \
         that was put back and has not noticed"
    )]
    UnknownPlace,
    /// The journal does not answer.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl From<SqlError> for NotTold {
    fn from(error: SqlError) -> Self {
        Self::Journal(error.into())
    }
}

/// The history of a journal, for followers.
#[derive(Clone, Debug)]
pub struct Feed(Journal);

impl Feed {
    /// The history of this journal.
    pub fn of(journal: &Journal) -> Self {
        Self(journal.clone())
    }

    /// One step through the history, for whoever follows it from `place`. `limit` is 1 or more.
    pub async fn step(&self, place: FeedPlace, limit: usize) -> Result<FeedStep, NotTold> {
        let step = self.0.look(move |tables| step(tables, place, limit)).await?;
        step.ok_or(NotTold::UnknownPlace)
    }

    /// The place of the newest row, for whoever wants to hear of what comes from now on.
    pub async fn end(&self) -> Result<FeedPlace, JournalError> {
        self.end_but(0).await
    }

    /// The place before the last `rows` rows, for whoever wants to hear of these as well.
    pub async fn end_but(&self, rows: i64) -> Result<FeedPlace, JournalError> {
        self.0.look(move |tables| end(tables, rows)).await
    }
}

/// Returns the events behind `place`. At most `limit` rows are told, which is 1 or more. None: the place is unknown.
pub(crate) fn step(
    tables: Reading<'_>,
    place: FeedPlace,
    limit: usize,
) -> SqlResult<Option<FeedStep>> {
    let Some(start) = row_before(tables, place)? else { return Ok(None) };
    let renames = tables.renames()?;
    let mut reached = match start {
        0 => FeedPlace::default(),
        row => FeedPlace { heard: mark(tables, row)?, restored: newest_restored(tables, row)? },
    };
    let (mut events, mut charges, mut looked) = (Vec::new(), 0_usize, 0_usize);
    let sql = "SELECT seq, at_ms, event, body, digest FROM history WHERE seq > ?1 ORDER BY seq";
    let mut select = tables.select(sql)?;
    let mut rows = select.query([start])?;
    while let Some(row) = rows.next_row()? {
        if looked == STEP || events.len() == limit || charges >= CHARGES {
            return Ok(Some(FeedStep { events, reached, more: true }));
        }
        looked = looked.saturating_add(1);
        let event = HistoryEvent::from_word(row.get_ref(2)?.as_str()?);
        reached.heard = row_mark(&row, 0, 4)?;
        if event == Some(HistoryEvent::Restored) {
            reached.restored = reached.heard;
        }
        let Some(event) = event else { continue };
        if let Some(event) = read(tables, &row, event, reached, &renames)? {
            charges = charges.saturating_add(event.billing.as_ref().map_or(0, |b| b.items.len()));
            events.push(event);
        }
    }
    Ok(Some(FeedStep { events, reached, more: false }))
}

/// Returns the place of a follower who has yet to hear of the last `rows` rows, and of everything from now on.
fn end(tables: Reading<'_>, rows: i64) -> SqlResult<FeedPlace> {
    let newest = "SELECT seq, digest FROM history ORDER BY seq DESC LIMIT 1 OFFSET ?1";
    let newest = tables.select(newest)?.query_row([rows], |row| row_mark(row, 0, 1)).optional()?;
    let heard = newest.unwrap_or_default();
    Ok(FeedPlace { heard, restored: newest_restored(tables, heard.row)? })
}

/// The row that a follower who reached `place` is told from, or rather the one before it. None where the
/// place is not known here.
fn row_before(tables: Reading<'_>, place: FeedPlace) -> SqlResult<Option<i64>> {
    if holds(tables, place.heard)? {
        return Ok(Some(place.heard.row));
    }
    // He heard of a copy put back that this history does not go back to: a newer file was put back in its place.
    // Nothing here tells where the two part, so that everything is told again.
    if !holds(tables, place.restored)? {
        return Ok(Some(0));
    }
    // The follower's history and this one part at the first copy put back that he has not heard of.
    let sql = "SELECT seq FROM history WHERE event = 'restored' AND seq > ?1 ORDER BY seq LIMIT 1";
    let parting: Option<i64> =
        tables.select(sql)?.query_row([place.restored.row], |row| row.get(0)).optional()?;
    let parting = parting.filter(|row| *row <= place.heard.row);
    Ok(parting.map(|row| row.saturating_sub(1)))
}

fn holds(tables: Reading<'_>, wanted: RowMark) -> SqlResult<bool> {
    Ok(wanted.row == 0 || mark(tables, wanted.row).optional()? == Some(wanted))
}

fn mark(tables: Reading<'_>, row: i64) -> SqlResult<RowMark> {
    let sql = "SELECT seq, digest FROM history WHERE seq = ?1";
    tables.select(sql)?.query_row([row], |row| row_mark(row, 0, 1))
}

fn newest_restored(tables: Reading<'_>, until: i64) -> SqlResult<RowMark> {
    let sql = "SELECT seq, digest FROM history WHERE event = 'restored' AND seq <= ?1
               ORDER BY seq DESC LIMIT 1";
    let newest = tables.select(sql)?.query_row([until], |row| row_mark(row, 0, 1));
    Ok(newest.optional()?.unwrap_or_default())
}

fn row_mark(row: &Row<'_>, seq: usize, digest: usize) -> SqlResult<RowMark> {
    let whole: Vec<u8> = row.get(digest)?;
    let digest = whole.first_chunk().copied().unwrap_or_default();
    Ok(RowMark { row: row.get(seq)?, digest })
}

/// The fields that followers read in the body of a row.
#[derive(Debug, Default, Deserialize)]
struct RowBody {
    batch: Option<i64>,
    item: Option<usize>,
    chain: Option<u64>,
    to: Option<u64>,
    signer: Option<Address>,
    place: Option<BodyPlace>,
    /// The hash of a transaction that was learnt; of one's own, a digest that names nothing.
    transaction: Option<Value>,
    winner: Option<B256>,
    attempt: Option<usize>,
    kind: Option<String>,
    open: Option<bool>,
    low: Option<bool>,
    resolution: Option<String>,
    by: Option<String>,
    why: Option<String>,
}

#[derive(Debug, Deserialize)]
struct BodyPlace {
    chain: u64,
    signer: Address,
}

fn read(
    tables: Reading<'_>,
    row: &Row<'_>,
    event: HistoryEvent,
    place: FeedPlace,
    renames: &Renames,
) -> SqlResult<Option<FeedEvent>> {
    let body: String = row.get(3)?;
    let body: RowBody = serde_json::from_str(&body).unwrap_or_default();
    let Some(kind) = FeedKind::of(event, &body) else { return Ok(None) };
    let billing = match body.batch {
        Some(batch) => tables.billing(BatchId(batch))?.map(Arc::new),
        None => None,
    };
    let lane = billing.as_ref().map(|billing| billing.origin.lane);
    let stated = body.chain.or(body.to).or(body.place.as_ref().map(|place| place.chain));
    let now = stated.map(|chain| renames.name_now(place.heard.row, chain));
    let now = now.and_then(|chain| u32::try_from(chain).ok()).map(PlatformChainId);
    let transaction = match (kind, &billing) {
        (FeedKind::SignedAgain(_), Some(billing)) => {
            let newest = billing.attempts.iter().nth(body.attempt.unwrap_or_default());
            newest.map(Recorded::hash)
        }
        (FeedKind::Accepted, Some(billing)) => billing.attempts.iter().next().map(Recorded::hash),
        (FeedKind::Settled, _) => body.winner,
        (FeedKind::Learnt | FeedKind::UsedElsewhere, _) => {
            body.transaction.as_ref().and_then(Value::as_str).and_then(|hash| hash.parse().ok())
        }
        _ => None,
    };
    Ok(Some(FeedEvent {
        place,
        at_ms: row.get(1)?,
        kind,
        chain: lane.map(|lane| lane.chain).or(now),
        signer: lane
            .map(|lane| lane.signer)
            .or(body.signer)
            .or_else(|| body.place.as_ref().map(|place| place.signer)),
        billing,
        transaction,
        item: body.item,
        resolution: body.resolution,
        by: body.by,
        why: body.why,
    }))
}
