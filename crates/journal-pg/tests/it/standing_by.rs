//! Several processes with one journal: one has it, the others wait for it, and never two.

use super::away::eventually;
use super::losing::Line;
use super::migrating::number;
use super::*;
use tokio::time::{sleep, timeout};

/// The shortest that can be configured.
pub(super) const TAKEOVER: Duration = Duration::from_secs(3);

/// A process on another machine: it has a mark of its own, or none yet.
pub(super) fn machine(server: &Config, room: &TempDir, name: &str) -> ServerConfig {
    let mark_path = room.path().join(name).with_extension("mark");
    let instance = name.to_owned();
    ServerConfig { mark_path, instance, takeover_after: TAKEOVER, ..config(server, room) }
}

/// Who has to wait.
pub(super) fn waits(config: &ServerConfig) -> Standby {
    match journal_pg::open_in_turn(config, Clock::MACHINE).unwrap() {
        Turn::Later(standby) => standby,
        Turn::Now(_) => panic!("nobody has it"),
    }
}

pub(super) fn serves(config: &ServerConfig) -> Journal {
    match journal_pg::open_in_turn(config, Clock::MACHINE).unwrap() {
        Turn::Now(journal) => journal,
        Turn::Later(standby) => panic!("{}", standby.sight.sentence()),
    }
}

/// A journal that one process serves, as it was made for its machine.
pub(super) async fn served(server: &Config) -> Book {
    let room = Room::new();
    made(server, &room).close().await;
    let first = ServerConfig {
        mark_path: room.path().join("journal.mark"),
        ..machine(server, &room, "first")
    };
    Book::begin(serves(&first), room).await
}

/// The same, by a process that can be cut off from the server.
pub(super) async fn served_over_a_line(server: &Config) -> (Book, Line) {
    let room = Room::new();
    made(server, &room).close().await;
    let line = Line::to(server);
    let first = line.leads(machine(server, &room, "first"), &room);
    std::fs::copy(room.path().join("journal.mark"), &first.mark_path).unwrap();
    (Book::begin(serves(&first), room).await, line)
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn who_waits_has_the_journal_as_soon_as_it_is_free_and_knows_what_was_done() {
    let server = given().unwrap();
    let book = served(&server).await;
    assert!(book.takes(item(1, 1)).await);
    let config = machine(&server, &book.room, "second");
    let mut second = waits(&config);
    eventually("it follows", async || config.mark_path.exists()).await;
    assert!(
        second.sight.sentence().starts_with("standing by: first ("),
        "{}",
        second.sight.sentence()
    );
    let roll: Vec<_> = second
        .sight
        .instances()
        .into_iter()
        .map(|one| (one.name, one.serves, one.is_this))
        .collect();
    assert_eq!(roll, [("first".to_owned(), true, false), ("second".to_owned(), false, true)]);
    eventually("the one that serves knows of both", async || {
        book.journal.instances().all().len() == 2
    })
    .await;
    assert!(book.journal.instances().none_has_begun().await.is_ok());
    book.journal.instances().note_webhook("row 7");
    eventually("the others know how far the webhook is", async || second.sight.webhook().is_some())
        .await;

    book.journal.close().await;
    let journal = second.turn().await.unwrap();
    assert!(
        !journal.found().is_old_copy(),
        "it joined while another served, and has seen what that one wrote"
    );
    assert_eq!(journal.instances().starts().1, book.journal.instances().starts().0);
    let book = Book { journal, room: book.room };
    assert_eq!(book.claims(item(1, 1)).await.len(), 1);
    assert!(!book.takes(item(1, 1)).await, "nobody is charged twice");
    assert!(book.takes(item(2, 1)).await);
    assert_eq!(book.audit().await.faults, Vec::<String>::new());
}

/// Otherwise a machine that takes over within the second in which it came takes the database for an old copy.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn who_joins_follows_before_it_first_waits() {
    let server = given().unwrap();
    let book = served(&server).await;
    let config = machine(&server, &book.room, "second");
    let mut second = waits(&config);
    let waiting = "SELECT count(*) FROM pg_locks
                   WHERE locktype = 'advisory' AND NOT granted AND objid = 'turn'::regclass::oid";
    eventually("it waits", async || number(&server, &book.room, waiting) == 1).await;
    assert!(config.mark_path.exists());
    book.journal.close().await;
    assert!(!second.turn().await.unwrap().found().is_old_copy());
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn who_serves_and_falls_silent_is_ended_and_can_answer_nothing() {
    let server = given().unwrap();
    let (book, line) = served_over_a_line(&server).await;
    assert!(book.takes(item(1, 1)).await);
    let mut second = waits(&machine(&server, &book.room, "second"));
    eventually("both are known", async || second.sight.instances().len() == 2).await;
    line.mute();
    let journal = second.turn().await.unwrap();
    assert!(book.journal.instances().none_has_begun().await.is_err(), "it cannot know");
    assert!(book.accept(&[item(2, 1)]).await.is_err());
    assert!(!journal.found().is_old_copy());
    let room = Room::new();
    let after = Book { journal, room };
    assert!(!after.takes(item(1, 1)).await);
    assert!(after.takes(item(2, 1)).await);
    assert_eq!(after.next_position().await, FIRST + 2);
}

/// A machine that is cut off leaves sessions behind, which the server keeps for hours.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn who_says_nothing_for_a_minute_is_off_the_roll() {
    let server = given().unwrap();
    let book = served(&server).await;
    let line = Line::to(&server);
    let second = waits(&line.leads(machine(&server, &book.room, "second"), &book.room));
    let names =
        || book.journal.instances().all().into_iter().map(|one| one.name).collect::<Vec<_>>();
    eventually("both are known", async || names() == ["first", "second"]).await;
    line.mute();
    let long_ago =
        "UPDATE instance SET seen = clock_timestamp() - interval '61 s' WHERE name = 'second'";
    ran(within(&server, &book.room), long_ago.to_owned()).unwrap();
    eventually("it is off the roll", async || names() == ["first"]).await;
    drop(second);
}

/// A server that crashed has forgotten who was there, and a silence may have begun before anybody stood by.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn who_serves_and_falls_silent_is_ended_also_when_the_roll_does_not_tell_of_it() {
    let server = given().unwrap();
    for since in
        ["DELETE FROM instance", "UPDATE instance SET seen = clock_timestamp() - interval '1 day'"]
    {
        let (book, line) = served_over_a_line(&server).await;
        assert!(book.takes(item(1, 1)).await);
        line.mute();
        ran(within(&server, &book.room), since.to_owned()).unwrap();
        let mut second = waits(&machine(&server, &book.room, "second"));
        let journal = timeout(TAKEOVER * 20, second.turn()).await.expect(since).unwrap();
        assert!(book.journal.instances().none_has_begun().await.is_err(), "it cannot know");
        let after = Book { journal, room: Room::new() };
        assert!(!after.takes(item(1, 1)).await);
    }
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_command_that_has_the_journal_is_waited_for_however_long_it_takes() {
    let server = given().unwrap();
    let book = Book::new().await;
    let second = waits(&machine(&server, &book.room, "second"));
    sleep(TAKEOVER * 2).await;
    let said = second.sight.sentence();
    assert!(said.starts_with("standing by: another process holds the journal"), "{said}");
    assert!(book.takes(item(1, 1)).await, "nothing was ended");
    let third = journal_pg::open(&config(&server, &book.room), Clock::MACHINE);
    assert!(matches!(third, Err(OpenError::Held(_))), "a command does not wait: {third:?}");
}

/// Otherwise what a database has forgotten, and the one that served knows, would be noticed by nobody.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn when_all_connections_break_the_one_that_serves_comes_first() {
    let server = given().unwrap();
    let book = served(&server).await;
    let config = machine(&server, &book.room, "second");
    let second = waits(&config);
    for round in 1..=4 {
        eventually("the other waits", async || {
            let waits = second.sight.sentence().starts_with("standing by: first (");
            waits && second.sight.instances().len() == 2
        })
        .await;
        let all = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
             AND application_name LIKE 'merchant-signer %' AND EXISTS (SELECT 1 FROM {}.instance i
                 WHERE application_name LIKE '%' || substr(encode(i.boot, 'hex'), 1, 8))",
            schema(&book.room)
        );
        ran(server.clone(), all).unwrap();
        eventually("it goes on", async || book.accept(&[item(round, 1)]).await.is_ok()).await;
        eventually("the other has noticed", async || {
            second.sight.sentence().contains("could not take over now")
        })
        .await;
    }
    eventually("the other waits", async || second.sight.sentence().contains("first (")).await;
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_mark_of_the_same_content_on_another_server_is_kept_while_another_serves() {
    let server = given().unwrap();
    let book = served(&server).await;
    assert!(book.takes(item(1, 1)).await);
    let config = machine(&server, &book.room, "second");
    let mark = std::fs::read_to_string(book.room.path().join("journal.mark")).unwrap();
    let words: Vec<&str> = mark.split_whitespace().collect();
    let other = format!("{} {} {} 900 {}", words[0], words[1], words[2], words[4]);
    std::fs::write(&config.mark_path, &other).unwrap();
    let mut second = waits(&config);
    eventually("both are known", async || second.sight.instances().len() == 2).await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!(std::fs::read_to_string(&config.mark_path).unwrap(), other);
    book.journal.close().await;
    assert!(second.turn().await.unwrap().found().is_old_copy(), "the copy may lack something");
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn once_another_has_begun_nothing_more_is_told_that_was_found_out_before() {
    let server = given().unwrap();
    let book = Book::new().await;
    assert!(book.journal.instances().none_has_begun().await.is_ok());
    let begins = "INSERT INTO boot (id, at_ms) VALUES (decode(repeat('ab', 16), 'hex'), 1)";
    ran(within(&server, &book.room), begins.to_owned()).unwrap();
    assert_eq!(book.journal.instances().none_has_begun().await, Err(JournalError::TakenOver));
}

/// Tables of another version are said to be that, and are waited for.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_standby_says_when_its_program_does_not_fit_the_tables_any_more() {
    let server = given().unwrap();
    let book = served(&server).await;
    let mut second = waits(&machine(&server, &book.room, "second"));
    let owner = within(&server, &book.room);
    ran(owner.clone(), "UPDATE about SET version = 9".to_owned()).unwrap();
    let says = async || second.sight.sentence().contains("start the newer Signer again");
    eventually("it says so", says).await;
    book.journal.close().await;
    sleep(Duration::from_secs(2)).await;
    assert!(second.sight.sentence().contains("start the newer Signer again"));
    ran(owner, "UPDATE about SET version = 5".to_owned()).unwrap();
    drop(second.turn().await.unwrap());
}

/// Whoever has ended is no insurance: a roll that still names it says that there is a standby where there is none.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn whose_sessions_have_ended_is_not_on_the_roll() {
    let server = given().unwrap();
    let (book, line) = served_over_a_line(&server).await;
    let second = line.leads(machine(&server, &book.room, "second"), &book.room);
    let ends = Line::to(&server);
    let second = ends.leads(second, &book.room);
    let standby = waits(&second);
    let names =
        || book.journal.instances().all().into_iter().map(|one| one.name).collect::<Vec<_>>();
    eventually("it is seen", async || names() == ["first", "second"]).await;
    // As a process that is killed: it takes leave of nobody.
    ends.cut();
    std::mem::forget(standby);
    let gone = tokio::time::Instant::now();
    eventually("it is gone", async || names() == ["first"]).await;
    assert!(gone.elapsed() < Duration::from_secs(20), "{:?}", gone.elapsed());
}

/// What one with such a clock has judged others refuse for as long, and callers of it are refused.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn how_far_a_clock_is_from_the_servers_is_told_of_everybody() {
    let server = given().unwrap();
    let book = served(&server).await;
    let config = machine(&server, &book.room, "second");
    let ahead = Clock::telling(|| Clock::MACHINE.unix_ms() + 50_000);
    let Turn::Later(second) = journal_pg::open_in_turn(&config, ahead).unwrap() else { panic!() };
    let told = |name: &str| {
        let instances = book.journal.instances().all();
        instances.into_iter().find(|one| one.name == name)
    };
    eventually("it is seen", async || told("second").is_some()).await;
    let (first, other) = (told("first").unwrap(), told("second").unwrap());
    assert!(other.ahead_ms.abs_diff(50_000) < 2_000, "{}", other.ahead_ms);
    let trouble = other.clock_trouble().unwrap();
    assert!(trouble.contains("s ahead of that of the journal's server"), "{trouble}");
    assert!(first.ahead_ms.abs() < 2_000 && first.clock_trouble().is_none(), "{first:?}");
    drop(second);
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn who_could_bill_nothing_leaves_the_journal_to_who_could() {
    let server = given().unwrap();
    let book = served(&server).await;
    let [unfit, fit] = ["second", "third"].map(|name| waits(&machine(&server, &book.room, name)));
    fit.sight.note_fitness(None);
    assert!(unfit.sight.sentence().contains("this one could bill nothing now"));
    let could = || {
        let instances = book.journal.instances().all().into_iter();
        instances
            .filter(Instance::stands_by_and_could_serve)
            .map(|one| one.name)
            .collect::<Vec<_>>()
    };
    eventually("they are told apart", async || could() == ["third"]).await;
    sleep(Duration::from_secs(2)).await;
    book.journal.close().await;
    let (mut unfit, mut fit) = (unfit, fit);
    let journal = fit.turn().await.unwrap();
    // When nobody else is there, whoever is has it.
    journal.close().await;
    drop(fit);
    unfit.turn().await.unwrap().close().await;
}

/// A server that crashed, or a standby in its place, may lack commits, and has forgotten who was there.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn no_start_on_a_server_takes_the_journal_for_closed() {
    let server = given().unwrap();
    let (Book { journal, room }, line) = served_over_a_line(&server).await;
    assert!(!journal.found().was_closed());
    // As a process that is killed: it takes leave of nobody.
    line.cut();
    std::mem::forget(journal);
    let next = machine(&server, &room, "next");
    waited_for(&next).await.close().await;
    let command = journal_pg::open(&next, Clock::MACHINE).unwrap();
    command.close().await;
    assert!(!waited_for(&next).await.found().was_closed());
}

/// The journal, once its server has let go of whoever had it.
async fn waited_for(config: &ServerConfig) -> Journal {
    match journal_pg::open_in_turn(config, Clock::MACHINE).unwrap() {
        Turn::Now(journal) => journal,
        Turn::Later(mut standby) => standby.turn().await.unwrap(),
    }
}
