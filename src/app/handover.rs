//! The record that one process leaves to the next: the messages that it has judged in the last minute. With this
//! record, the next process takes messages that were signed before it started and waited in the socket. Without it,
//! as after a crash, the judged messages are unknown, and such messages have to be signed again.
//!
//! It is a file beside the journal, `<journal>.handover`, or beside the mark of one on a server, good for one start
//! and for a minute.

use crate::auth::{CLOCK_WINDOW_SECONDS, JudgedMessages};
use crate::http::AppState;
use config::JournalPlace;
use journal::Journal;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use tracing::warn;

fn file(place: &JournalPlace) -> PathBuf {
    place.beside(".handover")
}

/// Leaves word of them, with the name of the start that ends: others may have the journal next. Without it the
/// next process takes less.
pub(super) fn leave(place: &JournalPlace, journal: &Journal, judged: &JudgedMessages) {
    let write = || -> io::Result<()> {
        let path = file(place);
        drop(fs::remove_file(&path));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        write!(file, "{}{judged}", head(journal.instances().starts().0))
    };
    if let Err(error) = write() {
        warn!(%error, "what was answered lately cannot be left to the next process: it takes nothing that was signed before it starts");
    }
}

/// The first line of what the process of this start leaves; nothing where there is one process at a time anyway.
fn head(start: Option<String>) -> String {
    start.map(|start| format!("{start}\n")).unwrap_or_default()
}

/// Has the handlers go on from the end of the process before this one, if that process left a record. The record of an
/// earlier process says nothing of the answers of the last one.
pub(super) fn resume(place: &JournalPlace, journal: &Journal, state: &AppState) {
    if let Some(judged) = take(place, &head(journal.instances().starts().1), journal.now_ms()) {
        state.take_over(judged);
    }
}

/// Returns the record that was left, once.
fn take(place: &JournalPlace, head: &str, now_ms: i64) -> Option<JudgedMessages> {
    let path = file(place);
    let text = fs::read_to_string(&path).ok()?;
    // A record that cannot be removed would be taken for good again.
    fs::remove_file(&path).ok()?;
    let judged: JudgedMessages = text.strip_prefix(head)?.parse().ok()?;
    let age = now_ms.div_euclid(1000).checked_sub(judged.at)?;
    (0..=CLOCK_WINDOW_SECONDS).contains(&age).then_some(judged)
}
