//! Files that were put in place of others, and disks that are full when a process starts.

use super::*;
use host::clock::Clock;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// The least by which a machine's clock may have been ahead of the chains', ms.
const CLOCKS_MS: i64 = 120_000;

pub(crate) async fn closed(book: Book) -> Room {
    book.journal.close().await;
    book.room
}

/// The files as a process leaves them that is killed now, in a directory of their own.
pub(crate) fn killed(book: &Book) -> Room {
    let (from, room) = (config(&book.room).path, Room::new());
    let to = config(&room).path;
    for ending in ["", "-wal", ".mark"] {
        std::fs::copy(beside(&from, ending), beside(&to, ending)).unwrap();
    }
    room
}

/// The system may forget a log that it could not write, after the process that heard of it has ended.
#[tokio::test]
async fn what_a_killed_process_left_is_in_the_file_before_anything_is_added() {
    let book = Book::in_a_file().await;
    assert!(book.takes(item(1, 1)).await);
    let room = killed(&book);
    let path = config(&room).path;
    let batches = || -> i64 {
        let alone = Connection::open(format!("file:{}?immutable=1", path.display()));
        alone.unwrap().query_row("SELECT count(*) FROM batch", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(batches(), 0, "it is in the log");
    let journal = Journal::open(&config(&room)).unwrap();
    assert_eq!(batches(), 1);
    drop(journal);
}

#[tokio::test]
async fn what_a_killed_process_left_is_opened() {
    let book = Book::in_a_file().await;
    assert!(book.takes(item(1, 1)).await);
    let room = killed(&book);
    let book = Book { journal: Journal::open(&config(&room)).unwrap(), room };
    assert!(!book.takes(item(1, 1)).await);
}

/// What is committed in the second after the mark was moved may be the last for long.
#[tokio::test]
async fn the_mark_of_a_journal_that_is_only_read_catches_up() {
    static NOW: AtomicI64 = AtomicI64::new(NOW_MS);
    let room = closed(Book::in_a_file().await).await;
    let clock = Clock::telling(|| NOW.load(Ordering::Relaxed));
    let (journal, mut writer) =
        Journal::with_writer(&config(&room), clock, Box::new(Full(Arc::default()))).unwrap();
    let tasks = tokio_util::task::TaskTracker::new();
    let serving = tasks.spawn(async move { while writer.turn().await == Served::Going {} });
    let book = Book { journal, room };
    let mark = |room: &TempDir| beside(&config(room).path, ".mark");
    let in_the_way = beside(&mark(&book.room), ".next");
    let before = killed(&book);
    assert!(book.takes(item(1, 1)).await);
    std::fs::create_dir(&in_the_way).unwrap();
    let a_second_later = async || {
        NOW.fetch_add(1_000, Ordering::Relaxed);
        book.journal.lane(lane()).next_position().await.unwrap();
        std::fs::read_to_string(mark(&book.room)).unwrap()
    };
    assert_eq!(a_second_later().await, std::fs::read_to_string(mark(&before)).unwrap());
    std::fs::remove_dir(&in_the_way).unwrap();
    a_second_later().await;
    std::fs::copy(mark(&book.room), mark(&before)).unwrap();
    let copy = Journal::open(&config(&before)).unwrap();
    assert!(copy.found().is_old_copy(), "it lacks what was committed since");
    book.journal.close().await;
    serving.await.unwrap();
}

/// When another process left the journal, Unix ms by the time of blocks.
fn left_ms(journal: &Journal) -> Option<i64> {
    let found = journal.found();
    found.left_at_ms().map(|at_ms| found.by_blocks(at_ms))
}

/// So a copy of one that had written nothing when it was made is not taken for a journal that nobody has used.
#[tokio::test]
async fn a_journal_on_which_a_process_has_begun_is_not_new() {
    let room = Room::new();
    Journal::initialise(&config(&room).path).unwrap();
    let first = Journal::open(&config(&room)).unwrap();
    assert_eq!(left_ms(&first), None, "the process that made it signed nothing");
    let before = first.now_ms();
    first.close().await;
    let second = Journal::open(&config(&room)).unwrap();
    assert!(left_ms(&second).is_some_and(|left| left <= before - CLOCKS_MS), "at that start");
    let at_ms = second.now_ms();
    let pause = Pause { by: "somebody".to_owned(), since_ms: at_ms, why: None };
    second.pauses().set(Switch::Pause(vec![CHAIN]), pause).await.unwrap();
    second.close().await;
    let third = Journal::open(&config(&room)).unwrap();
    assert!(left_ms(&third).is_some_and(|left| left >= at_ms - CLOCKS_MS), "at the newest row");
    let at_ms = left_ms(&third).unwrap();
    let hour = third.dated_within(Duration::from_hours(1));
    assert_eq!(
        left_ms(&hour),
        Some(at_ms - 480_000),
        "no clock that signs is off by more than ten minutes"
    );
}

#[tokio::test]
async fn an_old_file_under_a_newer_log_is_refused_with_what_to_do_and_left_as_it_is() {
    let book = Book::in_a_file().await;
    let path = config(&book.room).path;
    let old = book.room.path().join("old");
    let room = closed(book).await;
    std::fs::copy(&path, &old).unwrap();
    let book = Book { journal: Journal::open(&config(&room)).unwrap(), room };
    for who in 1..=60 {
        assert!(book.takes(item(who, 1)).await);
    }
    // From here on the log holds what comes later, and the file what came before.
    let all = |conn: &dyn Database| {
        conn.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get::<i64>(0))
    };
    assert_eq!(book.journal.read(all).await.unwrap(), 0);
    assert!(book.takes(item(100, 1)).await);
    let room = killed(&book);
    let path = config(&room).path;
    std::fs::copy(&old, &path).unwrap();
    let log = std::fs::read(beside(&path, "-wal")).unwrap();
    let told = Journal::open(&config(&room)).map(drop).unwrap_err();
    assert!(matches!(told, OpenError::NotWhole { .. }), "{told:?}");
    let told = told.to_string();
    assert!(told.contains("-wal") && told.contains("Nothing was changed"), "{told}");
    assert!(std::fs::read(&path).unwrap() == std::fs::read(&old).unwrap(), "the file was changed");
    assert!(std::fs::read(beside(&path, "-wal")).unwrap() == log, "the log was changed");
    // As it says:
    std::fs::remove_file(beside(&path, "-wal")).unwrap();
    let journal = Journal::open(&config(&room)).unwrap();
    assert!(journal.found().is_old_copy(), "and it is known for what it is");
}

/// Files and logs of every age, each log begun on the file of the same number: only these belong together, and
/// each pair proves it or is looked at whole.
#[tokio::test]
async fn a_file_and_a_log_are_taken_for_a_journal_only_if_they_are_one() {
    const AGES: u8 = 5;
    let book = Book::in_a_file().await;
    let path = config(&book.room).path;
    let kept = tempfile::tempdir().unwrap();
    let name = |age: u8, what: &str| kept.path().join(format!("{age}{what}"));
    let mut heads = Vec::new();
    for age in 0..AGES {
        let written = |conn: &dyn Database| {
            conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get::<i64>(0))
        };
        assert_eq!(book.journal.read(written).await.unwrap(), 0);
        std::fs::copy(&path, name(age, ".db")).unwrap();
        for who in 0..=age {
            assert!(book.takes(item(10 * age + who + 1, 1)).await);
        }
        std::fs::copy(beside(&path, "-wal"), name(age, ".log")).unwrap();
        heads.push(book.journal.head().await.unwrap());
    }
    for (file, log) in (0..AGES).flat_map(|file| (0..AGES).map(move |log| (file, log))) {
        let room = Room::new();
        let path = config(&room).path;
        std::fs::copy(name(file, ".db"), &path).unwrap();
        std::fs::copy(name(log, ".log"), beside(&path, "-wal")).unwrap();
        let proven = testing::belong_together(&path).unwrap();
        assert_eq!(proven, file == log, "file {file}, log {log}");
        match Journal::open(&config(&room)) {
            Ok(journal) => {
                let head = &heads[usize::from(log)];
                assert!(journal.read(holds(head)).await.unwrap(), "file {file}, log {log}");
                journal.close().await;
                let audit = copies::audit(&path, &[]).unwrap();
                assert_eq!(audit.faults, Vec::<String>::new(), "file {file}, log {log}");
            }
            Err(told) => {
                room.forge();
                assert!(matches!(told, OpenError::NotWhole { .. }), "{told:?}");
                assert_ne!(file, log);
            }
        }
    }
}

/// Nothing else writes a log to the file while a Signer runs.
#[tokio::test]
async fn a_long_log_is_written_to_the_file_and_begins_anew() {
    let begun = |conn: &dyn Database| {
        let count = "SELECT count(*) FROM history WHERE event = 'log begun'";
        conn.query_row(count, [], |row| row.get::<i64>(0))
    };
    let book = Book::in_a_file().await;
    book.room.forge();
    let size = || std::fs::metadata(config(&book.room).path).unwrap().len();
    assert!(book.takes(item(1, 1)).await);
    assert_eq!(book.journal.read(begun).await.unwrap(), 1, "none is long yet");
    let fill = |conn: &dyn Database| {
        conn.execute("CREATE TABLE filler (bytes BLOB)", [])?;
        conn.execute("INSERT INTO filler VALUES (zeroblob(40000000))", [])
    };
    book.journal.write(fill).await.unwrap();
    assert!(book.takes(item(2, 1)).await);
    assert_eq!(book.journal.read(begun).await.unwrap(), 2);
    assert!(size() > 40_000_000, "{} bytes", size());
}

/// A process that is killed while its log is written to the file leaves some of the log's pages there.
#[tokio::test]
async fn a_file_that_was_just_being_written_is_no_other_one() {
    const PAGE: usize = 4096;
    let book = Book::in_a_file().await;
    for who in 1..=40 {
        assert!(book.takes(item(who, 1)).await);
    }
    let (head, room) = (book.journal.head().await.unwrap(), killed(&book));
    let path = config(&room).path;
    let (file, log) =
        (std::fs::read(&path).unwrap(), std::fs::read(beside(&path, "-wal")).unwrap());
    let mark = std::fs::read(beside(&path, ".mark")).unwrap();
    let frames = log[32..].chunks_exact(24 + PAGE);
    let pages: BTreeMap<_, _> = frames.map(|frame| (&frame[..4], &frame[24..])).collect();
    assert!(pages.len() > 20, "{} pages", pages.len());
    for round in 0..60 {
        // Others in each round: few of them, half, most.
        let among = |page: usize| (page * 7 + round * 13) % 11 < 1 + round % 10;
        let mut written = file.clone();
        for (_, (number, page)) in pages.iter().enumerate().filter(|(nth, _)| among(*nth)) {
            let number = u32::from_be_bytes((*number).try_into().unwrap());
            let at = (usize::try_from(number).unwrap() - 1) * PAGE;
            written.resize(written.len().max(at + PAGE), 0);
            written[at..at + PAGE].copy_from_slice(page);
        }
        std::fs::write(&path, written).unwrap();
        std::fs::write(beside(&path, "-wal"), &log).unwrap();
        std::fs::write(beside(&path, ".mark"), &mark).unwrap();
        let journal = Journal::open(&config(&room)).unwrap_or_else(|e| panic!("{round}: {e}"));
        assert!(!journal.found().is_old_copy());
        assert!(journal.read(holds(&head)).await.unwrap(), "round {round}");
        journal.close().await;
    }
}

fn holds(head: &HistoryHead) -> impl FnOnce(&dyn Database) -> SqlResult<bool> + Send + 'static {
    let head = head.clone();
    move |conn| store::holds(conn, &head)
}

#[tokio::test]
async fn a_mark_on_another_disk_notices_a_snapshot_of_the_journals() {
    let (room, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mark = elsewhere.path().join("journal.mark");
    let config = JournalConfig { mark_path: Some(mark.clone()), ..config(&room) };
    Journal::create(&config).unwrap();
    assert!(mark.exists() && !beside(&config.path, ".mark").exists());
    let snapshot = tempfile::tempdir().unwrap();
    let files = || std::fs::read_dir(room.path()).unwrap().map(|file| file.unwrap().path());
    for file in files() {
        std::fs::copy(&file, snapshot.path().join(file.file_name().unwrap())).unwrap();
    }
    for _ in 0..2 {
        let journal = Journal::open(&config).unwrap();
        assert!(!journal.found().is_old_copy());
        journal.close().await;
    }
    files().for_each(|file| std::fs::remove_file(file).unwrap());
    for file in std::fs::read_dir(snapshot.path()).unwrap().map(|file| file.unwrap().path()) {
        std::fs::copy(&file, room.path().join(file.file_name().unwrap())).unwrap();
    }
    let journal = Journal::open(&config).unwrap();
    assert!(journal.found().is_old_copy(), "all of the journal's directory was put back");
    journal.close().await;
    drop(elsewhere);
    let told = Journal::open(&config).map(drop).unwrap_err().to_string();
    assert!(told.contains("journal.mark_path"), "{told}");
}

/// A disk that may be full.
#[derive(Clone, Debug)]
struct Full(Arc<AtomicBool>);

fn full() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
    rusqlite::Error::SqliteFailure(code, None)
}

impl Disk for Full {
    fn start(&self, conn: &Connection) -> rusqlite::Result<()> {
        if self.0.load(Ordering::Relaxed) { Err(full()) } else { conn.execute_batch("BEGIN") }
    }

    fn boot_id(&self) -> io::Result<[u8; 16]> {
        Ok([7; 16])
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_full_disk_a_journal_is_read_and_what_an_old_copy_forgot_is_in_doubt_all_the_same() {
    let book = Book::in_a_file().await;
    let open = book.accept(&[item(1, 1)]).await.unwrap();
    let room = closed(book).await;
    std::fs::remove_file(beside(&config(&room).path, ".mark")).unwrap();
    let disk = Full(Arc::new(true.into()));
    let (journal, mut writer) =
        Journal::with_writer(&config(&room), Clock::MACHINE, Box::new(disk.clone())).unwrap();
    let tasks = tokio_util::task::TaskTracker::new();
    let serving = tasks.spawn(async move { while writer.turn().await == Served::Going {} });
    assert!(journal.found().is_old_copy());
    assert!(matches!(journal.ready(), Err(JournalError::NoRoom)), "{:?}", journal.ready());
    journal.bind(binding(), NOW_MS).await.unwrap();
    let unknown = LaneId { signer: Address::repeat_byte(0x77), ..lane() };
    let nothing = journal.lane(unknown).take_up().await.unwrap();
    assert_eq!((nothing.known_until_ms, nothing.open), (Some(NOW_MS), vec![]));
    assert_eq!(nothing.left.known_ms, None, "it is not in the copy");
    let taken_up = journal.lane(lane()).take_up().await.unwrap();
    assert_eq!((taken_up.known_until_ms, taken_up.open), (Some(NOW_MS), vec![open.clone()]));
    let refused = journal.accept(proposal(&[item(2, 1)])).await;
    assert!(matches!(refused, Err(AcceptError::Journal(JournalError::NoRoom))), "{refused:?}");
    let ends = vec![end(&open, BatchState::Reverted, vec![])];
    assert!(journal.settle(ends.clone(), NOW_MS).await.is_err(), "nothing is written");

    disk.0.store(false, Ordering::Relaxed);
    // A start is tried again once a second, by the machine's clock.
    while journal.ready().is_err() {
        std::thread::sleep(Duration::from_millis(50));
        journal.lane(lane()).next_position().await.unwrap();
    }
    journal.settle(ends, NOW_MS).await.unwrap();
    journal.close().await;
    serving.await.unwrap();
    let journal = Journal::open(&config(&room)).unwrap();
    assert!(!journal.found().is_old_copy());
    for one in [lane(), unknown] {
        assert_eq!(
            journal.lane(one).take_up().await.unwrap().known_until_ms,
            Some(NOW_MS),
            "it is in doubt on disk"
        );
    }
    journal.close().await;
    assert_eq!(copies::audit(&config(&room).path, &[]).unwrap().faults, Vec::<String>::new());
}

/// A start that comes soon goes on reading there, and whoever moves that place is found out.
#[tokio::test]
async fn how_far_a_lane_in_doubt_has_read_outlives_the_process_and_ends_with_the_doubt() {
    let book = Book::in_a_file().await;
    let journal = &book.journal;
    let read = |number| LearntUpTo { number, id: B256::with_last_byte(9) };
    journal.lane(lane()).has_read(read(6), NOW_MS).await.unwrap();
    assert_eq!(journal.lane(lane()).read_until().await.unwrap(), None, "it is in no doubt");
    journal.lane(lane()).begin_doubt(NOW_MS, NOW_MS).await.unwrap();
    assert_eq!(journal.lane(lane()).read_until().await.unwrap(), None);
    for number in [7, 8] {
        journal.lane(lane()).has_read(read(number), NOW_MS).await.unwrap();
    }
    let room = closed(book).await;
    let journal = Journal::open(&config(&room)).unwrap();
    assert_eq!(journal.lane(lane()).read_until().await.unwrap(), Some(read(8)));
    journal.close().await;
    let path = config(&room).path;
    assert_eq!(copies::audit(&path, &[]).unwrap().faults, Vec::<String>::new());
    let conn = Connection::open(&path).unwrap();
    conn.execute("UPDATE doubt SET read_number = 9", []).unwrap();
    drop(conn);
    let faults = copies::audit(&path, &[]).unwrap().faults;
    assert_eq!(faults, ["a lane that forgot something is not in doubt any more"]);
    let journal = Journal::open(&config(&room)).unwrap();
    journal.lane(lane()).end_doubt(NOW_MS).await.unwrap();
    journal.lane(lane()).begin_doubt(NOW_MS, NOW_MS).await.unwrap();
    assert_eq!(
        journal.lane(lane()).read_until().await.unwrap(),
        None,
        "what is forgotten since is another matter"
    );
}

/// So a copy of a journal in use is told from one that was put away.
#[tokio::test]
async fn it_is_known_whether_the_process_before_closed_the_journal() {
    let book = Book::in_a_file().await;
    assert!(book.journal.found().was_closed(), "nobody had it");
    assert!(book.takes(item(1, 1)).await);
    let copy = killed(&book);
    assert!(!Journal::open(&config(&copy)).unwrap().found().was_closed());
    let room = closed(book).await;
    assert!(Journal::open(&config(&room)).unwrap().found().was_closed());
}
