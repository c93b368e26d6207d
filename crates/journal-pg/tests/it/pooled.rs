//! A pooler between the Signer and the server: `PgBouncer` itself, which Debian has. In session mode it changes nothing;
//! in transaction mode it gives one session's transactions to several processes of the server.

use super::unfit::{as_owner, owner};
use super::*;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Stdio};
use tokio::net::TcpSocket;
use tokio_postgres::config::Host;

/// `PgBouncer`, before a database of its own. It takes no `search_path`, so the journal is where every role looks first.
struct Pooler {
    process: Child,
    port: u16,
    database: String,
    _home: TempDir,
    _kept: TcpSocket,
}

impl Pooler {
    fn before(server: &Config, mode: &str) -> Self {
        let home = tempfile::Builder::new().prefix("signer-pool-").tempdir_in("/tmp").unwrap();
        std::os::unix::fs::chown(home.path(), owner(), None).unwrap();
        let database = schema(&home);
        ran(server.clone(), ROLE.to_owned()).unwrap();
        ran(server.clone(), format!("CREATE DATABASE {database}")).unwrap();
        // Bound and not listening, so that nobody else gets the port before PgBouncer listens beside it.
        let kept = TcpSocket::new_v4().unwrap();
        kept.set_reuseaddr(true).unwrap();
        kept.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let port = kept.local_addr().unwrap().port();
        let [Host::Unix(socket), ..] = server.get_hosts() else { panic!() };
        let (socket, server_port) = (socket.display(), server.get_ports()[0]);
        let config = format!(
            "[databases]\n{database} = host={socket} port={server_port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = users\npool_mode = {mode}\n"
        );
        let path = home.path().join("pgbouncer.ini");
        std::fs::write(&path, config).unwrap();
        std::fs::write(home.path().join("users"), "\"postgres\" \"\"\n\"signer\" \"\"\n").unwrap();
        let mut command = as_owner(Path::new("pgbouncer"));
        command.arg(path).current_dir(home.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().expect("pgbouncer: apt-get install pgbouncer");
        let made = Self { process, port, database, _home: home, _kept: kept };
        for _ in 0..200 {
            if ran(made.reached("postgres"), "SELECT 1".to_owned()).is_ok() {
                return made;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("PgBouncer does not answer");
    }

    fn reached(&self, user: &str) -> Config {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.port).user(user).dbname(&self.database);
        config
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

const WORDS: &str = "a pooler gives the sessions of the Signer to one another";

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_pooler_that_shares_sessions_is_refused_and_one_that_does_not_serves() {
    let (server, room) = (given().unwrap(), Room::new());
    let pooler = Pooler::before(&server, "transaction");
    let through = |pooler: &Pooler| {
        let server = pooler.reached("signer");
        ServerConfig { server, ..config(&given().unwrap(), &room) }
    };
    let shared = through(&pooler);
    let owner = pooler.reached("postgres");
    let told = journal_pg::create(&shared, &owner, "signer").unwrap_err().to_string();
    assert!(told.contains(WORDS), "{told}");
    let mut direct = server.clone();
    direct.dbname(&pooler.database);
    journal_pg::create(&shared, &direct, "signer").unwrap();
    // Each of several starts, however many processes of the server the pool has by then.
    for _ in 0..3 {
        let told = journal_pg::open_in_turn(&shared, Clock::MACHINE).unwrap_err().to_string();
        assert!(told.contains(WORDS), "{told}");
        let told = journal_pg::open(&shared, Clock::MACHINE).unwrap_err().to_string();
        assert!(told.contains(WORDS), "{told}");
    }

    let pooler = Pooler::before(&server, "session");
    let (alone, owner) = (through(&pooler), pooler.reached("postgres"));
    std::fs::remove_file(&alone.mark_path).unwrap();
    journal_pg::create(&alone, &owner, "signer").unwrap();
    let book = Book::begin(journal_pg::open(&alone, Clock::MACHINE).unwrap(), room).await;
    assert!(!book.journal.found().is_old_copy());
    assert!(book.takes(item(1, 1)).await);
    assert!(!book.takes(item(1, 1)).await);
    assert_eq!(book.audit().await.faults, Vec::<String>::new());
}
