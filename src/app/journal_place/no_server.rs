//! The answers of a program that was built without what speaks to a PostgreSQL server.

use super::Versions;
use config::{DatabaseUrl, JournalConfig, JournalServer};
use journal::{Audit, AuditWatch, HistoryHead, Journal, OpenError, Setup, Turn};

pub(super) fn open(_: &JournalServer) -> Result<Journal, OpenError> {
    Err(OpenError::NotBuiltIn)
}

pub(super) fn open_in_turn(_: &JournalServer, _: Setup) -> Result<Turn, OpenError> {
    Err(OpenError::NotBuiltIn)
}

pub(super) fn create(_: &JournalServer, _: &DatabaseUrl) -> Result<(), OpenError> {
    Err(OpenError::NotBuiltIn)
}

pub(super) fn copy_to_server(
    _: &JournalConfig,
    _: &JournalServer,
    _: &DatabaseUrl,
    _: AuditWatch<'_>,
) -> Result<Audit, OpenError> {
    Err(OpenError::NotBuiltIn)
}

pub(super) fn copy_to_file(
    _: &JournalServer,
    _: &JournalConfig,
    _: AuditWatch<'_>,
) -> Result<Audit, OpenError> {
    Err(OpenError::NotBuiltIn)
}

pub(super) fn migrate(_: &JournalServer, _: &DatabaseUrl) -> Result<Versions, OpenError> {
    Err(OpenError::NotBuiltIn)
}

pub(super) fn audit(
    _: &JournalServer,
    _: &[HistoryHead],
    _: AuditWatch<'_>,
) -> Result<Audit, OpenError> {
    Err(OpenError::NotBuiltIn)
}
