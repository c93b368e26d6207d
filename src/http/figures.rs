//! The counts and sums of the page: the ledger, in slots of time, each added up in steps. An answer takes a short time:
//! a slot that is not done by then is kept with its place in the ledger, and the same caller's next request goes on
//! from there.

mod kept;

pub(super) use kept::KeptFigures;

use super::AppState;
use super::answer::{HttpReply, Success};
use super::charges::{ChargeRow, JournalName, TokenNames};
use super::guard::{Authenticated, handle_signed};
use super::purpose::Purpose;
use super::rejection::Rejection;
use crate::telemetry::ANYBODY;
use alloy::primitives::U256;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use billing::PlatformChainId;
use kept::FigureKey;
use ledger::{Ledger, LedgerError, LedgerFilter, LedgerOrder, LedgerPlace, REFUSED};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most slots in one answer.
const MOST_SLOTS: i64 = 400;

/// Number of lines that one step looks for.
const STEP: usize = 1_000;

/// Longest search of the ledger for one answer. The answer then says how far the search came.
const LONGEST_LOOK: Duration = Duration::from_secs(2);

/// The query. If the answer's `until` is less than that of the query, ask again with it as `from`, also if it is `from`
/// itself: each answer comes further than the one before.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FiguresQuery {
    /// Unix seconds.
    pub(super) from: i64,
    pub(super) until: i64,
    /// Seconds of a slot.
    pub(super) step: i64,
}

impl FiguresQuery {
    fn read(query: &str) -> Result<Self, Rejection> {
        let asked: Self =
            serde_urlencoded::from_str(query).map_err(|why| Rejection::Page(why.to_string()))?;
        let time = asked.until.checked_sub(asked.from).filter(|time| *time > 0 && asked.step > 0);
        match time.map(|time| time.div_euclid(asked.step)) {
            Some(slots) if slots <= MOST_SLOTS => Ok(asked),
            _ => Err(Rejection::Page(format!(
                "from to until is a time of at most {MOST_SLOTS} steps"
            ))),
        }
    }

    /// The beginning of the slot that a time is in.
    fn slot(&self, at: i64) -> i64 {
        let into = at.saturating_sub(self.from).rem_euclid(self.step);
        at.saturating_sub(into)
    }
}

/// The sums of the ledger from `from` until `until`.
#[derive(Debug, Serialize)]
pub(super) struct SlottedFigures {
    from: i64,
    /// The end of the last slot that is whole; `from` if none is yet.
    pub(super) until: i64,
    step: i64,
    pub(super) slots: Vec<FigureSlot>,
}

/// A slot that is not added up to its end.
#[derive(Clone, Debug, Default)]
struct BegunSlot {
    /// The sums so far, by chain.
    sums: BTreeMap<u32, FigureSlot>,
    /// The last line that is in them; none at the beginning.
    after: Option<LedgerPlace>,
}

/// The result of a look at one slot.
#[derive(Debug)]
enum SlotLook {
    /// All of it is added up.
    Whole(Vec<FigureSlot>),
    /// The time was over before.
    Begun(BegunSlot),
}

/// One slot of one chain. A slot in which nothing was accepted or refused is left out.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FigureSlot {
    /// When it begins, Unix seconds.
    at: i64,
    chain_id: u32,
    /// Number of the ledger's lines, by their state.
    pub(super) states: BTreeMap<String, u64>,
    /// Why those were `failed` or `refused` that were.
    reasons: BTreeMap<String, u64>,
    /// Amounts taken, base units in text, by the token.
    taken: BTreeMap<String, DigitSum>,
    /// Cost of the charges' transactions, wei or sun in text.
    fees: DigitSum,
}

#[derive(Clone, Copy, Debug, Default)]
struct DigitSum(U256);

impl DigitSum {
    fn add(&mut self, digits: Option<&str>) {
        let more = digits.and_then(|digits| U256::from_str_radix(digits, 10).ok());
        self.0 = self.0.saturating_add(more.unwrap_or_default());
    }
}

impl Serialize for DigitSum {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl FigureSlot {
    fn add(&mut self, line: &ChargeRow) {
        let count = self.states.entry(line.state.clone()).or_default();
        *count = count.saturating_add(1);
        if let Some(code) = &line.fail_code {
            let count = self.reasons.entry(code.clone()).or_default();
            *count = count.saturating_add(1);
        }
        let charged = line.state == "charged" || line.resolved.as_deref() == Some("charged");
        if let Some(token) = line.charged_token.as_ref().or(line.token.as_ref())
            && charged
        {
            let amount = line.charged_amount.as_deref().or(line.amount.as_deref());
            self.taken.entry(token.clone()).or_default().add(amount);
        }
        self.fees.add(line.fee_share.as_deref());
    }
}

/// `GET /page/figures?from=&until=&step=`: for callers with `read`, and of their chains alone.
pub(super) async fn figures(State(state): State<Arc<AppState>>, request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default().to_owned();
    handle_signed(state, request, Purpose::Scan, async move |state, request| {
        let Authenticated { caller, deadline, .. } = request;
        let told = async {
            let asked = FiguresQuery::read(&query)?;
            let ledger = state.ledger();
            let look = FiguresLook {
                name: JournalName::of(&ledger.journal).await?,
                ledger,
                kept: &state.figures,
                caller: caller.as_ref().map_or(ANYBODY, |caller| &caller.label),
                chains: caller.as_ref().and_then(|caller| caller.rights.chains.clone()),
                ends: ending().min(deadline.into_std()),
            };
            let figures = look.add_up(asked).await?;
            Ok::<_, HttpReply>(Success(figures))
        };
        told.await.into_response()
    })
    .await
}

/// The time at which a look that begins now is over.
fn ending() -> Instant {
    let now = Instant::now();
    now.checked_add(LONGEST_LOOK).unwrap_or(now)
}

/// A look through the ledger for one answer.
pub(super) struct FiguresLook<'a> {
    pub(super) ledger: Ledger,
    pub(super) name: JournalName,
    pub(super) kept: &'a KeptFigures,
    /// The label of the caller.
    pub(super) caller: &'a str,
    /// Chains that the caller may see; none if it may see all.
    pub(super) chains: Option<Vec<PlatformChainId>>,
    /// No step begins after this time, but for the first.
    pub(super) ends: Instant,
}

impl FiguresLook<'_> {
    /// One slot after the other, so that each that is told is whole. Takes one step at least, whatever the time.
    pub(super) async fn add_up(&self, asked: FiguresQuery) -> Result<SlottedFigures, LedgerError> {
        let began = Instant::now();
        let mut slots: Vec<FigureSlot> = Vec::new();
        let mut until = asked.from;
        while until < asked.until && (until == asked.from || Instant::now() < self.ends) {
            let end = until.saturating_add(asked.step).min(asked.until);
            let key = (self.chains.clone(), until, end);
            if let Some(known) = self.kept.of(&key, began) {
                slots.extend(known);
            } else {
                let begun = self.kept.take_begun(self.caller, &key, began);
                match self.go_on(&asked, &key, begun.unwrap_or_default()).await? {
                    SlotLook::Whole(added) => {
                        let now_s = self.ledger.journal.now_ms().div_euclid(1000);
                        self.kept.keep(key, &added, began, now_s);
                        slots.extend(added);
                    }
                    SlotLook::Begun(begun) => {
                        self.kept.keep_begun(self.caller, key, begun, Instant::now());
                        break;
                    }
                }
            }
            until = end;
        }
        Ok(SlottedFigures { from: asked.from, until, step: asked.step, slots })
    }

    /// Adds up one slot, by chain, from where an earlier look has left it.
    async fn go_on(
        &self,
        asked: &FiguresQuery,
        key: &FigureKey,
        mut begun: BegunSlot,
    ) -> Result<SlotLook, LedgerError> {
        let (from, end) = (key.1, key.2);
        let filter = LedgerFilter {
            chains: self.chains.clone(),
            from_ms: Some(from.saturating_mul(1000)),
            until_ms: Some(end.saturating_mul(1000)),
            ..LedgerFilter::default()
        };
        loop {
            let order = LedgerOrder::Oldest;
            let step = self.ledger.step(filter.clone(), order, begun.after, STEP).await?;
            let names = TokenNames::default();
            let lines = step.found.iter();
            for line in lines.filter_map(|line| ChargeRow::told(line, &self.name, &names)) {
                // A refusal is told of every time from its first to its last: it counts where it was first.
                let at = line.accepted_at.or(line.refused_at).unwrap_or(from);
                if line.state != REFUSED || asked.slot(at) == from {
                    let of_chain = begun.sums.entry(line.chain_id).or_insert_with(|| FigureSlot {
                        at: from,
                        chain_id: line.chain_id,
                        ..FigureSlot::default()
                    });
                    of_chain.add(&line);
                }
            }
            if step.next.is_none() {
                return Ok(SlotLook::Whole(begun.sums.into_values().collect()));
            }
            begun.after = step.next;
            if Instant::now() >= self.ends {
                return Ok(SlotLook::Begun(begun));
            }
        }
    }
}
