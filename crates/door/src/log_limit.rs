//! Log lines that somebody else can cause: so many in a while for each name, and the others are counted. Without
//! that whoever asks often enough fills the disk.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// The time during which lines count as written lately.
const WHILE: Duration = Duration::from_secs(10);

/// Counts the lines of each name.
#[derive(Debug)]
pub struct LogLimiter {
    each: u32,
    windows: Mutex<HashMap<String, RateWindow>>,
}

#[derive(Debug, Default)]
struct RateWindow {
    since: Option<Instant>,
    written: u32,
    unwritten: u64,
}

impl LogLimiter {
    /// At most so many lines in ten seconds for `each` name.
    pub fn new(each: u32) -> Self {
        Self { each, windows: Mutex::default() }
    }

    /// Returns the number of lines about `name` that were left out before this one, if this one may be written.
    /// Names are few: those of callers, and one for all strangers.
    pub fn may_write(&self, name: &str) -> Option<u64> {
        let mut windows = self.windows.lock();
        if !windows.contains_key(name) {
            windows.insert(name.to_owned(), RateWindow::default());
        }
        windows.get_mut(name)?.may_write(self.each)
    }
}

impl RateWindow {
    fn may_write(&mut self, most: u32) -> Option<u64> {
        if self.since.is_none_or(|since| since.elapsed() >= WHILE) {
            self.since = Some(Instant::now());
            self.written = 0;
        }
        if self.written >= most {
            self.unwritten = self.unwritten.saturating_add(1);
            return None;
        }
        self.written = self.written.saturating_add(1);
        Some(std::mem::take(&mut self.unwritten))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn of_many_lines_a_few_are_written_and_the_others_counted_for_each_name() {
        let lines = LogLimiter::new(10);
        let written = |name: &str| (0..1000).filter(|_| lines.may_write(name).is_some()).count();
        assert_eq!((written("viewer"), written("scheduler")), (10, 10));
        tokio::time::advance(WHILE).await;
        assert_eq!(lines.may_write("viewer"), Some(990));
        assert_eq!(lines.may_write("viewer"), Some(0));
    }
}
