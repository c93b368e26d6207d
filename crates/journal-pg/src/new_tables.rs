//! The tables of a journal, made anew by their owner.

use crate::lost::Lost;
use crate::mark::{Known, LastSeen, MarkFile, Server};
use crate::session::{Committed, Session};
use crate::token::Token;
use crate::{ServerConfig, pooler, steps};
use host::clock::Clock;
use journal::sql::SqlError;
use journal::store::{BootId, OLDEST, insert_boot};

/// Makes the tables of a journal that nobody has begun on, and the mark.
pub(crate) fn make(
    config: &ServerConfig,
    owner: &tokio_postgres::Config,
    role: &str,
) -> Result<(), Lost> {
    let (made, server) = tables(config, owner, role)?;
    let boot = made.boot;
    insert_boot(&made.session, boot, Clock::MACHINE.unix_ms())?;
    let known = made.commit()?;
    let file = MarkFile::at(&config.mark_path);
    file.write(&LastSeen { boot, known, server }).map_err(|e| SqlError::foreign(e).into())
}

/// Empty tables that are not committed yet.
pub(crate) struct NewTables {
    pub(crate) session: Session,
    token: Token,
    /// For the first start on them.
    pub(crate) boot: BootId,
}

/// Makes the tables in the schema that `owner` sees first, and lets `role` use them.
pub(crate) fn tables(
    config: &ServerConfig,
    owner: &tokio_postgres::Config,
    role: &str,
) -> Result<(NewTables, Server), Lost> {
    let session = Session::open(owner, config, "merchant-signer owner")?;
    pooler::is_alone(&session, owner, config)?;
    let server = Server::of(&session)?.ok_or(Lost::Follows)?;
    session.batch("BEGIN")?;
    session.batch(include_str!("schema.sql"))?;
    let token = Token::random()?;
    session.name(token);
    steps::note(&session, OLDEST)?;
    steps::take(&session, OLDEST, config.steps.0)?;
    steps::grant(&session, role)?;
    let boot = BootId::random().map_err(SqlError::foreign)?;
    Ok((NewTables { session, token, boot }, server))
}

impl NewTables {
    /// Has them be there.
    pub(crate) fn commit(&self) -> Result<Known, Lost> {
        let Committed::Yes(known) = self.session.commit(self.token) else {
            let problem = "the tables were not made; see what is there and begin anew";
            return Err(SqlError::foreign(problem).into());
        };
        Ok(known)
    }
}
