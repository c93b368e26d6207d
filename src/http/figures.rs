//! The counts and sums of the page: the ledger, in slots of time. Nothing of them is from the memory of the
//! process.

mod kept;

pub(super) use kept::KeptFigures;

use super::AppState;
use super::answer::{HttpReply, Success};
use super::charges::{ChargeRow, JournalName, TokenNames};
use super::guard::{Authenticated, handle_signed};
use super::purpose::Purpose;
use super::rejection::Rejection;
use alloy::primitives::U256;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use billing::PlatformChainId;
use ledger::{Ledger, LedgerError, LedgerFilter, LedgerOrder, REFUSED};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most slots in one answer.
const MOST_SLOTS: i64 = 400;

/// Number of lines that one step looks for.
const STEP: usize = 1_000;

/// Longest search of the ledger for one answer. The answer then says how far the search came.
const LONGEST_LOOK: Duration = Duration::from_secs(2);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FiguresQuery {
    /// Unix seconds.
    from: i64,
    until: i64,
    /// Seconds of a slot.
    step: i64,
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
struct SlottedFigures {
    from: i64,
    /// Up to here the ledger was looked through: if that is not what was asked for, ask on from here.
    until: i64,
    step: i64,
    slots: Vec<FigureSlot>,
}

/// One slot of one chain. A slot in which nothing was accepted or refused is left out.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct FigureSlot {
    /// When it begins, Unix seconds.
    at: i64,
    chain_id: u32,
    /// Number of the ledger's lines, by their state.
    states: BTreeMap<String, u64>,
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
    handle_signed(state, request, Purpose::Ask, async move |state, Authenticated { caller, .. }| {
        let chains = caller.as_ref().and_then(|caller| caller.rights.chains.clone());
        let told = async {
            let asked = FiguresQuery::read(&query)?;
            let figures = add_up(&state.ledger(), &state.figures, asked, chains).await?;
            Ok::<_, HttpReply>(Success(figures))
        };
        told.await.into_response()
    })
    .await
}

/// One slot after the other, so that each that is told is whole.
async fn add_up(
    ledger: &Ledger,
    kept: &KeptFigures,
    asked: FiguresQuery,
    chains: Option<Vec<PlatformChainId>>,
) -> Result<SlottedFigures, LedgerError> {
    let name = JournalName::of(&ledger.journal).await?;
    let began = Instant::now();
    let mut slots: Vec<FigureSlot> = Vec::new();
    let mut until = asked.from;
    while until < asked.until && (until == asked.from || began.elapsed() < LONGEST_LOOK) {
        let end = until.saturating_add(asked.step).min(asked.until);
        let key = (chains.clone(), until, end);
        if let Some(known) = kept.of(&key, began) {
            slots.extend(known);
        } else {
            let added = slot_of(ledger, &name, &asked, until..end, chains.clone()).await?;
            kept.keep(key, &added, began, ledger.journal.now_ms().div_euclid(1000));
            slots.extend(added);
        }
        until = end;
    }
    Ok(SlottedFigures { from: asked.from, until, step: asked.step, slots })
}

/// Adds up one slot of time (Unix seconds), by chain.
async fn slot_of(
    ledger: &Ledger,
    name: &JournalName,
    asked: &FiguresQuery,
    time: Range<i64>,
    chains: Option<Vec<PlatformChainId>>,
) -> Result<Vec<FigureSlot>, LedgerError> {
    let from = time.start;
    let filter = LedgerFilter {
        chains,
        from_ms: Some(from.saturating_mul(1000)),
        until_ms: Some(time.end.saturating_mul(1000)),
        ..LedgerFilter::default()
    };
    let mut slots: BTreeMap<u32, FigureSlot> = BTreeMap::new();
    let mut after = None;
    loop {
        let step = ledger.step(filter.clone(), LedgerOrder::Oldest, after, STEP).await?;
        let lines = step.found.iter();
        for line in lines.filter_map(|line| ChargeRow::told(line, name, &TokenNames::default())) {
            // A refusal is told of every time from its first to its last: it counts where it was first.
            let at = line.accepted_at.or(line.refused_at).unwrap_or(from);
            if line.state != REFUSED || asked.slot(at) == from {
                let of_chain = slots.entry(line.chain_id).or_insert_with(|| FigureSlot {
                    at: from,
                    chain_id: line.chain_id,
                    ..FigureSlot::default()
                });
                of_chain.add(&line);
            }
        }
        after = step.next;
        if after.is_none() {
            return Ok(slots.into_values().collect());
        }
    }
}
