//! A journal on a server is made, opened and verified.

use crate::lock::HOLD_SOON;
use crate::lost::{Lost, apart};
use crate::session::Session;
use crate::standby::stand_by;
use crate::starting::{Reached, begin, reach_for, serve};
use crate::{ServerConfig, fitness, instance_table, new_tables, steps};
use host::clock::Clock;
use journal::store::{self, find_place_for_mark};
use journal::{Audit, AuditWatch, HistoryHead, Journal, OpenError, Turn};
use std::time::Duration;

/// Time that a starting Signer waits for a Signer that is just ending before it stands by and listens.
const STAND_BY_SOON: Duration = Duration::from_millis(500);

/// Makes the tables of a new journal in the schema that `owner` sees first, lets `role` use them, and writes the mark.
pub fn create(
    config: &ServerConfig,
    owner: &tokio_postgres::Config,
    role: &str,
) -> Result<(), OpenError> {
    find_place_for_mark(&config.mark_path)?;
    let made = apart(|| new_tables::make(config, owner, role));
    made.map_err(|problem| problem.opening(&config.place))
}

/// Opens a journal. A database that may have forgotten something is an old copy.
pub fn open(config: &ServerConfig, clock: Clock) -> Result<Journal, OpenError> {
    find_place_for_mark(&config.mark_path)?;
    let opened = apart(|| match reach_for(config, instance_table::COMMAND, HOLD_SOON)? {
        Reached::Held(candidate) => Ok(begin(config, candidate, clock)?.run()?.0),
        Reached::Waits(_) => Err(Lost::Held),
    });
    opened.map_err(|problem| problem.opening(&config.place))
}

/// Opens a journal to serve, or stands by while another process has it.
pub fn open_in_turn(config: &ServerConfig, clock: Clock) -> Result<Turn, OpenError> {
    find_place_for_mark(&config.mark_path)?;
    let opened = apart(|| match reach_for(config, instance_table::SERVES, STAND_BY_SOON)? {
        Reached::Held(candidate) => Ok(Turn::Now(serve(config, candidate, clock)?)),
        Reached::Waits(waits) => stand_by(config, waits, clock).map(Turn::Later),
    });
    opened.map_err(|problem| problem.opening(&config.place))
}

/// Verifies a journal as it was at one moment, whoever uses it meanwhile.
pub fn audit(
    config: &ServerConfig,
    kept: &[HistoryHead],
    watch: AuditWatch<'_>,
) -> Result<Audit, OpenError> {
    let audited = apart(|| {
        let mut session = Session::open(&config.server, config, "merchant-signer audit")?;
        steps::take_time(&mut session)?;
        session.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        if let Some(problem) = fitness::tables(&session, config.steps.newest())? {
            return Err(Lost::Unfit(problem));
        }
        Ok(store::audit(&session, kept, watch)?)
    });
    audited.map_err(|problem| problem.opening(&config.place))
}
