//! The end of the demonstration: the Signer's journal is audited, a backup of it is restored, and its sums are
//! compared with the chains' own transfers.

use super::paper::{Ink, Paper};
use super::report::Row;
use super::{Error, signer};
use clap::Parser;
use config::Config;
use journal::copies::rehearse_restore;
use merchant_signer::app::copies;
use merchant_signer::app::totals::{self, TotalsCommand};
use node::Http;
use std::path::Path;

/// As the command line of the program has it.
#[derive(Parser)]
struct Totals {
    #[command(flatten)]
    wanted: TotalsCommand,
}

/// Closes the books of a Signer that has ended, and tells what came about.
pub(super) async fn close(paper: &Paper, place: &Path) -> Result<Vec<Row>, Error> {
    paper.title("The Signer has ended. Its journal, as on the day when it is needed.");
    let config = Config::from_toml(&std::fs::read_to_string(place.join(signer::CONFIG))?, &[])?;
    let (told, holds) = copies::audit(None, &config.journal, &[])?;
    let last = told.lines().last().unwrap_or_default().to_owned();
    let room = tempfile::tempdir()?;
    let restored = rehearse_restore(&place.join(signer::JOURNAL), room.path());
    let (is_restored, saw) = match &restored {
        Ok(audit) => (audit.faults.is_empty(), format!("{} batches", audit.batches)),
        Err(why) => (false, why.to_string()),
    };
    let wanted = Totals::parse_from(["totals", "--prove"]).wanted;
    let mut sums = Vec::new();
    let compared = totals::run(&config, &wanted, &Http::default(), &mut sums).await;
    let (same, sums) = match compared {
        Ok(same) => {
            (same, format!("{} groups", String::from_utf8_lossy(&sums).lines().skip(1).count()))
        }
        Err(why) => (false, why.to_string()),
    };
    let steps = [
        ("audit", holds, last),
        ("backup, and restore of that backup", is_restored, saw),
        ("totals, against the chains", same, sums),
    ];
    Ok(steps.map(|(step, held, saw)| row(paper, step, held, saw)).into())
}

fn row(paper: &Paper, step: &'static str, held: bool, saw: String) -> Row {
    let mark = if held { paper.ink(Ink::Good, "ok ") } else { paper.ink(Ink::Bad, "NOT") };
    paper.line(&format!("  {mark} {step:<34} {saw}"));
    Row { chain: "both", section: "journal", step, held, saw }
}
