//! Journals on the server that tests/postgres.sh starts, each in a schema of its own, used by a role that may do
//! what a Signer needs and nothing else.

use host::clock::Clock;
use journal::store::Steps;
use journal::{Journal, Setup};
use journal_pg::ServerConfig;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, Config, Error, NoTls};

/// Makes the role of a Signer where there is none.
pub const ROLE: &str = "DO $$ BEGIN CREATE ROLE signer LOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$";

/// Longest wait for an answer.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The server, as its owner reaches it. None: the environment names none.
#[expect(clippy::disallowed_methods, reason = "what tests run on is no part of the configuration")]
pub fn given() -> Option<Config> {
    Some(std::env::var("SIGNER_TEST_POSTGRES").ok()?.parse().unwrap())
}

/// The schema of a room.
pub fn schema(room: &TempDir) -> String {
    let name = room.path().file_name().unwrap().to_string_lossy().to_ascii_lowercase();
    format!("test_{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"))
}

/// The server in the schema of a room, as its owner reaches it.
pub fn within(server: &Config, room: &TempDir) -> Config {
    let mut config = server.clone();
    config.options(format!("-c search_path={}", schema(room)));
    config
}

/// The journal in the schema of a room, as a Signer reaches it.
pub fn config(server: &Config, room: &TempDir) -> ServerConfig {
    let mut signer = within(server, room);
    signer.user("signer");
    let mark_path = room.path().join("journal.mark");
    ServerConfig {
        server: signer,
        authority_file: None,
        mark_path,
        patience: PATIENCE,
        queue_length: 256,
        place: "the server".to_owned(),
        instance: "a test".to_owned(),
        takeover_after: Duration::from_secs(10),
        shared: false,
        steps: Steps::default(),
        setup: Setup::default(),
    }
}

/// A session with the server beside those of the journal. Each call blocks the thread, which must not be one of a
/// runtime.
#[derive(Debug)]
pub struct PlainSession {
    runtime: Runtime,
    client: Client,
}

impl PlainSession {
    /// Connects without TLS.
    pub fn open(server: &Config) -> Result<Self, Error> {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (client, connection) = runtime.block_on(server.connect(NoTls))?;
        runtime.spawn(connection);
        Ok(Self { runtime, client })
    }

    /// Runs statements that tell nothing.
    pub fn batch(&self, sql: &str) -> Result<(), Error> {
        self.runtime.block_on(self.client.batch_execute(sql))
    }

    /// The first value of what a statement finds.
    pub fn number(&self, sql: &str) -> Result<i64, Error> {
        self.runtime.block_on(self.client.query_one(sql, &[]))?.try_get(0)
    }
}

/// Runs statements as `server` says, in a session of their own.
pub fn ran(server: Config, sql: String) -> Result<(), Error> {
    std::thread::spawn(move || PlainSession::open(&server)?.batch(&sql)).join().unwrap()
}

/// A new journal.
pub fn made(server: &Config, room: &TempDir) -> Journal {
    ran(server.clone(), format!("{ROLE}; CREATE SCHEMA {}", schema(room))).unwrap();
    journal_pg::create(&config(server, room), &within(server, room), "signer").unwrap();
    opened(server, room)
}

/// The journal that is there.
pub fn opened(server: &Config, room: &TempDir) -> Journal {
    journal_pg::open(&config(server, room), Clock::MACHINE).unwrap()
}
