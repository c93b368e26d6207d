//! A journal on a server that is copied to a file while somebody uses it, or comes back to it afterwards.

use super::*;
use std::sync::mpsc::channel;
use std::thread::sleep;

/// A journal on the server that no process has, with a charge, and a place in a file for it.
struct Copied {
    server: Config,
    room: Room,
    from: ServerConfig,
    to: JournalConfig,
}

impl Copied {
    async fn new() -> Self {
        let server = given().unwrap();
        let book = Book::new().await;
        assert!(book.takes(item(1, 1)).await);
        book.journal.close().await;
        let Book { room, .. } = book;
        let from = config(&server, &room);
        let path = room.path().join("copied.db");
        let to = JournalConfig { path, ..journal_test_support::config(&room) };
        Self { server, room, from, to }
    }

    /// A Signer on the server, by this mark.
    fn opened_by(&self, mark_path: PathBuf) -> Journal {
        let config = ServerConfig { mark_path, ..self.from.clone() };
        journal_pg::open(&config, Clock::MACHINE).unwrap()
    }
}

/// Ends the session that waits for the row of those who write.
const END_WAITING: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_locks
    JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND objid = 'turn'::regclass::oid
      AND application_name = 'merchant-signer copy' AND wait_event_type = 'Lock'";

/// A session that is idle for long is ended by a setting, a restart or a failover. A Signer that a supervisor starts
/// then has the journal.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_copy_that_has_lost_the_journal_behind_its_last_row_is_not_kept() {
    let copied = Copied::new().await;
    let owner = within(&copied.server, &copied.room);
    let told = std::thread::scope(|scope| {
        let (begun, begins) = channel();
        scope.spawn(move || {
            // The copy comes to its end, and waits there for its turn to write.
            let turn = PlainSession::open(&owner).unwrap();
            turn.batch("BEGIN; SELECT taken FROM turn FOR UPDATE").unwrap();
            begun.send(()).unwrap();
            for _ in 0..500 {
                if turn.number(END_WAITING).unwrap() == 1 {
                    return;
                }
                sleep(Duration::from_millis(10));
            }
        });
        begins.recv().unwrap();
        to_file(&copied.from, &copied.to, &mut |_, _| {})
    });
    told.unwrap_err();
    assert!(!copied.to.path.exists(), "it has no name");
    let book = Book { journal: opened(&copied.server, &copied.room), room: copied.room };
    assert!(!book.journal.found().is_old_copy(), "the journal is where it was");
    assert!(book.takes(item(2, 1)).await, "and nothing is in doubt");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_copy_lacks_no_charge_that_was_made_while_it_was_made() {
    let copied = Copied::new().await;
    // A Signer whose lock is lost.
    let shared = ServerConfig { shared: true, ..copied.from.clone() };
    let journal = journal_pg::open(&shared, Clock::MACHINE).unwrap();
    let book = Book { journal, room: Room::new() };
    let (here, mut charged) = (tokio::runtime::Handle::current(), false);
    let mut charge = |_, _| {
        if !charged {
            charged = here.block_on(book.takes(item(2, 1)));
        }
    };
    let told = to_file(&copied.from, &copied.to, &mut charge).unwrap_err().to_string();
    assert!(charged && told.contains("another process has used the journal"), "{told}");
    assert!(!copied.to.path.exists(), "it has no name");
    assert!(copied.from.mark_path.exists(), "the journal is where it was");
}

/// Machines that share a journal have a mark each, and a copy takes away that of its own machine.
#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_journal_that_was_copied_to_a_file_is_an_old_copy_for_every_machine_that_shared_it() {
    let copied = Copied::new().await;
    let other = copied.room.path().join("other.mark");
    std::fs::copy(&copied.from.mark_path, &other).unwrap();
    to_file(&copied.from, &copied.to, &mut |_, _| {}).unwrap();
    let left = copied.opened_by(other);
    let state = left.lane(lane()).take_up().await.unwrap();
    assert!(state.known_until_ms.is_some(), "it has the chain tell what was billed elsewhere");
    assert_eq!(left.read(audit).await.unwrap().faults, Vec::<String>::new());
    left.close().await;
    let file = Journal::open(&copied.to).unwrap();
    let state = file.lane(lane()).take_up().await.unwrap();
    assert_eq!(state.known_until_ms, None, "nothing is in doubt where the journal is now");
}
