//! `GET /PayTool/events`: what happened, in order, at least once; with `wait` it is answered as soon as
//! something happens.

use super::AppState;
use super::answer::{HttpReply, Success, spell_hash};
use super::charges::JournalName;
use super::guard::{Authenticated, handle_signed};
use super::purpose::Purpose;
use super::query;
use super::rejection::Rejection;
use crate::telemetry::ANYBODY;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use billing::{AttemptKind, Family, PlatformChainId, TakenAsTold, spell_address};
use engine::{Engine, LaneSet};
use journal::{Billing, Line};
use ledger::{Feed, FeedEvent, FeedKind, FeedPlace, NotTold, RowMark};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Most events on a page, and the number if the request names none.
const LARGEST_PAGE: usize = 500;
const USUAL_PAGE: usize = 100;

/// Most charges on a page, but for those of its first event: one event may tell of hundreds.
const MOST_CHARGES: usize = 1_000;

/// The longest wait for something to happen, s: proxies cut connections that are silent for a minute.
pub(super) const LONGEST_WAIT_S: u64 = 25;

/// The cursor that begins with new events only.
pub const NEWEST: &str = "newest";

/// The cursor that begins with the last rows of the history.
const RECENT: &str = "recent";
const RECENT_ROWS: i64 = 200;

/// Longest search for a page. The charges found by then are answered, with the cursor to go on from.
const LONGEST_LOOK: Duration = Duration::from_secs(2);

/// Something that happened. Ids and amounts are digits in text, addresses and hashes are spelt as the chain's
/// family does. Fields that a kind of event does not have are null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventRow {
    /// Cursor of a follower who has heard this event. The same event has the same cursor each time.
    pub cursor: String,
    /// Its row in the history, from 1 on: events with a smaller one happened before. After an older journal was put back
    /// other events have the rows that were lost.
    pub row: i64,
    /// When it was written down, Unix seconds of the Signer's clock.
    pub at: i64,
    /// The event.
    pub event: String,
    /// The platform's id of the chain.
    pub chain_id: Option<u32>,
    /// The signing account.
    pub address: Option<String>,
    /// The journal's number of the billing.
    pub billing: Option<String>,
    /// The transaction: signed, or the one that decided.
    pub tx_hash: Option<String>,
    /// The request that the billing was signed for.
    pub request_id: Option<String>,
    /// The API key of whoever asked for the billing.
    pub caller: Option<String>,
    /// The block that decided.
    pub block: Option<u64>,
    /// That block's time, Unix seconds.
    pub block_time: Option<u64>,
    /// The person who did it.
    pub by: Option<String>,
    /// Why.
    pub why: Option<String>,
    /// The charges that it is about, and what it says of them.
    pub charges: Vec<EventCharge>,
}

/// One charge of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventCharge {
    /// The subscription.
    pub subscribe_id: String,
    /// Its plan.
    pub plan_id: String,
    /// Its user's record on chain, `0x` and 64 hex digits.
    pub user_hash: String,
    /// The period that is paid for; null where the contract counts none.
    pub period: Option<String>,
    /// Base units of the token.
    pub amount: String,
    /// State of the charge after this event: `open`, `charged`, `failed`, `unproven`, `free`, `reverted`,
    /// `cancelled`, `usurped` or `expired`.
    pub state: String,
    /// Why a `failed` one failed: the code.
    pub fail_code: Option<String>,
    /// The same in words.
    pub fail_reason: Option<String>,
    /// Amount taken, token base units, if that is not `amount`.
    pub charged_amount: Option<String>,
    /// The token that was taken, if that is not the token claimed.
    pub charged_token: Option<String>,
    /// Wallet that the amount was taken from, if that is not the wallet claimed.
    pub charged_wallet: Option<String>,
}

impl EventRow {
    /// An event, as it is told.
    pub(super) fn told(event: &FeedEvent, lanes: &LaneSet, journal: &JournalName) -> Self {
        let billing = event.billing.as_deref();
        let of_chain = |chain| Some(lanes.of_chains.get(&chain)?.any().chain.facts().family);
        let family = billing
            .map(|billing| billing.network.family)
            .or_else(|| event.chain.and_then(of_chain))
            .unwrap_or(Family::Evm);
        let block = billing.filter(|_| event.kind == FeedKind::Settled).and_then(|b| b.block);
        Self {
            cursor: journal.event_cursor(event.place),
            row: event.place.heard.row,
            at: event.at_ms.div_euclid(1000),
            event: word(event).to_owned(),
            chain_id: event.chain.map(|chain| chain.0),
            address: event.signer.map(|signer| spell_address(family, signer)),
            billing: billing.map(|billing| billing.batch.0.to_string()),
            tx_hash: event.transaction.map(|hash| spell_hash(family, hash)),
            request_id: billing.and_then(|billing| billing.request_id.clone()),
            caller: billing
                .and_then(|billing| billing.caller.as_ref())
                .map(|by| by.label.0.clone()),
            block: block.map(|block| block.number),
            block_time: block.map(|block| block.time),
            by: event.by.clone(),
            why: event.why.clone(),
            charges: billing.map(|billing| charges(event, billing)).unwrap_or_default(),
        }
    }
}

/// The word for what happened.
fn word(event: &FeedEvent) -> &'static str {
    match event.kind {
        FeedKind::Accepted => "accepted",
        FeedKind::Learnt => "learnt",
        FeedKind::SignedAgain(AttemptKind::Bill) => "replaced",
        FeedKind::SignedAgain(AttemptKind::Cancel) => "cancelling",
        FeedKind::Settled => event.billing.as_ref().map_or("settled", |b| b.state.word()),
        FeedKind::Resolved => "resolved",
        FeedKind::Paused => "paused",
        FeedKind::Resumed => "resumed",
        FeedKind::LaneOpened => "laneOpened",
        FeedKind::LaneClosed => "laneClosed",
        FeedKind::GasLow => "gasLow",
        FeedKind::GasLasts => "gasLasts",
        FeedKind::Restored => "restored",
        FeedKind::InDoubt => "inDoubt",
        FeedKind::Learned => "learntAll",
        FeedKind::UsedElsewhere => "usedElsewhere",
        FeedKind::ChainRenamed => "chainRenamed",
        FeedKind::ContractChanged => "contractChanged",
        FeedKind::Imported => "imported",
    }
}

fn charges(event: &FeedEvent, billing: &Billing) -> Vec<EventCharge> {
    let lines = billing.items.iter().enumerate();
    let about = lines.filter(|(place, _)| event.item.is_none_or(|item| item == *place));
    about.map(|(_, line)| charge(event, billing, line)).collect()
}

fn charge(event: &FeedEvent, billing: &Billing, line: &Line) -> EventCharge {
    let ends = event.kind == FeedKind::Settled;
    let state = match &event.resolution {
        Some(resolution) => resolution.as_str(),
        None if ends => line.state(billing.state),
        None => "open",
    };
    let failed = line.failure().filter(|_| ends);
    let taken = if ends { line.taken_otherwise() } else { TakenAsTold::default() };
    let address = |address| spell_address(billing.network.family, address);
    let item = &line.item;
    EventCharge {
        subscribe_id: item.subscribe.0.to_string(),
        plan_id: item.key.plan.0.to_string(),
        user_hash: item.key.user.0.to_string(),
        period: item.key.period.number().map(|number| number.to_string()),
        amount: item.amount.to_string(),
        state: state.to_owned(),
        fail_code: failed.map(|(code, _)| code.token().to_owned()),
        fail_reason: failed.map(|(code, detail)| code.sentence(detail)),
        charged_amount: taken.amount.map(|amount| amount.to_string()),
        charged_token: taken.token.map(address),
        charged_wallet: taken.wallet.map(address),
    }
}

impl JournalName {
    /// A cursor: version, journal, the row that was heard, the newest copy put back, each with the
    /// beginning of its digest.
    pub(super) fn event_cursor(&self, FeedPlace { heard, restored }: FeedPlace) -> String {
        let digest = |mark: RowMark| hex::encode(mark.digest);
        let (name, told, copy) = (self.as_str(), digest(heard), digest(restored));
        format!("1.{name}.{}.{told}.{}.{copy}", heard.row, restored.row)
    }

    /// The place that a cursor of this journal names.
    pub(super) fn event_place(&self, cursor: &str) -> Result<FeedPlace, Rejection> {
        let parts: Vec<&str> = cursor.split('.').collect();
        let [version, name, row, told, restored, copy] = parts.as_slice() else {
            return Err(Rejection::Events(format!("after={cursor} is no cursor of this feed")));
        };
        let mark = |row: &str, digest: &str| {
            let mut bytes = [0; 4];
            hex::decode_to_slice(digest, &mut bytes).ok()?;
            let row = row.parse().ok().filter(|row| *row >= 0)?;
            Some(RowMark { row, digest: bytes })
        };
        let place = mark(row, told).zip(mark(restored, copy)).filter(|_| *version == "1");
        let Some((heard, restored)) = place else {
            return Err(Rejection::Events(format!("after={cursor} is no cursor of this feed")));
        };
        if *name != self.as_str() {
            return Err(Rejection::LostPlace("it is of another journal".to_owned()));
        }
        Ok(FeedPlace { heard, restored })
    }
}

/// The query of a ledger request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EventQuery {
    after: Option<String>,
    /// Seconds.
    wait: Option<u64>,
    limit: Option<usize>,
}

impl EventQuery {
    fn read(query: &str) -> Result<Self, Rejection> {
        let asked: Self = query::read(query).map_err(Rejection::Events)?;
        if asked.limit.is_some_and(|limit| limit == 0 || limit > LARGEST_PAGE) {
            return Err(Rejection::Events(format!("limit is 1 to {LARGEST_PAGE}")));
        }
        if asked.wait.is_some_and(|wait| wait > LONGEST_WAIT_S) {
            return Err(Rejection::Events(format!("wait is 0 to {LONGEST_WAIT_S} seconds")));
        }
        Ok(asked)
    }
}

/// Why the feed cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum EventsUnread {
    /// The place is not known here.
    #[error("{0}")]
    Lost(String),
    /// The journal did not answer.
    #[error("{0}")]
    Unread(String),
}

/// A page of what is behind `after`, a cursor or [`NEWEST`]; from the beginning on without one.
pub async fn events_after(engine: &Engine, after: Option<&str>) -> Result<EventPage, EventsUnread> {
    let asked = EventQuery { after: after.map(str::to_owned), ..EventQuery::default() };
    page(engine, &asked, None).await.map_err(|reply| match reply {
        HttpReply::Rejected(why) => EventsUnread::Lost(why.to_string()),
        HttpReply::NoVerdict(why) => EventsUnread::Unread(why.to_string()),
        HttpReply::Answer(..) => EventsUnread::Unread("no page of events".to_owned()),
    })
}

/// A page of the feed.
#[derive(Debug, Serialize, Deserialize)]
pub struct EventPage {
    /// Oldest first.
    pub events: Vec<EventRow>,
    /// Cursor of the next page, always.
    pub next: String,
}

/// Answers with one page.
pub(super) async fn events(State(state): State<Arc<AppState>>, request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default().to_owned();
    handle_signed(state, request, Purpose::Ask, async move |state, Authenticated { caller, .. }| {
        let rights = caller.as_ref().map(|caller| &caller.rights);
        let told = async {
            let asked = EventQuery::read(&query)?;
            let chains = rights.and_then(|rights| rights.chains.as_deref());
            let label = caller.as_ref().map_or(ANYBODY, |caller| caller.label.as_str());
            waited_for(&state, &asked, label, chains).await
        };
        told.await.map(Success).into_response()
    })
    .await
}

/// A page with something on it, or an empty one when nothing happened for as long as was asked.
async fn waited_for(
    state: &AppState,
    asked: &EventQuery,
    caller: &str,
    chains: Option<&[PlatformChainId]>,
) -> Result<EventPage, HttpReply> {
    let wait = Duration::from_secs(asked.wait.unwrap_or_default());
    let permit = if wait.is_zero() { None } else { state.budgets.wait_permit(caller) };
    let until = Instant::now().checked_add(wait).filter(|_| permit.is_some());
    let mut asked = asked.clone();
    loop {
        let mut news = state.engine.journal.figures().grown.subscribe();
        let page = page(&state.engine, &asked, chains).await?;
        let Some(until) = until.filter(|_| page.events.is_empty()) else { return Ok(page) };
        let more = state.closing.run_until_cancelled(timeout_at(until, news.changed())).await;
        let Some(Ok(Ok(()))) = more else { return Ok(page) };
        // Events that were looked at and are of no concern to this caller are not looked at again.
        asked.after = Some(page.next);
    }
}

/// `chains` are those that the caller may ask for; none where it may ask for all.
async fn page(
    engine: &Engine,
    asked: &EventQuery,
    chains: Option<&[PlatformChainId]>,
) -> Result<EventPage, HttpReply> {
    let (name, feed) = (JournalName::of(&engine.journal).await?, Feed::of(&engine.journal));
    let mut place = match asked.after.as_deref() {
        None => FeedPlace::default(),
        Some(NEWEST) => feed.end().await?,
        Some(RECENT) => feed.end_but(RECENT_ROWS).await?,
        Some(cursor) => name.event_place(cursor)?,
    };
    let (limit, lanes) = (asked.limit.unwrap_or(USUAL_PAGE), engine.lanes());
    let began = Instant::now();
    let (mut events, mut charges) = (Vec::new(), 0_usize);
    loop {
        let wanted = limit.saturating_sub(events.len());
        let step = feed.step(place, wanted).await.map_err(|why| match why {
            NotTold::UnknownPlace => HttpReply::Rejected(Rejection::LostPlace(why.to_string())),
            NotTold::Journal(error) => error.into(),
        })?;
        for event in step.events.iter().filter(|event| is_told(event, chains)) {
            let row = EventRow::told(event, lanes, &name);
            charges = charges.saturating_add(row.charges.len());
            if charges > MOST_CHARGES && !events.is_empty() {
                return Ok(EventPage { events, next: name.event_cursor(place) });
            }
            events.push(row);
            place = event.place;
        }
        place = step.reached;
        if !step.more || events.len() >= limit || began.elapsed() > LONGEST_LOOK {
            return Ok(EventPage { events, next: name.event_cursor(place) });
        }
    }
}

/// Returns true if a caller with rights to `chains` is told of the event. One that is of no chain is told to callers with
/// rights to all; but everybody is told that an older journal was put back, after which rows have their numbers twice.
fn is_told(event: &FeedEvent, chains: Option<&[PlatformChainId]>) -> bool {
    chains.is_none_or(|chains| {
        event.chain.map_or(event.kind == FeedKind::Restored, |chain| chains.contains(&chain))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: FeedKind, chain: Option<PlatformChainId>) -> FeedEvent {
        let place = FeedPlace::default();
        let (signer, billing, transaction, item) = (None, None, None, None);
        let (resolution, by, why) = (None, None, None);
        FeedEvent {
            place,
            at_ms: 0,
            kind,
            chain,
            signer,
            billing,
            transaction,
            item,
            resolution,
            by,
            why,
        }
    }

    #[test]
    fn everybody_is_told_that_an_older_journal_was_put_back() {
        let [one, other] = [139, 140].map(PlatformChainId);
        let told = |kind, chain| is_told(&event(kind, chain), Some(&[one]));
        assert!(told(FeedKind::Restored, None));
        assert!(told(FeedKind::Paused, Some(one)) && !told(FeedKind::Paused, Some(other)));
        assert!(!told(FeedKind::Paused, None));
        assert!(is_told(&event(FeedKind::Paused, None), None));
    }
}
