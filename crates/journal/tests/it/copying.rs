//! Backups that are made while the journal is written: whole at every moment, made again and again, and never in the
//! way of a commit.

use super::*;
use config::BackupPlan;
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What the audit finds wrong in the copy at `path`, as it is on disk now, and its head.
fn audited(path: &Path) -> (Vec<String>, HistoryHead) {
    let room = Room::new();
    let to = room.path().join("copy");
    std::fs::copy(path, &to).unwrap();
    let log = beside(path, "-wal");
    if log.exists() {
        std::fs::copy(log, beside(&to, "-wal")).unwrap();
    }
    let audit = copies::audit(&to, &[]).unwrap();
    (audit.faults, audit.head)
}

fn backed_up(book: &Book, to: &Path) -> Result<Audit, NotCopied> {
    copies::back_up(&config(&book.room).path, to, &mut |_, _| {})
}

/// Numbers of customers that are not in the journal yet.
fn items(from: u64, count: usize) -> Vec<Item> {
    (from..).take(count).map(|period| item(1, period)).collect()
}

/// Has more in a journal than is copied in one step.
async fn fill(book: &Book) {
    for from in (0..12_000).step_by(300) {
        assert!(book.accept(&items(from, 300)).await.is_ok());
    }
}

/// The last row of a journal.
async fn head_of(journal: &Journal) -> HistoryHead {
    journal.head().await.unwrap()
}

/// Commits go on between any two steps, and the log is written to the file under the reader's hands.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_the_journal_as_it_was_when_it_began_whatever_is_committed_between_its_steps() {
    let book = Book::in_a_file().await;
    fill(&book).await;
    let (from, to) = (config(&book.room).path, book.room.path().join("backup"));
    let (before, steps) = (head_of(&book.journal).await, Cell::new(0_u64));
    let commit = || {
        steps.set(steps.get() + 1);
        let from = 100_000 * steps.get();
        let more = async {
            assert!(book.accept(&items(from, 5)).await.is_ok());
            book.journal.read(|conn| run(conn, "PRAGMA wal_checkpoint(PASSIVE)")).await.unwrap();
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(more));
        Ok(())
    };
    let audit = testing::back_up(&from, &to, &commit).unwrap();
    assert!(steps.get() > 0, "it was copied at once");
    assert_eq!((&audit.head, audited(&to)), (&before, (vec![], before.clone())));
    assert_ne!(head_of(&book.journal).await, before);
    assert_eq!(book.audit().await.faults, Vec::<String>::new());
}

/// As of a process that was killed between two steps: a file without a name, and all that SQLite wrote beside it.
#[tokio::test]
async fn what_a_killed_backup_leaves_is_no_backup_and_is_not_in_the_way_of_the_next_one() {
    let book = Book::in_a_file().await;
    assert!(book.takes(item(1, 1)).await);
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("journal-20260101T000000.000Z.sqlite");
    for ending in [".part", ".part-journal", ".part-wal", ".part-shm"] {
        std::fs::write(beside(&to, ending), [7; 5000]).unwrap();
    }
    let none = copies::the_copy(directory.path()).unwrap_err();
    assert!(matches!(none, NotCopied::None(_)), "{none:?}");
    let given_up = || Err(NotCopied::Stopped);
    let large = Book::in_a_file().await;
    fill(&large).await;
    let left = testing::back_up(&config(&large.room).path, &to, &given_up).unwrap_err();
    assert!(matches!(left, NotCopied::Stopped), "{left:?}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    std::fs::write(beside(&to, ".part"), "half").unwrap();
    let backups = RegularBackups::begin(&book.journal, plan(directory.path(), 1)).unwrap();
    let made = kept(directory.path()).await;
    assert_ne!(made, to);
    backups.finish().await;
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// A program that only reads the file is no other Signer, and one that holds it is never let in beside.
#[tokio::test]
async fn a_journal_that_is_backed_up_is_held_all_the_same() {
    let book = Book::in_a_file().await;
    assert!(book.takes(item(1, 1)).await);
    backed_up(&book, &book.room.path().join("backup")).unwrap();
    for told in [
        Journal::open(&config(&book.room)).map(drop),
        copies::audit(&config(&book.room).path, &[]).map(drop),
    ] {
        let told = told.unwrap_err();
        assert!(matches!(told, OpenError::Held(_)), "{told:?}");
    }
    assert!(book.takes(item(2, 1)).await);
}

#[tokio::test]
async fn a_journal_is_backed_up_while_it_is_written_and_after_it_is_closed() {
    let book = Book::in_a_file().await;
    let writing = async {
        for round in 0..40 {
            assert!(book.accept(&items(round * 10, 10)).await.is_ok());
        }
    };
    let to = book.room.path().join("backup");
    let (from, copy) = (config(&book.room).path, to.clone());
    let copying =
        tokio::task::spawn_blocking(move || copies::back_up(&from, &copy, &mut |_, _| {}));
    let (audit, ()) = tokio::join!(copying, writing);
    let audit = audit.unwrap().unwrap();
    assert_eq!(audited(&to), (vec![], audit.head.clone()));
    let kept = book.journal.read(move |conn| store::holds(conn, &audit.head)).await.unwrap();
    assert!(kept, "its last row is one of the journal's");
    let told = backed_up(&book, &to).unwrap_err();
    assert!(matches!(told, NotCopied::InPlace(_)), "{told:?}");

    let head = book.journal.head().await.unwrap();
    book.journal.close().await;
    let after = book.room.path().join("after");
    assert_eq!(backed_up(&book, &after).unwrap().head, head);
    let names = std::fs::read_dir(book.room.path()).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["after", "backup", "journal.db", "journal.db.mark"]);
}

/// The thread of a journal merges its log and takes it away, whatever copies it at that moment.
#[tokio::test]
async fn a_backup_that_is_made_while_the_journal_closes_is_whole() {
    let mut book = Book::in_a_file().await;
    for round in 0..40 {
        book.accept(&items(round * 3, 3)).await.unwrap();
        let Book { journal, room } = book;
        drop(journal);
        let backup = room.path().join("backup.sqlite");
        let made = copies::back_up(&config(&room).path, &backup, &mut |_, _| {});
        assert_eq!(made.unwrap().faults, Vec::<String>::new());
        std::fs::remove_file(backup).unwrap();
        book = Book { journal: Journal::open(&config(&room)).unwrap(), room };
    }
}

#[tokio::test]
async fn what_does_not_hold_is_no_backup() {
    let book = Book::in_a_file().await;
    book.room.forge();
    assert!(book.takes(item(1, 1)).await);
    let change = |conn: &dyn Database| conn.execute("UPDATE claim SET amount = '1'", []);
    book.journal.read(change).await.unwrap();
    let to = book.room.path().join("backup");
    let told = backed_up(&book, &to).unwrap_err();
    assert!(matches!(told, NotCopied::Faulty(_)), "{told:?}");
    assert!(!to.exists() && !beside(&to, ".part").exists());
}

/// A plan for backups that are made one after another.
fn plan(directory: &Path, keep: usize) -> BackupPlan {
    BackupPlan { directory: directory.to_owned(), every: Duration::from_millis(50), keep }
}

/// The one backup in a directory, once there is one.
async fn kept(directory: &Path) -> PathBuf {
    loop {
        match names(directory).first() {
            Some(name) => return directory.join(name),
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// The backups in a directory by their names, the oldest first.
fn names(directory: &Path) -> Vec<String> {
    let found = std::fs::read_dir(directory).unwrap();
    let names = found.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".sqlite")).collect();
    names.sort();
    names
}

/// Waits until a backup was made that was begun after now.
async fn made_anew(book: &Book) {
    let now_ms = book.journal.now_ms();
    while book.journal.figures().backed_up_ms.load(Ordering::Relaxed) <= now_ms {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_regular_backup_takes_the_place_of_a_lost_journal_and_counts_as_an_old_one() {
    let book = Book::in_a_file().await;
    for round in 0..5 {
        assert!(book.accept(&items(round * 10, 10)).await.is_ok());
    }
    let second = tempfile::tempdir().unwrap();
    let backups = RegularBackups::begin(&book.journal, plan(second.path(), 1)).unwrap();
    made_anew(&book).await;
    backups.finish().await;
    let head = head_of(&book.journal).await;
    assert_eq!(audited(&kept(second.path()).await), (vec![], head.clone()));

    let room = Room::new();
    let config = config(&room);
    let made = kept(second.path()).await;
    let restore = |kept: &[HistoryHead]| copies::restore(&config, &made, kept, &mut |_, _| {});
    let other = HistoryHead { row: 1, digest: "0".repeat(64) };
    let told = restore(&[other]).unwrap_err();
    assert!(matches!(told, NotCopied::Faulty(_)), "{told:?}");
    // A mark that was left is of the journal that is gone, which may have known more.
    std::fs::copy(
        beside(&journal_test_support::config(&book.room).path, ".mark"),
        beside(&config.path, ".mark"),
    )
    .unwrap();
    assert_eq!(restore(std::slice::from_ref(&head)).unwrap().head, head);
    assert!(matches!(restore(&[]).unwrap_err(), NotCopied::InPlace(_)));
    let journal = Journal::open(&config).unwrap();
    assert!(journal.found().is_old_copy());
    let taken = take(&journal, proposal(&[item(1, 3)])).await;
    assert!(matches!(taken, Err(AcceptError::Claimed)), "{taken:?}");
}

/// A directory is only listed, with one backup in it or more, by the Signer's names or a person's.
#[tokio::test]
async fn of_a_directory_every_journal_is_listed_and_none_is_put_in_place() {
    let book = Book::in_a_file().await;
    assert!(book.takes(item(1, 1)).await);
    let second = tempfile::tempdir().unwrap();
    let path = |name: &str| second.path().join(name);
    std::fs::write(path("notes.txt"), "mine").unwrap();
    std::fs::write(path("monday.sqlite.part"), b"SQLite format 3\0").unwrap();
    std::fs::write(path("photos.sqlite"), b"SQLite format 3\0 of another program").unwrap();
    let listed = || match copies::the_copy(second.path()) {
        Err(NotCopied::Listed { seen, .. }) => seen.into_iter().map(|copy| copy.path).collect(),
        Err(NotCopied::None(_)) => vec![],
        other => panic!("{other:?}"),
    };
    assert_eq!(listed(), [""; 0].map(PathBuf::from));
    backed_up(&book, &path("monday.sqlite")).unwrap();
    assert_eq!(listed(), [path("monday.sqlite")]);
    assert!(book.takes(item(2, 2)).await);
    backed_up(&book, &path("journal-late.sqlite")).unwrap();
    std::fs::write(path("journal-broken.sqlite"), "no journal").unwrap();
    let all = ["journal-late.sqlite", "monday.sqlite", "journal-broken.sqlite"].map(path);
    assert_eq!(listed(), all);
    let room = Room::new();
    let restored = copies::restore(&config(&room), second.path(), &[], &mut |_, _| {});
    assert!(matches!(restored, Err(NotCopied::Listed { .. })), "{restored:?}");
    assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0);
}

/// The message names the file that was asked for.
#[tokio::test]
async fn a_copy_goes_nowhere_without_its_directory() {
    let book = Book::in_a_file().await;
    let to = book.room.path().join("no/such/monday.sqlite");
    let told = backed_up(&book, &to).unwrap_err().to_string();
    assert!(told.contains("monday.sqlite cannot be made: there is no directory"), "{told}");
    assert!(!told.contains(".part"), "{told}");
}

#[tokio::test]
async fn the_newest_backups_are_kept_and_whatever_the_journal_does_not_know() {
    let other = Book::in_a_file().await;
    assert!(other.takes(item(9, 9)).await);
    let book = Book::in_a_file().await;
    let second = tempfile::tempdir().unwrap();
    let foreign = "journal-20250101T000000.000Z.sqlite";
    backed_up(&other, &second.path().join(foreign)).unwrap();
    backed_up(&book, &second.path().join("journal-monday.sqlite")).unwrap();
    let backups = RegularBackups::begin(&book.journal, plan(second.path(), 2)).unwrap();
    let mut seen: Vec<Vec<String>> = vec![];
    while seen.len() < 5 {
        made_anew(&book).await;
        let now = names(second.path());
        seen.retain(|before| *before != now);
        seen.push(now);
    }
    backups.finish().await;
    let names = names(second.path());
    assert_eq!(names.first().map(String::as_str), Some(foreign), "nobody else knows what it knows");
    assert_eq!(names.last().map(String::as_str), Some("journal-monday.sqlite"), "a person's");
    assert_eq!(names.len(), 4, "{names:?}");
}

/// They would fill all places, and whatever is made since would be taken away at once.
#[tokio::test]
async fn backups_by_a_clock_that_was_ahead_do_not_push_out_those_made_since() {
    let book = Book::in_a_file().await;
    let second = tempfile::tempdir().unwrap();
    let ahead = ["journal-20990101T000000.000Z.sqlite", "journal-20990102T000000.000Z.sqlite"];
    for name in ahead {
        backed_up(&book, &second.path().join(name)).unwrap();
    }
    let backups = RegularBackups::begin(&book.journal, plan(second.path(), 2)).unwrap();
    for _ in 0..3 {
        made_anew(&book).await;
    }
    backups.finish().await;
    let names = names(second.path());
    assert!(names.iter().all(|name| !ahead.contains(&name.as_str())), "{names:?}");
}

/// No start makes what was never backed up look young.
#[tokio::test]
async fn without_a_backup_the_age_is_that_of_the_first_row() {
    let book = Book::in_a_file().await;
    assert!(book.accept(&items(0, 1)).await.is_ok());
    let first = |conn: &dyn Database| {
        let mut first = conn.prepare_cached("SELECT at_ms FROM history WHERE seq = 1")?;
        first.query_row([], |row| row.get::<i64>(0))
    };
    let begun_ms = book.journal.read(first).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let gone = book.room.path().join("gone");
    let backups = RegularBackups::begin(&book.journal, plan(&gone, 1)).unwrap();
    while book.journal.figures().backed_up_ms.load(Ordering::Relaxed) != begun_ms {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    backups.finish().await;
}

/// A start does not begin anew to count, and a directory that is gone is told by the age of what was in it.
#[tokio::test]
async fn the_next_backup_is_due_after_the_newest_one_that_is_there() {
    let book = Book::in_a_file().await;
    let second = tempfile::tempdir().unwrap();
    let now = jiff::Timestamp::from_millisecond(book.journal.now_ms()).unwrap();
    let ago = now.checked_sub(jiff::SignedDuration::from_mins(10)).unwrap();
    let name = format!("journal-{}.sqlite", ago.strftime("%Y%m%dT%H%M%S%.3fZ"));
    backed_up(&book, &second.path().join(&name)).unwrap();
    let hourly = BackupPlan { every: Duration::from_hours(1), ..plan(second.path(), 2) };
    let backups = RegularBackups::begin(&book.journal, hourly.clone()).unwrap();
    let figures = book.journal.figures();
    assert_eq!(figures.backup_every_ms.load(Ordering::Relaxed), 3_600_000);
    while figures.backed_up_ms.load(Ordering::Relaxed) != ago.as_millisecond() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    backups.finish().await;
    assert_eq!(names(second.path()), [name]);
    let due = BackupPlan { every: Duration::from_mins(9), ..hourly };
    let backups = RegularBackups::begin(&book.journal, due).unwrap();
    while names(second.path()).len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    backups.finish().await;
}
