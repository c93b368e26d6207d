//! Measures the journal's costs at a size: `cargo run --release -p scale -- 0 1000000`. Fills a journal through the
//! journal's own commits, so that its history and its digests are real ones, and prints a line for each size. `--
//! --questions 1000000` prints how long the questions of operators take instead; with the feature `postgres`, `--
//! --server` the journal on a server beside the one in a file, and `-- --grown 10000000` one on a server that has
//! grown. `SCALE_DIR` is where it is made; about 1 GB for each million claims is needed, and given back.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::float_arithmetic,
    clippy::print_stdout,
    reason = "a benchmark may panic, counts in floats and prints"
)]

mod book;
#[cfg(feature = "postgres")]
mod grown;
mod questions;
mod sample;
#[cfg(feature = "postgres")]
mod server;
mod well;

use book::{Book, SUBSCRIPTIONS};
use journal::Journal;
use sample::{Sample, peak_mib, resident_mib};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Number of times that each thing is done at a size.
const ROUNDS: u64 = 200;

/// Number of charges in a measured batch.
const MEASURED: u64 = 100;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("--audit") => audit(Path::new(&arguments.next().unwrap())),
        Some("--die") => die(Path::new(&arguments.next().unwrap())).await,
        Some("--questions") => {
            let size = arguments.next().map_or(1_000_000, |size| size.parse().unwrap());
            let room = room();
            let path = room.path().join("journal.sqlite");
            Journal::initialise(&path).unwrap();
            questions::questions(&path, size).await;
        }
        #[cfg(feature = "postgres")]
        Some("--server") => server::beside_a_file().await,
        #[cfg(feature = "postgres")]
        Some("--grown") => {
            let claims = arguments.next().map_or(10_000_000, |claims| claims.parse().unwrap());
            grown::grown(claims).await;
        }
        first => {
            let sizes = first.map(str::to_owned).into_iter().chain(arguments);
            let mut sizes: Vec<u64> = sizes.map(|size| size.parse().unwrap()).collect();
            if sizes.is_empty() {
                sizes = vec![0, 1_000_000];
            }
            table(&sizes).await;
        }
    }
}

fn room() -> tempfile::TempDir {
    let place = std::env::var_os("SCALE_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::tempdir_in(place).unwrap()
}

async fn table(sizes: &[u64]) {
    let room = room();
    let path = room.path().join("journal.sqlite");
    Journal::initialise(&path).unwrap();
    println!(
        "milliseconds as median / 99 of 100 / longest; a commit takes {MEASURED} charges\n\
         {:>9} {:>8} {:>9} {:>20} {:>20} {:>18} {:>18} {:>8} {:>8} {:>8} {:>9} {:>9}",
        "claims",
        "MiB",
        "B/claim",
        "commit",
        "end of a batch",
        "lookup of 100",
        "status",
        "close",
        "start",
        "crashed",
        "audit s",
        "audit MiB"
    );
    for size in sizes {
        let mut book = Book::open(&path).await;
        let claims = book.grow_to(*size).await;
        let line = measured(&mut book).await;
        let resident = resident_mib();
        let close = book.close().await;
        let bytes = std::fs::metadata(&path).unwrap().len();
        let begun = Instant::now();
        let book = Book::open(&path).await;
        let start = begun.elapsed();
        book.close().await;
        run_again("--die", &path);
        let begun = Instant::now();
        let book = Book::open(&path).await;
        let crashed = begun.elapsed();
        book.close().await;
        let audit = run_again("--audit", &path);
        let mib = bytes as f64 / f64::from(1 << 20);
        let each = bytes.checked_div(claims).unwrap_or(0);
        println!(
            "{claims:>9} {mib:>8.0} {each:>9} {line} {:>8.0} {:>8.0} {:>8.0} {audit}  (at work: {resident} MiB)",
            ms(close),
            ms(start),
            ms(crashed)
        );
    }
}

fn ms(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Commits, ends, lookups and status, each so many times.
async fn measured(book: &mut Book) -> String {
    let (mut commit, mut end) = (Sample::default(), Sample::default());
    let (mut lookup, mut status) = (Sample::default(), Sample::default());
    let mut hashes = Vec::new();
    for _ in 0..ROUNDS {
        let batch = commit.time(book.accept(MEASURED)).await;
        end.time(book.settle(&batch)).await;
        hashes.push(batch.attempts.newest().get().signed.hash);
    }
    for round in 0..ROUNDS {
        // Half of them were charged once, in some period; half never were.
        let first = round * 7919 * 31 % SUBSCRIPTIONS;
        let found = lookup.time(book.look_up(first, MEASURED)).await;
        assert!(found <= MEASURED as usize);
        assert!(status.time(book.status(hashes[round as usize])).await);
        assert!(status.time(book.status(book.some_hash(round))).await || book.is_new());
    }
    format!("{commit:>20} {end:>20} {lookup:>18} {status:>18}")
}

/// Another process of this program, on the same journal.
fn run_again(what: &str, path: &Path) -> String {
    let me = std::env::current_exe().unwrap();
    let output = Command::new(me).arg(what).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Prints the duration of an audit, and its most memory.
fn audit(path: &Path) {
    let begun = Instant::now();
    let audit = Journal::audit(path, &[]).unwrap();
    assert_eq!(audit.faults, Vec::<String>::new());
    println!("{:>9.1} {:>9}", begun.elapsed().as_secs_f64(), peak_mib());
}

/// Commits something and is gone, as after a kill.
async fn die(path: &Path) {
    let mut book = Book::open(path).await;
    book.accept(MEASURED).await;
    std::process::abort();
}
