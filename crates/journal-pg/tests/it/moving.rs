//! From a file to a server and back: the same rows, the same history, one mark.

use super::*;
use std::path::Path;

/// What both have to hold. Starts of processes are apart: each place has one of its own.
async fn held(book: &Book) -> (Vec<String>, Audit) {
    let all = book.journal.read(|conn| everything(conn, &TABLES[1..])).await.unwrap();
    (all, book.audit().await)
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_journal_goes_to_a_server_and_back_with_all_that_it_holds() {
    let server = given().unwrap();
    let file = Book::in_a_file().await;
    for period in 1..=3 {
        let all: Vec<Item> = (0..40).map(|who| item(who, period)).collect();
        file.accept(&all).await.unwrap();
    }
    let pause = Switch::Pause(vec![PlatformChainId(13)]);
    let by = Pause { by: "somebody".to_owned(), since_ms: NOW_MS, why: None };
    file.journal.pauses().set(pause, by).await.unwrap();
    let before = held(&file).await;
    let (path, room) = (journal_test_support::config(&file.room), Room::new());
    ran(server.clone(), format!("{ROLE}; CREATE SCHEMA {}", schema(&room))).unwrap();
    let (config, owner) = (config(&server, &room), within(&server, &room));
    let to = ServerAndOwner { config: &config, owner: &owner };
    let copy = || to_server(&path, to, &mut |_, _| {});
    assert!(matches!(copy(), Err(OpenError::Held(_))), "a Signer runs on it");
    file.journal.close().await;
    assert_eq!(copy().unwrap(), before.1);
    let again = copy().unwrap_err().to_string();
    assert!(again.contains("the copy is whole"), "all of it is there: {again}");

    let book = Book { journal: opened(&server, &room), room };
    assert!(!book.journal.found().is_old_copy(), "the mark went along");
    assert_eq!(held(&book).await, before);
    assert!(!book.takes(item(7, 2)).await, "it is claimed");
    assert!(book.takes(item(7, 9)).await);
    let before = held(&book).await;
    let back = JournalConfig { path: file.room.path().join("back.db"), ..path.clone() };
    let there = JournalConfig { path: file.room.path().join("again.db"), ..path.clone() };
    let copy = || to_file(&config, &back, &mut |_, _| {});
    assert!(matches!(copy(), Err(OpenError::Held(_))), "a Signer runs on it");
    book.journal.close().await;
    assert_eq!(copy().unwrap(), before.1);
    assert!(matches!(copy(), Err(OpenError::Exists(_))));
    let book = Book { journal: Journal::open(&back).unwrap(), room: book.room };
    assert!(!book.journal.found().is_old_copy(), "the mark went along");
    let (rows, audit) = held(&book).await;
    assert!(before.0.iter().all(|row| rows.contains(row)));
    assert_eq!(rows.len(), before.0.len() + 1, "and that the log of the file begins");
    assert_eq!(audit.faults, Vec::<String>::new());
    let again = to_file(&config, &there, &mut |_, _| {}).unwrap_err().to_string();
    assert!(again.contains("it may be an old copy"), "its mark went along: {again}");
    for left in [Journal::open(&path).unwrap(), opened(&server, &book.room)] {
        assert!(left.found().is_old_copy(), "what was left behind is not the journal any more");
        left.close().await;
    }
    // Its start has put in doubt what it may have forgotten, so it could be copied, if there was nothing yet.
    let again = to_server(&path, to, &mut |_, _| {}).unwrap_err().to_string();
    assert!(again.contains("a journal is never replaced"), "{again}");
}

/// A copy that is killed leaves what it had made under another name, and the next one begins anew.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_copy_to_a_file_that_is_cut_off_can_be_made_again() {
    let server = given().unwrap();
    let book = Book::new().await;
    assert!(book.takes(item(1, 1)).await);
    let before = held(&book).await;
    book.journal.close().await;
    let config = config(&server, &book.room);
    let to = JournalConfig {
        path: book.room.path().join("copied.db"),
        ..journal_test_support::config(&book.room)
    };
    let beside = |ending: &str| format!("{}{ending}", to.path.display());
    let cut_off = to_file(&config, &to, &mut |_, _| {
        assert!(!to.path.exists(), "it has its name when it is whole");
        panic!("the copy is cut off");
    });
    assert!(cut_off.is_err() && !to.path.exists(), "{cut_off:?}");
    for left in [".part", ".part-wal", ".part-shm"] {
        std::fs::write(beside(left), "what a killed one had made").unwrap();
    }
    assert_eq!(to_file(&config, &to, &mut |_, _| {}).unwrap(), before.1);
    let left = [".part", ".part-wal", ".part-shm"]
        .into_iter()
        .find(|left| Path::new(&beside(left)).exists());
    assert_eq!(left, None);
    let copy = Journal::open(&to).unwrap();
    assert!(!copy.found().is_old_copy());
    let book = Book { journal: copy, room: book.room };
    assert!(!book.takes(item(1, 1)).await, "it is claimed");
}
