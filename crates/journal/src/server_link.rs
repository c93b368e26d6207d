//! The state of the way to a journal's server, for those who are asked whether work can be taken. A journal in a
//! file has no such way to go.

use parking_lot::Mutex;

/// The ways to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// To write, and to follow what is written.
    Writes,
    /// To read.
    Reads,
    /// To have kept what is written: the way is open, and the server has no room, or may not be written to.
    Commits,
}

/// The trouble with each of the uses, if there is any.
#[derive(Debug, Default)]
pub struct ServerLink {
    writes: Mutex<Option<String>>,
    reads: Mutex<Option<String>>,
    commits: Mutex<Option<String>>,
}

impl ServerLink {
    /// Why the server cannot be used now; none where it can.
    pub(crate) fn trouble(&self) -> Option<String> {
        let writes = self.writes.lock().clone();
        writes.or_else(|| self.reads.lock().clone()).or_else(|| self.commits.lock().clone())
    }

    /// Returns true if one of the ways is closed.
    pub fn is_closed(&self, way: Usage) -> bool {
        self.of(way).lock().is_some()
    }

    /// One of the ways is open, or closed for a reason. Tells whether that is news.
    pub fn set(&self, way: Usage, trouble: Option<String>) -> bool {
        let mut now = self.of(way).lock();
        let news = *now != trouble;
        *now = trouble;
        news
    }

    fn of(&self, way: Usage) -> &Mutex<Option<String>> {
        match way {
            Usage::Writes => &self.writes,
            Usage::Reads => &self.reads,
            Usage::Commits => &self.commits,
        }
    }
}
