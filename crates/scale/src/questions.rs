//! The questions of operators to a journal of this size, and the time of each answer; an export and a backup, and
//! the cost of commits meanwhile.

use crate::book::{Book, PER_DAY_MS, Payers, START_MS, SUBSCRIPTIONS, customer};
use crate::sample::{Sample, written};
use crate::well::{self, Well};
use alloy::primitives::Address;
use billing::{
    CallerLabel, Entry, FailCode, Family, PlatformChainId, Refused, Scalar, SubscribeId, UserHash,
};
use host::clock::Clock;
use journal::{FullLedger, Journal, LedgerFilter, LedgerOrder, REFUSED, Refusals, RefusedRequest};
use merchant_signer::http::{ChargeRow, JournalName, TokenNames};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Number of times that each question is asked, each time about something else.
const ASKED: u64 = 20;

/// Number of refusals for each hundred charges.
const REFUSED_IN_100: u64 = 20;

/// Number of commits that are measured.
const COMMITS: u64 = 200;

/// Number of charges on a page.
const PAGE: usize = 100;

/// Prints the table.
pub(crate) async fn questions(path: &Path, size: u64) {
    let mut book = Book::open(path).await;
    let charges = book.grow_to(size).await;
    book.close().await;
    // As a start finds it, and with nothing in the memory of the connection.
    let mut book = Book::open(path).await;
    let refusals = Refusals::of(&Book::config(path).into(), Clock::MACHINE).unwrap();
    let ledger = FullLedger { journal: book.journal(), refusals: Some(refusals) };
    let refused = refuse(&ledger, charges * REFUSED_IN_100 / 100).await;
    let mib = |path: &Path| std::fs::metadata(path).unwrap().len() >> 20;
    println!(
        "{charges} charges in {} MiB, {refused} refusals in {} MiB\n\
         milliseconds as median / 99 of 100 / longest\n",
        mib(path),
        mib(&path.with_extension("sqlite.refusals")),
    );
    ask(&ledger, size).await;
    ask_for_customers(&ledger).await;

    commit(&mut book).await;
    let (lines, took, meanwhile) = beside(&mut book, export(ledger.clone())).await;
    row("the same while all of it is exported", &meanwhile, "");
    row_once("export of everything as JSON lines", took, &format!("{lines} lines"));
    let (from, to) = (path.to_owned(), path.with_extension("backup"));
    let target = to.clone();
    let backup = async move {
        Journal::back_up(&from, &target, &mut |_, _| {}).unwrap();
    };
    let ((), took, meanwhile) = beside(&mut book, backup).await;
    row("a commit while a backup is made", &meanwhile, "");
    row_once("backup, audited", took, &format!("{} MiB", mib(&to)));
    let batches = book.batches();
    book.close().await;
    let Well { start_ms, ready, metrics } = well::ask(path, batches).await;
    row_once("a start, until it is ready", start_ms, "");
    row("is all well: /health/ready", &ready, "");
    row("will the gas last: /metrics", &metrics, "");
}

/// Measures a commit while nothing else is done, for each kind of payers.
async fn commit(book: &mut Book) {
    for (what, payers) in [
        ("a commit of 100 charges, alone", Payers::Usual),
        ("the same, nobody knows which wallets pay", Payers::Untold),
        ("the same, none of the wallets has paid before", Payers::New),
    ] {
        book.payers = payers;
        let before = written();
        let commits = book.commits(&AtomicBool::new(true), COMMITS).await;
        let each = ((written() - before) / COMMITS) >> 10;
        row(what, &commits, &format!("{each} KiB written, with its end"));
    }
    book.payers = Payers::Usual;
}

async fn ask(ledger: &FullLedger, size: u64) {
    let all = LedgerFilter::default;
    let newest = LedgerOrder::Newest;
    let mut asked = Sample::default();
    for round in 0..ASKED {
        let subscribe = SubscribeId(i64::try_from(round * 4_999 % SUBSCRIPTIONS).unwrap());
        let filter = LedgerFilter { subscribe: Some(subscribe), ..all() };
        let found = asked.time(page(ledger, &filter, newest)).await;
        assert!(found as u64 >= size / SUBSCRIPTIONS, "{found}");
    }
    row("what became of a subscription: all of it", &asked, "");
    let mut asked = Sample::default();
    for round in 0..ASKED {
        let day = START_MS + i64::try_from(round % 10).unwrap() * PER_DAY_MS;
        let filter = LedgerFilter {
            state: Some("charged".to_owned()),
            from_ms: Some(day),
            until_ms: Some(day + PER_DAY_MS),
            ..all()
        };
        asked.time(page(ledger, &filter, newest)).await;
    }
    row("what was charged on a day: its first page", &asked, "");
    let day = START_MS + 5 * PER_DAY_MS;
    let day = LedgerFilter { from_ms: Some(day), until_ms: Some(day + PER_DAY_MS), ..all() };
    let begun = Instant::now();
    let lines = walk(ledger, &day).await;
    row_once("the same: all of it", begun, &format!("{lines} lines"));
    for (what, filter) in [
        ("the newest page", all()),
        ("what is open", LedgerFilter { state: Some("open".to_owned()), ..all() }),
        ("who was refused, newest", LedgerFilter { state: Some(REFUSED.to_owned()), ..all() }),
        (
            "who had too little, newest",
            LedgerFilter { reason: Some(FailCode::BalanceInsufficient), ..all() },
        ),
    ] {
        let mut asked = Sample::default();
        for _ in 0..ASKED {
            asked.time(page(ledger, &filter, newest)).await;
        }
        row(what, &asked, "");
    }
}

/// Asks the ledger for a user and for wallets.
async fn ask_for_customers(ledger: &FullLedger) {
    let (all, newest) = (LedgerFilter::default, LedgerOrder::Newest);
    let (user, wallet) = customer(77);
    for (what, filter) in [
        ("a user: all of it", LedgerFilter { user: Some(user), ..all() }),
        ("a wallet: all of it", LedgerFilter { wallet: Some(wallet), ..all() }),
    ] {
        let begun = Instant::now();
        let lines = walk(ledger, &filter).await;
        row_once(what, begun, &format!("{lines} lines, the first time"));
    }
    for what in ["a user, one after the other", "a wallet, one after the other"] {
        let mut asked = Sample::default();
        for round in 0..ASKED {
            let (user, wallet) = customer(1 + round * 4_999 % SUBSCRIPTIONS);
            let filter = if what.starts_with("a user") {
                LedgerFilter { user: Some(user), ..all() }
            } else {
                LedgerFilter { wallet: Some(wallet), ..all() }
            };
            asked.time(page(ledger, &filter, newest)).await;
        }
        row(what, &asked, "all of it");
    }
}

fn row(what: &str, sample: &Sample, more: &str) {
    println!("| {what:<45} | {sample:>24} | {more}");
}

fn row_once(what: &str, begun: impl Into<Took>, more: &str) {
    println!("| {what:<45} | {:>24.0} | {more}", begun.into().0);
}

/// Milliseconds.
struct Took(f64);

impl From<Instant> for Took {
    fn from(begun: Instant) -> Self {
        Self(begun.elapsed().as_secs_f64() * 1e3)
    }
}

impl From<f64> for Took {
    fn from(ms: f64) -> Self {
        Self(ms)
    }
}

/// A page as `GET /PayTool/charges` makes it.
async fn page(ledger: &FullLedger, filter: &LedgerFilter, order: LedgerOrder) -> usize {
    let (mut found, mut after) = (0, None);
    loop {
        let step = ledger.step(filter.clone(), order, after, PAGE - found).await.unwrap();
        found += step.found.len();
        after = step.next;
        if after.is_none() || found >= PAGE {
            return found;
        }
    }
}

/// Everything that is like that.
async fn walk(ledger: &FullLedger, filter: &LedgerFilter) -> usize {
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

async fn export(ledger: FullLedger) -> usize {
    let mut lines = 0;
    let keep = |line: &ChargeRow| {
        serde_json::to_writer(std::io::sink(), line).unwrap();
        lines += 1;
    };
    each_line(&ledger, keep).await;
    lines
}

/// Reads the whole ledger, oldest first.
pub(crate) async fn each_line(ledger: &FullLedger, mut read: impl FnMut(&ChargeRow)) {
    let name = JournalName::of(&ledger.journal).await.unwrap();
    let mut after = None;
    loop {
        let filter = LedgerFilter::default();
        let step = ledger.step(filter, LedgerOrder::Oldest, after, 1000).await.unwrap();
        let lines = step.found.iter();
        lines
            .filter_map(|line| ChargeRow::told(line, &name, &TokenNames::default()))
            .for_each(|line| read(&line));
        after = step.next;
        if after.is_none() {
            return;
        }
    }
}

/// Does `work` on a thread of its own; tells what came of it, how long it took in ms, and what commits took
/// meanwhile.
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
        let took = begun.elapsed().as_secs_f64() * 1e3;
        tell.store(true, Ordering::Relaxed);
        (made, took)
    });
    let meanwhile = book.commits(&done, 1).await;
    let (made, took) = thread.join().unwrap();
    (made, took, meanwhile)
}

/// Refuses so many subscriptions, as requests did.
async fn refuse(ledger: &FullLedger, count: u64) -> u64 {
    let refusals = ledger.refusals.as_ref().unwrap();
    let newest = ledger.journal.newest_batch().await.unwrap();
    for first in (0..count).step_by(10_000) {
        refusals.seen(newest);
        let refused = (first..(first + 10_000).min(count)).map(refused).collect();
        let caller = Some(CallerLabel("scheduler".to_owned()));
        refusals.note(RefusedRequest {
            chain: PlatformChainId(139),
            family: Family::Evm,
            caller,
            request_id: Some(format!("run/{first}")),
            refused,
        });
        refusals.write().unwrap();
    }
    assert_eq!(refusals.dropped(), 0);
    count
}

fn refused(n: u64) -> Refused {
    let number = |n: u64| Scalar::Number(n.to_string());
    let (UserHash(user), _): (UserHash, Address) = customer(n % SUBSCRIPTIONS);
    let fields = [
        ("subscribeId", number(n % SUBSCRIPTIONS)),
        ("planId", number(3)),
        ("userHash", Scalar::Text(user.to_string())),
        ("amount", number(10_000_000 + n)),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    let code = if n.is_multiple_of(2) {
        FailCode::BalanceInsufficient
    } else {
        FailCode::AllowanceInsufficient
    };
    Entry::parse(fields.into()).unwrap().refused(code)
}
