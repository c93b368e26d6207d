//! A journal outlives the program: files of every version that is kept are opened, brought to the
//! newest one whole or not at all, and told apart from those that cannot be.

use super::*;
use journal::testing::{bring_up, migrate};

/// Of a chain on which nothing else happens.
fn a_pause() -> (Switch, Pause) {
    let pause = Pause { by: "scheduler".to_owned(), since_ms: NOW_MS, why: None };
    (Switch::Pause(vec![PlatformChainId(195)]), pause)
}

async fn no_table_is_empty(book: &Book) {
    for table in TABLES {
        let sql = format!("SELECT count(*) FROM {table}");
        let rows = move |conn: &dyn Database| conn.query_row(&sql, [], |row| row.get::<i64>(0));
        assert!(book.journal.read(rows).await.unwrap() > 0, "{table} is empty");
    }
}

/// A journal that every table of this version has a row of: a charged batch with every outcome, one of
/// each other end, an open one with two attempts, an adopted one, sums, a pause, a doubt.
#[tokio::test]
#[ignore = "makes tests/journals/vN.sqlite, once for each version, before it is released"]
async fn the_file_of_this_version_is_made() {
    let to = kept(Steps::default().newest());
    assert!(!to.exists(), "{} was made already and is never made again", to.display());
    let book = Book::in_a_file().await;
    let mut charged = proposal(&[paid_by(1, item(1, 1)), item(2, 1), item(3, 1), guarded(4)]);
    charged.request = Some(request("run-1", 1));
    charged.caller = Some(asked_by());
    charged.counts = vec![fee(21_000, None)];
    let charged = book.take(charged).await.unwrap();
    let told = vec![
        ItemOutcome::Charged,
        short_of_allowance(),
        ItemOutcome::Unproven,
        ItemOutcome::Charged,
    ];
    book.settle(end(&charged, BatchState::Charged, told)).await;
    let (by, why) = ("operator".to_owned(), "it was not".to_owned());
    let (billing, subscribe, resolution) = ("run-1".to_owned(), SubscribeId(3), Resolution::Free);
    let finding = PersonsWord { billing, subscribe, resolution, by, why, at_ms: NOW_MS };
    book.journal.resolve(finding).await.unwrap();
    for (who, state) in [
        (5, BatchState::Reverted),
        (6, BatchState::Cancelled),
        (7, BatchState::Expired),
        (8, BatchState::Usurped),
    ] {
        let slot = book.accept(&[item(who, 1)]).await.unwrap();
        book.settle(end(&slot, state, vec![])).await;
    }
    let open = book.accept(&[item(9, 1)]).await.unwrap();
    let both = vec![charged.batch, open.batch];
    book.journal.name_request(request("run-2", 2), both).await.unwrap();
    let again = Addition {
        batch: open.batch,
        seq: 1,
        kind: AttemptKind::Cancel,
        fee: fee(30_000, None),
        // Another day, so that the first one's sums are rows of their own.
        at_ms: NOW_MS + 86_400_000,
        sealed: Sealed::new(open.position, &open.items, signed(open.position + 1_000)),
    };
    book.journal.add_attempt(again).await.unwrap().unwrap();
    let (items, execution) = (vec![item(10, 1)], Execution::Succeeded(vec![ItemOutcome::Charged]));
    let told = TxRecord {
        ending: CallEnding::OutOfTime,
        message: Some("CPU timeout".to_owned()),
        used: 600_000,
        fee: U256::from(60_000_000),
    };
    let landed = Landed { hash: B256::repeat_byte(0xAD), block: BLOCK, record: Some(told) };
    let effect = ForeignEffect::Billed { contract: CONTRACT, items, execution };
    let position = book.next_position().await;
    let learnt = vec![ForeignTx { position, landed, effect }];
    book.journal.adopt(origin(), learnt, 600, NOW_MS).await.unwrap();
    let (switch, pause) = a_pause();
    book.journal.pauses().set(switch, pause).await.unwrap();
    book.journal.write(|conn: &dyn Database| store::begin_doubts(conn, NOW_MS)).await.unwrap();
    no_table_is_empty(&book).await;
    book.journal.close().await;
    std::fs::copy(config(&book.room).path, &to).unwrap();
}

#[tokio::test]
async fn a_journal_of_every_kept_version_is_opened_and_knows_what_it_knew() {
    assert_eq!(KEPT.last(), Some(&Steps::default().newest()), "the newest version has a file");
    for version in KEPT {
        let room = copy_of(version);
        let book = Book { journal: Journal::open(&config(&room)).unwrap(), room };
        assert!(book.journal.found().is_old_copy(), "it has no mark");
        let audit = book.journal.read(|conn| audit(conn)).await.unwrap();
        assert_eq!((audit.batches, audit.faults), (7, vec![]), "version {version}");
        let LaneState { known_until_ms: doubt, open, .. } =
            book.journal.lane(lane()).take_up().await.unwrap();
        assert_eq!((doubt, open.len()), (Some(NOW_MS), 1), "version {version}");
        assert_eq!(open[0].attempts.count(), 2);
        assert_eq!(book.journal.pauses().of(PlatformChainId(195)).unwrap().by, "scheduler");
        for (who, free) in [(1, false), (2, true), (3, true), (5, true), (9, false), (10, false)] {
            assert_eq!(book.takes(item(who, 1)).await, free, "version {version}, {who}");
        }
        let found = book.journal.billings_by_request("run-1".to_owned(), None).await.unwrap();
        assert_eq!(found[0].caller, Some(asked_by()));
        assert_eq!((found[0].network, found[0].block), (NETWORK, Some(BLOCK)));
    }
}

fn version(conn: &Connection) -> i64 {
    conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

fn events(conn: &Connection) -> Vec<String> {
    let sql = "SELECT body FROM history WHERE event = 'migrated' ORDER BY seq";
    let mut select = conn.prepare(sql).unwrap();
    let rows = select.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn every_step_that_is_missing_is_taken_once_and_in_order() {
    let room = copy_of(OLDEST);
    room.forge();
    let conn = Connection::open(config(&room).path).unwrap();
    migrate(&conn, &LATER[..1]).unwrap();
    assert_eq!(version(&conn), 6);
    for _ in 0..2 {
        migrate(&conn, &LATER).unwrap();
        assert_eq!(version(&conn), 7);
        assert_eq!(events(&conn), [r#"{"version":6}"#, r#"{"version":7}"#]);
    }
    let notes = "SELECT count(*) FROM batch WHERE note = 'six'";
    assert_eq!(conn.query_row(notes, [], |row| row.get::<_, i64>(0)).unwrap(), 7);
    let known_until = "SELECT known_until_ms FROM restores";
    assert_eq!(conn.query_row(known_until, [], |row| row.get::<_, i64>(0)).unwrap(), NOW_MS);
    assert_eq!(audit(&conn).unwrap().faults, Vec::<String>::new());
}

#[test]
fn a_step_that_fails_leaves_the_journal_as_it_was() {
    let room = copy_of(OLDEST);
    let conn = Connection::open(config(&room).path).unwrap();
    let before = everything(&conn, &TABLES).unwrap();
    let broken = Migration { in_file: "DROP TABLE pause; SELECT 1 FROM nowhere;", ..LATER[1] };
    migrate(&conn, &[LATER[0], broken]).unwrap_err();
    assert_eq!((version(&conn), everything(&conn, &TABLES).unwrap()), (OLDEST, before));
}

#[test]
fn without_room_for_a_newer_version_nothing_is_changed_and_it_is_said_what_to_do() {
    let room = copy_of(OLDEST);
    room.forge();
    let path = config(&room).path;
    let conn = Connection::open(&path).unwrap();
    let before = everything(&conn, &TABLES).unwrap();
    // As a disk that has no page left. What the step writes needs one.
    let pages: i64 = conn.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    conn.pragma_update(None, "max_page_count", pages).unwrap();
    let step = Migration {
        in_file: "CREATE TABLE large (body BLOB) STRICT; INSERT INTO large VALUES (zeroblob(1000000));",
        ..LATER[0]
    };
    let told = bring_up(&conn, &path, OLDEST, &[step]).unwrap_err().to_string();
    assert!(told.contains("of version 5") && told.contains("to version 6"), "{told}");
    assert!(told.contains("make room") && told.contains("Nothing was changed"), "{told}");
    assert_eq!((version(&conn), everything(&conn, &TABLES).unwrap()), (OLDEST, before));
    // With room it is done.
    conn.pragma_update(None, "max_page_count", 1_000_000).unwrap();
    bring_up(&conn, &path, OLDEST, &[step]).unwrap();
    assert_eq!(version(&conn), 6);
}

#[test]
fn another_version_is_refused_with_what_to_do_and_left_as_it_is() {
    let table = [
        (4, "make a new journal with `merchant-signer init`"),
        (0, "make a new journal with `merchant-signer init`"),
        (Steps::default().newest() + 1, "start the newer Signer again"),
    ];
    for (other, advice) in table {
        let room = copy_of(OLDEST);
        room.forge();
        let path = config(&room).path;
        let conn = Connection::open(&path).unwrap();
        conn.pragma_update(None, "user_version", other).unwrap();
        drop(conn);
        let bytes = std::fs::read(&path).unwrap();
        for opened in [Journal::open(&config(&room)).map(drop), copies::audit(&path, &[]).map(drop)]
        {
            let told = opened.unwrap_err().to_string();
            assert!(told.contains(advice) && told.contains(&format!("version {other}")), "{told}");
            assert!(told.contains("Nothing was changed"), "{told}");
        }
        assert!(std::fs::read(&path).unwrap() == bytes, "version {other} was changed");
    }
}
