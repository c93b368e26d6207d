//! Files that stand where others belong: a mark in the journal's place, a log without its file, a link.

use super::*;

/// SQLite keeps the log beside the file itself: behind a link an unclosed journal would count as closed.
#[tokio::test]
async fn a_link_is_no_journal() {
    let book = Book::in_a_file().await;
    assert!(book.takes(item(1, 1)).await);
    let (room, elsewhere) = (restoring::killed(&book), tempfile::tempdir().unwrap());
    let place = JournalConfig { path: elsewhere.path().join("journal.db"), ..config(&room) };
    std::os::unix::fs::symlink(config(&room).path, &place.path).unwrap();
    let told = [
        Journal::open(&place).map(drop).unwrap_err(),
        copies::audit(&place.path, &[]).map(drop).unwrap_err(),
    ];
    assert!(told.iter().all(|told| matches!(told, OpenError::Linked(_))), "{told:?}");
}

#[tokio::test]
async fn a_mark_never_takes_the_place_of_a_database() {
    let room = restoring::closed(Book::in_a_file().await).await;
    let (before, own) = (std::fs::read(config(&room).path).unwrap(), tempfile::tempdir().unwrap());
    let mark_path = Some(config(&room).path);
    let path = own.path().join("journal.db");
    let told =
        Journal::create(&JournalConfig { mark_path: mark_path.clone(), path, ..config(&room) });
    assert!(matches!(told, Err(OpenError::MarkIsDatabase(_))), "{told:?}");
    let told = Journal::open(&JournalConfig { mark_path, ..config(&room) }).map(drop);
    assert!(matches!(told, Err(OpenError::MarkIsDatabase(_))), "{told:?}");
    assert_eq!(std::fs::read(config(&room).path).unwrap(), before);
}

/// The newest charges may be in the log alone.
#[tokio::test]
async fn no_journal_is_made_beside_the_log_of_one_that_is_gone() {
    let book = Book::in_a_file().await;
    assert!(book.takes(item(1, 1)).await);
    let room = restoring::killed(&book);
    let path = config(&room).path;
    for gone in [path.clone(), beside(&path, ".mark")] {
        std::fs::remove_file(gone).unwrap();
    }
    let log = std::fs::read(beside(&path, "-wal")).unwrap();
    let told = Journal::initialise(&path);
    assert!(matches!(told, Err(OpenError::LogLeft { .. })), "{told:?}");
    assert_eq!(std::fs::read(beside(&path, "-wal")).unwrap(), log);
}

#[tokio::test]
async fn no_network_gets_an_id_that_no_configuration_can_have() {
    let room = restoring::closed(Book::in_a_file().await).await;
    let journal = Journal::open(&config(&room)).unwrap();
    for to in [0, u32::MAX] {
        let renaming = Renaming { from: CHAIN, to: PlatformChainId(to), why: "slip".to_owned() };
        let told = journal.rename(renaming).await;
        assert!(matches!(told, Err(NotRenamed::NoId(_))), "{told:?}");
    }
}
