//! Starts that take up no lane, or some: what a copy has forgotten is known until all lanes are taken up.

use super::auditing::faults_after;
use super::restoring::{closed, killed};
use super::*;

/// A start that is refused, and a command that has the journal for a moment, close the file and have looked at no chain.
#[tokio::test]
async fn a_process_that_takes_up_no_lane_leaves_the_journal_as_unclosed_as_it_was() {
    let book = Book::in_a_file().await;
    assert!(book.takes(item(1, 1)).await);
    let copy = killed(&book);
    for _ in 0..2 {
        let journal = Journal::open(&config(&copy)).unwrap();
        assert!(!journal.found().was_closed());
        journal.close().await;
    }
    let journal = Journal::open(&config(&copy)).unwrap();
    journal.set_all_taken_up().await.unwrap();
    journal.close().await;
    assert!(Journal::open(&config(&copy)).unwrap().found().was_closed());
}

/// Rows are written also while a clock that is far ahead keeps anything from being signed.
#[tokio::test]
async fn a_copy_with_rows_by_a_clock_that_was_ahead_knows_no_more_than_its_newest_signature() {
    let book = Book::in_a_file().await;
    assert!(book.takes(item(1, 1)).await);
    let signed = "SELECT at_ms FROM history WHERE event = 'accepted'";
    let signed_ms = book
        .journal
        .read(move |conn| conn.prepare_cached(signed)?.query_row([], |row| row.get::<i64>(0)));
    let signed_ms = signed_ms.await.unwrap();
    let ahead = Pause { by: "operator".to_owned(), since_ms: signed_ms + 86_400_000, why: None };
    book.journal.pauses().set(Switch::Pause([CHAIN].into()), ahead).await.unwrap();
    let room = closed(book).await;
    std::fs::remove_file(beside(&config(&room).path, ".mark")).unwrap();
    let journal = Journal::open(&config(&room)).unwrap();
    let state = journal.lane(lane()).take_up().await.unwrap();
    assert_eq!(state.known_until_ms, Some(signed_ms));
}

#[tokio::test]
async fn a_copy_knows_what_was_done_until_its_lane_took_new_work_last() {
    let book = Book::in_a_file().await;
    for closed in [None, Some("the clock".to_owned())] {
        book.journal.lane(lane()).note_gate(closed).await.unwrap();
    }
    let open = "SELECT at_ms FROM history WHERE event = 'gate' ORDER BY seq LIMIT 1";
    let open_ms = book
        .journal
        .read(move |conn| conn.prepare_cached(open)?.query_row([], |row| row.get::<i64>(0)));
    let open_ms = open_ms.await.unwrap();
    assert_ne!(open_ms, NOW_MS, "the lane was opened then");
    let room = closed(book).await;
    std::fs::remove_file(beside(&config(&room).path, ".mark")).unwrap();
    let journal = Journal::open(&config(&room)).unwrap();
    let state = journal.lane(lane()).take_up().await.unwrap();
    assert_eq!(state.known_until_ms, Some(open_ms));
}

/// The state in which a lane is taken up that a restored copy does not know, after `commands` starts that take up
/// nothing.
async fn unknown_lane_after(commands: usize) -> (Option<i64>, JournalAndRoom) {
    let room = closed(Book::in_a_file().await).await;
    std::fs::remove_file(beside(&config(&room).path, ".mark")).unwrap();
    for _ in 0..commands {
        let journal = Journal::open(&config(&room)).unwrap();
        journal.close().await;
    }
    let journal = Journal::open(&config(&room)).unwrap();
    let state = journal.lane(unknown_lane()).take_up().await.unwrap();
    (state.known_until_ms, (journal, room))
}

type JournalAndRoom = (Journal, Room);

fn unknown_lane() -> LaneId {
    LaneId { signer: Address::repeat_byte(0x77), ..lane() }
}

#[tokio::test]
async fn a_lane_that_an_old_copy_does_not_know_is_in_doubt_also_after_a_command() {
    let (at_once, _) = unknown_lane_after(0).await;
    let (later, (journal, room)) = unknown_lane_after(2).await;
    assert!(at_once.is_some() && later.is_some(), "{at_once:?}, {later:?}");
    journal.set_all_taken_up().await.unwrap();
    journal.lane(unknown_lane()).end_doubt(NOW_MS).await.unwrap();
    journal.close().await;
    let journal = Journal::open(&config(&room)).unwrap();
    let new = LaneId { signer: Address::repeat_byte(0x78), ..lane() };
    for lane in [unknown_lane(), new] {
        let state = journal.lane(lane).take_up().await.unwrap();
        assert_eq!(state.known_until_ms, None, "all lanes were taken up once");
    }
    journal.close().await;
}

#[tokio::test]
async fn the_audit_misses_the_doubt_about_lanes_that_an_old_copy_does_not_know() {
    let (_, (journal, room)) = unknown_lane_after(0).await;
    journal.close().await;
    let faults = faults_after(&room, "DELETE FROM doubt WHERE chain = 0");
    assert_eq!(faults, ["a lane that forgot something is not in doubt any more"]);
}

#[tokio::test]
async fn another_id_of_a_chain_makes_nothing_known() {
    let book = Book::in_a_file().await;
    book.accept(&[item(1, 1)]).await.unwrap();
    let room = killed(&book);
    let journal = Journal::open(&config(&room)).unwrap();
    let before = journal.lane(lane()).take_up().await.unwrap().left;
    journal.set_all_taken_up().await.unwrap();
    journal.close().await;
    let journal = Journal::open(&config(&room)).unwrap();
    let to = PlatformChainId(140);
    journal.rename(Renaming { from: CHAIN, to, why: "moved".to_owned() }).await.unwrap();
    journal.close().await;
    let journal = Journal::open(&config(&room)).unwrap();
    let renamed = LaneId { chain: to, ..lane() };
    assert_eq!(journal.lane(renamed).take_up().await.unwrap().left, before);
}
