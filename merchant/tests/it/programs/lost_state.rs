//! `merchant schedule` after its state was lost, put back from an older copy, or mixed up with another
//! one: everybody pays once a month all the same.

use super::book_keeping::Ledger;
use super::peers::Peers;
use super::schedule::settle;
use std::fs;
use std::path::Path;

const SUBSCRIPTIONS: i64 = 8;
const MONTHS: i64 = 6;

/// What happens to the state between two months.
#[derive(Clone, Copy, Debug)]
enum Misfortune {
    Lost,
    /// The copy was made so many months before.
    OlderCopy(usize),
    /// A second machine takes over, with the state that it had when it last worked.
    OtherMachine,
}

/// Copies the state of a program that does not run.
fn copy_state(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    clear_state(to);
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn clear_state(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

fn everybody_paid(peers: &Peers, due: &[(i64, i64)], misfortune: Misfortune) {
    let ledger = peers.ledger.lock();
    assert_eq!(ledger.offences, Vec::<String>::new());
    for due in due {
        let paid = ledger.charged.get(due).copied().unwrap_or(0);
        assert_eq!(paid, 1, "{due:?} after {misfortune:?}");
    }
}

async fn everybody_pays_every_month_with(misfortune: Misfortune, reverting: &[usize]) {
    let machines = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let copies = tempfile::tempdir().unwrap();
    let mut ledger = Ledger { state_may_be_lost: true, ..Ledger::of(SUBSCRIPTIONS) };
    ledger.reverting.extend(reverting);
    let peers = Peers::start(ledger).await;
    let mut machine = 0;
    for month in 1..=MONTHS {
        let folder = machines[machine].path();
        // Another number of subscriptions every month, so that batches hold others than they did.
        let due = (1..=SUBSCRIPTIONS).filter(|id| (id + month) % 4 != 0);
        let due: Vec<(i64, i64)> = due.map(|id| (id, month)).collect();
        peers.ledger.lock().due = due.iter().copied().collect();
        settle(folder, &peers).await;
        everybody_paid(&peers, &due, misfortune);
        let copy = |month: i64| copies.path().join(month.to_string());
        copy_state(folder, &copy(month));
        match misfortune {
            Misfortune::Lost => clear_state(folder),
            Misfortune::OlderCopy(months) => {
                let before = month.saturating_sub(months.try_into().unwrap()).max(1);
                copy_state(&copy(before), folder);
            }
            Misfortune::OtherMachine => machine = 1 - machine,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_whose_state_is_lost_bills_everybody() {
    everybody_pays_every_month_with(Misfortune::Lost, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_with_an_older_copy_of_its_state_bills_everybody() {
    everybody_pays_every_month_with(Misfortune::OlderCopy(1), &[2, 5]).await;
    everybody_pays_every_month_with(Misfortune::OlderCopy(3), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_machines_in_turn_bill_everybody() {
    everybody_pays_every_month_with(Misfortune::OtherMachine, &[1]).await;
}

/// The names of its requests were given to other entries, as by another program with the same key.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_taken_is_given_up_and_everybody_is_billed() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger { state_may_be_lost: true, first_names_taken: 2, ..Ledger::of(7) };
    let peers = Peers::start(ledger).await;
    settle(folder.path(), &peers).await;
    let ledger = peers.ledger.lock();
    assert_eq!((ledger.names_taken, ledger.charged.len()), (2, 7));
    assert!(ledger.charged.values().all(|count| *count == 1));
}

/// The inbox lost its file, or has an older copy: its feed is read anew, and no charge is reported as
/// one that nothing was heard about.
#[tokio::test(flavor = "multi_thread")]
async fn another_file_of_the_inbox_is_read_from_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let peers = Peers::start(Ledger::of(5)).await;
    settle(folder.path(), &peers).await;
    for (month, feed) in [(2, "second"), (3, "third")] {
        {
            let mut ledger = peers.ledger.lock();
            feed.clone_into(&mut ledger.feed);
            ledger.due = (1..=5).map(|id| (id, month)).collect();
        }
        settle(folder.path(), &peers).await;
    }
    let ledger = peers.ledger.lock();
    assert_eq!((ledger.charged.len(), ledger.offences.len()), (15, 0));
}
