//! `merchant-signer export`: the ledger as a file, from the journal itself or, while a Signer holds it,
//! from that Signer.

use super::lines::{self, LinesWanted};
use crate::config::Config;
use crate::http::ChargeRow;
use jiff::Timestamp;
use std::error::Error;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal as _, Write};

/// How a charge is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 4180, with a header line. Times are UTC, RFC 3339.
    Csv,
    /// One JSON object on each line, as `GET /PayTool/charges` tells it.
    Jsonl,
}

/// What is exported.
#[derive(Clone, Debug)]
pub struct Export {
    /// Charges accepted at this time or later.
    pub from: Option<Timestamp>,
    /// Charges accepted before this time.
    pub until: Option<Timestamp>,
    /// How it is written.
    pub format: Format,
    /// The cursor of the last charge of an export that was cut off.
    pub after: Option<String>,
    /// Where the Signer is that holds the journal: `http://127.0.0.1:8080`; none where the
    /// configuration says.
    pub server: Option<String>,
}

/// Writes every charge and refusal of the range, oldest first, and tells how many of both there were. Memory
/// does not grow with their number.
pub async fn run(
    config: &Config,
    export: &Export,
    to: Box<dyn Write>,
) -> Result<u64, Box<dyn Error>> {
    let mut sink = Sink::new(export.format, export.after.is_none(), to)?;
    let wanted = LinesWanted {
        from: export.from,
        until: export.until,
        after: export.after.clone(),
        server: export.server.clone(),
        ..LinesWanted::default()
    };
    lines::each(config, &wanted, &mut async |line| sink.write(&line)).await?;
    sink.finish()
}

/// The columns of a charge in CSV.
const COLUMNS: [&str; 36] = [
    "cursor",
    "billing",
    "subscribeId",
    "planId",
    "userHash",
    "period",
    "amount",
    "token",
    "wallet",
    "state",
    "failCode",
    "failReason",
    "resolved",
    "chargedAmount",
    "chargedToken",
    "chargedWallet",
    "chainId",
    "address",
    "contract",
    "caller",
    "requestId",
    "txHash",
    "block",
    "blockTime",
    "acceptedAt",
    "settledAt",
    "result",
    "charges",
    "used",
    "fee",
    "feeShare",
    "refusedAt",
    "lastRefusedAt",
    "refusals",
    "tokenAllowance",
    "tokenBalance",
];

fn columns(charge: ChargeRow) -> [String; 36] {
    let text = |value: Option<String>| value.unwrap_or_default();
    // Free text: a spreadsheet would take it for a formula where it begins like one.
    let words = |value: Option<String>| match value {
        Some(words) if words.starts_with(['=', '+', '-', '@', '\t', '\r']) => format!("'{words}"),
        other => other.unwrap_or_default(),
    };
    let number = |value: Option<u64>| value.map(|number| number.to_string()).unwrap_or_default();
    let time = |seconds: Option<i64>| {
        let known = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
        known.map(|time| time.to_string()).unwrap_or_default()
    };
    [
        charge.cursor,
        text(charge.billing),
        charge.subscribe_id,
        charge.plan_id,
        charge.user_hash,
        text(charge.period),
        text(charge.amount),
        text(charge.token),
        text(charge.wallet),
        charge.state,
        text(charge.fail_code),
        words(charge.fail_reason),
        text(charge.resolved),
        text(charge.charged_amount),
        text(charge.charged_token),
        text(charge.charged_wallet),
        charge.chain_id.to_string(),
        text(charge.address),
        text(charge.contract),
        words(charge.caller),
        words(charge.request_id),
        text(charge.tx_hash),
        number(charge.block),
        time(charge.block_time.and_then(|time| i64::try_from(time).ok())),
        time(charge.accepted_at),
        time(charge.settled_at),
        text(charge.result),
        number(charge.charges.and_then(|count| u64::try_from(count).ok())),
        text(charge.used),
        text(charge.fee),
        text(charge.fee_share),
        time(charge.refused_at),
        time(charge.last_refused_at),
        number(charge.refusals),
        text(charge.token_allowance),
        text(charge.token_balance),
    ]
}

/// Where charges go.
struct Sink {
    to: Rows,
    written: u64,
}

enum Rows {
    Csv(Box<csv::Writer<Box<dyn Write>>>),
    Jsonl(BufWriter<Box<dyn Write>>),
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("written", &self.written).finish_non_exhaustive()
    }
}

impl Sink {
    fn new(format: Format, header: bool, to: Box<dyn Write>) -> csv::Result<Self> {
        let to = match format {
            Format::Jsonl => Rows::Jsonl(BufWriter::new(to)),
            Format::Csv => {
                let mut csv =
                    csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(to);
                if header {
                    csv.write_record(COLUMNS)?;
                }
                Rows::Csv(Box::new(csv))
            }
        };
        Ok(Self { to, written: 0 })
    }

    fn write(&mut self, charge: &ChargeRow) -> Result<(), Box<dyn Error>> {
        match &mut self.to {
            Rows::Csv(csv) => csv.write_record(columns(charge.clone()))?,
            Rows::Jsonl(lines) => {
                serde_json::to_writer(&mut *lines, charge)?;
                lines.write_all(b"\n")?;
            }
        }
        self.written = self.written.saturating_add(1);
        if self.written.is_multiple_of(10_000) && io::stderr().is_terminal() {
            write!(io::stderr(), "\r{} lines", self.written)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<u64, Box<dyn Error>> {
        match &mut self.to {
            Rows::Csv(csv) => csv.flush()?,
            Rows::Jsonl(lines) => lines.flush()?,
        }
        Ok(self.written)
    }
}

/// A day (midnight UTC) or a time of RFC 3339.
pub fn time(text: &str) -> Result<Timestamp, String> {
    let day = text.parse::<jiff::civil::Date>().ok();
    let midnight = day.and_then(|day| {
        day.to_datetime(jiff::civil::Time::midnight()).to_zoned(jiff::tz::TimeZone::UTC).ok()
    });
    midnight
        .map(|zoned| zoned.timestamp())
        .map_or_else(|| text.parse(), Ok)
        .map_err(|why| format!("write 2026-01-31, or 2026-01-31T12:00:00Z: {why}"))
}
