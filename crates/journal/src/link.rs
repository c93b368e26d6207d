//! The state of the way to a journal's server, for those who are asked whether work can be taken. A journal in a
//! file has no such way to go.

use parking_lot::Mutex;

/// The ways to a server.
#[cfg(feature = "postgres")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// To write, and to follow what is written.
    Writes,
    /// To read.
    Reads,
    /// To have kept what is written: the way is open, and the server has no room, or may not be written to.
    Commits,
}

/// The trouble with each of the uses, if there is any.
#[derive(Debug, Default)]
pub(super) struct Link {
    writes: Mutex<Option<String>>,
    reads: Mutex<Option<String>>,
    commits: Mutex<Option<String>>,
}

impl Link {
    /// Why the server cannot be used now; none where it can.
    pub(super) fn trouble(&self) -> Option<String> {
        let writes = self.writes.lock().clone();
        writes.or_else(|| self.reads.lock().clone()).or_else(|| self.commits.lock().clone())
    }

    /// Returns true if one of the ways is closed.
    #[cfg(feature = "postgres")]
    pub(super) fn is_closed(&self, way: Use) -> bool {
        self.of(way).lock().is_some()
    }

    /// One of the ways is open, or closed for a reason. Tells whether that is news.
    #[cfg(feature = "postgres")]
    pub(super) fn set(&self, way: Use, trouble: Option<String>) -> bool {
        let mut now = self.of(way).lock();
        let news = *now != trouble;
        *now = trouble;
        news
    }

    #[cfg(feature = "postgres")]
    fn of(&self, way: Use) -> &Mutex<Option<String>> {
        match way {
            Use::Writes => &self.writes,
            Use::Reads => &self.reads,
            Use::Commits => &self.commits,
        }
    }
}
