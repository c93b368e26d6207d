//! The metrics of the journal and the disk that it is on.

use super::chains::whole;
use super::scrape::Scrape;
use ::journal::{Figures, Journal};
use ledger::Refusals;
use std::sync::atomic::Ordering;

/// Tells everything of the journal.
pub(super) fn tell(scrape: &mut Scrape, journal: &Journal, refusals: Option<&Refusals>) {
    let figures = journal.figures();
    let ready = i64::from(journal.ready().is_ok());
    scrape.gauges(("journal_ready", "1 while the journal takes commits"), vec![([], ready)]);
    let commits = figures.commits.load(Ordering::Relaxed);
    scrape.counters(("journal_commits", "Commits, one fsync each"), vec![([], commits)]);
    let writes = figures.writes.load(Ordering::Relaxed);
    let help = "Writes that those commits made durable";
    scrape.counters(("journal_writes", help), vec![([], writes)]);
    let help = "How long the journal worked on the writes of one commit, the commit included";
    let took = figures.transaction_seconds.clone();
    scrape.durations(("journal_transaction_seconds", help), vec![([], took)]);
    let help = "How long a commit took: the disk's part of it";
    let took = figures.commit_seconds.clone();
    scrape.durations(("journal_commit_seconds", help), vec![([], took)]);
    let free = journal.space().free_bytes().map(|free| ([], whole(free)));
    let help = "Room where the journal is; 0 where nothing can be written";
    scrape.gauges(("disk_free_bytes", help), free.into_iter().collect());
    let help = "Below how much room new work is refused (journal.min_free)";
    scrape
        .gauges(("disk_min_free_bytes", help), vec![([], whole(journal.space().min_free_bytes()))]);
    tell_backups(scrape, figures);
    let unkept = refusals.map(|refusals| ([], refusals.dropped()));
    let help = "Refusals that are missing in the ledger, or were forgotten before their time";
    scrape.counters(("refusals_unkept", help), unkept.into_iter().collect());
    tell_head(scrape, figures);
}

fn tell_backups(scrape: &mut Scrape, figures: &Figures) {
    let every_ms = figures.backup_every_ms.load(Ordering::Relaxed);
    let newest_ms = figures.backed_up_ms.load(Ordering::Relaxed);
    let told = |ms: i64| (every_ms > 0).then_some(([], ms.div_euclid(1000))).into_iter().collect();
    let help = "When the newest backup of the journal was begun; the journal's first row where there is none";
    scrape.gauges(("backup_timestamp_seconds", help), told(newest_ms));
    let help = "How often a backup is to be made (journal.backup_every)";
    scrape.gauges(("backup_every_seconds", help), told(every_ms));
}

fn tell_head(scrape: &mut Scrape, figures: &Figures) {
    let head = figures.head.lock().clone();
    let row = head.as_ref().map(|head| ([], whole(head.row)));
    let help = "Rows of the journal's history when it was last told, at most a minute ago";
    scrape.gauges(("history_rows", help), row.into_iter().collect());
    let first = head.as_ref().and_then(|head| head.digest.get(..12));
    let first = first.and_then(|first| i64::from_str_radix(first, 16).ok());
    let help = "First 48 bits of the digest of the last of those rows";
    scrape.gauges(("history_digest", help), first.map(|first| ([], first)).into_iter().collect());
}
