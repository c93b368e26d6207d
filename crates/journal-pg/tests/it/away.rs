//! A server that cannot be used for a while, or by this Signer: nobody waits for ever, it goes on by itself, and
//! an operator hears what to do.

use super::losing::{Fate, over_a_line};
use super::*;
use tokio::time::{Instant, sleep};

/// Waits for something that has to come about, for a while.
pub(super) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < Duration::from_secs(40), "{what}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// What the server calls the sessions of the process that wrote the mark.
fn sessions(book: &Book) -> String {
    let mark = std::fs::read_to_string(book.room.path().join("journal.mark")).unwrap();
    format!("merchant-signer % {}", &mark[..8])
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn whose_connections_are_ended_goes_on_by_itself_and_loses_nothing() {
    let server = given().unwrap();
    let book = Book::new().await;
    for round in 1..=5 {
        assert!(book.takes(item(round, 1)).await);
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '{}'",
            sessions(&book)
        );
        ran(server.clone(), end).unwrap();
        eventually("it is ready again", async || {
            book.journal.lane(lane()).next_position().await.is_ok() && book.journal.ready().is_ok()
        })
        .await;
        assert_eq!(book.claims(item(round, 1)).await.len(), 1, "round {round}");
        eventually("it takes the next charge", async || {
            book.accept(&[item(round, 2)]).await.is_ok()
        })
        .await;
    }
    assert_eq!(book.next_position().await, FIRST + 10, "no place is left out");
    assert_eq!(book.audit().await.faults, Vec::<String>::new());
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_line_that_falls_silent_holds_up_nobody_for_ever() {
    let server = given().unwrap();
    let (book, line) = over_a_line(&server, Duration::from_secs(1)).await;
    line.meets(Fate::Silent);
    let told = book.accept(&[item(1, 1)]).await;
    assert!(told.is_err(), "the server never heard of it: {told:?}");
    eventually("it takes another", async || book.accept(&[item(1, 1)]).await.is_ok()).await;
    assert!(book.journal.ready().is_ok());
    assert_eq!(book.next_position().await, FIRST + 1);

    line.cut();
    eventually("readiness says so", async || book.journal.ready().is_err()).await;
    let begun = Instant::now();
    for who in 2..5 {
        // Each is told at once, since the connection is made beside.
        let told = book.journal.accept(proposal(&[item(who, 1)])).await.unwrap_err();
        assert!(matches!(told, AcceptError::Journal(JournalError::Away(_))), "{told:?}");
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    line.mend();
    eventually("it is back", async || book.accept(&[item(2, 1)]).await.is_ok()).await;
    assert_eq!(book.next_position().await, FIRST + 2);
    assert_eq!(book.audit().await.faults, Vec::<String>::new());
}

/// Somebody holds the row that writers lock first: what people read is answered, and the write is given up.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_lock_that_is_not_let_go_costs_the_write_and_no_read() {
    let server = given().unwrap();
    let book = Book::new().await;
    let within = within(&server, &book.room);
    let (held, holds) = std::sync::mpsc::channel();
    let holder = std::thread::spawn(move || {
        let session = PlainSession::open(&within).unwrap();
        session.batch("BEGIN; SELECT taken FROM turn FOR UPDATE").unwrap();
        held.send(()).unwrap();
        session.batch("SELECT pg_sleep(15)").unwrap();
    });
    holds.recv().unwrap();
    let charge = [item(1, 1)];
    let write = book.accept(&charge);
    let reads = async {
        let begun = Instant::now();
        assert!(book.claims(item(1, 1)).await.is_empty());
        begun.elapsed()
    };
    let (written, read) = tokio::join!(write, reads);
    assert!(written.is_err(), "{written:?}");
    assert!(read < Duration::from_secs(5), "{read:?}");
    holder.join().unwrap();
    eventually("it takes it then", async || book.accept(&[item(1, 1)]).await.is_ok()).await;
    assert_eq!(book.next_position().await, FIRST + 1);
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_journal_is_one_process_s_and_can_be_audited_by_another() {
    let server = given().unwrap();
    let book = Book::new().await;
    book.accept(&[item(1, 1)]).await.unwrap();
    let config = config(&server, &book.room);
    let second = journal_pg::open(&config, Clock::MACHINE);
    assert!(matches!(second, Err(OpenError::Held(_))), "{second:?}");
    let audit = journal_pg::audit(&config, &[], &mut |_, _| {}).unwrap();
    assert_eq!((audit.batches, audit.faults), (1, vec![]));
    assert_eq!(audit.head, book.journal.head().await.unwrap());
    book.journal.close().await;
    assert!(
        book.journal.lane(lane()).next_position().await.is_err(),
        "it is closed for reads as well"
    );
    drop(journal_pg::open(&config, Clock::MACHINE).unwrap());
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn an_operator_hears_why_a_server_cannot_be_used() {
    let server = given().unwrap();
    let book = Book::new().await;
    book.journal.close().await;
    let owner = within(&server, &book.room);
    let usual = config(&server, &book.room);
    let hears = |change: &dyn Fn(&mut ServerConfig), words: &str| {
        let mut config = usual.clone();
        change(&mut config);
        let told = journal_pg::open(&config, Clock::MACHINE).unwrap_err().to_string();
        assert!(told.contains(words), "{words}: {told}");
        assert!(told.starts_with("the journal at the server cannot be used: "), "{told}");
    };
    let options = |more: &str| format!("-c search_path={} {more}", schema(&book.room));
    let nowhere = |c: &mut ServerConfig| {
        c.server.options("-c search_path=nowhere");
    };
    hears(&nowhere, "there are no tables of a journal");
    let no_database = |c: &mut ServerConfig| {
        c.server.dbname("nowhere");
    };
    hears(&no_database, "does not exist: correct journal.url");
    let no_role = |c: &mut ServerConfig| {
        c.server.user("nobody_here");
    };
    hears(&no_role, "does not let the role of journal.url in");
    let read_only = |c: &mut ServerConfig| {
        c.server.options(options("-c default_transaction_read_only=on"));
    };
    hears(&read_only, "it is read-only");
    let away = |c: &mut ServerConfig| {
        c.server = "host=127.0.0.1 port=1 user=signer dbname=postgres".parse().unwrap();
    };
    hears(&away, "it does not answer");
    for (sql, words) in [
        (
            "UPDATE about SET version = 3",
            "this program needs version 5: stop every Signer, and have their owner bring them there with \
             `merchant-signer journal migrate",
        ),
        ("UPDATE about SET version = 9", "start the newer Signer again"),
        ("UPDATE about SET version = 5; REVOKE SELECT ON history FROM signer", "may not do"),
        (
            "GRANT SELECT ON history TO signer; GRANT DELETE ON claim TO signer",
            "the role may delete",
        ),
    ] {
        ran(owner.clone(), sql.to_owned()).unwrap();
        hears(&|_| (), words);
    }
    ran(owner, "REVOKE DELETE ON claim FROM signer".to_owned()).unwrap();
    let nowhere = ServerConfig { mark_path: "/nowhere/journal.mark".into(), ..usual.clone() };
    let told = journal_pg::open(&nowhere, Clock::MACHINE).unwrap_err().to_string();
    assert!(told.contains("journal.mark_path"), "{told}");
    let again = journal_pg::create(&usual, &within(&server, &book.room), "signer");
    let again = again.unwrap_err().to_string();
    assert!(again.contains("a journal is never replaced"), "{again}");
    assert!(!journal_pg::open(&usual, Clock::MACHINE).unwrap().found().is_old_copy());
}
