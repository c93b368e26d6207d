//! Why a statement was not run, and the constraints that a row may violate.

use crate::sql::fault::ServerFault;
use rusqlite::types::FromSqlError;
use rusqlite::{ErrorCode, ffi};

/// Why a statement was not run, or its rows not read.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum SqlError {
    /// An error from SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// An error from a server, or the lack of its answer.
    #[error(transparent)]
    Server(#[from] ServerFault),
    /// Something stands where a row was to be.
    #[error(transparent)]
    Violates(#[from] Constraint),
}

/// A constraint that keeps out a row that must not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Constraint {
    /// Around the places of a lane: no two batches share one, and none is left out.
    #[error("another batch has this place, or the lane is elsewhere")]
    Place,
    /// Around the charges that are claimed.
    #[error("another batch claims one of these charges")]
    Claim,
    /// Around the session that has the journal: nothing is written by another one.
    #[error(
        "a pooler gives the sessions of the Signer to one another (PgBouncer in transaction mode): have journal.url \
         lead to the server itself, or to a pool in session mode"
    )]
    Session,
}

impl Constraint {
    /// The unique indexes that it is made of, as a server names them, and as SQLite does.
    fn indexes(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Place => &[("batch_place", "batch.chain, batch.signer, batch.position")],
            Self::Claim => &[
                ("claim_key", "claim.period, claim.plan_id, claim.user_hash, claim.scope"),
                ("claim_subscription", "claim.period, claim.subscribe_id, claim.scope"),
            ],
            Self::Session => &[],
        }
    }
}

impl SqlError {
    /// A row that has to be there is not.
    pub const NO_ROW: Self = Self::Sqlite(rusqlite::Error::QueryReturnedNoRows);

    /// Something that is no value of the database.
    pub fn foreign(problem: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Sqlite(rusqlite::Error::ToSqlConversionFailure(problem.into()))
    }

    /// Returns true if another row stands in the place of this one, and so keeps `constraint` up.
    pub fn violates(&self, constraint: Constraint) -> bool {
        let mut indexes = constraint.indexes().iter();
        match self {
            Self::Sqlite(rusqlite::Error::SqliteFailure(error, Some(told))) => {
                error.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE
                    && indexes.any(|(_, columns)| told.ends_with(columns))
            }
            Self::Server(fault) => {
                let named = fault.constraint.as_deref();
                fault.state.as_deref() == Some("23505")
                    && indexes.any(|(index, _)| named == Some(index))
            }
            Self::Sqlite(_) | Self::Violates(_) => false,
        }
    }

    /// Returns true if there is no room for the write.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Sqlite(error) => error.sqlite_error_code() == Some(ErrorCode::DiskFull),
            Self::Server(fault) => fault.state.as_deref() == Some("53100"),
            Self::Violates(_) => false,
        }
    }
}

impl From<FromSqlError> for SqlError {
    fn from(error: FromSqlError) -> Self {
        Self::Sqlite(error.into())
    }
}
