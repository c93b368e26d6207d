//! The journal's costs at a size, filled through its own commits, so that history and digests are real: `-- --journal 0
//! 1000000` prints a line for each number of claims, `-- --journal-questions 1000000` the time of operators' questions.
//! `TMPDIR` is where it is made; about 1 GB for each million claims is needed, and given back.

mod book;
#[cfg(feature = "postgres")]
pub(crate) mod server;

use billing::SubscribeId;
use book::{Book, PER_DAY_MS, START_MS, SUBSCRIPTIONS, customer};
use journal::{Journal, copies};
use ledger::{Ledger, LedgerFilter, LedgerOrder};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Number of times that each thing is done at a size.
const ROUNDS: u64 = 200;

/// Number of charges in a measured batch, and on a page.
const MEASURED: u64 = 100;

/// Number of times that each question is asked, each time about something else.
const ASKED: u64 = 20;

/// The durations of a thing that is done often, ms.
#[derive(Debug, Default)]
struct Sample(Vec<f64>);

impl Sample {
    async fn time<T>(&mut self, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = work.await;
        self.0.push(ms_since(begun));
        done
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |percent: usize| sorted[(sorted.len() - 1) * percent / 100];
        f.pad(&format!("{:.2} / {:.1} / {:.0}", at(50), at(99), at(100)))
    }
}

fn ms_since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

fn mib(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len() >> 20
}

fn room() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A new journal in a file of a folder.
fn begun_in(room: &tempfile::TempDir) -> PathBuf {
    let path = room.path().join("journal.sqlite");
    Journal::initialise(&path).unwrap();
    path
}

/// Commits, ends and lookups of a number of charges, each so often; and the round trips to a server of one commit.
#[derive(Default)]
struct Measured {
    commit: Sample,
    end: Sample,
    lookup: Sample,
    trips: u64,
}

impl Measured {
    async fn of(book: &mut Book, size: u64) -> Self {
        let mut found = Self::default();
        let trips = |book: &Book| book.journal().figures().trips.load(Ordering::Relaxed);
        for round in 0..ROUNDS {
            let before = trips(book);
            let batch = found.commit.time(book.accept(size)).await;
            found.trips = trips(book) - before;
            found.end.time(book.settle(&batch)).await;
            // Half of them were charged once, in some period; half never were.
            let first = round * 7919 * 31 % SUBSCRIPTIONS;
            found.lookup.time(book.look_up(first, size)).await;
        }
        found
    }
}

/// Prints a line for each size.
pub(crate) async fn sizes(sizes: &[u64]) {
    let room = room();
    let path = begun_in(&room);
    println!(
        "milliseconds as median / 99 of 100 / longest, for {MEASURED} charges\n{:>9} {:>8} {:>9} {:>20} {:>20} {:>18} \
         {:>8} {:>8} {:>8}",
        "claims", "MiB", "B/claim", "commit", "end of a batch", "lookup", "close", "start", "audit"
    );
    for size in if sizes.is_empty() { &[0, 1_000_000] } else { sizes } {
        let mut book = Book::open(&path).await;
        let claims = book.grow_to(*size).await;
        let Measured { commit, end, lookup, .. } = Measured::of(&mut book, MEASURED).await;
        let begun = Instant::now();
        book.close().await;
        let close = ms_since(begun);
        let begun = Instant::now();
        let book = Book::open(&path).await;
        let start = ms_since(begun);
        book.close().await;
        let begun = Instant::now();
        assert_eq!(copies::audit(&path, &[]).unwrap().faults, Vec::<String>::new());
        let audit = ms_since(begun);
        let bytes = std::fs::metadata(&path).unwrap().len();
        let (mib, each) = (mib(&path), bytes.checked_div(claims).unwrap_or(0));
        println!(
            "{claims:>9} {mib:>8} {each:>9} {commit:>20} {end:>20} {lookup:>18} {close:>8.0} {start:>8.0} {audit:>8.0}"
        );
    }
}

/// Prints the time of operators' questions to a journal of this size, and of commits while it is exported or copied.
pub(crate) async fn questions(size: u64) {
    let room = room();
    let path = begun_in(&room);
    let mut book = Book::open(&path).await;
    let charges = book.grow_to(size).await;
    book.close().await;
    // As a start finds it, and with nothing in the memory of the connection.
    let mut book = Book::open(&path).await;
    let ledger = Ledger { journal: book.journal(), refusals: None };
    println!("{charges} charges in {} MiB; milliseconds\n", mib(&path));
    ask(&ledger).await;
    row("a commit of 100 charges", &book.commits(&AtomicBool::new(true), ROUNDS).await);
    let everything = ledger.clone();
    let reading = async move { walk(&everything, &LedgerFilter::default()).await };
    let (lines, took, meanwhile) = beside(&mut book, reading).await;
    row("the same while everything is read", &meanwhile);
    row(&format!("everything: {lines} lines"), format!("{took:.0}"));
    let (from, to) = (path.clone(), path.with_extension("backup"));
    let backup = async move { copies::back_up(&from, &to, &mut |_, _| {}).map(drop).unwrap() };
    let ((), took, meanwhile) = beside(&mut book, backup).await;
    row("a commit while a backup is made", &meanwhile);
    row("the backup, audited", format!("{took:.0}"));
    book.close().await;
}

fn row(what: &str, time: impl fmt::Display) {
    println!("| {what:<45} | {time:>24} |");
}

/// Asks each question as `GET /PayTool/charges` does.
async fn ask(ledger: &Ledger) {
    let all = LedgerFilter::default;
    let day = |round: u64| START_MS + i64::try_from(round % 10).unwrap() * PER_DAY_MS;
    let who = |round: u64| customer(1 + round * 4_999 % SUBSCRIPTIONS);
    let state = |state: &str| Some(state.to_owned());
    let subscription = |round| SubscribeId(i64::try_from(round * 4_999 % SUBSCRIPTIONS).unwrap());
    let questions: [(&str, &dyn Fn(u64) -> LedgerFilter); 6] = [
        ("a subscription", &|round| LedgerFilter { subscribe: Some(subscription(round)), ..all() }),
        ("a day's charges", &|round| LedgerFilter {
            state: state("charged"),
            from_ms: Some(day(round)),
            until_ms: Some(day(round) + PER_DAY_MS),
            ..all()
        }),
        ("the newest", &|_| all()),
        ("the open ones", &|_| LedgerFilter { state: state("open"), ..all() }),
        ("a user", &|round| LedgerFilter { user: Some(who(round).0), ..all() }),
        ("a wallet", &|round| LedgerFilter { wallet: Some(who(round).1), ..all() }),
    ];
    for (what, filter) in questions {
        let mut asked = Sample::default();
        for round in 0..ASKED {
            asked.time(page(ledger, &filter(round))).await;
        }
        row(&format!("{what}: the first page"), &asked);
    }
}

/// Reads a page, newest first.
async fn page(ledger: &Ledger, filter: &LedgerFilter) -> usize {
    let page = usize::try_from(MEASURED).unwrap();
    let (mut found, mut after) = (0, None);
    loop {
        let rest = page - found;
        let step = ledger.step(filter.clone(), LedgerOrder::Newest, after, rest).await.unwrap();
        found += step.found.len();
        after = step.next;
        if after.is_none() || found >= page {
            return found;
        }
    }
}

/// Reads everything that fits, oldest first.
async fn walk(ledger: &Ledger, filter: &LedgerFilter) -> usize {
    let (mut found, mut after) = (0, None);
    loop {
        let step = ledger.step(filter.clone(), LedgerOrder::Oldest, after, 1000).await.unwrap();
        found += step.found.len();
        after = step.next;
        if after.is_none() {
            return found;
        }
    }
}

/// Does `work` on a thread of its own; returns what it makes, its duration (ms), and the commits made meanwhile.
async fn beside<T: Send + 'static>(
    book: &mut Book,
    work: impl Future<Output = T> + Send + 'static,
) -> (T, f64, Sample) {
    let done = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&done);
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let begun = Instant::now();
        let made = runtime.block_on(work);
        let took = ms_since(begun);
        tell.store(true, Ordering::Relaxed);
        (made, took)
    });
    let meanwhile = book.commits(&done, 1).await;
    let (made, took) = thread.join().unwrap();
    (made, took, meanwhile)
}
