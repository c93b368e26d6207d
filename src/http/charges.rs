//! `GET /PayTool/charges`: the ledger, page by page.

use super::AppState;
use super::answer::{HttpReply, envelope, spell_hash};
use super::guard::{Authentic, Purpose, pass};
use super::turned_away::TurnedAway;
use crate::billing::{
    BatchId, BatchState, Family, PlanId, PlatformChainId, SubscribeId, UserHash, parse_address,
    spell_address,
};
use crate::engine::NoVerdict;
use crate::journal::{
    Journal, JournalError, LedgerEntry, LedgerFilter, LedgerOrder, LedgerPlace, Resolution,
};
use alloy::primitives::{Address, B256, U256};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many charges a page has at most, and when nothing else is asked for.
pub const LARGEST_PAGE: usize = 1_000;
const USUAL_PAGE: usize = 100;

/// How long a page is looked for. What is found by then is answered, with the cursor to go on from.
const LONGEST_LOOK: Duration = Duration::from_secs(2);

/// A charge and all that is known of it. Ids, amounts and fees are digits in text: 64 and 256 bits fit
/// into no number of JavaScript. Addresses and hashes are spelt as the chain's family does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChargeRow {
    /// Where the next page begins when this is the last charge of one.
    pub cursor: String,
    /// The journal's number of its batch.
    pub billing: String,
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
    /// The token; null where nothing told it.
    pub token: Option<String>,
    /// Who pays; null where nothing told it.
    pub wallet: Option<String>,
    /// `open`, `charged`, `failed`, `unproven`, `reverted`, `cancelled`, `usurped` or `expired`.
    pub state: String,
    /// Why a `failed` one failed: the code.
    pub fail_code: Option<String>,
    /// The same in words.
    pub fail_reason: Option<String>,
    /// What a person found out about an `unproven` one: `charged` or `free`.
    pub resolved: Option<String>,
    /// What was taken, token base units, where that is not `amount`.
    pub charged_amount: Option<String>,
    /// The token that was taken, where that is not `token`.
    pub charged_token: Option<String>,
    /// Whose wallet it was taken from, where that is not `wallet`.
    pub charged_wallet: Option<String>,
    /// The platform's id of the chain.
    pub chain_id: u32,
    /// The account that signed.
    pub address: String,
    /// The billing contract.
    pub contract: String,
    /// The API key of whoever asked.
    pub caller: Option<String>,
    /// The request that it was signed for.
    pub request_id: Option<String>,
    /// The transaction: the one that decided, or the newest that can charge.
    pub tx_hash: String,
    /// The block that decided.
    pub block: Option<u64>,
    /// That block's time, Unix seconds.
    pub block_time: Option<u64>,
    /// Unix seconds of the Signer's clock.
    pub accepted_at: i64,
    /// When its end was written down, Unix seconds of the Signer's clock.
    pub settled_at: Option<i64>,
    /// How the transaction that decided went, where nodes tell it: `SUCCESS`, `REVERT`, and so on.
    pub result: Option<String>,
    /// How many charges are in the transaction.
    pub charges: usize,
    /// Gas or energy of the whole transaction.
    pub used: Option<String>,
    /// What the whole transaction cost, wei or sun.
    pub fee: Option<String>,
    /// This charge's part of that: equal parts, and the first charge bears the rest of the division, so
    /// that the parts of a transaction make its fee.
    pub fee_share: Option<String>,
}

impl ChargeRow {
    /// A charge of the ledger, as it is told.
    pub fn told(entry: &LedgerEntry, journal: &JournalName) -> Option<Self> {
        let (billing, family) = (&entry.billing, entry.billing.network.family);
        let line = billing.items.get(entry.item)?;
        let (item, failed) = (&line.item, line.failure());
        let (origin, record) = (billing.origin, billing.record.as_ref());
        let address = |address| spell_address(family, address);
        let taken = line.taken_otherwise().unwrap_or_default();
        Some(Self {
            cursor: journal.cursor(entry.place()),
            billing: billing.batch.0.to_string(),
            subscribe_id: item.subscribe.0.to_string(),
            plan_id: item.key.plan.0.to_string(),
            user_hash: item.key.user.0.to_string(),
            period: item.key.period.number().map(|number| number.to_string()),
            amount: item.amount.to_string(),
            token: item.terms.token.map(address),
            wallet: item.terms.wallet.map(address),
            state: line.state(billing.state).to_owned(),
            fail_code: failed.map(|(code, _)| code.token().to_owned()),
            fail_reason: failed.map(|(code, detail)| code.sentence(detail)),
            resolved: line.resolved.map(|resolution| Resolution::word(resolution).to_owned()),
            charged_amount: taken.amount.map(|amount| amount.to_string()),
            charged_token: taken.token.map(address),
            charged_wallet: taken.wallet.map(address),
            chain_id: origin.lane.chain.0,
            address: address(origin.lane.signer),
            contract: address(origin.contract),
            caller: billing.caller.clone(),
            request_id: billing.request_id.clone(),
            tx_hash: spell_hash(family, billing.current().hash()),
            block: billing.block.map(|block| block.number),
            block_time: billing.block.map(|block| block.time),
            accepted_at: billing.accepted_ms.div_euclid(1000),
            settled_at: billing.settled_ms.map(|ms| ms.div_euclid(1000)),
            result: record.map(|record| record.ending.word().to_owned()),
            charges: billing.items.len(),
            used: record.map(|record| record.used.to_string()),
            fee: record.map(|record| record.fee.to_string()),
            fee_share: record
                .map(|record| share(record.fee, billing.items.len(), entry.item).to_string()),
        })
    }
}

/// The part of `fee` that the charge at place `item` of `charges` bears.
fn share(fee: U256, charges: usize, item: usize) -> U256 {
    let (part, rest) = fee.div_rem(U256::from(charges.max(1)));
    if item == 0 { part.saturating_add(rest) } else { part }
}

/// What names a journal in cursors, so that no cursor is ever used on another one.
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

    /// A cursor: version, journal, batch, item.
    fn cursor(&self, place: LedgerPlace) -> String {
        format!("1.{}.{}.{}", self.0, place.batch.0, place.item)
    }

    /// The place that a cursor of this journal names.
    pub fn place(&self, cursor: &str) -> Result<LedgerPlace, String> {
        let mut parts = cursor.split('.');
        let [version, journal, batch, item] = [(); 4].map(|()| parts.next().unwrap_or_default());
        let place = batch.parse().ok().zip(item.parse().ok()).filter(|_| parts.next().is_none());
        let Some((batch, item)) = place.filter(|_| version == "1") else {
            return Err(format!("after={cursor} is no cursor of this interface"));
        };
        if journal != self.0 {
            return Err(format!("after={cursor} is a cursor of another journal: begin without it"));
        }
        Ok(LedgerPlace { batch: BatchId(batch), item })
    }
}

/// What may be asked for.
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
    /// Unix seconds.
    from: Option<i64>,
    until: Option<i64>,
    order: Option<Direction>,
    limit: Option<usize>,
    after: Option<String>,
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

/// The states that a charge can be in: those of its batch, and two that the chain tells of it alone.
fn states() -> impl Iterator<Item = &'static str> {
    BatchState::ALL.into_iter().map(BatchState::word).chain(["failed", "unproven"])
}

impl LedgerQuery {
    fn read(query: &str) -> Result<Self, TurnedAway> {
        let asked: Self =
            serde_urlencoded::from_str(query).map_err(|why| TurnedAway::Ledger(why.to_string()))?;
        if let Some(state) = &asked.state
            && !states().any(|known| known == state)
        {
            let known: Vec<_> = states().collect();
            return Err(TurnedAway::Ledger(format!("state is one of {}", known.join(", "))));
        }
        for (name, id) in [("subscribeId", asked.subscribe_id), ("planId", asked.plan_id)] {
            if id.is_some_and(|id| id < 0) {
                return Err(TurnedAway::Ledger(format!("{name} is 0 to {}", i64::MAX)));
            }
        }
        if let Some(wallet) = &asked.wallet
            && address(wallet).is_none()
        {
            let known = "wallet is an address, 0x… or T…, with its checksum where it has capitals";
            return Err(TurnedAway::Ledger(known.to_owned()));
        }
        if asked.limit.is_some_and(|limit| limit == 0 || limit > LARGEST_PAGE) {
            return Err(TurnedAway::Ledger(format!("limit is 1 to {LARGEST_PAGE}")));
        }
        Ok(asked)
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
            caller: self.caller.clone(),
            state: self.state.clone(),
            from_ms: self.from.map(ms),
            until_ms: self.until.map(ms),
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
    /// In the order that was asked for.
    pub charges: Vec<ChargeRow>,
    /// Where the next page begins; null at the ledger's end. A page that found nothing in time is empty
    /// and has one.
    pub next: Option<String>,
}

/// Answers with one page.
pub(super) async fn charges(State(door): State<Arc<AppState>>, request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default().to_owned();
    pass(door, request, Purpose::Ask, async move |door, Authentic { caller, .. }| {
        let rights = caller.as_ref().map(|caller| &caller.rights);
        let told = async {
            let asked = LedgerQuery::read(&query).map_err(HttpReply::TurnedAway)?;
            let chains = rights.and_then(|rights| rights.chains.clone());
            page(&door.engine.journal, &asked, chains).await
        };
        match told.await {
            Ok(page) => envelope(StatusCode::OK, 1, "success".to_owned(), page),
            Err(reply) => reply.into_response(),
        }
    })
    .await
}

/// `chains` are those that the caller may ask for; none where it may ask for all.
async fn page(
    journal: &Journal,
    asked: &LedgerQuery,
    chains: Option<Vec<PlatformChainId>>,
) -> Result<LedgerPage, HttpReply> {
    let lost = |error| HttpReply::NoVerdict(NoVerdict::Journal(error));
    let wrong = |why| HttpReply::TurnedAway(TurnedAway::Ledger(why));
    let name = JournalName::of(journal).await.map_err(lost)?;
    let mut after =
        asked.after.as_deref().map(|cursor| name.place(cursor)).transpose().map_err(wrong)?;
    let order = asked.order.map_or_else(LedgerOrder::default, LedgerOrder::from);
    let limit = asked.limit.unwrap_or(USUAL_PAGE);
    let filter = LedgerFilter { chains, ..asked.filter() };
    let began = Instant::now();
    let mut charges = Vec::new();
    loop {
        let wanted = limit.saturating_sub(charges.len());
        let step = journal.ledger_step(filter.clone(), order, after, wanted).await.map_err(lost)?;
        if after.is_some_and(|place| place.batch > step.newest) {
            let why = "after is a place that this journal has not reached: it is an older copy";
            return Err(wrong(why.to_owned()));
        }
        charges.extend(step.found.iter().filter_map(|entry| ChargeRow::told(entry, &name)));
        after = step.next;
        if after.is_none() || charges.len() >= limit || began.elapsed() > LONGEST_LOOK {
            return Ok(LedgerPage { charges, next: after.map(|place| name.cursor(place)) });
        }
    }
}
