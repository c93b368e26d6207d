//! The ledger, line by line: from the journal itself or, while a Signer holds it, from that Signer.

use super::journal_place;
use super::remote::{Remote, RemoteNeed};
use crate::http::{ChargeRow, JournalName, LARGEST_PAGE, LedgerPage, TokenNames};
use config::Config;
use host::clock::Clock;
use jiff::Timestamp;
use journal::OpenError;
use ledger::{Ledger, LedgerFilter, LedgerOrder, LedgerPlace, Refusals};
use std::error::Error;

/// Which lines are wanted, and where the Signer is that may hold the journal.
#[derive(Clone, Debug)]
pub(super) struct LinesWanted {
    /// Those that fit this.
    pub(super) filter: LedgerFilter,
    /// In this order.
    pub(super) order: LedgerOrder,
    /// At most so many.
    pub(super) most: usize,
    /// Behind this cursor.
    pub(super) after: Option<String>,
    /// Address of the Signer, `http://127.0.0.1:8080`; none for the one in the configuration.
    pub(super) server: Option<String>,
}

impl LinesWanted {
    /// All that fit, oldest first.
    pub(super) fn all(filter: LedgerFilter, server: Option<String>) -> Self {
        Self { filter, order: LedgerOrder::Oldest, most: usize::MAX, after: None, server }
    }
}

/// Refuses a range in which no time is.
pub(super) fn refuse_empty_range(
    from: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<(), String> {
    match (from, until) {
        (Some(from), Some(until)) if from >= until => Err(format!(
            "--from {from} is not before --to {until}, and nothing is in between: --to is the first time that is no \
             longer meant, for one day the day after it"
        )),
        (_, _) => Ok(()),
    }
}

/// Returns the filter for charges that blocks have decided from one time up to another.
pub(super) fn decided(from: Option<Timestamp>, until: Option<Timestamp>) -> LedgerFilter {
    let seconds = Timestamp::as_second;
    LedgerFilter {
        block_from_s: from.map(seconds),
        block_until_s: until.map(seconds),
        ..LedgerFilter::default()
    }
}

/// Hands every line that is wanted to `keep`, one page in memory at a time.
pub(super) async fn each(
    config: &Config,
    wanted: &LinesWanted,
    keep: &mut impl AsyncFnMut(ChargeRow) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    match journal_place::open(&config.journal) {
        Ok(journal) => {
            let refusals = Refusals::of(&config.journal, Clock::MACHINE);
            let ledger = Ledger { journal: journal.clone(), refusals };
            let told = read(&ledger, wanted, &TokenNames::of_config(config), keep).await;
            journal.close().await;
            told
        }
        Err(OpenError::Held(_)) => ask(config, wanted, keep).await,
        Err(error) => Err(error.into()),
    }
}

/// From the journal itself.
async fn read(
    ledger: &Ledger,
    wanted: &LinesWanted,
    names: &TokenNames,
    keep: &mut impl AsyncFnMut(ChargeRow) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let name = JournalName::of(&ledger.journal).await?;
    let mut after: Option<LedgerPlace> =
        wanted.after.as_deref().map(|cursor| name.place(cursor)).transpose()?;
    let mut left = wanted.most;
    while left > 0 {
        let limit = left.min(LARGEST_PAGE);
        let step = ledger.step(wanted.filter.clone(), wanted.order, after, limit).await?;
        for line in step.found.iter().filter_map(|line| ChargeRow::told(line, &name, names)) {
            keep(line).await?;
        }
        left = left.saturating_sub(step.found.len());
        after = step.next;
        if after.is_none() {
            break;
        }
    }
    Ok(())
}

/// From the Signer that holds the journal, in the name of a configured caller.
async fn ask(
    config: &Config,
    wanted: &LinesWanted,
    keep: &mut impl AsyncFnMut(ChargeRow) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let asking = config.asking();
    let remote =
        Remote::new(&asking, wanted.server.as_deref(), RemoteNeed::ReadAll).map_err(|why| {
            format!("a Signer runs on this journal, and is asked: {why}, or stop the Signer")
        })?;
    let (mut after, mut left) = (wanted.after.clone(), wanted.most);
    while left > 0 {
        let mut asked = question(&wanted.filter);
        asked.push(("order", wanted.order.word().to_owned()));
        asked.push(("limit", left.min(LARGEST_PAGE).to_string()));
        asked.extend(after.take().map(|cursor| ("after", cursor)));
        let path = format!("/PayTool/charges?{}", serde_urlencoded::to_string(asked)?);
        let page: LedgerPage = remote.get(&path).await?;
        left = left.saturating_sub(page.charges.len());
        for line in page.charges {
            keep(line).await?;
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(())
}

/// The parameters of `GET /PayTool/charges` that say the same as a filter.
fn question(filter: &LedgerFilter) -> Vec<(&'static str, String)> {
    let seconds = |ms: Option<i64>| ms.map(|ms| ms.div_euclid(1000).to_string());
    let LedgerFilter { subscribe, plan, user, wallet, chain, caller, state, reason, .. } = filter;
    let asked = [
        ("subscribeId", subscribe.map(|subscribe| subscribe.0.to_string())),
        ("planId", plan.map(|plan| plan.0.to_string())),
        ("userHash", user.map(|user| user.0.to_string())),
        ("wallet", wallet.map(|wallet| format!("{wallet:#x}"))),
        ("chainId", chain.map(|chain| chain.to_string())),
        ("caller", caller.as_ref().map(|caller| caller.0.clone())),
        ("state", state.clone()),
        ("reason", reason.map(|reason| reason.token().to_owned())),
        ("from", seconds(filter.from_ms)),
        ("until", seconds(filter.until_ms)),
        ("blockFrom", filter.block_from_s.map(|time| time.to_string())),
        ("blockUntil", filter.block_until_s.map(|time| time.to_string())),
    ];
    asked.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
