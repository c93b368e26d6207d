//! What was written can be shown not to have been changed since.

use super::*;
use sha2::{Digest as _, Sha256};

/// A closed journal with a charged, a reverted and an open batch.
async fn closed_book() -> Room {
    let book = Book::in_a_file().await;
    let charged = book.accept(&[item(1, 1), item(2, 1)]).await.unwrap();
    let reverted = book.accept(&[paid_by(3, item(3, 1))]).await.unwrap();
    let mut open = proposal(&[item(4, 1), guarded(5)]);
    open.request = Some(request("run-1", 1));
    open.caller = Some(asked_by());
    open.counts = vec![fee(21_000, None)];
    book.take(open).await.unwrap();
    let outcomes = vec![ItemOutcome::Charged, short_of_allowance()];
    book.settle(end(&charged, BatchState::Charged, outcomes)).await;
    book.settle(end(&reverted, BatchState::Reverted, vec![])).await;
    let Book { journal, room } = book;
    journal.close().await;
    assert_eq!(copies::audit(&config(&room).path, &[]).unwrap().faults, Vec::<String>::new());
    room
}

/// The faults that an audit finds after `sql` was run behind the journal's back.
pub(super) fn faults_after(room: &TempDir, sql: &str) -> Vec<String> {
    let conn = Connection::open(config(room).path).unwrap();
    conn.execute_batch(&format!("BEGIN; {sql}")).unwrap();
    let changed = conn.total_changes();
    let audit = audit(&conn).unwrap();
    conn.execute_batch("ROLLBACK").unwrap();
    assert!(changed > 0, "{sql} changed nothing");
    audit.faults
}

#[tokio::test]
async fn an_untouched_journal_passes_and_tells_how_far_it_goes() {
    let room = closed_book().await;
    let audit = copies::audit(&config(&room).path, &[]).unwrap();
    assert_eq!((audit.head.row, audit.batches, audit.faults), (9, 3, vec![]));
    let conn = Connection::open(config(&room).path).unwrap();
    let last = "SELECT lower(hex(digest)) FROM history ORDER BY seq DESC LIMIT 1";
    let head: String = conn.query_row(last, [], |row| row.get(0)).unwrap();
    assert_eq!(audit.head.digest, head);
}

#[tokio::test]
async fn a_head_that_was_kept_is_looked_for() {
    let room = closed_book().await;
    let path = config(&room).path;
    let head = copies::audit(&path, &[]).unwrap().head;
    let kept = |text: &str| copies::audit(&path, &[text.parse().unwrap()]).unwrap().faults;
    assert_eq!(kept(&head.to_string()), Vec::<String>::new());
    assert_eq!(kept(&head.to_string()[..14].to_uppercase()), Vec::<String>::new(), "its beginning");
    let other = format!("{}:{}", head.row, "0".repeat(64));
    assert_eq!(kept(&other), ["history row 9 is not the one that was kept"]);
    let later = format!("10:{}", head.digest);
    assert_eq!(kept(&later), ["history row 10 was kept, but the history ends with row 9"]);
    for no_head in ["", "7", "7:", "7:abc", "0:00000000", "x:00000000", "7:0000000g"] {
        assert_eq!(no_head.parse::<HistoryHead>(), Err(NoHead), "{no_head}");
    }
}

#[tokio::test]
async fn an_audit_changes_nothing_and_works_on_a_copy_of_a_journal_at_work() {
    let book = Book::in_a_file().await;
    for who in 1..20 {
        book.accept(&[item(who, 1)]).await.unwrap();
    }
    let path = config(&book.room).path;
    assert!(matches!(copies::audit(&path, &[]), Err(OpenError::Held(_))));
    let copied = tempfile::tempdir().unwrap();
    let copy = config(&copied).path;
    let log = |path: &Path| path.with_extension("db-wal");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(log(&path), log(&copy)).unwrap();
    let files = || [&copy, &log(&copy)].map(|path| std::fs::read(path).unwrap());
    let before = files();
    let audit = copies::audit(&copy, &[]).unwrap();
    assert_eq!((audit.batches, audit.faults), (19, vec![]));
    assert!(files() == before, "the copy was changed");

    drop(book.restart());
    let closed = closed_book().await;
    let names = || {
        let files = std::fs::read_dir(closed.path()).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        let bytes: Vec<_> = files.iter().map(|path| std::fs::read(path).unwrap()).collect();
        (files, bytes)
    };
    let before = names();
    copies::audit(&config(&closed).path, &[]).unwrap();
    assert_eq!(names().0, before.0);
    assert!(names().1 == before.1, "a file was changed");
}

/// A copy of which one half was read before a checkpoint and the other half after it.
#[tokio::test]
async fn a_copy_that_was_torn_by_a_checkpoint_is_reported_and_not_believed() {
    let book = Book::in_a_file().await;
    let path = config(&book.room).path;
    for who in 1..60 {
        book.accept(&[item(who, 1)]).await.unwrap();
    }
    let before = std::fs::read(&path).unwrap();
    let Book { journal, room } = book;
    journal.close().await;
    let after = std::fs::read(config(&room).path).unwrap();
    assert!(after.len() > 2 * 4096 && before != after, "a checkpoint was made");
    let torn = tempfile::tempdir().unwrap();
    for cut in [after.len() / 8192 * 4096, after.len() - 4096] {
        let late = before.get(cut..).unwrap_or_default();
        std::fs::write(config(&torn).path, [&after[..cut], late].concat()).unwrap();
        let said = match copies::audit(&config(&torn).path, &[]) {
            Err(why) => why.to_string(),
            Ok(audit) => audit.faults.join("; "),
        };
        assert!(said.contains("not whole"), "cut at {cut}: {said:?}");
    }
}

#[tokio::test]
async fn a_journal_of_another_shape_is_not_opened() {
    let table = [
        ("DROP INDEX claim_key", "it lacks index claim_key."),
        (
            "CREATE TRIGGER helpful AFTER INSERT ON batch BEGIN UPDATE claim SET live = 0; END",
            "it holds trigger helpful.",
        ),
        (
            "DROP INDEX claim_key; CREATE INDEX claim_key ON claim (period) WHERE live = 1",
            "it has another index claim_key.",
        ),
        ("ALTER TABLE claim ADD COLUMN note TEXT", "it has another table claim."),
        ("CREATE VIEW dues AS SELECT 1", "it holds view dues."),
    ];
    for (sql, told) in table {
        let room = closed_book().await;
        room.forge();
        let config = config(&room);
        Connection::open(&config.path).unwrap().execute_batch(sql).unwrap();
        let bytes = std::fs::read(&config.path).unwrap();
        let refused = Journal::open(&config).unwrap_err();
        assert!(matches!(refused, OpenError::Altered { .. }), "{sql}: {refused}");
        assert!(refused.to_string().contains(told), "{refused}");
        assert!(std::fs::read(&config.path).unwrap() == bytes, "{sql}: the file was changed");
        let faults = copies::audit(&config.path, &[]).unwrap().faults;
        assert_eq!(faults.len(), 1, "{faults:?}");
    }
}

/// What somebody with the file in hand may try.
const CHANGES: &[(&str, &str)] = &[
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
        "INSERT INTO claim (batch, item, scope, subscribe_id, plan_id, user_hash, period,
                                amount, live)
             VALUES (1, 2, 1, 9, 9, zeroblob(32), '1', '1', 0)",
    ),
    ("the contract", "UPDATE batch SET contract = zeroblob(20) WHERE id = 3"),
    ("the account", "UPDATE batch SET signer = zeroblob(20) WHERE id = 3"),
    ("the chain", "PRAGMA defer_foreign_keys = 1; UPDATE batch SET chain = 140 WHERE id = 3"),
    ("who asked", "UPDATE batch SET caller_label = 'somebody' WHERE id = 3"),
    ("the key of who asked", "UPDATE batch SET caller_key = 'another-key' WHERE id = 3"),
    ("nobody asked", "UPDATE batch SET caller_label = NULL, caller_key = NULL WHERE id = 3"),
    ("the position", "UPDATE batch SET position = 99 WHERE id = 3"),
    (
        "a batch more",
        "INSERT INTO batch (id, chain, contract, signer, position, state, accepted_ms, counted, hash)
             SELECT 4, chain, contract, signer, 99, 'open', 0, '[]', hash FROM batch WHERE id = 3",
    ),
    ("a batch less", "PRAGMA defer_foreign_keys = 1; DELETE FROM batch WHERE id = 3"),
    ("a hash less", "PRAGMA defer_foreign_keys = 1; DELETE FROM tx WHERE batch = 3"),
    ("a hash more", "INSERT INTO tx (hash, batch) VALUES (zeroblob(32), 3)"),
    ("the batch of a hash", "UPDATE tx SET batch = 2 WHERE batch = 3"),
    ("no transaction", "UPDATE batch SET raw = NULL, gas_required = NULL WHERE id = 3"),
    ("a transaction", "UPDATE batch SET raw = x'00' WHERE id = 3"),
    (
        "a claim's contract",
        "INSERT INTO scope VALUES (9, 139, zeroblob(20)); UPDATE claim SET scope = 9 WHERE batch = 1",
    ),
    ("the contract of claims", "UPDATE scope SET contract = zeroblob(20)"),
    ("the chain of claims", "PRAGMA defer_foreign_keys = 1; UPDATE scope SET chain = 140"),
    ("a guard", "UPDATE claim SET guard_until_s = 1 WHERE batch = 1 AND item = 0"),
    ("the name of a request", "UPDATE batch SET request_id = 'run-2' WHERE id = 3"),
    ("a name where there was none", "UPDATE batch SET request_id = 'run-2' WHERE id = 1"),
    ("no name where there was one", "UPDATE batch SET request_id = NULL WHERE id = 3"),
    ("who pays", "DELETE FROM payer"),
    ("the hours of batches", "DELETE FROM batch_hour"),
    ("what a name stands for", "UPDATE request SET digest = zeroblob(32)"),
    ("what a name leads to", "UPDATE request SET batch = NULL"),
    ("when it was accepted", "UPDATE batch SET accepted_ms = accepted_ms + 1 WHERE id = 3"),
    ("when it ended", "UPDATE batch SET settled_ms = settled_ms + 1 WHERE id = 1"),
    ("a hash", "INSERT INTO tx (hash, batch) VALUES (zeroblob(32), 3); UPDATE batch SET hash = zeroblob(32) WHERE id = 3"),
    ("its gas", "UPDATE batch SET gas_required = 1 WHERE id = 3"),
    (
        "a transaction more",
        "INSERT INTO tx (hash, batch) VALUES (zeroblob(32), 3);
         INSERT INTO later_attempt (hash, batch, seq, kind, raw, gas_required, signed_ms)
             VALUES (zeroblob(32), 3, 1, 'bill', x'00', 1, 0)",
    ),
    (
        "sums and what they are made of",
        "UPDATE batch SET counted = replace(counted, '21000', '1'); UPDATE lane SET sums = replace(sums, '21000', '1')",
    ),
    ("no sums at all", "UPDATE batch SET counted = '[]'; UPDATE lane SET day = NULL, sums = NULL"),
    (
        "what was given back",
        "UPDATE batch SET counted = replace(counted, 'given_back\":\"0', 'given_back\":\"1')",
    ),
    ("the next position", "UPDATE lane SET next_position = next_position - 1"),
    ("a position beyond", "UPDATE lane SET next_position = next_position + 1"),
    ("a lane less", "DELETE FROM lane"),
    ("a chain", "UPDATE chain SET network = 1"),
    ("a chain's contract", "UPDATE chain SET contract = zeroblob(20)"),
    ("a pause that nobody made", "INSERT INTO pause VALUES (139, 'operator', 0, NULL)"),
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

#[tokio::test]
async fn a_change_behind_the_journals_back_is_found() {
    let room = closed_book().await;
    room.forge();
    for (what, sql) in CHANGES {
        assert!(!faults_after(&room, sql).is_empty(), "{what} was changed and nobody noticed");
    }
    let path = config(&room).path;
    assert_eq!(copies::audit(&path, &[]).unwrap().faults, Vec::<String>::new(), "all undone");
    Connection::open(&path).unwrap().execute_batch(CHANGES[0].1).unwrap();
    let faults = copies::audit(&path, &[]).unwrap().faults;
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
        (
            "a charge freed as one that was elsewhere",
            "UPDATE claim SET live = 0, elsewhere = 1 WHERE batch = 1 AND item = 0",
        ),
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
                              block_hash = NULL, winner = NULL WHERE id = 1",
        ),
        ("the winner", "UPDATE batch SET winner = zeroblob(32) WHERE id = 1"),
        ("the block", "UPDATE batch SET block = 89 WHERE id = 1"),
        ("the block's time", "UPDATE batch SET block_s = 1001 WHERE id = 1"),
        ("the block's hash", "UPDATE batch SET block_hash = zeroblob(32) WHERE id = 1"),
    ];
    let room = closed_book().await;
    for (what, sql) in table {
        assert!(!faults_after(&room, sql).is_empty(), "{what}: nobody noticed");
    }
}

#[tokio::test]
async fn a_guard_that_was_ended_by_hand_is_found() {
    let book = Book::in_a_file().await;
    let charged = book.accept(&[guarded(1), guarded(2)]).await.unwrap();
    let outcomes = vec![ItemOutcome::Charged, ItemOutcome::Charged];
    book.settle(end(&charged, BatchState::Charged, outcomes)).await;
    let mut again = proposal(&[guarded(1)]);
    again.chain_time = BLOCK.time + 600;
    book.take(again).await.unwrap();
    let Book { journal, room } = book;
    drop(journal);
    let path = config(&room).path;
    assert_eq!(copies::audit(&path, &[]).unwrap().faults, Vec::<String>::new());
    let faults = faults_after(&room, "UPDATE claim SET live = 0 WHERE batch = 1 AND item = 1");
    assert_eq!(faults, ["2 claims that ended with their guards, but the history knows 1"]);
}

#[tokio::test]
async fn a_pause_or_a_doubt_that_was_ended_by_hand_is_found() {
    let book = Book::in_a_file().await;
    let pause = Pause { by: "Operator".to_owned(), since_ms: NOW_MS, why: None };
    let switch = Switch::Pause(vec![CHAIN]);
    book.journal.pauses().set(switch, pause).await.unwrap();
    book.journal.lane(lane()).begin_doubt(5, NOW_MS).await.unwrap();
    let Book { journal, room } = book;
    drop(journal);
    let path = config(&room).path;
    assert_eq!(copies::audit(&path, &[]).unwrap().faults, Vec::<String>::new());
    for sql in [
        "DELETE FROM pause",
        "UPDATE pause SET by = 'somebody'",
        "UPDATE pause SET since_ms = since_ms + 1",
        "DELETE FROM doubt",
        "UPDATE doubt SET since_ms = since_ms + 1",
    ] {
        assert_eq!(faults_after(&room, sql).len(), 1, "{sql}");
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
    every_byte(&room, "raw", "batch WHERE id = 1", &[0, 1]);
    every_byte(&room, "raw", "batch WHERE id = 3", &[0, 1]);
    every_byte(&room, "body", "history WHERE seq = 1", b"ab");
    every_byte(&room, "body", "history WHERE seq = 2", b"ab");
    every_byte(&room, "body", "history WHERE seq = 8", b"ab");
    every_byte(&room, "digest", "history WHERE seq = 8", &[0, 1]);
}

#[tokio::test]
async fn a_row_forged_with_a_digest_of_its_own_does_not_lead_to_the_next_one() {
    let room = closed_book().await;
    room.forge();
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
    let faults = audit(&conn).unwrap().faults;
    assert_eq!(faults[0], "history row 4 does not follow from the one before it");
}

#[tokio::test]
async fn whoever_watches_an_audit_hears_how_far_it_is() {
    let book = Book::in_a_file().await;
    book.accept(&[item(1, 1)]).await.unwrap();
    let Book { journal, room } = book;
    journal.close().await;
    let mut told = Vec::new();
    let mut watch = |done, of| told.push((done, of));
    let audit = copies::audit_watched(&config(&room).path, &[], &mut watch).unwrap();
    assert_eq!(told, [(audit.head.row, audit.head.row)]);
}
