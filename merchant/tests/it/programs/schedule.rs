//! `merchant schedule`: whatever it is killed at, everybody pays once, and the books agree.

use super::book_keeping::Ledger;
use super::peers::{Moment, Peers};
use super::process::{ended, merchant};
use parking_lot::Mutex;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Hours become milliseconds.
const PACE: &str = "3600000";

pub(super) fn once(folder: &Path, url: &str) -> Command {
    let arguments =
        ["schedule", "--once", "--chain", "139=EVM", "--batch-size", "3", "--pace", PACE];
    merchant(folder, url, &arguments)
}

/// Runs it to its end. A run that could not do everything is not a failure here.
async fn run(folder: &Path, url: &str) -> String {
    let child = once(folder, url).spawn().expect("merchant starts");
    tokio::task::spawn_blocking(move || ended(child).1).await.expect("it ends")
}

/// Runs it until nothing is left to do: two runs in a row find nothing new.
pub(super) async fn settle(folder: &Path, peers: &Peers) {
    let (mut said, mut quiet) = (String::new(), 0);
    for _ in 0..60 {
        said = run(folder, &peers.url).await;
        let nothing_new = said.contains(": 0 accepted") && said.contains(" 0 without a verdict");
        let all_known = said.contains(" 0 transactions open, 0 differences\n");
        quiet = if nothing_new && all_known { quiet + 1 } else { 0 };
        if quiet == 2 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let ledger = peers.ledger.lock();
    let status = merchant(folder, &peers.url, &["schedule", "--status"]).output().unwrap();
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    panic!("it does not settle: {said} {:?} {:?}\n{status}", ledger.due, ledger.offences);
}

/// Everybody who could pay has paid once, and no counterpart has a complaint.
pub(super) fn everybody_paid_once(peers: &Peers, count: i64) {
    let ledger = peers.ledger.lock();
    assert_eq!(ledger.offences, Vec::<String>::new());
    for id in 1..=count {
        let wanted = u32::from(!ledger.broke.contains(&id));
        let paid = ledger.charged.get(&(id, 1)).copied().unwrap_or(0);
        assert_eq!(paid, wanted, "subscription {id}");
    }
    let told =
        ledger.letters.values().filter(|letter| letter["payload"]["type"] == "charged").count();
    assert_eq!(told, ledger.charged.len(), "each charge is told of once");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_exchange_everybody_pays_once() {
    let mut steps = 0;
    while killed_at(steps, Moment::Before).await && killed_at(steps, Moment::After).await {
        steps += 1;
    }
    assert!(steps > 8, "there were only {steps} exchanges to be killed at");
}

/// Kills a run at one moment of one exchange, and has it end well. False: there is no such exchange.
async fn killed_at(step: usize, moment: Moment) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::of(7);
    ledger.broke.insert(4);
    ledger.reverting.insert(1);
    let peers = Peers::start(ledger).await;
    let victim: Arc<Mutex<Option<Child>>> = Arc::default();
    let killed = Arc::clone(&victim);
    peers.hook(move |number, now| {
        if (number, now) != (step, moment) {
            return false;
        }
        // The child is put there right after it was started.
        while killed.lock().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        killed.lock().as_mut().map(Child::kill);
        true
    });
    let child = once(folder.path(), &peers.url).spawn().expect("merchant starts");
    *victim.lock() = Some(child);
    wait(&victim).await;
    let reached = peers.exchanges() > step;
    peers.hook(|_, _| false);
    settle(folder.path(), &peers).await;
    everybody_paid_once(&peers, 7);
    reached
}

async fn wait(child: &Mutex<Option<Child>>) {
    while !child.lock().as_mut().is_none_or(|child| child.try_wait().is_ok_and(|s| s.is_some())) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_time_and_unheard_everybody_pays_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::of(40);
    ledger.most = 2;
    ledger.reverting.extend([0, 3, 5]);
    ledger.broke.extend([7, 8]);
    let peers = Peers::start(ledger).await;
    // Every third answer is lost.
    peers.hook(|number, moment| number % 3 == 2 && moment == Moment::After);
    for round in 0..25_u64 {
        let arguments = [
            "schedule",
            "--chain",
            "139=EVM",
            "--batch-size",
            "7",
            "--interval",
            "1",
            "--pace",
            PACE,
        ];
        let mut child = merchant(folder.path(), &peers.url, &arguments).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(20 + 7 * (round % 11))).await;
        child.kill().unwrap();
        child.wait().unwrap();
    }
    peers.hook(|_, _| false);
    settle(folder.path(), &peers).await;
    everybody_paid_once(&peers, 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_scheduler_is_refused_and_the_status_is_shown_beside() {
    let folder = tempfile::tempdir().unwrap();
    let peers = Peers::start(Ledger::of(3)).await;
    let arguments = ["schedule", "--chain", "139=EVM", "--interval", "1"];
    let first = merchant(folder.path(), &peers.url, &arguments).spawn().unwrap();
    let first = super::process::Program { child: first };
    while peers.ledger.lock().accepted.len() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = once(folder.path(), &peers.url).spawn().unwrap();
    let (success, said) = ended(second);
    assert!(!success && said.contains("another process holds"), "{said}");
    let status = merchant(folder.path(), &peers.url, &["schedule", "--status"]).spawn().unwrap();
    let (success, said) = ended(status);
    assert!(success && said.contains("subscriptions"), "{said}");
    first.kill();
    assert_eq!(peers.ledger.lock().requests.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_a_verdict_has_failed_and_says_why_once() {
    let folder = tempfile::tempdir().unwrap();
    let peers = Peers::start(Ledger::of(9)).await;
    // One answer is lost, and the batch hears its verdict within the run.
    let mut lost = false;
    peers.hook(move |number, now| {
        let here = number == 2 && now == Moment::After && !lost;
        lost |= here;
        here
    });
    let place = tempfile::tempdir().unwrap();
    let arguments =
        ["schedule", "--once", "--chain", "139=EVM", "--batch-size", "1", "--pace", PACE];
    let output = merchant(place.path(), &peers.url, &arguments).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(": 9 accepted, 0 declined, 1 without a verdict"), "{said}");
    assert!(output.status.success(), "{said}");
    let peers = Peers::start(Ledger::of(9)).await;
    for arguments in [
        &["schedule", "--once", "--chain", "139=EVM", "--batch-size", "3"][..],
        &["schedule", "--dry-run", "--chain", "139=EVM"],
    ] {
        let mut command = merchant(folder.path(), &peers.url, arguments);
        command.env("MERCHANT__SIGNER__URL", "http://127.0.0.1:9");
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_eq!(said.matches("Connection refused").count(), 1, "{said}");
    }
}

#[test]
fn what_is_wrong_with_the_arguments_is_said_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, wanted) in [
        (&["--chain", "139=EVM", "--interval", "0"][..], "a whole number of seconds, 1 at least"),
        (&["--chain", "139=EVM", "--chain", "139=TVM"], "chain 139 is given more than once"),
        (&["--chain", "139:EVM"], "write 139=EVM or 136=TVM"),
    ] {
        let arguments = [&["schedule", "--once"], arguments].concat();
        let output = merchant(folder.path(), "http://127.0.0.1:9", &arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(wanted), "{said}");
    }
    assert!(!folder.path().join("schedule.db").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let peers = Peers::start(Ledger::of(3)).await;
    for once in [&[][..], &["--once"]] {
        let arguments = [&["schedule", "--dry-run", "--chain", "136=TVM"], once].concat();
        let child = merchant(folder.path(), &peers.url, &arguments).spawn().unwrap();
        let (success, said) = ended(child);
        assert!(success && said.contains("chain 139: 3 due, and no --chain"), "{said}");
        assert!(!folder.path().join("schedule.db").exists());
        assert!(peers.ledger.lock().requests.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_one_is_stopped_no_other_starts_and_it_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let peers = Peers::start(Ledger::of(9)).await;
    let arguments =
        ["schedule", "--chain", "139=EVM", "--batch-size", "3", "--interval", "1", "--pace", PACE];
    let mut first = merchant(folder.path(), &peers.url, &arguments);
    let first = super::process::Program { child: first.stdout(Stdio::null()).spawn().unwrap() };
    let signal = |name: &str| {
        let done = Command::new("kill").args([name, &first.child.id().to_string()]).status();
        assert!(done.unwrap().success());
    };
    // Stopped in the middle of a run, again and again.
    for exchange in [2, 4, 7] {
        while peers.exchanges() < exchange {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        signal("-STOP");
        let (success, said) = ended(once(folder.path(), &peers.url).spawn().unwrap());
        assert!(!success && said.contains("another process holds"), "{said}");
        signal("-CONT");
    }
    while peers.ledger.lock().charged.len() < 9 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    first.kill();
    settle(folder.path(), &peers).await;
    everybody_paid_once(&peers, 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_sees_what_has_ended_before_it_reads_what_is_due() {
    let folder = tempfile::tempdir().unwrap();
    let peers = Peers::start(Ledger::of(2)).await;
    assert!(run(folder.path(), &peers.url).await.contains(": 2 accepted"));
    tokio::time::sleep(Duration::from_millis(5)).await;
    {
        let mut ledger = peers.ledger.lock();
        for transaction in &mut ledger.transactions {
            transaction.looks = 1;
        }
        ledger.due = [(1, 2), (2, 2)].into();
    }
    let said = run(folder.path(), &peers.url).await;
    assert!(said.contains("2 due, 0 held, 2 planned") && said.contains(": 2 accepted"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_to_this_machine_leads_through_no_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let peers = Peers::start(Ledger::of(3)).await;
    let mut command =
        merchant(folder.path(), &peers.url, &["schedule", "--once", "--chain", "139=EVM"]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:1");
    }
    let (good, said) = ended(command.spawn().unwrap());
    assert!(good && said.contains("3 accepted"), "{said}");
}
