//! Servers that would lose what they have committed, that only follow another one, or that are slow: each a real
//! one, and nothing is written where it would not last.

use super::away::eventually;
use super::losing::Line;
use super::migrating::number;
use super::*;
use rustix::process::geteuid;
use std::path::Path;
use std::process::Command;

/// A server of one test's own. Ended when it is dropped.
struct OwnServer {
    home: TempDir,
}

impl OwnServer {
    /// A new one, which does not run yet.
    fn new() -> Self {
        let made = Self::empty();
        made.run("initdb", &["--username", "postgres", "--auth", "trust", "--no-locale"]);
        made
    }

    fn empty() -> Self {
        let home = tempfile::Builder::new().prefix("signer-own-").tempdir_in("/tmp").unwrap();
        std::os::unix::fs::chown(home.path(), owner(), None).unwrap();
        Self { home }
    }

    /// A copy of its files, which follows whatever server there may be.
    fn standby(&self) -> Self {
        let made = Self::empty();
        let mut copy = as_owner(Path::new("cp"));
        let copied = copy.args(["-a", &self.data(), &made.data()]).status().unwrap();
        assert!(copied.success());
        let signal = made.home.path().join("data/standby.signal");
        assert!(as_owner(Path::new("touch")).arg(signal).status().unwrap().success());
        made
    }

    fn data(&self) -> String {
        self.home.path().join("data").display().to_string()
    }

    /// Starts it with these settings, listening on a socket of its own alone.
    fn start(&self, settings: &str) {
        let home = self.home.path().display();
        let options = format!("-c listen_addresses= -c unix_socket_directories={home} {settings}");
        let log = self.home.path().join("log").display().to_string();
        self.run("pg_ctl", &["start", "--wait", "--silent", "--log", &log, "--options", &options]);
    }

    fn stop(&self) {
        self.run("pg_ctl", &["stop", "--mode", "fast", "--silent"]);
    }

    fn run(&self, program: &str, words: &[&str]) {
        let program = programs().join(program);
        let mut command = as_owner(&program);
        command.args(words).args(["--pgdata", &self.data()]).current_dir(self.home.path());
        let quiet = command.stdout(std::process::Stdio::null()).status().unwrap();
        assert!(quiet.success(), "{} {words:?}", program.display());
    }

    fn reached(&self) -> Config {
        let mut config = Config::new();
        config.host_path(self.home.path()).user("postgres").dbname("postgres");
        config
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let mut stop = as_owner(&programs().join("pg_ctl"));
        stop.args(["stop", "--mode", "immediate", "--silent", "--pgdata", &self.data()]);
        stop.stderr(std::process::Stdio::null()).status().ok();
    }
}

#[expect(clippy::disallowed_methods, reason = "what tests run on is no part of the configuration")]
/// Where the programs of the server are that tests/postgres.sh starts.
pub(super) fn programs() -> PathBuf {
    std::env::var("SIGNER_TEST_POSTGRES_PROGRAMS").expect("run by tests/postgres.sh").into()
}

/// The server refuses to be root.
pub(super) fn owner() -> Option<u32> {
    geteuid().is_root().then_some(65_534)
}

pub(super) fn as_owner(program: &Path) -> Command {
    if !geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(program);
    command
}

/// One that is older than any that will do: here a line that has it say so.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_server_that_is_too_old_is_refused_in_words_before_anything_is_made_on_it() {
    let (server, room) = (given().unwrap(), tempfile::tempdir().unwrap());
    ran(server.clone(), format!("{ROLE}; CREATE SCHEMA {}", schema(&room))).unwrap();
    let line = Line::that_says(&server, ("SHOW server_version_num", "SELECT 130011 AS number"));
    let config = line.leads(config(&server, &room), &room);
    let mut owner = config.server.clone();
    owner.user("postgres");
    let words = "it is PostgreSQL 13.11, and 14 is the oldest that will do";
    let told = journal_pg::create(&config, &owner, "signer").unwrap_err().to_string();
    assert!(told.contains(words), "{told}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()";
    assert_eq!(number(&server, &room, tables), 0);
    let told = refused(&config);
    assert!(told.contains(words), "{told}");
    let told = journal_pg::open_in_turn(&config, Clock::MACHINE).unwrap_err().to_string();
    assert!(told.contains(words), "{told}");
}

/// What a server says whose disk is full, here by a trigger. A table that has room left would take the next row.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_server_without_room_is_told_of_until_it_keeps_what_is_written() {
    let server = given().unwrap();
    let book = Book::new().await;
    let within = within(&server, &book.room);
    ran(
        within.clone(),
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
         CREATE TRIGGER full_disk BEFORE INSERT ON ending FOR EACH ROW EXECUTE FUNCTION full_disk()"
            .to_owned(),
    )
    .unwrap();
    assert!(book.journal.ready().is_ok(), "nothing was written yet");
    assert!(book.accept(&[item(1, 1)]).await.is_err());
    eventually("readiness says so", async || {
        book.journal.ready().is_err_and(|why| why.to_string().contains("its disk is full"))
    })
    .await;
    assert!(book.claims(item(1, 1)).await.is_empty(), "people may read");
    ran(within, "DROP TRIGGER full_disk ON ending".to_owned()).unwrap();
    eventually("it finds out by itself", async || book.journal.ready().is_ok()).await;
    assert!(book.takes(item(1, 1)).await);
    assert_eq!(book.audit().await.faults, Vec::<String>::new());
}

fn refused(config: &ServerConfig) -> String {
    journal_pg::open(config, Clock::MACHINE).unwrap_err().to_string()
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_server_that_may_lose_commits_is_refused_and_so_is_one_that_only_follows() {
    let own = OwnServer::new();
    own.start("");
    let (server, room) = (own.reached(), Room::new());
    made(&server, &room).close().await;
    let config = config(&server, &room);
    for setting in ["fsync", "full_page_writes"] {
        own.stop();
        own.start(&format!("-c {setting}=off"));
        let told = refused(&config);
        assert!(told.contains(&format!("{setting} is off: the server may lose what")), "{told}");
    }
    own.stop();
    let follows = own.standby();
    follows.start("");
    let alone = super::config(&follows.reached(), &room);
    let told = refused(&alone);
    assert!(told.contains("it only follows another server (a standby)"), "{told}");
    // Nothing can be copied there or made there either.
    let owner = within(&follows.reached(), &room);
    let made = journal_pg::create(&alone, &owner, "signer").unwrap_err().to_string();
    assert!(made.contains("standby") || made.contains("read-only"), "{made}");
    let migrated = journal_pg::migrate(&alone, &owner).unwrap_err().to_string();
    assert!(migrated.contains("it only follows another server (a standby)"), "{migrated}");
    // Of several hosts the one that takes writes is found, whichever is named first.
    own.start("");
    let mut both = Config::new();
    both.host_path(follows.home.path()).host_path(own.home.path());
    both.user("signer").dbname("postgres").options(format!("-c search_path={}", schema(&room)));
    let journal = journal_pg::open(&ServerConfig { server: both, ..config }, Clock::MACHINE);
    let journal = journal.unwrap();
    assert!(!journal.found().is_old_copy());
    journal.close().await;
}

/// A server whose settings were changed is reached again like one that is new.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_server_that_may_lose_commits_since_a_restart_gets_nothing_more_to_keep() {
    let own = OwnServer::new();
    own.start("");
    let (server, room) = (own.reached(), Room::new());
    made(&server, &room).close().await;
    let journal = journal_pg::open(&config(&server, &room), Clock::MACHINE).unwrap();
    let book = Book::begin(journal, room).await;
    assert!(book.takes(item(1, 1)).await);
    own.stop();
    own.start("-c fsync=off");
    eventually("it says so", async || {
        book.journal.ready().is_err_and(|why| why.to_string().contains("fsync is off"))
    })
    .await;
    assert!(book.accept(&[item(2, 1)]).await.is_err());
    own.stop();
    own.start("");
    eventually("it goes on", async || book.accept(&[item(2, 1)]).await.is_ok()).await;
    assert_eq!(book.next_position().await, FIRST + 2);
}

/// Something between drops what each session asks for: here a line that says `no` for `on`.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_session_whose_commits_would_not_be_waited_for_is_refused() {
    let (server, room) = (given().unwrap(), Room::new());
    made(&server, &room).close().await;
    let line = Line::that_says(&server, ("synchronous_commit = on", "synchronous_commit = no"));
    let told = refused(&line.leads(config(&server, &room), &room));
    let words = "synchronous_commit is off, though `on` was asked for: the server may lose what";
    assert!(told.contains(words), "{told}");
}

/// Only a warning tells of a commit that no standby has.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_session_hears_warnings_whatever_its_role_or_its_url_sets() {
    let (server, room) = (given().unwrap(), Room::new());
    made(&server, &room).close().await;
    let mut quiet = config(&server, &room);
    quiet.server.options(format!("-c search_path={} -c client_min_messages=error", schema(&room)));
    let journal = journal_pg::open(&quiet, Clock::MACHINE).unwrap();
    let asked = |conn: &dyn Database| {
        let sql = "SELECT current_setting('client_min_messages')";
        conn.query_row(sql, [], |row| row.get::<String>(0))
    };
    assert_eq!(journal.read(asked).await.unwrap(), "notice");
    journal.close().await;
    let slip = ("client_min_messages = notice", "client_min_messages = error ");
    let told = refused(&Line::that_says(&server, slip).leads(config(&server, &room), &room));
    let words = "client_min_messages is error, though `notice` was asked for: the server may lose";
    assert!(told.contains(words), "{told}");
}

/// A statement that takes longer than it may is given up by the server. The line makes that a second.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_statement_that_takes_too_long_costs_its_write_and_nothing_else() {
    let (server, room) = (given().unwrap(), Room::new());
    made(&server, &room).close().await;
    let line = Line::that_says(&server, ("statement_timeout = '30s'", "statement_timeout = '01s'"));
    let config = line.leads(config(&server, &room), &room);
    let journal = journal_pg::open(&config, Clock::MACHINE).unwrap();
    let owner = within(&server, &room);
    let book = Book::begin(journal, room).await;
    ran(
        owner.clone(),
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_sleep(5); RETURN NEW; END $$;
         CREATE TRIGGER slow BEFORE INSERT ON claim FOR EACH ROW EXECUTE FUNCTION slow()"
            .to_owned(),
    )
    .unwrap();
    let told = book.accept(&[item(1, 1)]).await;
    assert!(told.is_err(), "{told:?}");
    assert!(book.claims(item(1, 1)).await.is_empty(), "nothing of it is kept");
    ran(owner, "DROP TRIGGER slow ON claim".to_owned()).unwrap();
    assert!(book.takes(item(1, 1)).await, "the next one is taken at once");
    assert_eq!(book.next_position().await, FIRST + 1, "no place is left out");
    assert_eq!(book.audit().await.faults, Vec::<String>::new());
}
