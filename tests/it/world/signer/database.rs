//! A journal on the server that tests/postgres.sh starts: a schema of its own, where the environment asks for one
//! (`SIGNER_TEST_JOURNAL=server`).

use super::Installation;
use super::closing::Room;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Where a new journal may be made on the server.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    schema: String,
    pub(crate) port: u16,
}

#[expect(clippy::disallowed_methods, reason = "what tests run on is no part of the configuration")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Installation {
    /// Another machine with the same configuration and journal, under this name.
    pub(crate) fn beside(&self, name: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (here, there) = (self.path().display(), directory.path().display());
        let config = std::fs::read_to_string(self.path().join("signer.toml")).unwrap();
        let config = config.replace(&here.to_string(), &there.to_string());
        std::fs::write(directory.path().join("signer.toml"), config).unwrap();
        std::fs::copy(self.path().join("evm.key"), directory.path().join("evm.key")).unwrap();
        let another =
            Self { directory: Room::new(directory, self.database.is_some()), ..self.clone() };
        another.env("SIGNER__JOURNAL__INSTANCE", name)
    }
}

/// Whether journals are to be on a server.
pub(crate) fn asked_for() -> bool {
    variable("SIGNER_TEST_JOURNAL").is_some_and(|kind| kind == "server")
}

impl Database {
    /// A new schema, named after the room of the installation.
    pub(crate) fn new(room: &Path) -> Self {
        let given = variable("SIGNER_TEST_POSTGRES").expect("run by tests/postgres.sh");
        let name = room.file_name().unwrap().to_string_lossy().to_ascii_lowercase();
        let schema = format!("it_{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        let port = given.split(' ').find_map(|word| word.strip_prefix("port="));
        let made = Self { schema, port: port.unwrap().parse().unwrap() };
        let _nothing = made.run(&format!(
            "DO $$ BEGIN CREATE ROLE signer LOGIN;
             EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
             CREATE SCHEMA {}",
            made.schema
        ));
        made
    }

    /// What it is called on the server.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// As whom it is used, through `port`.
    pub(crate) fn url_of(&self, role: &str, port: u16) -> String {
        let schema = &self.schema;
        format!("postgresql://{role}@127.0.0.1:{port}/postgres?options=-c%20search_path%3D{schema}")
    }

    /// As the Signer uses it.
    pub(crate) fn url(&self) -> String {
        self.url_of("signer", self.port)
    }

    /// As its owner uses it.
    pub(crate) fn owner_url(&self) -> String {
        self.url_of("postgres", self.port)
    }

    /// Leaves the owner's URL in `room`, where it is its owner's alone.
    pub(crate) fn write_owner(&self, room: &Path) {
        let mut options = std::fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(room.join("owner"));
        file.unwrap().write_all(self.owner_url().as_bytes()).unwrap();
    }

    /// Runs statements as the owner; tells the first column of what they find.
    #[cfg(feature = "postgres")]
    pub(crate) fn run(&self, sql: &str) -> Vec<String> {
        self.ask(sql).unwrap()
    }

    /// The same; none where the server does not do it.
    #[cfg(feature = "postgres")]
    pub(crate) fn try_run(&self, sql: &str) -> Option<Vec<String>> {
        self.ask(sql).ok()
    }

    #[cfg(feature = "postgres")]
    fn ask(&self, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
        let (url, sql) = (self.owner_url(), sql.to_owned());
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let (client, connection) =
                    tokio_postgres::connect(&url, tokio_postgres::NoTls).await?;
                let asks = async move { client.simple_query(&sql).await };
                tokio::join!(asks, connection).0
            })
        };
        let told = std::thread::spawn(work).join().unwrap()?;
        let first = |message| {
            let tokio_postgres::SimpleQueryMessage::Row(row) = message else { return None };
            row.get(0).map(str::to_owned)
        };
        Ok(told.into_iter().filter_map(first).collect())
    }

    #[cfg(not(feature = "postgres"))]
    pub(crate) fn try_run(&self, sql: &str) -> Option<Vec<String>> {
        Some(self.run(sql))
    }

    #[cfg(not(feature = "postgres"))]
    pub(crate) fn run(&self, _: &str) -> Vec<String> {
        panic!("a journal on a server needs the feature `postgres`");
    }
}
