//! The rights of a Signer's role, and what several Signers with one journal make of it.

use super::*;

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn the_role_of_a_signer_cannot_take_away_or_change_what_was_written_down() {
    let server = given().unwrap();
    let book = Book::new().await;
    book.accept(&[item(1, 1)]).await.unwrap();
    let before = book.everything().await;
    for sql in [
        "DELETE FROM history",
        "DELETE FROM claim",
        "DELETE FROM batch",
        "DELETE FROM tx",
        "DELETE FROM later_attempt",
        "DELETE FROM ending",
        "TRUNCATE claim CASCADE",
        "UPDATE history SET body = ''",
        "UPDATE batch SET raw = NULL, gas_required = NULL",
        "UPDATE claim SET period = '2'",
        "UPDATE batch SET position = 99",
        "UPDATE ending SET void = 1",
        "DROP INDEX claim_key",
        "ALTER TABLE claim DROP COLUMN live",
        "CREATE TABLE mine (one BIGINT)",
    ] {
        let refused = ran(config(&server, &book.room).server, sql.to_owned()).unwrap_err();
        assert!(refused.code().is_some_and(|code| code.code() == "42501"), "{sql}: {refused:?}");
    }
    assert_eq!(book.everything().await, before);
    let owner = ServerConfig { server: within(&server, &book.room), ..config(&server, &book.room) };
    let refused = journal_pg::open(&owner, Clock::MACHINE).unwrap_err().to_string();
    assert!(refused.contains("the role may delete or change"), "{refused}");
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_database_that_lacks_what_this_signer_saw_in_it_is_an_old_copy() {
    let server = given().unwrap();
    let book = Book::new().await;
    assert!(!book.journal.found().is_old_copy());
    book.accept(&[item(1, 1)]).await.unwrap();
    book.journal.close().await;
    let book = book.restart();
    assert!(!book.journal.found().is_old_copy(), "a restart is not a restore");
    assert_eq!(book.journal.lane(lane()).take_up().await.unwrap().known_until_ms, None);

    book.journal.close().await;
    std::fs::remove_file(book.room.path().join("journal.mark")).unwrap();
    let book = book.restart();
    assert!(book.journal.found().is_old_copy(), "nobody knows what this one has seen");
    assert!(
        book.journal.lane(lane()).take_up().await.unwrap().known_until_ms.is_some(),
        "what its lane did is in doubt"
    );

    for forget in [
        "DELETE FROM history WHERE seq = (SELECT max(seq) FROM history)",
        "UPDATE history SET digest = sha256(digest) WHERE seq = (SELECT max(seq) FROM history)",
        "DELETE FROM boot WHERE seq = (SELECT max(seq) FROM boot)",
    ] {
        book.journal.close().await;
        ran(within(&server, &book.room), forget.to_owned()).unwrap();
        let again = opened(&server, &book.room);
        assert!(again.found().is_old_copy(), "{forget}");
        again.close().await;
        assert!(!opened(&server, &book.room).found().is_old_copy(), "noticed once: {forget}");
    }
}

/// What is committed in the second after the mark was moved may be the last for long.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn the_mark_catches_up_when_nothing_more_is_written() {
    let book = Book::new().await;
    let mark = || {
        let mark = std::fs::read_to_string(book.room.path().join("journal.mark")).unwrap();
        mark.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    for who in [1, 2] {
        assert!(book.takes(item(who, 1)).await);
    }
    let head = book.journal.head().await.unwrap();
    for _ in 0..100 {
        if mark() == head.row {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the mark says {} of {}", mark(), head.row);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs the server of ./test --only postgres"]
async fn of_three_signers_on_one_account_each_charge_has_one_winner_and_no_place_is_lost() {
    const CHARGES: u8 = 30;
    let server = given().unwrap();
    let book = Book::new().await;
    book.journal.close().await;
    let mut config = config(&server, &book.room);
    config.shared = true;
    let mut signers = Vec::new();
    for mark in ["first.mark", "second.mark", "third.mark"] {
        let mark = book.room.path().join(mark);
        std::fs::copy(book.room.path().join("journal.mark"), &mark).unwrap();
        config.mark_path = mark;
        signers.push(journal_pg::open(&config, Clock::MACHINE).unwrap());
    }
    let book = Book { journal: signers[0].clone(), room: book.room };
    let mut callers = tokio::task::JoinSet::new();
    for (caller, journal) in (0..9_u8).zip(signers.into_iter().cycle()) {
        callers.spawn(async move {
            let mut places = Vec::new();
            for n in 0..CHARGES {
                // Two charges each, which overlap with those of everybody else, in another order.
                let (one, other) = ((n + caller * 3) % CHARGES, (n + caller * 7 + 1) % CHARGES);
                loop {
                    match take(&journal, proposal(&[item(one, 1), item(other, 2)])).await {
                        Err(AcceptError::Moved) => {}
                        Ok(slot) => break places.push((slot.position, one, other)),
                        Err(AcceptError::Claimed) => break,
                        Err(other) => panic!("{other}"),
                    }
                }
            }
            places
        });
    }
    let mut won: Vec<_> = callers.join_all().await.into_iter().flatten().collect();
    won.sort_unstable();
    let places: Vec<u64> = won.iter().map(|(place, ..)| *place).collect();
    assert_eq!(places, (FIRST..book.next_position().await).collect::<Vec<_>>(), "without a gap");
    for charges in [won.iter().map(|won| won.1).collect(), won.iter().map(|won| won.2).collect()] {
        let mut charges: Vec<u8> = charges;
        charges.sort_unstable();
        assert!(charges.windows(2).all(|pair| pair[0] != pair[1]), "twice: {charges:?}");
    }
    assert!(places.len() > usize::from(CHARGES) / 3, "{} were taken", places.len());
    let audit = book.audit().await;
    assert_eq!((audit.batches, audit.faults), (places.len().try_into().unwrap(), vec![]));
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn both_databases_have_the_same_tables() {
    let columns = async |book: &Book, sql: &'static str| {
        let read = move |conn: &dyn Database| {
            let mut all = Vec::new();
            for table in TABLES {
                let mut select = conn.prepare(sql)?;
                let names = select.query_map([table], |row| row.get::<String>(0))?;
                all.push((table, names.collect::<SqlResult<Vec<_>>>()?));
            }
            Ok(all)
        };
        book.journal.read(read).await.unwrap()
    };
    let on_server = "SELECT column_name::text FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name = ?1 ORDER BY ordinal_position";
    let in_file = "SELECT name FROM pragma_table_info(?1) ORDER BY cid";
    let server = columns(&Book::new().await, on_server).await;
    assert_eq!(server, columns(&Book::in_a_file().await, in_file).await);
}
