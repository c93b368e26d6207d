//! What was written can be shown not to have been changed since.

use super::*;
use sha2::{Digest as _, Sha256};

/// A closed journal with a charged, a reverted and an open batch.
async fn closed_book() -> TempDir {
    let book = Book::new().await;
    let charged = book.accept(&[item(1, 1), item(2, 1)]).await.unwrap();
    let reverted = book.accept(&[item(3, 1)]).await.unwrap();
    book.accept(&[item(4, 1), guarded(5)]).await.unwrap();
    let outcomes = vec![ItemOutcome::Charged, short_of_allowance()];
    book.settle(end(&charged, BatchState::Charged, outcomes)).await;
    book.settle(end(&reverted, BatchState::Reverted, vec![])).await;
    let Book { journal, room } = book;
    drop(journal);
    assert_eq!(Journal::audit(&config(&room).path).unwrap().faults, Vec::<String>::new());
    room
}

/// The faults that an audit finds after `sql` was run behind the journal's back.
fn faults_after(room: &TempDir, sql: &str) -> Vec<String> {
    let conn = Connection::open(config(room).path).unwrap();
    conn.execute_batch(&format!("BEGIN; {sql}")).unwrap();
    let changed = conn.total_changes();
    let audit = history::audit(&conn).unwrap();
    conn.execute_batch("ROLLBACK").unwrap();
    assert!(changed > 0, "{sql} changed nothing");
    audit.faults
}

#[tokio::test]
async fn an_untouched_journal_passes_and_tells_how_far_it_goes() {
    let room = closed_book().await;
    let audit = Journal::audit(&config(&room).path).unwrap();
    assert_eq!((audit.rows, audit.batches, audit.faults), (8, 3, vec![]));
    let conn = Connection::open(config(&room).path).unwrap();
    let last = "SELECT lower(hex(digest)) FROM history ORDER BY seq DESC LIMIT 1";
    let head: String = conn.query_row(last, [], |row| row.get(0)).unwrap();
    assert_eq!(audit.head, head);
}

#[tokio::test]
async fn a_change_behind_the_journals_back_is_found() {
    let table = [
        ("an amount", "UPDATE claim SET amount = '501' WHERE batch = 1 AND item = 1"),
        ("an amount that is none", "UPDATE claim SET amount = 'much' WHERE batch = 1"),
        ("a period", "UPDATE claim SET period = '2' WHERE batch = 1 AND item = 0"),
        ("a user", "UPDATE claim SET user_hash = zeroblob(32) WHERE batch = 1 AND item = 0"),
        ("a plan", "UPDATE claim SET plan_id = 4 WHERE batch = 1 AND item = 0"),
        ("a subscription", "UPDATE claim SET subscribe_id = 9 WHERE batch = 1 AND item = 0"),
        ("two claims", "UPDATE claim SET item = item + 7 WHERE batch = 1 AND item = 0"),
        ("a claim less", "DELETE FROM claim WHERE batch = 1 AND item = 1"),
        (
            "a claim more",
            "INSERT INTO claim (batch, item, chain, contract, subscribe_id, plan_id, user_hash, period,
                                amount, live)
             VALUES (1, 2, 139, zeroblob(20), 9, 9, zeroblob(32), '1', '1', 0)",
        ),
        ("the contract", "UPDATE batch SET contract = zeroblob(20) WHERE id = 3"),
        ("the account", "UPDATE batch SET signer = zeroblob(20) WHERE id = 3"),
        ("the chain", "PRAGMA defer_foreign_keys = 1; UPDATE batch SET chain = 140 WHERE id = 3"),
        ("who asked", "UPDATE batch SET caller = 'somebody' WHERE id = 3"),
        ("the position", "UPDATE batch SET position = 99 WHERE id = 3"),
        (
            "a batch more",
            "INSERT INTO batch (id, chain, contract, signer, position, state, accepted_ms)
             SELECT 4, chain, contract, signer, 99, 'open', 0 FROM batch WHERE id = 3",
        ),
        ("a batch less", "PRAGMA defer_foreign_keys = 1; DELETE FROM batch WHERE id = 3"),
        ("a transaction less", "DELETE FROM attempt WHERE batch = 3"),
        ("the first row of history", "DELETE FROM history WHERE seq = 1"),
        ("a row in the middle", "DELETE FROM history WHERE seq = 3"),
        ("the acceptance of the last batch", "DELETE FROM history WHERE seq >= 6"),
        ("a row's time", "UPDATE history SET at_ms = at_ms + 1 WHERE seq = 2"),
        ("a row's event", "UPDATE history SET event = 'expected' WHERE seq = 2"),
        ("a row's digest", "UPDATE history SET digest = zeroblob(32) WHERE seq = 2"),
        ("the last row's digest", "UPDATE history SET digest = zeroblob(32) WHERE seq = 8"),
        ("a profile", "UPDATE profile SET body = 'another profile'"),
        ("a profile's contract", "UPDATE profile SET contract = zeroblob(20)"),
        (
            "a profile more",
            "INSERT INTO profile (chain, contract, body) SELECT chain, contract, 'one' FROM profile",
        ),
        ("the profile of a batch", "UPDATE batch SET profile = NULL WHERE id = 3"),
    ];
    let room = closed_book().await;
    for (what, sql) in table {
        assert!(!faults_after(&room, sql).is_empty(), "{what} was changed and nobody noticed");
    }
    let path = config(&room).path;
    assert_eq!(Journal::audit(&path).unwrap().faults, Vec::<String>::new(), "all undone");
    Connection::open(&path).unwrap().execute_batch(table[0].1).unwrap();
    let faults = Journal::audit(&path).unwrap().faults;
    assert_eq!(faults, ["batch 1 differs from what was accepted"]);
}

#[tokio::test]
async fn a_claim_that_was_freed_by_hand_is_found() {
    let table = [
        ("the last end", "DELETE FROM history WHERE seq = 8"),
        ("a charge freed", "UPDATE claim SET live = 0 WHERE batch = 1 AND item = 0"),
        ("an open charge freed", "UPDATE claim SET live = 0 WHERE batch = 3 AND item = 0"),
        ("an open guarded charge freed", "UPDATE claim SET live = 0 WHERE batch = 3 AND item = 1"),
        ("a failed charge claimed", "UPDATE claim SET live = 1 WHERE batch = 1 AND item = 1"),
        ("a reverted charge claimed", "UPDATE claim SET live = 1 WHERE batch = 2"),
        ("an outcome", "UPDATE claim SET outcome = 'unproven' WHERE batch = 1 AND item = 0"),
        ("a charged batch reverted", "UPDATE batch SET state = 'reverted' WHERE id = 1"),
        (
            "an open batch ended",
            "UPDATE batch SET state = 'reverted', settled_ms = 0, block = 88, block_s = 1000,
                              winner = zeroblob(32) WHERE id = 3",
        ),
        (
            "an ended batch opened",
            "UPDATE batch SET state = 'open', settled_ms = NULL, block = NULL, block_s = NULL,
                              winner = NULL WHERE id = 1",
        ),
        ("the winner", "UPDATE batch SET winner = zeroblob(32) WHERE id = 1"),
        ("the block", "UPDATE batch SET block = 89 WHERE id = 1"),
        ("the block's time", "UPDATE batch SET block_s = 1001 WHERE id = 1"),
    ];
    let room = closed_book().await;
    for (what, sql) in table {
        assert!(!faults_after(&room, sql).is_empty(), "{what}: nobody noticed");
    }
}

/// Replaces every byte of one value, one at a time; the column keeps its type.
fn every_byte(room: &TempDir, column: &str, from: &str, or: &[u8]) {
    let conn = Connection::open(config(room).path).unwrap();
    let select = format!("SELECT CAST({column} AS BLOB), typeof({column}) FROM {from}");
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (value, kind): (Vec<u8>, String) = conn.query_row(&select, [], read).unwrap();
    drop(conn);
    assert!(!value.is_empty());
    let (table, row) = from.split_once(" WHERE ").unwrap();
    for at in 0..value.len() {
        let mut changed = value.clone();
        changed[at] = if changed[at] == or[0] { or[1] } else { or[0] };
        let bytes = hex::encode(changed);
        let sql = format!("UPDATE {table} SET {column} = CAST(x'{bytes}' AS {kind}) WHERE {row}");
        assert!(!faults_after(room, &sql).is_empty(), "byte {at} of {column}");
    }
}

#[tokio::test]
async fn one_changed_byte_of_money_bytes_or_history_is_found() {
    let room = closed_book().await;
    every_byte(&room, "amount", "claim WHERE batch = 1 AND item = 0", b"67");
    every_byte(&room, "amount", "claim WHERE batch = 3 AND item = 1", b"67");
    every_byte(&room, "user_hash", "claim WHERE batch = 1 AND item = 0", &[0, 1]);
    every_byte(&room, "raw", "attempt WHERE batch = 1", &[0, 1]);
    every_byte(&room, "raw", "attempt WHERE batch = 3", &[0, 1]);
    every_byte(&room, "body", "history WHERE seq = 1", b"ab");
    every_byte(&room, "body", "history WHERE seq = 2", b"ab");
    every_byte(&room, "body", "history WHERE seq = 7", b"ab");
    every_byte(&room, "digest", "history WHERE seq = 7", &[0, 1]);
}

#[tokio::test]
async fn a_row_forged_with_a_digest_of_its_own_does_not_lead_to_the_next_one() {
    let room = closed_book().await;
    let conn = Connection::open(config(&room).path).unwrap();
    let digest = |seq: i64| -> Vec<u8> {
        let sql = "SELECT digest FROM history WHERE seq = ?1";
        conn.query_row(sql, [seq], |row| row.get(0)).unwrap()
    };
    let seq_and_time = [3_i64.to_be_bytes(), 0_i64.to_be_bytes()].concat();
    let forged = Sha256::digest([&digest(2)[..], &seq_and_time, b"slept\0{}"].concat());
    let sql =
        "UPDATE history SET at_ms = 0, event = 'slept', body = '{}', digest = ?1 WHERE seq = 3";
    conn.execute(sql, [forged.as_slice()]).unwrap();
    let faults = history::audit(&conn).unwrap().faults;
    assert_eq!(faults[0], "history row 4 does not follow from the one before it");
}
