//! `GET /PayTool/charges`: the ledger, page by page.

mod row;
pub mod table;
mod tokens;

pub use row::ChargeRow;
pub use tokens::TokenNames;

use super::AppState;
use super::answer::{HttpReply, Success};
use super::guard::{Authenticated, handle_signed};
use super::purpose::Purpose;
use super::query;
use super::rejection::Rejection;
use alloy::primitives::{Address, B256};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use billing::{
    BatchId, BatchState, CallerLabel, FailCode, Family, PlanId, PlatformChainId, SubscribeId,
    UserHash, parse_address,
};
use journal::{Journal, JournalError};
use ledger::{Ledger, LedgerFilter, LedgerOrder, LedgerPlace, PlaceInBatch, REFUSED};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};
use strum::IntoEnumIterator;

/// Most charges on a page, and the number if the request names none.
pub const LARGEST_PAGE: usize = 1_000;
const USUAL_PAGE: usize = 100;

/// Longest search for a page. The charges found by then are answered, with the cursor to go on from.
const LONGEST_LOOK: Duration = Duration::from_secs(2);

/// The name of a journal in cursors, so that no cursor is ever used on another journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalName(String);

impl JournalName {
    /// That of an open journal.
    pub async fn of(journal: &Journal) -> Result<Self, JournalError> {
        let id = journal.name().await?.unwrap_or_default();
        Ok(Self(hex::encode(id.first_chunk::<4>().copied().unwrap_or_default())))
    }

    /// The name itself: eight hex digits.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// A cursor: version, journal, batch, and the charge in it or the refusal behind it.
    fn cursor(&self, LedgerPlace { batch, item }: LedgerPlace) -> String {
        match item {
            PlaceInBatch::Charge(item) => format!("1.{}.{}.{item}", self.0, batch.0),
            PlaceInBatch::Refusal(number) => format!("1.{}.{}.r{number}", self.0, batch.0),
        }
    }

    /// The place that a cursor of this journal names.
    pub fn place(&self, cursor: &str) -> Result<LedgerPlace, String> {
        let mut parts = cursor.split('.');
        let [version, journal, batch, item] = [(); 4].map(|()| parts.next().unwrap_or_default());
        let item = match item.strip_prefix('r') {
            Some(number) => number.parse().ok().map(PlaceInBatch::Refusal),
            None => item.parse().ok().map(PlaceInBatch::Charge),
        };
        let place = batch.parse().ok().zip(item).filter(|_| parts.next().is_none());
        let Some((batch, item)) = place.filter(|_| version == "1") else {
            return Err(format!("after={cursor} is no cursor of this interface"));
        };
        if journal != self.0 {
            return Err(format!("after={cursor} is a cursor of another journal: begin without it"));
        }
        Ok(LedgerPlace { batch: BatchId(batch), item })
    }
}

/// The query of a ledger request.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LedgerQuery {
    subscribe_id: Option<i64>,
    plan_id: Option<i64>,
    user_hash: Option<B256>,
    wallet: Option<String>,
    chain_id: Option<u32>,
    caller: Option<String>,
    state: Option<String>,
    reason: Option<String>,
    /// Unix seconds.
    from: Option<i64>,
    until: Option<i64>,
    block_from: Option<i64>,
    block_until: Option<i64>,
    order: Option<Direction>,
    limit: Option<usize>,
    after: Option<String>,
    format: Option<PageFormat>,
}

/// The format of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PageFormat {
    #[default]
    Json,
    Csv,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Oldest,
    Newest,
}

impl From<Direction> for LedgerOrder {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Oldest => Self::Oldest,
            Direction::Newest => Self::Newest,
        }
    }
}

/// The states that a charge can be in: those of its batch, two that the chain tells of it alone, and that of
/// one which was never signed.
fn states() -> impl Iterator<Item = &'static str> {
    BatchState::iter().map(BatchState::word).chain(["failed", "unproven", REFUSED])
}

impl LedgerQuery {
    fn read(query: &str) -> Result<Self, Rejection> {
        let asked: Self = query::read(query).map_err(Rejection::Ledger)?;
        if let Some(state) = &asked.state
            && !states().any(|known| known == state)
        {
            let known: Vec<_> = states().collect();
            return Err(Rejection::Ledger(format!("state is one of {}", known.join(", "))));
        }
        if let Some(reason) = &asked.reason
            && FailCode::from_token(reason).is_none()
        {
            let known = FailCode::iter().map(FailCode::token).collect::<Vec<_>>().join(", ");
            return Err(Rejection::Ledger(format!("reason is one of {known}")));
        }
        for (name, id) in [("subscribeId", asked.subscribe_id), ("planId", asked.plan_id)] {
            if id.is_some_and(|id| id < 0) {
                return Err(Rejection::Ledger(format!("{name} is 0 to {}", i64::MAX)));
            }
        }
        if let Some(wallet) = &asked.wallet
            && address(wallet).is_none()
        {
            let known = "wallet is an address, 0x… or T…, with its checksum where it has capitals";
            return Err(Rejection::Ledger(known.to_owned()));
        }
        if asked.limit.is_some_and(|limit| limit == 0 || limit > LARGEST_PAGE) {
            return Err(Rejection::Ledger(format!("limit is 1 to {LARGEST_PAGE}")));
        }
        Ok(asked)
    }

    /// The purpose of the request: a look through the ledger, unless an index tells where the charges are.
    fn purpose(&self) -> Purpose {
        if self.filter().has_index() { Purpose::Ask } else { Purpose::Scan }
    }

    fn filter(&self) -> LedgerFilter {
        let ms = |seconds: i64| seconds.saturating_mul(1000);
        LedgerFilter {
            subscribe: self.subscribe_id.map(SubscribeId),
            plan: self.plan_id.map(PlanId),
            user: self.user_hash.map(UserHash),
            wallet: self.wallet.as_deref().and_then(address),
            chains: None,
            chain: self.chain_id.map(PlatformChainId),
            caller: self.caller.clone().map(CallerLabel),
            state: self.state.clone(),
            reason: self.reason.as_deref().and_then(FailCode::from_token),
            from_ms: self.from.map(ms),
            until_ms: self.until.map(ms),
            block_from_s: self.block_from,
            block_until_s: self.block_until,
        }
    }
}

/// An address in the spelling of any family.
fn address(text: &str) -> Option<Address> {
    [Family::Evm, Family::Tvm].into_iter().find_map(|family| parse_address(family, text).ok())
}

/// A page of the ledger.
#[derive(Debug, Serialize, Deserialize)]
pub struct LedgerPage {
    /// Charges and refusals, in the order that was asked for.
    pub charges: Vec<ChargeRow>,
    /// Cursor of the next page; null at the ledger's end. A page that found nothing in time is empty and has a
    /// cursor.
    pub next: Option<String>,
}

/// The same as lines of CSV, the first page with a header.
#[derive(Debug, Serialize)]
struct LedgerTable {
    csv: String,
    /// Number of charges and refusals in the table.
    rows: usize,
    next: Option<String>,
}

impl LedgerTable {
    fn of(page: LedgerPage, header: table::Header) -> Option<Self> {
        let mut lines = table::ledger(Vec::new(), header).ok()?;
        page.charges.iter().try_for_each(|row| table::write_row(&mut lines, row)).ok()?;
        let csv = String::from_utf8(lines.into_inner().ok()?).ok()?;
        Some(Self { csv, rows: page.charges.len(), next: page.next })
    }
}

/// Answers with one page.
pub(super) async fn charges(State(state): State<Arc<AppState>>, request: Request) -> Response {
    let asked = LedgerQuery::read(request.uri().query().unwrap_or_default());
    let purpose = asked.as_ref().map_or(Purpose::Ask, LedgerQuery::purpose);
    handle_signed(state, request, purpose, async move |state, Authenticated { caller, .. }| {
        let rights = caller.as_ref().map(|caller| &caller.rights);
        let told = async {
            let asked = asked?;
            let chains = rights.and_then(|rights| rights.chains.clone());
            let names = TokenNames::of_lanes(state.engine.lanes());
            let page = page(&state.ledger(), &asked, chains, &names).await?;
            Ok::<_, HttpReply>(match asked.format.unwrap_or_default() {
                PageFormat::Json => Success(page).into_response(),
                PageFormat::Csv => {
                    let header = table::Header::after(asked.after.as_ref());
                    Success(LedgerTable::of(page, header)).into_response()
                }
            })
        };
        told.await.into_response()
    })
    .await
}

/// `chains` are those that the caller may ask for; none where it may ask for all.
async fn page(
    ledger: &Ledger,
    asked: &LedgerQuery,
    chains: Option<Vec<PlatformChainId>>,
    names: &TokenNames,
) -> Result<LedgerPage, HttpReply> {
    let name = JournalName::of(&ledger.journal).await?;
    let after = asked.after.as_deref().map(|cursor| name.place(cursor)).transpose();
    let mut after = after.map_err(Rejection::Ledger)?;
    let order = asked.order.map_or_else(LedgerOrder::default, LedgerOrder::from);
    let limit = asked.limit.unwrap_or(USUAL_PAGE);
    let filter = LedgerFilter { chains, ..asked.filter() };
    let began = Instant::now();
    let mut charges = Vec::new();
    loop {
        let wanted = limit.saturating_sub(charges.len());
        let step = ledger.step(filter.clone(), order, after, wanted).await?;
        if after.is_some_and(|place| place.batch > step.newest) {
            let why = "after is a place that this journal has not reached: it is an older copy";
            return Err(Rejection::Ledger(why.to_owned()).into());
        }
        charges.extend(step.found.iter().filter_map(|line| ChargeRow::told(line, &name, names)));
        after = step.next;
        if after.is_none() || charges.len() >= limit || began.elapsed() > LONGEST_LOOK {
            return Ok(LedgerPage { charges, next: after.map(|place| name.cursor(place)) });
        }
    }
}
