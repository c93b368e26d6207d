//! COMMIT whose answer is lost: whoever waits for it is told the truth, and nothing but the token tells it.

use super::*;
use parking_lot::Mutex;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_postgres::config::Host;

/// What becomes of a COMMIT on its way.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// Nothing.
    None,
    /// The server does it, and its answer is lost.
    AnswerLost,
    /// The server does it, and its answer is long on its way.
    AnswerHeld,
    /// The connection breaks before the server hears of it.
    NeverSent,
    /// The connection breaks for the Signer, and the server hears of it later.
    SentLate,
    /// Nothing passes any more, and no end is told.
    Silent,
}

/// A line to the server that breaks when it is told to.
pub(super) struct Line {
    port: u16,
    next: Arc<Mutex<Option<Fate>>>,
    /// Whether no connection is let through, and those that are open break.
    cut: Arc<AtomicBool>,
    /// Whether what is asked stays on the way, as if the process that asks had been stopped.
    mute: Arc<AtomicBool>,
}

/// What is said instead of something else of the same length.
type Slip = (&'static str, &'static str);

impl Line {
    pub(super) fn to(server: &Config) -> Self {
        Self::that_says(server, ("", ""))
    }

    /// To a server that hears something else than what was said.
    pub(super) fn that_says(server: &Config, slip: Slip) -> Self {
        let [Host::Unix(directory), ..] = server.get_hosts() else { panic!("no socket") };
        let socket = directory.join(format!(".s.PGSQL.{}", server.get_ports()[0]));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, next) = (listener.local_addr().unwrap().port(), Arc::default());
        let cut = Arc::new(AtomicBool::new(false));
        let (fates, broken) = (Arc::clone(&next), Arc::clone(&cut));
        let mute = Arc::new(AtomicBool::new(false));
        let muted = Arc::clone(&mute);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                if broken.load(Ordering::SeqCst) {
                    continue;
                }
                let server = UnixStream::connect(&socket).unwrap();
                let ears = Arc::new(Ears::default());
                let (one, other, cut) =
                    (client.try_clone().unwrap(), server.try_clone().unwrap(), Arc::clone(&broken));
                std::thread::spawn(move || {
                    while !cut.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(50));
                    }
                    one.shutdown(Shutdown::Both).ok();
                    other.shutdown(Shutdown::Both).ok();
                });
                let ends = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let heard = Arc::clone(&ears);
                let (fates, mute) = (Arc::clone(&fates), Arc::clone(&muted));
                let mouth = Mouth { ears, fates, mute, slip };
                std::thread::spawn(move || answers(ends.0, ends.1, &heard));
                std::thread::spawn(move || questions(client, server, &mouth));
            }
        });
        Self { port, next, cut, mute }
    }

    /// The same, over this line.
    pub(super) fn leads(&self, mut config: ServerConfig, room: &TempDir) -> ServerConfig {
        config.server = Config::new();
        config.server.host("127.0.0.1").port(self.port).user("signer").dbname("postgres");
        config.server.options(format!("-c search_path={}", schema(room)));
        config
    }

    /// What becomes of the next COMMIT.
    pub(super) fn meets(&self, fate: Fate) {
        *self.next.lock() = Some(fate);
    }

    /// Keeps back whatever is asked from now on. No end is told.
    pub(super) fn mute(&self) {
        self.mute.store(true, Ordering::SeqCst);
    }

    /// Cuts it.
    pub(super) fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }

    /// Mends it.
    pub(super) fn mend(&self) {
        self.cut.store(false, Ordering::SeqCst);
    }
}

/// What a client hears of the server's answers.
#[derive(Default)]
struct Ears {
    /// The next one breaks the connection.
    deaf: AtomicBool,
    /// None, and the connection stays.
    held: AtomicBool,
}

fn answers(mut server: UnixStream, mut client: TcpStream, Ears { deaf, held }: &Ears) {
    let mut bytes = [0; 1 << 14];
    while let Ok(length @ 1..) = server.read(&mut bytes) {
        if held.load(Ordering::SeqCst) {
            continue;
        }
        if deaf.load(Ordering::SeqCst) || client.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    client.shutdown(Shutdown::Both).ok();
}

/// The part of the client's questions that a server hears.
struct Mouth {
    ears: Arc<Ears>,
    fates: Arc<Mutex<Option<Fate>>>,
    mute: Arc<AtomicBool>,
    slip: Slip,
}

fn questions(mut client: TcpStream, mut server: UnixStream, mouth: &Mouth) {
    let Mouth { ears, fates, mute, slip: (said, heard) } = mouth;
    let Ears { deaf, held } = &**ears;
    let mut bytes = [0; 1 << 14];
    while let Ok(length @ 1..) = client.read(&mut bytes) {
        while mute.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let asked = &mut bytes[..length];
        let place = asked.windows(said.len().max(1)).position(|part| part == said.as_bytes());
        if let Some(place) = place {
            asked[place..].iter_mut().zip(heard.bytes()).for_each(|(byte, heard)| *byte = heard);
        }
        let commits = asked.windows(7).any(|part| part == b"COMMIT;");
        match commits.then(|| fates.lock().take()).flatten() {
            None | Some(Fate::None) => {}
            Some(Fate::AnswerLost) => deaf.store(true, Ordering::SeqCst),
            Some(Fate::AnswerHeld) => held.store(true, Ordering::SeqCst),
            Some(Fate::NeverSent) => {
                client.shutdown(Shutdown::Both).ok();
                break;
            }
            Some(Fate::Silent) => {
                deaf.store(true, Ordering::SeqCst);
                // Both ends stay open for as long as the test runs.
                std::thread::sleep(Duration::from_mins(2));
                break;
            }
            Some(Fate::SentLate) => {
                deaf.store(true, Ordering::SeqCst);
                client.shutdown(Shutdown::Both).unwrap();
                std::thread::sleep(Duration::from_millis(700));
            }
        }
        if server.write_all(asked).is_err() {
            break;
        }
    }
    server.shutdown(Shutdown::Write).ok();
}

const FATES: [Fate; 4] = [Fate::None, Fate::AnswerLost, Fate::NeverSent, Fate::SentLate];

/// A journal that is reached by a line.
pub(super) async fn over_a_line(server: &Config, patience: Duration) -> (Book, Line) {
    let room = Room::new();
    drop(made(server, &room));
    let line = Line::to(server);
    let config = ServerConfig { patience, ..line.leads(config(server, &room), &room) };
    let journal = journal_pg::open(&config, Clock::MACHINE).unwrap();
    (Book::begin(journal, room).await, line)
}

/// Has a COMMIT meet its fate. Tells what its caller was told, and whether the charge is claimed then.
async fn meet(book: &Book, line: &Line, who: u8, fate: Fate) -> (bool, bool) {
    line.meets(fate);
    let told = book.accept(&[item(who, 1)]).await.is_ok();
    assert!(line.next.lock().is_none(), "{fate:?} did not come about");
    // It waits for its turn, and so until a COMMIT that comes late is done.
    drop(book.accept(&[item(who, 2)]).await);
    (told, !book.claims(item(who, 1)).await.is_empty())
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn whatever_becomes_of_a_commit_whose_answer_is_lost_its_caller_is_told_the_truth() {
    let server = given().unwrap();
    let (book, line) = over_a_line(&server, PATIENCE).await;
    for (who, fate) in (1..).zip(FATES) {
        let happens = !matches!(fate, Fate::NeverSent);
        assert_eq!(meet(&book, &line, who, fate).await, (happens, happens), "{fate:?}");
        assert_eq!(book.takes(item(who, 1)).await, !happens, "{fate:?}: charged once in the end");
    }
    assert_eq!(book.next_position().await, FIRST + 8, "no place is left out");
    assert_eq!(book.audit().await.faults, Vec::<String>::new());
}

/// The server shows what a COMMIT has done before its answer is here, and may lose it again with a failover.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn nobody_is_told_of_a_commit_before_it_is_known_to_have_happened() {
    let server = given().unwrap();
    let (book, line) = over_a_line(&server, Duration::from_secs(3)).await;
    assert!(book.takes(item(1, 1)).await);
    line.meets(Fate::AnswerHeld);
    let scope = || ClaimScope { chain: CHAIN, contract: CONTRACT, chain_time: 0 };
    let charge = [item(2, 1)];
    let look = async {
        let there =
            "DO $$ BEGIN IF (SELECT count(*) < 2 FROM claim) THEN RAISE 'not yet'; END IF; END $$";
        while ran(within(&server, &book.room), there.to_owned()).is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        book.journal.claims(scope(), vec![subject(item(2, 1))]).await
    };
    let (told, seen) = tokio::join!(book.accept(&charge), look);
    assert!(matches!(seen, Err(JournalError::Away(_))), "told of what may be undone: {seen:?}");
    assert!(told.is_ok(), "it is asked for: {told:?}");
    assert_eq!(book.claims(item(2, 1)).await.len(), 1, "and told of from then on");
}

/// Rules broken on purpose, around the product: each time some caller is told what is not so.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn without_its_token_a_commit_whose_answer_is_lost_cannot_be_told_of() {
    let server = given().unwrap();
    let mutants = [
        (
            "the token is not written",
            "CREATE RULE none AS ON INSERT TO ending WHERE NEW.void = 0 DO INSTEAD NOTHING",
        ),
        (
            "it can be made void after it was committed",
            "ALTER TABLE ending DROP CONSTRAINT ending_pkey",
        ),
    ];
    for (mutant, sql) in mutants {
        let (book, line) = over_a_line(&server, PATIENCE).await;
        ran(within(&server, &book.room), sql.to_owned()).unwrap();
        let mut untrue = Vec::new();
        for (who, fate) in (1..).zip(FATES) {
            let (told, happened) = meet(&book, &line, who, fate).await;
            if told != happened {
                untrue.push(fate);
            }
        }
        assert!(!untrue.is_empty(), "{mutant}: nobody noticed");
    }
}
