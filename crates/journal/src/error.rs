//! Why the journal did not do what it was asked for.

use crate::Misbound;
use crate::sql::{Constraint, SqlError};
use policy::Refusal;

/// Why the journal gave no answer. Every variant means: nothing was written.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum JournalError {
    /// The disk is nearly full, so nothing new is accepted.
    #[error("only {free} bytes are free where the journal is, {wanted} are required: make room")]
    DiskFull {
        /// Bytes that are free.
        free: u64,
        /// Bytes that must be free (`journal.min_free_bytes`).
        wanted: u64,
    },
    /// Nothing could be written since the start.
    #[error("nothing can be written where the journal is: make room")]
    NoRoom,
    /// The file system was made read-only.
    #[error("the file system of the journal is read-only")]
    ReadOnly,
    /// The file was removed, or another one put in its place, while it is open.
    #[error(
        "the journal's file was removed or replaced while it is open: copy it from the Signer's open files in \
         /proc before you stop the Signer"
    )]
    NotInPlace,
    /// A server keeps the journal, and it cannot be used now.
    #[error("the journal's server cannot be used: {0}")]
    Away(String),
    /// Another process serves by now.
    #[error("another Signer has taken the journal over: post it again")]
    TakenOver,
    /// The database refused.
    #[error("the journal could not be used: {0}")]
    Database(#[from] SqlError),
    /// A chain of the configuration is not the one that the journal knows.
    #[error(transparent)]
    Misbound(#[from] Misbound),
    /// The journal's thread has ended or lost the transaction.
    #[error("the journal could not be written")]
    Lost,
}

/// Why an instruction of a person was not written down. Every variant means: nothing was written.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum NotWritten<E> {
    /// It does not fit what is written, for this reason.
    #[error(transparent)]
    Refused(E),
    /// The journal did not take it.
    #[error(transparent)]
    Journal(JournalError),
}

impl<E> From<JournalError> for NotWritten<E> {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

impl<E> From<SqlError> for NotWritten<E> {
    fn from(error: SqlError) -> Self {
        Self::Journal(error.into())
    }
}

/// Why a batch was not accepted. Every variant means: nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// A charge of the batch is claimed already.
    #[error("a charge of this batch is claimed already")]
    Claimed,
    /// Too many transactions wait for a block.
    #[error("too many transactions are waiting for a block")]
    LaneFull,
    /// The lane was never opened.
    #[error("the lane is not open")]
    NoLane,
    /// The next position is in a block already, so a transaction for it could never land.
    #[error("the account has sent more transactions than the journal knows")]
    Behind,
    /// The lane is at another position than the one that was signed for.
    #[error("another transaction took the position that this one was signed for")]
    Moved,
    /// The caller has given the same name to another request.
    #[error(
        "this requestId stands for other entries already: give a request with other entries another \
         one, or post the same entries again"
    )]
    RequestTaken,
    /// The policy refuses it: a limit of the day, a pause, or what was read in the final bytes.
    #[error(transparent)]
    Policy(#[from] Refusal),
    /// It was signed for other charges than those of the batch that it was to be added to.
    #[error("the transaction was signed for another batch")]
    OtherBatch,
    /// The journal did not take it.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl From<SqlError> for AcceptError {
    fn from(error: SqlError) -> Self {
        let SqlError::Violates(constraint) = error else { return Self::Journal(error.into()) };
        match constraint {
            Constraint::Place => Self::Moved,
            Constraint::Claim => Self::Claimed,
            Constraint::Session => Self::Journal(error.into()),
        }
    }
}
