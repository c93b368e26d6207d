//! `merchant-signer export`: the ledger as a file, from the journal itself or, while a Signer holds it,
//! from that Signer.

use super::ledger_lines::{self, LinesWanted};
use crate::http::{ChargeRow, table};
use clap::{Args, ValueEnum};
use config::Config;
use host::owner_only;
use jiff::Timestamp;
use ledger::LedgerFilter;
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

/// The format of a charge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// RFC 4180, with a header line. Times are UTC, RFC 3339.
    #[default]
    Csv,
    /// One JSON object on each line, as `GET /PayTool/charges` tells it.
    Jsonl,
}

/// By which time a range is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RangeBy {
    /// That of the block that decided: charges alone, the same as `totals` sums up.
    #[default]
    Block,
    /// When the Signer accepted or refused it: refusals and what is open as well.
    Accepted,
}

/// The selection of charges to export.
#[derive(Args, Clone, Debug)]
pub struct ExportCommand {
    /// From this time on: 2026-01-31 (midnight UTC), or 2026-01-31T12:00:00Z.
    #[arg(long, value_parser = time)]
    from: Option<Timestamp>,
    /// Before this time.
    #[arg(long, value_parser = time)]
    to: Option<Timestamp>,
    /// The time that the range applies to.
    #[arg(long, value_enum, default_value_t)]
    by: RangeBy,
    /// Format of a line.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// File to write; standard output otherwise. A file that is there is not replaced.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on after this cursor: the last line of an export that was cut off has it.
    #[arg(long)]
    after: Option<String>,
    /// Address of the running Signer, if not the one in the configuration: `http://127.0.0.1:8080`.
    #[arg(long)]
    server: Option<String>,
}

impl ExportCommand {
    fn filter(&self) -> LedgerFilter {
        let ms = Timestamp::as_millisecond;
        match self.by {
            RangeBy::Block => ledger_lines::decided(self.from, self.to),
            RangeBy::Accepted => LedgerFilter {
                from_ms: self.from.map(ms),
                until_ms: self.to.map(ms),
                ..LedgerFilter::default()
            },
        }
    }
}

/// Writes every line of the range, oldest first; without a range every charge and every refusal. Memory does not
/// grow with their number.
pub async fn run(config: &Config, export: &ExportCommand) -> Result<(), Box<dyn Error>> {
    ledger_lines::refuse_empty_range(export.from, export.to)?;
    let to: Box<dyn Write> = match &export.out {
        Some(path) => Box::new(out_file(path)?),
        None => Box::new(io::stdout()),
    };
    let header = table::Header::after(export.after.as_ref());
    let mut sink = Sink::new(export.format, header, to)?;
    let wanted = LinesWanted {
        after: export.after.clone(),
        ..LinesWanted::all(export.filter(), export.server.clone())
    };
    ledger_lines::each(config, &wanted, &mut async |line| sink.write(&line)).await?;
    let written = sink.finish()?;
    writeln!(io::stderr(), "{written} lines, complete")?;
    Ok(())
}

/// Makes the file of `--out`, for what concerns customers.
pub(super) fn out_file(path: &Path) -> Result<File, String> {
    let shown = path.display();
    owner_only::create(path).map_err(|problem| {
        if problem.kind() == io::ErrorKind::AlreadyExists {
            format!("there is already a file at {shown}, and it is not replaced: name another one with --out")
        } else if problem.kind() == io::ErrorKind::NotFound {
            format!("{shown} cannot be made: its directory does not exist. Make it, or name another one with --out")
        } else {
            format!("{shown} cannot be made: {problem}. Name another file with --out")
        }
    })
}

/// The destination of exported charges.
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
    fn new(format: Format, header: table::Header, to: Box<dyn Write>) -> csv::Result<Self> {
        let to = match format {
            Format::Jsonl => Rows::Jsonl(BufWriter::new(to)),
            Format::Csv => Rows::Csv(Box::new(table::ledger(to, header)?)),
        };
        Ok(Self { to, written: 0 })
    }

    fn write(&mut self, charge: &ChargeRow) -> Result<(), Box<dyn Error>> {
        match &mut self.to {
            Rows::Csv(csv) => table::write_row(csv, charge)?,
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
