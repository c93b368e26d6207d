//! Tables are brought to a newer version while no Signer has them, all steps or none, and a program of another version
//! leaves them alone.

use super::standing_by::served;
use super::*;

/// What a program knows that is one version ahead.
static SIX: [Migration; 1] = [LATER[0]];

/// One that is two versions ahead, whose second step fails.
static BROKEN: [Migration; 2] = [LATER[0], Migration { on_server: "SELECT 1 / 0", ..LATER[1] }];

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
    journal_pg::migrate(&config, &within(server, room))
}

/// A number that the owner asks for.
pub(super) fn number(server: &Config, room: &TempDir, sql: &'static str) -> i64 {
    let server = within(server, room);
    let ask = move || PlainSession::open(&server)?.number(sql);
    std::thread::spawn(ask).join().unwrap().unwrap()
}

fn version(server: &Config, room: &TempDir) -> i64 {
    number(server, room, "SELECT version FROM about")
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn stopped_tables_are_brought_to_a_newer_version_and_nobody_is_charged_twice_on_them() {
    let server = given().unwrap();
    let book = served(&server).await;
    assert!(book.takes(item(1, 1)).await);
    let (before, head) = (book.audit().await, book.journal.head().await.unwrap());
    book.journal.close().await;
    let this = config(&server, &book.room);
    let next = knowing(&SIX, this.clone());
    let early = journal_pg::open(&next, Clock::MACHINE).unwrap_err().to_string();
    assert!(early.contains("needs version 6: stop every Signer"), "{early}");
    assert!(early.contains("journal migrate --owner-url-file FILE"), "{early}");

    let half = migrate(&server, &book.room, &BROKEN).unwrap_err().to_string();
    assert!(half.contains("division by zero"), "{half}");
    assert_eq!(version(&server, &book.room), 5, "all steps or none");
    assert_eq!(migrate(&server, &book.room, &SIX).unwrap(), Migrated { from: 5, to: 6 });
    assert_eq!(migrate(&server, &book.room, &SIX).unwrap(), Migrated { from: 6, to: 6 });
    let steps = "SELECT count(*) FROM migration WHERE version IN (5, 6) AND program <> ''";
    assert_eq!(number(&server, &book.room, steps), 2, "what was done when is written down");
    let late = journal_pg::open(&this, Clock::MACHINE).unwrap_err().to_string();
    assert!(late.contains("start the newer Signer again"), "{late}");

    let journal = journal_pg::open(&next, Clock::MACHINE).unwrap();
    assert!(!journal.found().is_old_copy());
    assert_eq!(journal.head().await.unwrap(), head, "the history is left alone");
    let book = Book { journal, room: book.room };
    assert_eq!(book.audit().await, before);
    assert!(!book.takes(item(1, 1)).await);
    assert!(book.takes(item(2, 1)).await);
    ran(next.server.clone(), "INSERT INTO label (name, means) VALUES ('a', 'b')".to_owned())
        .unwrap();
    let forged = "INSERT INTO migration (version, program) VALUES (9, '')";
    assert!(ran(next.server.clone(), forged.to_owned()).is_err(), "that is the owner's");
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn whoever_is_not_the_owner_of_these_very_tables_migrates_none() {
    let server = given().unwrap();
    let (book, other) = (served(&server).await, served(&server).await);
    let config = knowing(&SIX, config(&server, &book.room));
    let mut nowhere = within(&server, &book.room);
    nowhere.options("-c search_path=nowhere");
    for (owner, words) in [
        (config.server.clone(), "the role of the owner's URL does not own its tables"),
        (within(&server, &other.room), "the owner's URL leads to other tables than journal.url"),
        (nowhere, "the owner's URL leads to other tables than journal.url"),
    ] {
        let said = journal_pg::migrate(&config, &owner).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
    let held = migrate(&server, &book.room, &SIX).unwrap_err().to_string();
    assert!(held.contains("stop every Signer") && held.contains("Nothing was changed"), "{held}");
    assert_eq!([&book, &other].map(|book| version(&server, &book.room)), [5, 5]);
}

/// It would leave out what is new without a word.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn tables_of_a_newer_version_are_copied_to_a_file_by_a_newer_program_alone() {
    let server = given().unwrap();
    let book = served(&server).await;
    book.journal.close().await;
    migrate(&server, &book.room, &SIX).unwrap();
    let file = journal_test_support::config(&book.room);
    let this = config(&server, &book.room);
    let said = to_file(&this, &file, &mut |_, _| {}).unwrap_err().to_string();
    assert!(said.contains("of version 6, and this program knows versions up to 5"), "{said}");
    assert!(!file.path.exists());
}
