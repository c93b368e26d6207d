//! A failover that lost commits, after which a process serves whose machine never saw them: a machine that did takes
//! over, and has the chain tell what is missing.

use super::away::eventually;
use super::losing::Line;
use super::standing_by::{machine, served_over_a_line, waits};
use super::*;
use std::path::Path;

/// Longer than a test takes: nobody is ended for being silent.
const NEVER: Duration = Duration::from_mins(10);

/// Takes the newest batch, and all that tells of it, out of the owner's server, as if another one had its place.
const FORGET: &str = "BEGIN; SET CONSTRAINTS ALL DEFERRED;
    DELETE FROM claim WHERE batch = (SELECT max(id) FROM batch);
    DELETE FROM tx WHERE batch = (SELECT max(id) FROM batch);
    DELETE FROM batch WHERE id = (SELECT max(id) FROM batch);
    UPDATE lane SET next_position = next_position - 1;
    DELETE FROM history WHERE seq > (SELECT max(seq) FROM history) - 1; COMMIT";

/// The newest row is of the process that has started last.
const AFTER_THE_START: &str = "UPDATE history SET at_ms = (SELECT max(at_ms) + 1 FROM boot)
    WHERE seq = (SELECT max(seq) FROM history)";

/// The row of history that a mark names.
fn row(mark: &Path) -> i64 {
    let mark = std::fs::read_to_string(mark).unwrap_or_default();
    mark.split_whitespace().nth(1).map_or(-1, |row| row.parse().unwrap())
}

/// Until when the lane is known, if it is in doubt.
async fn known_until_ms(journal: &Journal) -> Option<i64> {
    journal.lane(lane()).take_up().await.unwrap().known_until_ms
}

/// A journal whose newest batch was forgotten, while the process serves that never saw it; the line to that process; and
/// the mark of the machine that had written the batch.
async fn served_by_one_who_never_saw_what_is_missing(
    server: &Config,
) -> (Book, Line, ServerConfig) {
    let (book, first) = served_over_a_line(server).await;
    assert!(book.takes(item(1, 1)).await);
    let line = Line::to(server);
    let config = machine(server, &book.room, "second");
    let mut second = waits(&line.leads(config.clone(), &book.room));
    let head = book.journal.head().await.unwrap().row;
    eventually("it follows", async || row(&config.mark_path) == i64::try_from(head).unwrap()).await;
    line.cut();
    eventually("it is cut off", async || second.sight.sentence().contains("not take over")).await;
    assert!(book.takes(item(2, 1)).await);
    book.journal.close().await;
    drop(first);
    ran(within(server, &book.room), FORGET.to_owned()).unwrap();
    line.mend();
    let journal = second.turn().await.unwrap();
    assert!(!journal.found().is_old_copy(), "its machine saw no more than there is");
    let first = ServerConfig { takeover_after: NEVER, ..machine(server, &book.room, "first") };
    assert!(row(&first.mark_path) > row(&config.mark_path), "this one did");
    let book = Book { journal, room: book.room };
    assert_eq!(known_until_ms(&book.journal).await, None);
    (book, line, first)
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_machine_that_knows_more_takes_over_from_one_that_does_not_know_what_is_missing() {
    let server = given().unwrap();
    let (book, line, first) = served_by_one_who_never_saw_what_is_missing(&server).await;
    assert!(book.takes(item(3, 1)).await, "it bills what it finds");
    // Rows of charges have the time of the proposal, which is the same in all tests.
    ran(within(&server, &book.room), AFTER_THE_START.to_owned()).unwrap();
    let third = ServerConfig { takeover_after: NEVER, ..machine(&server, &book.room, "third") };
    let third = waits(&third);
    eventually("a third one waits", async || third.sight.instances().len() == 2).await;

    // In this test it lives on. It must not hear that it was taken over from: that ends the process.
    line.mute();
    let known = std::fs::read(&first.mark_path).unwrap();
    let over = Line::to(&server);
    let journal = waits(&over.leads(first.clone(), &book.room)).turn().await.unwrap();
    assert!(journal.found().is_old_copy());
    assert_eq!(known_until_ms(&journal).await, Some(NOW_MS), "what came later may be missing");
    eventually("the third one waits, which knows nothing either", async || {
        third.sight.sentence().contains("standing by: first (")
    })
    .await;
    drop(third);

    // Each that knows more does so, and none twice: its mark says then what there is.
    over.mute();
    let fourth = ServerConfig { takeover_after: NEVER, ..machine(&server, &book.room, "fourth") };
    std::fs::write(&fourth.mark_path, known).unwrap();
    let journal = waits(&fourth).turn().await.unwrap();
    assert!(journal.found().is_old_copy());
    journal.close().await;
    for config in [&first, &fourth] {
        let journal = journal_pg::open(config, Clock::MACHINE).unwrap();
        assert!(!journal.found().is_old_copy(), "{}", config.instance);
        journal.close().await;
    }
}
