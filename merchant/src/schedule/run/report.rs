//! The report of one run, on one line.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};

/// The report of one run. Its `Display` is the line that `merchant schedule` prints.
#[derive(Clone, Debug, Default)]
pub struct RunReport {
    /// Its number, counted in the state from 1.
    pub run: i64,
    /// Due subscriptions that the platform listed.
    pub listed: usize,
    /// Entries of the list that could not be read.
    pub unreadable: u64,
    /// Listed, and left alone for a reason.
    pub held: u64,
    /// Put into batches.
    pub planned: usize,
    /// Requests posted to the Signer.
    pub posts: u64,
    /// Subscriptions that a transaction has.
    pub accepted: u64,
    /// Subscriptions that the Signer did not charge.
    pub declined: u64,
    /// Batches that heard no verdict.
    pub silent: u64,
    /// Transactions that are not final.
    pub open: i64,
    /// Differences between the books that have a name.
    pub differences: u64,
    /// Tasks that could not be done.
    pub faults: Vec<String>,
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "run {}: {} due, {} held, {} planned; {} posts: {} accepted, {} declined, {} without a \
             verdict; {} transactions open, {} differences",
            self.run,
            self.listed,
            self.held,
            self.planned,
            self.posts,
            self.accepted,
            self.declined,
            self.silent,
            self.open,
            self.differences
        )?;
        if self.unreadable > 0 {
            write!(f, "; {} entries could not be read", self.unreadable)?;
        }
        for fault in &self.faults {
            write!(f, "; FAULT: {fault}")?;
        }
        Ok(())
    }
}

/// Shows how far a run has come, if anybody is looking.
pub(super) fn progress(text: impl FnOnce() -> String) {
    let mut screen = std::io::stderr();
    if screen.is_terminal() {
        // A screen that cannot be written to is no reason to stop billing.
        drop(write!(screen, "\r\u{1b}[K{}", text()).and_then(|()| screen.flush()));
    }
}

/// Takes the progress off the screen.
pub(super) fn progress_ends() {
    progress(String::new);
}
