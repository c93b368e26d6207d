//! Tables are brought to a newer version while Signers serve with them: those of the version before go on, those of the
//! next one take over and are taken over from, and whoever could not use them any more is never left behind.

use super::away::eventually;
use super::losing::{Fate, Line};
use super::standing_by::{machine, served, served_over_a_line, serves, waits};
use super::*;
use crate::journal::migrate::Migration;
use crate::journal::postgres::to_file;
use crate::journal::tests::versions::LATER;
use crate::journal::{Migrated, OpenError};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

/// What a program knows that is one version ahead.
static FIVE: [Migration; 1] = [LATER[0]];

/// One that is two versions ahead; its tables are no use to a program that knows version 4 alone.
static SIX: [Migration; 2] = LATER;

/// One whose step takes longer than a Signer that serves can wait.
static SLOW: [Migration; 1] = [Migration {
    on_server: "ALTER TABLE batch ADD COLUMN note TEXT; SELECT pg_sleep(4)",
    ..LATER[0]
}];

/// The same in a program that knows these versions.
fn knowing(steps: &'static [Migration], config: ServerConfig) -> ServerConfig {
    ServerConfig { steps: Steps(steps), ..config }
}

/// Has the owner bring the tables to the newest of these versions.
fn migrate(
    server: &Config,
    room: &TempDir,
    steps: &'static [Migration],
) -> Result<Migrated, OpenError> {
    let config = knowing(steps, config(server, room));
    Journal::migrate_on_server(&config, &within(server, room))
}

/// A number that the owner asks for.
pub(super) fn number(server: &Config, room: &TempDir, sql: &'static str) -> i64 {
    let config = config_of(within(server, room));
    let ask = move || {
        let session = Session::open(&config.server, &config, "a test")?;
        let conn: &dyn Database = &session;
        conn.query_row(sql, [], |row| row.get(0))
    };
    std::thread::spawn(ask).join().unwrap().unwrap()
}

fn version(server: &Config, room: &TempDir) -> i64 {
    number(server, room, "SELECT version FROM about")
}

fn audited(config: &ServerConfig) -> Audit {
    let audit = Journal::audit_on_server(config, &[], &mut |_, _| {}).unwrap();
    assert_eq!(audit.faults, Vec::<String>::new());
    audit
}

/// Ends the process that has the journal, and has the one that waits take over with all that there is.
async fn handed_over(book: Book, mut to: Standby, who: u8) -> Book {
    eventually("it has seen what there is", async || {
        to.sight.instances().iter().any(|one| one.serves) && to.sight.instances().len() > 1
    })
    .await;
    let (before, audit) = (book.everything().await, book.audit().await);
    book.journal.close().await;
    let journal = to.turn().await.unwrap();
    assert!(!journal.is_old_copy());
    let book = Book { journal, room: book.room };
    assert_eq!(book.audit().await, audit);
    let after = book.everything().await;
    assert_eq!(after.len().checked_sub(before.len()), Some(1), "its own start");
    assert!(before.iter().all(|row| after.contains(row)));
    assert!(!book.takes(item(1, 1)).await, "nobody is charged twice");
    assert!(book.takes(item(who, 1)).await);
    book
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_signer_goes_on_when_its_tables_are_migrated_and_the_next_version_takes_over_and_back() {
    let server = given().unwrap();
    let book = served(&server).await;
    assert!(book.takes(item(1, 1)).await);
    let [this, next] = ["first", "second"].map(|name| machine(&server, &book.room, name));
    let next = knowing(&FIVE, next);
    let early = Journal::open_in_turn(&next, Clock::MACHINE).unwrap_err().to_string();
    let words = "needs version 5: have their owner bring them there with `merchant-signer journal migrate \
                 --owner-url-file FILE`";
    assert!(early.contains(words), "{early}");
    assert!(early.contains("Signers of the older version go on meanwhile"), "{early}");

    let head = book.journal.head().await.unwrap();
    assert_eq!(migrate(&server, &book.room, &FIVE).unwrap(), Migrated { from: 4, to: 5 });
    assert_eq!(book.journal.head().await.unwrap(), head, "the history is left alone");
    assert_eq!(migrate(&server, &book.room, &FIVE).unwrap(), Migrated { from: 5, to: 5 });
    let steps = "SELECT count(*) FROM migration WHERE version IN (4, 5) AND program <> ''";
    assert_eq!(number(&server, &book.room, steps), 2, "what was done when is written down");
    for who in 2..5 {
        assert!(book.takes(item(who, 1)).await, "it goes on");
    }
    assert_eq!(audited(&this), audited(&next));
    ran(next.server.clone(), "INSERT INTO label (name, means) VALUES ('a', 'b')".to_owned())
        .unwrap();
    let forged = "INSERT INTO migration (version, min_writer, program) VALUES (9, 9, '')";
    assert!(ran(next.server.clone(), forged.to_owned()).is_err(), "that is the owner's");

    let second = waits(&next);
    let book = handed_over(book, second, 5).await;
    let back = waits(&this);
    let book = handed_over(book, back, 6).await;
    let third = waits(&next);
    let book = handed_over(book, third, 7).await;
    assert_eq!(book.next_position().await, FIRST + 7, "no place is left out");
    let (doubt, open) = book.journal.take_up(lane()).await.unwrap();
    assert_eq!((doubt, open.len()), (None, 7));
}

/// Whoever charges meanwhile waits for a moment, and hears nothing else than ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn charges_are_committed_while_the_tables_are_migrated() {
    let server = given().unwrap();
    let book = served(&server).await;
    let (owner, config) = (within(&server, &book.room), config(&server, &book.room));
    let migrating =
        spawn_blocking(move || Journal::migrate_on_server(&knowing(&FIVE, config), &owner));
    let mut who = 0;
    while !migrating.is_finished() || who < 20 {
        who += 1;
        assert!(book.takes(item(who, 1)).await);
    }
    assert_eq!(migrating.await.unwrap().unwrap(), Migrated { from: 4, to: 5 });
    assert_eq!(book.next_position().await, FIRST + u64::from(who));
    assert_eq!(book.audit().await.faults, Vec::<String>::new());
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn of_two_who_migrate_at_once_one_does_it_and_both_say_so() {
    let server = given().unwrap();
    let book = served(&server).await;
    let mut done = std::thread::scope(|scope| {
        let room = &book.room;
        let both = [(); 2].map(|()| scope.spawn(|| migrate(&server, room, &FIVE).unwrap()));
        both.map(|one| one.join().unwrap())
    });
    done.sort_by_key(|done| done.from);
    assert_eq!(done, [Migrated { from: 4, to: 5 }, Migrated { from: 5, to: 5 }]);
    assert!(book.takes(item(1, 1)).await);
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn whatever_becomes_of_its_commit_the_owner_hears_the_truth_and_can_do_it_again() {
    let server = given().unwrap();
    let whole = Ok(Migrated { from: 4, to: 5 });
    for (fate, told) in [
        (Fate::AnswerLost, whole),
        (Fate::SentLate, whole),
        (Fate::NeverSent, whole),
        (Fate::KilledBefore, Err(4)),
        (Fate::KilledAfter, Err(5)),
    ] {
        let book = served(&server).await;
        let line = Line::to(&server);
        let config = knowing(&FIVE, config(&server, &book.room));
        let mut owner = line.leads(config.clone(), &book.room).server;
        owner.user("postgres");
        line.meets(fate);
        let done = Journal::migrate_on_server(&config, &owner);
        match (done, told) {
            (done, Ok(wanted)) => assert_eq!(done.unwrap(), wanted, "{fate:?}"),
            (done, Err(left)) => {
                let said = done.unwrap_err().to_string();
                assert!(said.contains("run this again, which tells"), "{fate:?}: {said}");
                eventually("the server does it, or nothing", async || {
                    version(&server, &book.room) == left
                })
                .await;
                line.cut(false);
                let again = Journal::migrate_on_server(&config, &owner).unwrap();
                assert_eq!(again, Migrated { from: left, to: 5 }, "{fate:?}");
            }
        }
        assert_eq!(version(&server, &book.room), 5, "{fate:?}");
        assert_eq!(number(&server, &book.room, "SELECT count(*) FROM migration"), 2, "{fate:?}");
        assert!(book.takes(item(1, 1)).await, "{fate:?}");
    }
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn no_tables_come_about_that_a_program_which_is_there_could_not_use() {
    let server = given().unwrap();
    let book = served(&server).await;
    let refused = migrate(&server, &book.room, &SIX).unwrap_err().to_string();
    let words = format!("none above 4: first runs {}. Have them", env!("CARGO_PKG_VERSION"));
    assert!(refused.contains(&words), "{refused}");
    assert_eq!(version(&server, &book.room), 4, "nothing was changed");
    assert!(book.takes(item(1, 1)).await);

    migrate(&server, &book.room, &FIVE).unwrap();
    let second = waits(&knowing(&FIVE, machine(&server, &book.room, "second")));
    let book = handed_over(book, second, 2).await;
    let third = machine(&server, &book.room, "third");
    let stands_by = waits(&third);
    eventually("it is known", async || stands_by.sight.instances().len() > 1).await;
    let refused = migrate(&server, &book.room, &SIX).unwrap_err().to_string();
    assert!(refused.contains("none above 4: third runs"), "{refused}");
    drop(stands_by);
    eventually("it is gone", async || migrate(&server, &book.room, &SIX).is_ok()).await;
    assert_eq!(version(&server, &book.room), 6);
    assert!(book.takes(item(3, 1)).await, "who knows version 5 goes on with version 6");
    let newer =
        "its tables are of version 6, and this program knows versions up to 4: start the newer";
    let opened = Journal::open_in_turn(&third, Clock::MACHINE).unwrap_err().to_string();
    let looked = Journal::audit_on_server(&third, &[], &mut |_, _| {}).unwrap_err().to_string();
    let older = migrate(&server, &book.room, &[]).unwrap_err().to_string();
    for said in [opened, looked, older] {
        assert!(said.contains(newer), "{said}");
    }
}

/// Nobody was there who said that he knows no more than version 4, and one who was cut off comes back.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn who_was_cut_off_while_its_tables_outgrew_it_takes_nothing_more_and_says_why() {
    let server = given().unwrap();
    let (book, line) = served_over_a_line(&server).await;
    assert!(book.takes(item(1, 1)).await);
    line.cut(true);
    eventually("its sessions are gone", async || migrate(&server, &book.room, &SIX).is_ok()).await;
    line.cut(false);
    eventually("it says why", async || {
        let ready = book.journal.ready();
        ready.is_err_and(|why| why.to_string().contains("knows versions up to 4: start the newer"))
    })
    .await;
    assert!(book.accept(&[item(2, 1)]).await.is_err());
    assert!(book.journal.next_position(lane()).await.is_err(), "it tells nothing either");
    let mark = machine(&server, &book.room, "second").mark_path;
    std::fs::copy(machine(&server, &book.room, "first").mark_path, mark).unwrap();
    let journal = serves(&knowing(&SIX, machine(&server, &book.room, "second")));
    let after = Book { journal, room: Room::new() };
    assert!(!after.takes(item(1, 1)).await);
    assert!(after.takes(item(2, 1)).await);
}

/// Everybody else would wait behind the one who waits for a table.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn who_reads_for_long_is_not_waited_for_and_no_charge_waits_long() {
    let server = given().unwrap();
    let book = served(&server).await;
    let reads = config_of(within(&server, &book.room));
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let (begin, begun) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let session = Session::open(&reads.server, &reads, "a test").unwrap();
        session.batch("BEGIN; SELECT count(*) FROM batch").unwrap();
        begin.send(()).unwrap();
        ended.recv().ok();
    });
    begun.recv().unwrap();
    let (owner, config) = (within(&server, &book.room), config(&server, &book.room));
    let migrating =
        spawn_blocking(move || Journal::migrate_on_server(&knowing(&FIVE, config), &owner));
    let (mut who, mut longest) = (0, Duration::ZERO);
    while !migrating.is_finished() {
        let before = Instant::now();
        who += 1;
        assert!(book.takes(item(who, 1)).await);
        longest = longest.max(before.elapsed());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let said = migrating.await.unwrap().unwrap_err().to_string();
    assert!(said.contains("somebody uses a table for so long"), "{said}");
    assert!(longest < Duration::from_secs(8), "{longest:?}");
    assert_eq!(version(&server, &book.room), 4);
    drop(end);
    reader.join().unwrap();
    assert_eq!(migrate(&server, &book.room, &FIVE).unwrap().to, 5);
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_step_that_takes_long_is_taken_when_nobody_serves() {
    let server = given().unwrap();
    let book = served(&server).await;
    let said = migrate(&server, &book.room, &SLOW).unwrap_err().to_string();
    assert!(said.contains("stop every Signer, and run this again. Nothing was changed"), "{said}");
    assert!(book.takes(item(1, 1)).await);
    book.journal.close().await;
    assert_eq!(migrate(&server, &book.room, &SLOW).unwrap(), Migrated { from: 4, to: 5 });
    assert!(!opened(&server, &book.room).is_old_copy());
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn whoever_is_not_the_owner_of_these_very_tables_migrates_none() {
    let server = given().unwrap();
    let (book, other) = (served(&server).await, served(&server).await);
    let config = knowing(&FIVE, config(&server, &book.room));
    let mut nowhere = within(&server, &book.room);
    nowhere.options("-c search_path=nowhere");
    for (owner, words) in [
        (config.server.clone(), "the role of the owner's URL does not own its tables"),
        (within(&server, &other.room), "the owner's URL leads to other tables than journal.url"),
        (nowhere, "the owner's URL leads to other tables than journal.url"),
    ] {
        let said = Journal::migrate_on_server(&config, &owner).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
    assert_eq!([&book, &other].map(|book| version(&server, &book.room)), [4, 4]);
}

/// It would leave out what is new without a word.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn tables_of_a_newer_version_are_copied_to_a_file_by_a_newer_program_alone() {
    let server = given().unwrap();
    let book = served(&server).await;
    migrate(&server, &book.room, &FIVE).unwrap();
    book.journal.close().await;
    let file = super::super::config(&book.room);
    let this = config(&server, &book.room);
    let said = to_file(&this, &file, &mut |_, _| {}).unwrap_err().to_string();
    assert!(
        said.contains("of version 5, and this program knows what stands in those of version 4")
    );
    assert!(said.contains("copy it with the newer program"), "{said}");
    assert!(!file.path.exists());
}
