//! Commands that go through every row of a journal take longer than a Signer waits for an answer.

use super::*;
use std::sync::mpsc::channel;
use std::thread::sleep;

/// Time that a statement takes here.
const LONGER: Duration = Duration::from_secs(5);

/// A Signer with less patience than that.
fn impatient(config: ServerConfig) -> ServerConfig {
    ServerConfig { patience: Duration::from_secs(2), ..config }
}

/// Keeps whoever reads claims waiting for longer than that, while `work` is done.
fn slowly<T>(owner: &Config, work: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (locked, begins) = channel();
        scope.spawn(move || {
            let session = PlainSession::open(owner).unwrap();
            session.batch("BEGIN; LOCK TABLE claim IN ACCESS EXCLUSIVE MODE").unwrap();
            locked.send(()).unwrap();
            sleep(LONGER);
        });
        begins.recv().unwrap();
        work()
    })
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn what_goes_through_all_claims_is_waited_for() {
    let server = given().unwrap();
    let book = Book::new().await;
    assert!(book.takes(item(1, 1)).await);
    let before = book.audit().await;
    book.journal.close().await;
    let (config, owner) = (impatient(config(&server, &book.room)), within(&server, &book.room));
    let audited = slowly(&owner, || journal_pg::audit(&config, &[], &mut |_, _| {}));
    assert_eq!(audited.unwrap(), before);
    let path = book.room.path().join("copied.db");
    let to = JournalConfig { path, ..journal_test_support::config(&book.room) };
    assert_eq!(slowly(&owner, || to_file(&config, &to, &mut |_, _| {})).unwrap(), before);
}

/// Has each claim that is put into this schema end in `ends` at the COMMIT: there a server looks at the references of
/// every claim.
fn each_commit_ends(server: &Config, schema: &str, ends: &str) {
    let sql = format!(
        "{ROLE}; CREATE SCHEMA {schema};
         CREATE FUNCTION {schema}.ends() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN {ends}; RETURN NULL; END $$;
         CREATE FUNCTION {schema}.planted() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
             IF current_schema() = '{schema}' THEN
                 CREATE CONSTRAINT TRIGGER ends AFTER INSERT ON {schema}.claim
                     DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {schema}.ends();
             END IF;
         END $$;
         CREATE EVENT TRIGGER {schema} ON ddl_command_end WHEN TAG IN ('CREATE FUNCTION')
             EXECUTE FUNCTION {schema}.planted()"
    );
    ran(server.clone(), sql).unwrap();
}

async fn a_file_with_a_charge() -> Room {
    let book = Book::in_a_file().await;
    assert!(book.takes(item(1, 1)).await);
    book.journal.close().await;
    book.room
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_copy_to_a_server_waits_for_its_last_look_at_every_claim() {
    let server = given().unwrap();
    let (file, room) = (a_file_with_a_charge().await, Room::new());
    each_commit_ends(&server, &schema(&room), &format!("PERFORM pg_sleep({})", LONGER.as_secs()));
    let (config, owner) = (impatient(config(&server, &room)), within(&server, &room));
    let to = ServerAndOwner { config: &config, owner: &owner };
    let copied = to_server(&journal_test_support::config(&file), to, &mut |_, _| {});
    ran(server.clone(), format!("DROP EVENT TRIGGER {}", schema(&room))).unwrap();
    copied.unwrap();
    let book = Book { journal: opened(&server, &room), room };
    assert!(!book.journal.found().is_old_copy() && !book.takes(item(1, 1)).await);
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_copy_that_fails_at_the_last_look_leaves_the_file_its_mark() {
    let server = given().unwrap();
    let (file, room) = (a_file_with_a_charge().await, Room::new());
    each_commit_ends(&server, &schema(&room), "RAISE EXCEPTION 'it fails'");
    let (config, owner) = (config(&server, &room), within(&server, &room));
    let to = ServerAndOwner { config: &config, owner: &owner };
    let from = journal_test_support::config(&file);
    let copied = to_server(&from, to, &mut |_, _| {});
    ran(server.clone(), format!("DROP EVENT TRIGGER {}", schema(&room))).unwrap();
    let told = copied.unwrap_err().to_string();
    assert!(told.contains("it fails"), "{told}");
    assert!(!Journal::open(&from).unwrap().found().is_old_copy(), "it goes on as it was");
}
