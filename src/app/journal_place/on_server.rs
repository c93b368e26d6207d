//! The journal on a PostgreSQL server, as `journal-pg` keeps it.

use super::Versions;
use config::{DatabaseUrl, JournalConfig, JournalServer};
use host::clock::Clock;
use journal::{Audit, AuditWatch, HistoryHead, Journal, OpenError, Setup, Turn};
use journal_pg::{Migrated, ServerAndOwner, ServerConfig};

pub(super) fn open(at: &JournalServer) -> Result<Journal, OpenError> {
    journal_pg::open(&ServerConfig::of(at), Clock::MACHINE)
}

pub(super) fn open_in_turn(at: &JournalServer, setup: Setup) -> Result<Turn, OpenError> {
    let config = ServerConfig { setup, ..ServerConfig::of(at) };
    journal_pg::open_in_turn(&config, Clock::MACHINE)
}

pub(super) fn create(at: &JournalServer, owner: &DatabaseUrl) -> Result<(), OpenError> {
    let role = at.url.expose().get_user().unwrap_or_default();
    journal_pg::create(&ServerConfig::of(at), owner.expose(), role)
}

pub(super) fn copy_to_server(
    from: &JournalConfig,
    to: &JournalServer,
    owner: &DatabaseUrl,
    watch: AuditWatch<'_>,
) -> Result<Audit, OpenError> {
    let config = &ServerConfig::of(to);
    journal_pg::to_server(from, ServerAndOwner { config, owner: owner.expose() }, watch)
}

pub(super) fn copy_to_file(
    from: &JournalServer,
    to: &JournalConfig,
    watch: AuditWatch<'_>,
) -> Result<Audit, OpenError> {
    journal_pg::to_file(&ServerConfig::of(from), to, watch)
}

pub(super) fn migrate(at: &JournalServer, owner: &DatabaseUrl) -> Result<Versions, OpenError> {
    let Migrated { from, to } = journal_pg::migrate(&ServerConfig::of(at), owner.expose())?;
    Ok(Versions { from, to })
}

pub(super) fn audit(
    at: &JournalServer,
    kept: &[HistoryHead],
    watch: AuditWatch<'_>,
) -> Result<Audit, OpenError> {
    journal_pg::audit(&ServerConfig::of(at), kept, watch)
}
