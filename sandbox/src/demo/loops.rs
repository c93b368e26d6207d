//! The whole loop of a merchant on each chain: a plan, a link, two confirmations, a list of what is due, the Signer, callbacks, the
//! next month, a charge that fails, a cancellation, a deposit, a withdrawal. Everything goes over HTTP, as a merchant's own does.

mod acts;
mod merchant;

pub(crate) use merchant::Merchant;

use super::Error;
use super::paper::{Ink, Paper};
use super::report::Row;
use super::scheduler::Scheduler;
use super::side::Side;
use sandbox_platform::Running;

/// The loop on one chain.
pub(super) struct Loop<'a> {
    paper: &'a Paper,
    running: &'a Running,
    scheduler: &'a Scheduler,
    merchant: &'a Merchant,
    side: &'a Side,
    rows: Vec<Row>,
}

/// Shows it on both chains, and gives one row for each step.
pub(super) async fn show(
    paper: &Paper,
    running: &Running,
    scheduler: &Scheduler,
    sides: &[Side],
) -> Result<Vec<Row>, Error> {
    let mut merchant = Merchant::new(running)?;
    merchant.listen().await?;
    let mut rows = vec![];
    for side in sides {
        paper.title(&format!("{}. The whole loop, as a merchant lives it.", side.family.name()));
        let mut shown = Loop { paper, running, scheduler, merchant: &merchant, side, rows: vec![] };
        shown.plan().await?;
        let number = shown.subscribe().await?;
        shown.charge().await?;
        shown.next_month().await?;
        shown.fail().await?;
        shown.cancel(&number).await?;
        shown.recharge().await?;
        shown.withdraw().await?;
        rows.extend(shown.rows);
    }
    Ok(rows)
}

impl Loop<'_> {
    /// Takes a step down, and shows it.
    fn step(&mut self, section: &'static str, step: &'static str, held: bool, saw: &str) {
        let mark =
            if held { self.paper.ink(Ink::Good, "ok ") } else { self.paper.ink(Ink::Bad, "NOT") };
        self.paper.line(&format!("  {mark} {section:<10} {step:<34} {saw}"));
        let chain = self.side.family.key();
        self.rows.push(Row { chain, section, step, held, saw: saw.to_owned() });
    }

    /// The same of a step that ends the loop where it fails.
    fn done(&mut self, section: &'static str, step: &'static str, saw: &str) {
        let held = true;
        self.step(section, step, held, saw);
    }

    /// Makes whatever was sent final, with the callbacks that follow from it.
    async fn finalise(&self) -> Result<(), Error> {
        Ok(self.running.platform.finalise().await?)
    }
}
