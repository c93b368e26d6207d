//! The ledger, line by line: from the journal itself or, while a Signer holds it, from that Signer.

use super::remote::{Remote, RemoteNeed};
use crate::clock::Clock;
use crate::config::Config;
use crate::http::{ChargeRow, JournalName, LARGEST_PAGE, LedgerPage};
use crate::journal::{
    FullLedger, Journal, LedgerFilter, LedgerOrder, LedgerPlace, OpenError, Refusals,
};
use jiff::Timestamp;
use std::error::Error;

/// Which lines are wanted, and where the Signer is that may hold the journal.
#[derive(Clone, Debug, Default)]
pub(super) struct LinesWanted {
    /// Accepted or refused at this time or later.
    pub(super) from: Option<Timestamp>,
    /// Accepted or refused before this time.
    pub(super) until: Option<Timestamp>,
    /// Of charges alone: decided by a block of this time or later.
    pub(super) block_from: Option<Timestamp>,
    /// Of charges alone: decided by a block before this time.
    pub(super) block_until: Option<Timestamp>,
    /// Behind this cursor.
    pub(super) after: Option<String>,
    /// Where the Signer is, `http://127.0.0.1:8080`; none where the configuration says.
    pub(super) server: Option<String>,
}

/// Hands every line that is wanted to `keep`, oldest first, one page in memory at a time.
pub(super) async fn each(
    config: &Config,
    wanted: &LinesWanted,
    keep: &mut impl AsyncFnMut(ChargeRow) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    match Journal::open_at(&config.journal) {
        Ok(journal) => {
            let refusals = Refusals::of(&config.journal, Clock::MACHINE);
            let ledger = FullLedger { journal: journal.clone(), refusals };
            let told = read(&ledger, wanted, keep).await;
            journal.close().await;
            told
        }
        Err(OpenError::Held(_)) => ask(config, wanted, keep).await,
        Err(error) => Err(error.into()),
    }
}

/// From the journal itself.
async fn read(
    ledger: &FullLedger,
    wanted: &LinesWanted,
    keep: &mut impl AsyncFnMut(ChargeRow) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let ms = |time: Timestamp| time.as_millisecond();
    let filter = LedgerFilter {
        from_ms: wanted.from.map(ms),
        until_ms: wanted.until.map(ms),
        block_from_s: wanted.block_from.map(Timestamp::as_second),
        block_until_s: wanted.block_until.map(Timestamp::as_second),
        ..LedgerFilter::default()
    };
    let name = JournalName::of(&ledger.journal).await?;
    let mut after: Option<LedgerPlace> =
        wanted.after.as_deref().map(|cursor| name.place(cursor)).transpose()?;
    loop {
        let step = ledger.step(filter.clone(), LedgerOrder::Oldest, after, LARGEST_PAGE).await?;
        for line in step.found.iter().filter_map(|line| ChargeRow::told(line, &name)) {
            keep(line).await?;
        }
        after = step.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

/// From the Signer that holds the journal, in the name of a configured caller.
async fn ask(
    config: &Config,
    wanted: &LinesWanted,
    keep: &mut impl AsyncFnMut(ChargeRow) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let remote =
        Remote::new(config, wanted.server.as_deref(), RemoteNeed::ReadAll).map_err(|why| {
            format!("a Signer runs on this journal, and is asked: {why}, or stop the Signer")
        })?;
    let mut after = wanted.after.clone();
    loop {
        let seconds = |time: Option<Timestamp>| time.map(|time| time.as_second().to_string());
        let asked = [
            ("order", Some("oldest".to_owned())),
            ("limit", Some(LARGEST_PAGE.to_string())),
            ("from", seconds(wanted.from)),
            ("until", seconds(wanted.until)),
            ("blockFrom", seconds(wanted.block_from)),
            ("blockUntil", seconds(wanted.block_until)),
            ("after", after.clone()),
        ];
        let asked: Vec<_> =
            asked.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let path = format!("/PayTool/charges?{}", serde_urlencoded::to_string(asked)?);
        let page: LedgerPage = remote.get(&path).await?;
        for line in page.charges {
            keep(line).await?;
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}
