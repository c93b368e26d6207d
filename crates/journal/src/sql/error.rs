//! Why a statement was not run, and what a row may run into.

use rusqlite::types::FromSqlError;
use rusqlite::{ErrorCode, ffi};

/// Why a statement was not run, or its rows not read.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum SqlError {
    /// An error from SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// An error from a server, or the lack of its answer.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Server(#[from] ServerFault),
    /// Something stands where a row was to be.
    #[error(transparent)]
    RanInto(#[from] Wall),
}

/// A constraint that keeps out a row that must not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wall {
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

impl Wall {
    /// The unique indexes that it is made of, as a server names them, and as SQLite does.
    fn indexes(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Place => &[("batch_place", "batch.chain, batch.signer, batch.position")],
            Self::Claim => &[
                (
                    "claim_key",
                    "claim.period, claim.plan_id, claim.user_hash, claim.contract, claim.chain",
                ),
                (
                    "claim_subscription",
                    "claim.period, claim.subscribe_id, claim.contract, claim.chain",
                ),
            ],
            Self::Session => &[],
        }
    }
}

/// Why a server did not do what it was asked for.
#[cfg(feature = "postgres")]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.words())]
pub struct ServerFault {
    /// The server's code for the fault (SQLSTATE). None if the connection failed; it is then unknown what the
    /// server did.
    pub state: Option<String>,
    /// The constraint that a row did not meet.
    pub constraint: Option<String>,
    /// In words.
    pub problem: String,
}

#[cfg(feature = "postgres")]
impl ServerFault {
    /// Nothing that the server has a name for.
    pub(crate) fn said(problem: impl Into<String>) -> Self {
        Self { state: None, constraint: None, problem: problem.into() }
    }

    /// Makes a fault of a finding about the server, in whole sentences.
    pub(crate) fn found(problem: impl Into<String>) -> Self {
        Self { state: Some(FOUND.to_owned()), ..Self::said(problem) }
    }

    /// Returns true if the fault was found here, and the server has reported nothing of the kind.
    pub(crate) fn is_found(&self) -> bool {
        self.state.as_deref() == Some(FOUND)
    }

    /// Returns true if the next write would fare no better: there is no room, the disk fails, nothing may be
    /// written, or not by this role.
    pub(crate) fn lasts(&self) -> bool {
        let state = self.state.as_deref().unwrap_or_default();
        state.starts_with("53") || state.starts_with("58") || ["25006", "42501"].contains(&state)
    }

    fn words(&self) -> String {
        match self.state.as_deref() {
            Some(state) if !self.is_found() => {
                format!("{} (SQLSTATE {state}: the server's log has the statement)", self.problem)
            }
            Some(_) | None => self.problem.clone(),
        }
    }
}

/// Stands for the SQLSTATE of what was found out here. A server's has five letters.
#[cfg(feature = "postgres")]
const FOUND: &str = "found";

impl SqlError {
    /// A row that has to be there is not.
    pub(crate) const NO_ROW: Self = Self::Sqlite(rusqlite::Error::QueryReturnedNoRows);

    /// Something that is no value of the database.
    pub(crate) fn foreign(problem: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Sqlite(rusqlite::Error::ToSqlConversionFailure(problem.into()))
    }

    /// Returns true if another row stands in the place of this one, and so keeps `wall` up.
    pub(crate) fn is_at(&self, wall: Wall) -> bool {
        let mut indexes = wall.indexes().iter();
        match self {
            Self::Sqlite(rusqlite::Error::SqliteFailure(error, Some(told))) => {
                error.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE
                    && indexes.any(|(_, columns)| told.ends_with(columns))
            }
            #[cfg(feature = "postgres")]
            Self::Server(fault) => {
                let named = fault.constraint.as_deref();
                fault.state.as_deref() == Some("23505")
                    && indexes.any(|(index, _)| named == Some(index))
            }
            Self::Sqlite(_) | Self::RanInto(_) => false,
        }
    }

    /// Returns true if there is no room for the write.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Sqlite(error) => error.sqlite_error_code() == Some(ErrorCode::DiskFull),
            #[cfg(feature = "postgres")]
            Self::Server(fault) => fault.state.as_deref() == Some("53100"),
            Self::RanInto(_) => false,
        }
    }
}

impl From<FromSqlError> for SqlError {
    fn from(error: FromSqlError) -> Self {
        Self::Sqlite(error.into())
    }
}
