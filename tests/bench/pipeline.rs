//! What one charge costs: round trips, fsyncs, time and memory, beside the node's own limit and
//! beside a script that does the same job. Prints figures; judges none.
//!
//! `./test --bench`, or `cargo bench --bench pipeline`. Absolute times differ between machines: read
//! the ratios within one run. Loads are bounded in count and go to loopback only.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::float_arithmetic,
    clippy::print_stdout,
    reason = "a benchmark may panic, counts in floats and prints"
)]

#[path = "../it/world"]
#[expect(dead_code, unused_imports, reason = "the tests use the rest of it")]
mod world {
    pub(crate) mod anvil;
    pub(crate) mod contracts;
    pub(crate) mod patience;
    pub(crate) mod proxy;
    pub(crate) mod signer;
    pub(crate) mod town;
    pub(crate) mod tron;
}

mod load;
mod stage;
mod tron;

use load::{Load, run};
use stage::{Kind, Stage};
use std::time::Instant;
use world::proxy::{Proxy, sequential_round_trips};

const BATCHES: [usize; 3] = [1, 10, 100];
const CALLERS: [usize; 2] = [1, 16];

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    // `cargo bench --bench pipeline -- 100 16` measures that row alone. Flags mean nothing here.
    let only: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    if only.is_empty() {
        counts().await;
        tron::counts().await;
        footprint().await;
    }
    println!(
        "\n{:>6} {:>8}  {:>22}  {:>22}  {:>10}  {:>10}  {:>9}",
        "batch",
        "callers",
        "Signer req/s (p50, p99)",
        "viem req/s (p50, p99)",
        "raw tx/s",
        "Signer/viem",
        "Signer/raw"
    );
    for size in BATCHES {
        for callers in CALLERS {
            if only.is_empty() || only == [size, callers] {
                row(size, callers).await;
            }
        }
    }
}

/// How many requests a row sends: enough to measure, few enough to end.
fn requests(size: usize, callers: usize) -> usize {
    match (size, callers) {
        (1, 1) => 1500,
        (1, _) => 3000,
        (10, _) => 800,
        _ => 300,
    }
}

async fn row(size: usize, callers: usize) {
    let stage = Stage::set(size * (callers + 4), "").await;
    let count = requests(size, callers);
    let before = stage.snapshot().await;
    let signer = stage.signer().await;
    let load = Load { size, callers, count, first_period: 1 };
    let ours = run(&stage, &signer.scheduler, Kind::Signer, &load).await;
    drop(signer);
    stage.revert(&before).await;
    let before = stage.snapshot().await;
    let begun = Instant::now();
    load::push_raw(&stage, &ours.raw, callers).await;
    let raw = ours.raw.len() as f64 / begun.elapsed().as_secs_f64();
    stage.revert(&before).await;
    let naive = stage.naive();
    let fewer = Load { count: (count / 6).max(60), ..load };
    let theirs = run(&stage, &naive.scheduler, Kind::Naive, &fewer).await;
    println!(
        "{size:>6} {callers:>8}  {:>22}  {:>22}  {raw:>10.0}  {:>10.1}x  {:>8.0}%",
        ours.to_string(),
        theirs.to_string(),
        ours.rate() / theirs.rate(),
        100.0 * ours.rate() / raw,
    );
}

/// Round trips and fsyncs of single requests, with the head's figures already known.
async fn counts() {
    println!(
        "{:>6} {:>9} {:>5}  {:>18}  {:>10}  {:>14}  questions",
        "batch", "multicall", "nodes", "sequential trips", "questions", "fsyncs/request"
    );
    for (multicall, nodes) in [(true, 1), (false, 1), (true, 3)] {
        for size in [1, 10, 100, 500] {
            let stage = Stage::counting(500, multicall, nodes).await;
            let signer = stage.signer().await;
            let bill = |period| stage.batch(size, period);
            // The first request opens connections and warms caches.
            assert_eq!(signer.scheduler.bill(&bill(1)).await.code(), 1);
            let fsyncs = stage::Fsyncs::of(signer.process.id());
            let mut fewest: Option<Vec<world::proxy::Asked>> = None;
            let rounds = 20;
            for period in 0..rounds {
                for proxy in &stage.proxies {
                    proxy.take_asked();
                }
                assert_eq!(signer.scheduler.bill(&bill(2 + period)).await.code(), 1);
                let asked: Vec<_> = stage.proxies.iter().flat_map(Proxy::take_asked).collect();
                // Two questions that go out together may be answered one after the other on a busy
                // machine: what had to wait is what waited every time.
                let trips = sequential_round_trips(&asked);
                if fewest.as_ref().is_none_or(|seen| trips < sequential_round_trips(seen)) {
                    fewest = Some(asked);
                }
            }
            let asked = fewest.unwrap_or_default();
            print_counts(size, (multicall, nodes), &asked, fsyncs, rounds);
        }
    }
}

/// A row of [`counts`], for either family.
fn print_counts(
    size: usize,
    (multicall, nodes): (bool, usize),
    asked: &[world::proxy::Asked],
    fsyncs: Option<stage::Fsyncs>,
    rounds: usize,
) {
    let fsyncs = fsyncs.map_or_else(
        || "no strace".to_owned(),
        |fsyncs| format!("{:.2}", fsyncs.stop() as f64 / rounds as f64),
    );
    let name = |asked: &world::proxy::Asked| {
        format!("{} {:.1} ms", asked.method, (asked.answered - asked.begun).as_secs_f64() * 1e3)
    };
    let names: Vec<_> = asked.iter().map(name).collect();
    println!(
        "{size:>6} {multicall:>9} {nodes:>5}  {:>18}  {:>10}  {fsyncs:>14}  {}",
        sequential_round_trips(asked),
        asked.len(),
        names.join(", ")
    );
}

/// Time to readiness and memory at rest.
async fn footprint() {
    let stage = Stage::set(1, "").await;
    let mut starts = Vec::new();
    let mut resident = 0;
    for _ in 0..5 {
        let begun = Instant::now();
        let signer = stage.signer().await;
        starts.push(begun.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(signer.scheduler.get("/health/ready").await.status, 200);
        resident = stage::resident_kib(signer.process.id());
    }
    starts.sort_by(f64::total_cmp);
    println!(
        "\nstart to ready {:.0} ms (median of 5), at rest {} MiB resident",
        starts[2],
        resident / 1024
    );
}
