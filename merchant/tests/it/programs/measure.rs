//! What 100,000 due subscriptions cost the scheduler and the inbox: time, memory and requests, printed. Platform
//! and Signer are stand-ins, and take part of the time: those of the programs are also given as seconds of
//! processor.
//!
//! `./test --due` runs it on release programs; `DUE` says how many.

use super::book_keeping::Ledger;
use super::inbox::event;
use super::peers::Peers;
use super::process::{KEY, Program, RunningInbox, SECRET, merchant, start_inbox};
use futures_util::{StreamExt as _, stream};
use merchant::clock::{Clock as _, SystemClock};
use merchant::sign::{Credentials, KEY_HEADER, SIGN_HEADER, Signable, TIMESTAMP_HEADER, sign};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How many callbacks the platform sends at once.
const AT_ONCE: usize = 32;
/// For how long a program with nothing to do is watched.
const IDLE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it measures, and takes minutes: ./test --due"]
async fn a_hundred_thousand_due() {
    let due: i64 = std::env::var("DUE").map_or(100_000, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let peers = Peers::start(Ledger::of(due)).await;
    let inbox = inbox(folder.path(), &peers.url);
    let first = once(folder.path(), &peers, &inbox).await;
    println!("run 1, {due} due: {first}");
    let (before, began) = (Spent::of(&inbox.program.child), Instant::now());
    tell_all(&inbox, &peers).await;
    println!(
        "inbox, {due} callbacks taken: {:?}, {}",
        began.elapsed(),
        Spent::since(&before, &inbox.program.child)
    );
    settle(&inbox, due).await;
    println!(
        "inbox, all decided by the Signer: {:?}, {}",
        began.elapsed(),
        Spent::since(&before, &inbox.program.child)
    );
    println!(
        "run 2, which follows and reads {due} callbacks: {}",
        once(folder.path(), &peers, &inbox).await
    );
    println!("run 3, with nothing to do: {}", once(folder.path(), &peers, &inbox).await);
    let [scheduler, inbox] = idle(folder.path(), &peers, &inbox).await;
    println!("scheduler, {IDLE:?} with nothing to do: {scheduler}");
    println!("inbox, {IDLE:?} with nothing to do: {inbox}");
    let ledger = peers.ledger.lock();
    assert_eq!(ledger.offences, Vec::<String>::new());
    assert_eq!(i64::try_from(ledger.charged.len()).unwrap(), due);
}

fn inbox(folder: &Path, peers: &str) -> RunningInbox {
    let arguments = ["inbox", "--listen", "127.0.0.1:0", "--private", "127.0.0.1:0"];
    start_inbox(merchant(folder, peers, &arguments))
}

fn scheduler(folder: &Path, peers: &Peers, inbox: &RunningInbox, more: &[&str]) -> Child {
    let arguments = [&["schedule", "--chain", "139=EVM", "--batch-size", "500"], more].concat();
    let mut command = merchant(folder, &peers.url, &arguments);
    command.env("MERCHANT__INBOX__URL", &inbox.feed).stdout(Stdio::inherit());
    command.stderr(Stdio::null()).spawn().unwrap()
}

/// One run of the scheduler, and what it took.
async fn once(folder: &Path, peers: &Peers, inbox: &RunningInbox) -> String {
    peers.hook(|_, _| false);
    let began = Instant::now();
    let mut child = scheduler(folder, peers, inbox, &["--once"]);
    let mut spent = Spent::default();
    loop {
        // What has ended is still there until it is asked for.
        spent = Spent::of(&child).or(spent);
        if child.try_wait().unwrap().is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    format!("{:?}, {spent}, {:?}", began.elapsed(), peers.kinds())
}

/// What a scheduler and an inbox take that have nothing to do.
async fn idle(folder: &Path, peers: &Peers, inbox: &RunningInbox) -> [Spent; 2] {
    let child = scheduler(folder, peers, inbox, &["--interval", "3600"]);
    let scheduler = Program { child };
    tokio::time::sleep(Duration::from_secs(3)).await;
    let children = [&scheduler.child, &inbox.program.child];
    let before = children.map(Spent::of);
    tokio::time::sleep(IDLE).await;
    [0, 1].map(|at| Spent::since(&before[at], children[at]))
}

/// The platform tells of every charge.
async fn tell_all(inbox: &RunningInbox, peers: &Peers) {
    let bodies: Vec<String> = {
        let ledger = peers.ledger.lock();
        let charged = (0..).zip(&ledger.transactions).flat_map(|(number, transaction)| {
            transaction.items.iter().map(move |due| (number, due.0))
        });
        charged
            .map(|(number, id): (u64, i64)| {
                event("SubscriptionBilling", &format!("order-{id}"), &format!("0x{number:064x}"))
            })
            .collect()
    };
    let http = reqwest::Client::new();
    let sends = bodies.into_iter().map(|body| tell(&http, &inbox.callbacks, body));
    let all: Vec<Option<String>> = stream::iter(sends).buffer_unordered(AT_ONCE).collect().await;
    assert_eq!(all.into_iter().flatten().next(), None, "a callback was not taken");
}

/// Why a callback was not taken, if it was not.
async fn tell(http: &reqwest::Client, url: &str, body: String) -> Option<String> {
    let timestamp = SystemClock.now().0.to_string();
    let (path_and_query, bytes) = ("/callbacks", body.as_bytes());
    let what = Signable { timestamp: &timestamp, method: "POST", path_and_query, body: bytes };
    let sign = sign(&Credentials::new(KEY, SECRET).secret, &what);
    let request = http
        .post(format!("{url}{path_and_query}"))
        .header(KEY_HEADER, KEY)
        .header(TIMESTAMP_HEADER, &timestamp)
        .header(SIGN_HEADER, sign)
        .body(body);
    match request.send().await {
        Ok(answer) if answer.status() == 200 => None,
        Ok(answer) => Some(format!("{}: {:?}", answer.status(), answer.text().await)),
        Err(error) => Some(format!("{error:?}")),
    }
}

/// Waits until the inbox holds nothing for the chain.
async fn settle(inbox: &RunningInbox, due: i64) {
    let count = format!("merchant_inbox_events{{is=\"waiting\"}} {due}");
    for _ in 0..3000 {
        let answer = reqwest::get(format!("{}/metrics", inbox.feed)).await.unwrap();
        let text = answer.text().await.unwrap();
        if text.lines().any(|line| line == count) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("the inbox does not hear of every charge");
}

/// What a program has taken so far.
#[derive(Clone, Debug, Default)]
struct Spent {
    /// The most memory it ever had, as the system writes it.
    peak: String,
    /// Processor time (ms), as far as the system counts it: in steps of 10.
    processor_ms: u64,
}

impl Spent {
    fn of(child: &Child) -> Self {
        let read = |name: &str| {
            std::fs::read_to_string(format!("/proc/{}/{name}", child.id())).unwrap_or_default()
        };
        let peak = read("status")
            .lines()
            .find_map(|line| Some(line.strip_prefix("VmHWM:")?.trim().to_owned()));
        // The name of the program is in parentheses; user and system time are the 12th and 13th after it.
        let stat = read("stat");
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u64 =
            fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        Self { peak: peak.unwrap_or_default(), processor_ms: ticks * 10 }
    }

    /// The newer of two readings: what has ended has no memory.
    fn or(self, before: Self) -> Self {
        let peak = if self.peak.is_empty() { before.peak } else { self.peak };
        Self { peak, processor_ms: self.processor_ms.max(before.processor_ms) }
    }

    /// What was taken since.
    fn since(before: &Self, child: &Child) -> Self {
        let now = Self::of(child);
        Self { processor_ms: now.processor_ms - before.processor_ms, ..now }
    }
}

impl std::fmt::Display for Spent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ms of processor, {} at most", self.processor_ms, self.peak)
    }
}
