//! Why a server cannot be used, and the thread on which it is waited for.

use crate::fitness;
use journal::OpenError;
use journal::sql::SqlError;

/// Why a server cannot be used now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Lost {
    /// It follows another server, or has given up what it was asked for.
    #[error(
        "it only follows another server (a standby): have journal.url name the one that it follows, or \
         both, and the one that takes writes is found"
    )]
    Follows,
    /// It lacks what this process knows to be in it.
    #[error(
        "it has forgotten what was committed: an older copy of the database was put in its place"
    )]
    Forgotten,
    /// Another process has begun on the journal while this one was cut off from it.
    #[error("another process has used the journal while the connection was broken")]
    Taken,
    /// Another process has it.
    #[error("another process holds it")]
    Held,
    /// It is not what a journal needs.
    #[error("{0}")]
    Unfit(String),
    /// The thread that asked has ended.
    #[error("the thread that asked it has ended")]
    Ended,
    /// It did not do what it was asked for.
    #[error(transparent)]
    Sql(#[from] SqlError),
}

impl Lost {
    /// Returns true if this process must not use the database any more, however long it waits.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Forgotten | Self::Taken)
    }

    /// The same problem for an operator, with what can be done.
    pub(crate) fn in_words(&self) -> String {
        let Self::Sql(SqlError::Server(fault)) = self else { return self.to_string() };
        fitness::said(fault)
    }

    /// The same for whoever opens the journal at `place`.
    pub(crate) fn opening(self, place: &str) -> OpenError {
        let place = place.to_owned();
        if matches!(self, Self::Held) {
            return OpenError::Held(place.into());
        }
        OpenError::Server { place, problem: self.in_words() }
    }
}

/// Does what waits for answers on a thread of its own: the caller may be at work for others.
pub(crate) fn apart<T: Send>(work: impl FnOnce() -> Result<T, Lost> + Send) -> Result<T, Lost> {
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap_or(Err(Lost::Ended))
}
