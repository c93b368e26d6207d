//! Copies that are made while the journal is written: whole at every moment, and never behind what they
//! say.

use super::*;
use crate::journal::copier;
use crate::journal::duplicate::{Duplicate, Original};
use crate::journal::files::beside;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Has the journal's log begin anew after so many pages.
async fn short_log(book: &Book, pages: u32) {
    let set = format!("PRAGMA wal_autocheckpoint = {pages}");
    book.journal.read(move |conn| run(conn, &set)).await.unwrap();
}

/// What the audit finds wrong in the copy at `path`, as it is on disk now, and its head.
fn audited(path: &Path) -> (Vec<String>, HistoryHead) {
    let room = Room::new();
    let to = room.path().join("copy");
    std::fs::copy(path, &to).unwrap();
    let log = beside(path, "-wal");
    if log.exists() {
        std::fs::copy(log, beside(&to, "-wal")).unwrap();
    }
    let audit = Journal::audit(&to, &[]).unwrap();
    (audit.faults, audit.head)
}

fn backed_up(book: &Book, to: &Path) -> Result<Audit, NotCopied> {
    Journal::back_up(&config(&book.room).path, to, &mut |_, _| {})
}

/// Numbers of customers that are not in the journal yet.
fn items(from: u64, count: usize) -> Vec<Item> {
    (from..).take(count).map(|period| item(1, period)).collect()
}

#[tokio::test]
async fn a_copy_is_whole_at_every_moment_however_often_the_log_begins_anew() {
    let book = Book::in_a_file().await;
    short_log(&book, 100).await;
    let path = config(&book.room).path;
    let original = Original::open(&path, beside(&path, "-wal")).unwrap();
    let copy = book.room.path().join("copy");
    assert!(book.accept(&items(0, 300)).await.is_ok());
    let mut made = Duplicate::begin(&original, &copy, &beside(&copy, "-wal")).unwrap();
    let mut period = 1_000;
    // Written while the file is read, and merged into it under the reader's hands.
    loop {
        let finished = made.read_on().unwrap();
        assert!(book.accept(&items(period, 5)).await.is_ok());
        period += 5;
        if finished {
            break;
        }
    }
    let (mut anew, mut before) = (0, made.logged());
    for _ in 0..100 {
        assert!(book.accept(&items(period, 5)).await.is_ok());
        period += 5;
        made.catch_up().unwrap();
        assert_eq!(audited(&copy), (vec![], book.journal.head().await.unwrap()));
        let now = made.logged();
        anew += usize::from(!now.unwrap().is_behind(before.unwrap()));
        before = now;
    }
    assert!(anew > 3, "the log began anew {anew} times");
    made.merge().unwrap();
    std::fs::remove_file(beside(&copy, "-wal")).unwrap();
    assert_eq!(audited(&copy), (vec![], book.journal.head().await.unwrap()));
}

#[tokio::test]
async fn what_was_overwritten_before_it_was_copied_is_noticed() {
    let book = Book::in_a_file().await;
    let path = config(&book.room).path;
    let original = Original::open(&path, beside(&path, "-wal")).unwrap();
    let copy = book.room.path().join("copy");
    let begin = || Duplicate::begin(&original, &copy, &beside(&copy, "-wal")).unwrap();
    let mut made = begin();
    while !made.read_on().unwrap() {}
    short_log(&book, 20).await;
    for round in 0..20 {
        assert!(book.accept(&items(round * 10, 10)).await.is_ok());
    }
    let told = made.catch_up().unwrap_err();
    assert!(matches!(told, CopyFault::Overtaken), "{told:?}");
    let mut made = begin();
    while !made.read_on().unwrap() {}
    assert_eq!(audited(&copy), (vec![], book.journal.head().await.unwrap()));
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
        tokio::task::spawn_blocking(move || Journal::back_up(&from, &copy, &mut |_, _| {}));
    let (audit, ()) = tokio::join!(copying, writing);
    let audit = audit.unwrap().unwrap();
    assert_eq!(audited(&to), (vec![], audit.head.clone()));
    let kept = book.journal.read(move |conn| history::holds(conn, &audit.head)).await.unwrap();
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
        let made = Journal::back_up(&config(&room).path, &backup, &mut |_, _| {});
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

/// The one copy in a directory, once there is one.
async fn kept(directory: &Path) -> PathBuf {
    loop {
        match copier::only_copy(directory) {
            Ok(path) => return path,
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

#[tokio::test]
async fn a_kept_copy_takes_the_place_of_a_lost_journal_and_counts_as_an_old_one() {
    let book = Book::in_a_file().await;
    let second = tempfile::tempdir().unwrap();
    let copier = book.journal.keep_copy(second.path()).unwrap();
    let copy = kept(second.path()).await;
    for round in 0..5 {
        assert!(book.accept(&items(round * 10, 10)).await.is_ok());
    }
    let written_ms = book.journal.now_ms();
    while book.journal.figures().copied_ms.load(Ordering::Relaxed) < written_ms {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let head = book.journal.head().await.unwrap();
    assert_eq!(audited(&copy), (vec![], head.clone()));
    copier.finish().await;

    let room = Room::new();
    let config = config(&room);
    let restore =
        |kept: &[HistoryHead]| Journal::restore(&config, second.path(), kept, &mut |_, _| {});
    let other = HistoryHead { row: 1, digest: "0".repeat(64) };
    let told = restore(&[other]).unwrap_err();
    assert!(matches!(told, NotCopied::Faulty(_)), "{told:?}");
    // A mark that was left is of the journal that is gone, which may have known more.
    std::fs::copy(beside(&super::config(&book.room).path, ".mark"), beside(&config.path, ".mark"))
        .unwrap();
    assert_eq!(restore(std::slice::from_ref(&head)).unwrap().head, head);
    assert!(matches!(restore(&[]).unwrap_err(), NotCopied::InPlace(_)));
    let journal = Journal::open(&config).unwrap();
    assert!(journal.is_old_copy());
    let taken = take(&journal, proposal(&[item(1, 3)])).await;
    assert!(matches!(taken, Err(AcceptError::Claimed)), "{taken:?}");
}

#[tokio::test]
async fn an_earlier_copy_goes_unless_it_knows_what_the_journal_does_not() {
    let book = Book::in_a_file().await;
    let second = tempfile::tempdir().unwrap();
    let copier = book.journal.keep_copy(second.path()).unwrap();
    let first = kept(second.path()).await;
    assert!(book.takes(item(1, 1)).await);
    copier.finish().await;
    let copier = book.journal.keep_copy(second.path()).unwrap();
    while first.exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    copier.finish().await;
    // Another journal, which has the same first rows and not the last ones.
    let other = Book::in_a_file().await;
    let copier = other.journal.keep_copy(second.path()).unwrap();
    while !matches!(
        copier::only_copy(second.path()),
        Err(NotCopied::Several(all)) if all.len() == 2
    ) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The directory is its own.
    let third = book.journal.keep_copy(second.path()).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    third.finish().await;
    copier.finish().await;
    let told = copier::only_copy(second.path()).unwrap_err();
    assert!(matches!(told, NotCopied::Several(ref all) if all.len() == 2), "{told:?}");
}
