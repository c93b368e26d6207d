//! A journal is opened by one process at a time, and never made up.

use super::*;
use futures_util::FutureExt as _;
use host::clock::Clock;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_lost_journal_is_not_replaced_by_an_empty_one() {
    let room = Room::new();
    let config = config(&room);
    assert!(matches!(Journal::open(&config), Err(OpenError::Missing(at)) if at == config.path));
    assert!(matches!(copies::audit(&config.path, &[]), Err(OpenError::Missing(_))));
    assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0, "nothing was created");
}

#[test]
fn the_first_journal_makes_its_directory_and_no_other_one() {
    let room = Room::new();
    let mut config = config(&room);
    config.path = room.path().join("data/of/mine/journal.sqlite");
    assert!(matches!(Journal::open(&config), Err(OpenError::NoDirectory { .. })));
    config.mark_path = Some(room.path().join("no/such/disk/journal.mark"));
    assert!(matches!(Journal::create(&config), Err(OpenError::NoPlaceForMark(_))));
    assert!(!room.path().join("data").exists(), "a disk is mounted and never made");
    config.mark_path = None;
    Journal::create(&config).unwrap();
    assert_eq!(mode(&room.path().join("data/of/mine")), 0o700);
    drop(Journal::open(&config).unwrap());
}

#[test]
fn where_a_mark_tells_of_a_journal_that_is_gone_none_is_made() {
    let room = Room::new();
    let config = config(&room);
    Journal::create(&config).unwrap();
    std::fs::remove_file(&config.path).unwrap();
    let refused = Journal::create(&config).unwrap_err();
    let OpenError::MarkLeft { path, mark } = &refused else { panic!("{refused:?}") };
    assert_eq!((path, mark), (&config.path, &beside(&config.path, ".mark")));
    assert!(!config.path.exists());
    std::fs::remove_file(mark).unwrap();
    Journal::create(&config).unwrap();
}

#[tokio::test]
async fn a_journal_that_knows_a_charge_is_never_replaced() {
    let book = Book::in_a_file().await;
    assert!(book.takes(item(1, 1)).await);
    let path = config(&book.room).path;
    assert!(matches!(Journal::initialise(&path), Err(OpenError::Exists(at)) if at == path));
    assert!(!book.restart().takes(item(1, 1)).await);

    let room = Room::new();
    room.forge();
    let precious = config(&room).path;
    std::fs::write(&precious, "precious").unwrap();
    assert!(matches!(Journal::initialise(&precious), Err(OpenError::Exists(_))));
    assert_eq!(std::fs::read(&precious).unwrap(), b"precious");
}

/// A file that was removed while it is open takes every write, and nobody ever reads it. Neither does its mark go on
/// beside the journal that was put in its place.
#[tokio::test]
async fn a_journal_whose_file_was_removed_or_replaced_takes_nothing_more() {
    let book = Book::in_a_file().await;
    assert!(book.takes(item(1, 1)).await);
    let place = book.room.path();
    let moved = place.with_extension("moved");
    std::fs::rename(place, &moved).unwrap();
    assert!(matches!(book.journal.ready(), Err(JournalError::NotInPlace)), "it was removed");
    std::fs::create_dir(place).unwrap();
    Journal::initialise(&config(&book.room).path).unwrap();
    let mark = || std::fs::read(place.join("journal.db.mark")).unwrap();
    let of_the_new_one = mark();
    assert!(
        matches!(book.journal.ready(), Err(JournalError::NotInPlace)),
        "another one stands there"
    );
    let refused = book.accept(&[item(2, 1)]).await;
    assert!(matches!(refused, Err(AcceptError::Journal(JournalError::NotInPlace))), "{refused:?}");
    let other = LaneId { signer: Address::repeat_byte(9), ..lane() };
    let opened = book.journal.lane(other).open(FIRST, NOW_MS).await;
    assert!(matches!(opened, Err(JournalError::Lost)), "nothing else is written: {opened:?}");
    assert_eq!(mark(), of_the_new_one, "which has a mark of its own");
    std::fs::remove_dir_all(place).unwrap();
    std::fs::rename(&moved, place).unwrap();
    book.journal.ready().unwrap();
    assert!(!book.takes(item(1, 1)).await && book.takes(item(2, 1)).await, "it is back");
}

#[tokio::test]
async fn nobody_else_reads_who_was_charged() {
    let book = Book::in_a_file().await;
    let path = config(&book.room).path;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&path.with_extension("db-wal")), 0o600);
}

#[test]
fn what_is_no_journal_of_ours_is_refused_and_left_as_it_is() {
    let room = Room::new();
    room.forge();
    let config = config(&room);
    let sqlite = |sql: &str| {
        let path = room.path().join("other.db");
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        bytes
    };
    let table = [
        ("text", b"these are notes, and not a journal at all\n".repeat(100)),
        ("nothing", vec![]),
        ("another program's database", sqlite("CREATE TABLE notes (note TEXT)")),
        (
            "the right version of something else",
            sqlite("PRAGMA user_version = 4; CREATE TABLE t (a)"),
        ),
    ];
    for (what, bytes) in table {
        std::fs::write(&config.path, &bytes).unwrap();
        for opened in [Journal::open(&config).map(drop), copies::audit(&config.path, &[]).map(drop)]
        {
            assert!(matches!(opened, Err(OpenError::Foreign(_))), "{what}: {opened:?}");
        }
        assert!(std::fs::read(&config.path).unwrap() == bytes, "{what} was changed");
    }
}

#[tokio::test]
async fn two_handles_of_one_process_cannot_both_bill() {
    let book = Book::in_a_file().await;
    let second = Journal::open(&config(&book.room));
    assert!(matches!(second, Err(OpenError::Held(_))), "{second:?}");
    assert!(book.takes(item(1, 1)).await, "the first one is not disturbed");
}

/// Another process with a journal, driven by [`another_process`].
struct Other {
    process: Child,
    says: BufReader<ChildStdout>,
}

impl Other {
    fn start(path: &Path) -> Self {
        let name = "opening::another_process";
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut tell = process.stdin.take().unwrap();
        writeln!(tell, "{}", path.display()).unwrap();
        process.stdin = Some(tell);
        let says = BufReader::new(process.stdout.take().unwrap());
        Self { process, says }
    }

    fn said(&mut self) -> String {
        let told = |line: std::io::Result<String>| {
            line.unwrap().rsplit_once("told: ").map(|(_, told)| told.to_owned())
        };
        self.says.by_ref().lines().find_map(told).expect("the other process ended silently")
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().unwrap();
    }
}

#[test]
#[ignore = "run by the test below, as another process"]
fn another_process() {
    let mut path = String::new();
    std::io::stdin().read_line(&mut path).unwrap();
    let path = PathBuf::from(path.trim());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let config = JournalConfig {
        path,
        mark_path: None,
        backups: None,
        min_free_bytes: 1,
        queue_length: 1,
        keep_refusals: None,
    };
    let journal = match Journal::open(&config) {
        Ok(journal) => journal,
        Err(error) => return println!("told: {error}"),
    };
    let accepted = runtime.block_on(async {
        journal.bind(binding(), NOW_MS).await.unwrap();
        journal.lane(lane()).open(FIRST, NOW_MS).await.unwrap();
        journal.accept(proposal(&[item(1, 1)])).await
    });
    println!("told: accepted at {}", accepted.unwrap().position);
    // Holds the journal until it is killed, or told to make a COMMIT fail.
    let mut order = String::new();
    std::io::stdin().read_line(&mut order).unwrap();
    if order.trim() == "spoil" {
        let late_fault = "PRAGMA defer_foreign_keys = ON;
            INSERT INTO later_attempt (hash, batch, seq, kind, raw, gas_required, signed_ms)
            VALUES (zeroblob(32), 999, 1, 'bill', x'00', 0, 0)";
        let spoil = journal.write(|conn: &dyn Database| run(conn, late_fault));
        let answers = runtime.block_on(async {
            tokio::join!(biased; spoil, journal.accept(proposal(&[item(2, 1)]).at(FIRST + 1)))
        });
        println!("told: {answers:?}");
    }
}

#[tokio::test]
async fn when_a_commit_fails_the_process_ends_and_nobody_is_answered() {
    let room = Room::new();
    let config = config(&room);
    Journal::initialise(&config.path).unwrap();
    let mut other = Other::start(&config.path);
    assert_eq!(other.said(), format!("accepted at {FIRST}"));
    writeln!(other.process.stdin.as_mut().unwrap(), "spoil").unwrap();
    let ended = other.process.wait().unwrap();
    assert_eq!(ended.signal(), Some(6), "aborted: {ended}");
    let mut rest = String::new();
    other.says.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("told: "), "{rest}");
    let book = Book { journal: Journal::open(&config).unwrap(), room };
    assert_eq!(book.next_position().await, FIRST.saturating_add(1), "what was answered is there");
    assert!(!book.takes(item(1, 1)).await && book.takes(item(2, 1)).await);
}

/// A disk on which no COMMIT says yes or no.
#[derive(Debug)]
struct Silent;

impl Disk for Silent {
    fn commit(&self, _: &Connection) -> rusqlite::Result<()> {
        Err(rusqlite::Error::InvalidQuery)
    }
}

#[tokio::test]
async fn whoever_waits_for_a_commit_that_failed_hears_nothing_until_the_process_ends() {
    let room = Room::new();
    let config = config(&room);
    Journal::initialise(&config.path).unwrap();
    let (journal, mut writer) =
        Journal::with_writer(&config, Clock::MACHINE, Box::new(Silent)).unwrap();
    let mut waiting = std::pin::pin!(journal.lane(lane()).end_doubt(NOW_MS));
    let served = tokio::select! {
        biased;
        answer = &mut waiting => panic!("answered: {answer:?}"),
        served = writer.turn() => served,
    };
    assert_eq!(served, Served::Unknown);
    assert!(
        waiting.as_mut().now_or_never().is_none(),
        "a dropped reply says that nothing happened"
    );
}

#[tokio::test]
async fn two_processes_cannot_both_bill_and_what_a_killed_one_claimed_stays_claimed() {
    let room = Room::new();
    let config = config(&room);
    Journal::initialise(&config.path).unwrap();
    let mut other = Other::start(&config.path);
    assert_eq!(other.said(), format!("accepted at {FIRST}"));
    let meanwhile = Journal::open(&config);
    assert!(matches!(meanwhile, Err(OpenError::Held(_))), "{meanwhile:?}");
    drop(other);
    let book = Book { journal: Journal::open(&config).unwrap(), room };
    assert!(!book.takes(item(1, 1)).await, "the claim outlived its process");
    assert_eq!(book.next_position().await, FIRST.saturating_add(1));
}

#[tokio::test]
async fn a_journal_that_everybody_can_write_is_not_opened() {
    use std::os::unix::fs::PermissionsExt as _;
    let Book { journal, room } = Book::in_a_file().await;
    journal.close().await;
    let config = config(&room);
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let directory = room.path();
    for (file, place, loose) in [
        (0o600, 0o700, None),
        (0o666, 0o700, Some(config.path.as_path())),
        (0o660, 0o2770, None),
        (0o600, 0o777, Some(directory)),
        (0o600, 0o1777, None),
    ] {
        set(&config.path, file);
        set(directory, place);
        match (Journal::open(&config), loose) {
            (Ok(journal), None) => journal.close().await,
            (Err(OpenError::Loose { path, .. }), Some(loose)) => assert_eq!(path, loose),
            (other, _) => panic!("{file:o} in {place:o}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_start_does_not_read_the_history_from_end_to_end() {
    let book = Book::in_a_file().await;
    let plan = book.journal.read(|conn| {
        let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {}", testing::learnt()))?;
        let steps = plan
            .query_map(rusqlite::params![CHAIN.0, "0x", 0, i64::MAX], |row| row.get::<String>(3))?;
        steps.collect::<SqlResult<Vec<String>>>()
    });
    let plan = plan.await.unwrap().join("; ");
    assert!(plan.contains("history_learnt") && !plan.contains("SCAN"), "{plan}");
}

#[tokio::test]
async fn a_journal_has_one_name_for_ever() {
    let book = Book::new().await;
    let name = book.journal.name().await.unwrap().unwrap();
    let book = book.restart();
    assert_eq!(book.journal.name().await.unwrap(), Some(name));
    assert_ne!(Book::new().await.journal.name().await.unwrap(), Some(name));
}
