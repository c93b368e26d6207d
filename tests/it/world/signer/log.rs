//! The log of a Signer, which a thread reads as it comes.

use parking_lot::Mutex;
use std::sync::Arc;
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// Longest wait for the last lines of a process that is gone. Its keys' process writes into the same pipe: it ends
/// when nobody is at its other end, but one that is stopped does not.
const LAST_LINES: Duration = Duration::from_secs(10);

/// The lines that were read so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines(Arc<Mutex<String>>);

impl Lines {
    pub(super) fn keep(&self, line: &str) {
        let mut text = self.0.lock();
        text.push_str(line);
        text.push('\n');
    }

    pub(super) fn text(&self) -> String {
        self.0.lock().clone()
    }

    /// Reads on, beside everything else.
    pub(super) fn and(self, more: impl Iterator<Item = String> + Send + 'static) -> Log {
        let written = self.clone();
        let reader = spawn(move || more.for_each(|line| written.keep(&line)));
        Log { lines: self, reader }
    }
}

/// The log, and the thread that reads it.
#[derive(Debug)]
pub(super) struct Log {
    lines: Lines,
    reader: JoinHandle<()>,
}

impl Log {
    /// Everything so far.
    pub(super) fn text(&self) -> String {
        self.lines.text()
    }

    /// Everything, of a process that has ended: the pipe still holds what it wrote last.
    pub(super) fn whole(&self) -> String {
        let ended = Instant::now();
        while !self.reader.is_finished() && ended.elapsed() < LAST_LINES {
            sleep(Duration::from_millis(1));
        }
        self.text()
    }
}
