//! What one charge costs: round trips, fsyncs, processor time, memory and the node's share of it, beside an
//! earlier program, beside the node's own limit, and beside a script that does the same job. Prints figures;
//! judges none.
//!
//! `./test --bench`; `BEFORE=/path/to/merchant-signer` names the earlier program, and `./test --bench --quick`
//! is a slice. Absolute times differ between machines: read the ratios within one run. Loads are bounded in
//! count and go to loopback only.

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
    pub(crate) mod plain;
    pub(crate) mod proxy;
    pub(crate) mod signer;
    pub(crate) mod town;
    pub(crate) mod tron;
}

mod beside;
mod chain_costs;
mod journal;
mod load;
mod split;
mod stage;
mod store;
mod tron;
mod usage;

use beside::Options;
use load::{Load, run};
use stage::{Kind, Reads, Stage};
use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use usage::SystemCalls;
use world::proxy::{Proxy, sequential_round_trips};

const BATCHES: [usize; 3] = [1, 10, 100];
const CALLERS: [usize; 2] = [1, 16];
/// After how many requests it is looked what is held.
const MEMORY_AFTER: [usize; 7] = [0, 1_000, 10_000, 50_000, 100_000, 150_000, 200_000];
/// By then every message is older than what is remembered, and every transaction final.
const REST: Duration = Duration::from_mins(3);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    // `-- 100 16` measures that row alone; `-- --memory 200000` what is held after so many requests;
    // `-- --nodes` one node and three; `-- --store` a key in a store that takes its
    // time; `-- --split` keys in a process of their own; `-- --chain-costs` gas and energy of a charge;
    // `-- --footprint` start and memory at rest; `-- --journal 0 1000000`, `-- --journal-questions 1000000` and
    // `-- --journal-server 10000000` the journal at a size.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<usize> = arguments.iter().filter_map(|one| one.parse().ok()).collect();
    let has = |flag: &str| arguments.iter().any(|one| one == flag);
    if has("--memory") {
        return memory(numbers.first().copied().unwrap_or(10_000)).await;
    }
    if has("--nodes") {
        return more_nodes().await;
    }
    if has("--footprint") {
        return footprint().await;
    }
    let sizes: Vec<u64> = arguments.iter().filter_map(|one| one.parse().ok()).collect();
    if has("--journal") {
        return journal::sizes(&sizes).await;
    }
    if has("--journal-questions") {
        return journal::questions(sizes.first().copied().unwrap_or(1_000_000)).await;
    }
    #[cfg(feature = "postgres")]
    if has("--journal-server") {
        return journal::server::beside_a_file(sizes.first().copied()).await;
    }
    if has("--chain-costs") {
        return chain_costs::tables().await;
    }
    if has("--split") {
        return split::beside_one_process().await;
    }
    if has("--store") {
        return store::beside_a_keystore().await;
    }
    let options = Options { earlier: earlier(), rounds: 2, quick: has("--quick") };
    if numbers.is_empty() {
        counts(if options.quick { &[1, 100] } else { &[1, 10, 100, 500] }, options.quick).await;
        if !options.quick {
            tron::counts().await;
        }
        footprint().await;
    }
    beside::head();
    for size in BATCHES {
        for callers in CALLERS {
            let slice = !options.quick || (size != 10 && callers == 1);
            if numbers == [size, callers] || (numbers.is_empty() && slice) {
                let count = requests(size, callers) / if options.quick { 5 } else { 1 };
                let stage = Stage::set(size * (callers + 4), "").await;
                let load = Load { size, callers, count, first_period: 1 };
                beside::row(&stage, load, &options).await;
            }
        }
    }
    if numbers.is_empty() && !options.quick {
        more_nodes().await;
    }
}

fn earlier() -> Option<PathBuf> {
    std::env::var_os("BEFORE").map(PathBuf::from)
}

/// One node and three, all of them through proxies.
async fn more_nodes() {
    println!("one node, then three:");
    beside::head();
    for nodes in [1, 3] {
        for size in [1, 100] {
            let stage = Stage::through_proxies(size * 5, nodes).await;
            let load = Load { size, callers: 1, count: requests(size, 1) / 3, first_period: 1 };
            beside::row(&stage, load, &Options { earlier: None, rounds: 2, quick: true }).await;
        }
    }
}

/// What is held after many requests, after a few, and when nothing has come for a while.
async fn memory(most: usize) {
    let stage = Stage::set(64, "").await;
    let signer = stage.signer().await;
    let process = signer.process.id();
    let begun = Instant::now();
    let tell = |done: &dyn Display| {
        println!(
            "{done:>9} {:>9.0} {:>12.1} {:>12.1}",
            begun.elapsed().as_secs_f64(),
            usage::resident_mib(process),
            usage::peak_mib(process)
        );
    };
    println!("{:>9} {:>9} {:>12} {:>12}", "requests", "seconds", "held MiB", "at most MiB");
    let mut done = 0;
    for until in MEMORY_AFTER.into_iter().filter(|until| *until <= most) {
        let load = Load { size: 1, callers: 16, count: until - done, first_period: 1 + done };
        run(&stage, &signer.scheduler, Kind::Signer, &load).await;
        done = until;
        tell(&done);
    }
    tokio::time::sleep(REST).await;
    tell(&"rest");
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

/// Round trips and fsyncs of single requests, with the head's figures already known.
async fn counts(sizes: &[usize], quick: bool) {
    println!(
        "{:>6} {:>9} {:>5}  {:>18}  {:>10}  {:>14}  questions",
        "batch", "multicall", "nodes", "sequential trips", "questions", "fsyncs/request"
    );
    for (reads, nodes) in [(Reads::Together, 1), (Reads::Apart, 1), (Reads::Together, 3)] {
        if quick && reads == Reads::Apart {
            continue;
        }
        for size in sizes.iter().copied() {
            let stage = Stage::counting(500, reads, nodes).await;
            let signer = stage.signer().await;
            let bill = |period| stage.batch(size, period);
            // The first request opens connections and warms caches.
            assert_eq!(signer.scheduler.bill(&bill(1)).await.code(), 1);
            let fsyncs = SystemCalls::of(signer.process.id(), "fsync,fdatasync");
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
            print_counts(size, reads, nodes, &asked, fsyncs, rounds);
        }
    }
}

/// A row of [`counts`], for either family.
fn print_counts(
    size: usize,
    reads: Reads,
    nodes: usize,
    asked: &[world::proxy::Asked],
    fsyncs: Option<SystemCalls>,
    rounds: usize,
) {
    let fsyncs = fsyncs.map_or_else(
        || "no strace".to_owned(),
        |fsyncs| format!("{:.2}", fsyncs.stop().values().sum::<u64>() as f64 / rounds as f64),
    );
    let name = |asked: &world::proxy::Asked| {
        format!("{} {:.1} ms", asked.method, (asked.answered - asked.begun).as_secs_f64() * 1e3)
    };
    let names: Vec<_> = asked.iter().map(name).collect();
    println!(
        "{size:>6} {:>9} {nodes:>5}  {:>18}  {:>10}  {fsyncs:>14}  {}",
        reads == Reads::Together,
        sequential_round_trips(asked),
        asked.len(),
        names.join(", ")
    );
}

/// Time to readiness after a proper end and memory at rest, with the keys here and in a process of their own.
async fn footprint() {
    let stage = Stage::set(1, "").await;
    for apart in ["false", "true"] {
        let mut starts = Vec::new();
        let mut held = Vec::new();
        for _ in 0..5 {
            let installation = stage.installation(None).env("SIGNER__KEYS__SPLIT", apart);
            // After a proper end the port opens at once; else it waits for the next second (decision 0026).
            installation.start().await.terminate().await;
            let begun = Instant::now();
            let signer = stage::Running::on(installation).await;
            starts.push(begun.elapsed().as_secs_f64() * 1000.0);
            assert_eq!(signer.scheduler.get("/health/ready").await.status, 200);
            let process = signer.process.id();
            let all = [Some(process), usage::child_of(process)];
            held = all.into_iter().flatten().map(footprint_of).collect();
        }
        starts.sort_by(f64::total_cmp);
        println!(
            "\nkeys apart: {apart}; start after a proper end to ready {:.0} ms (median of 5), at rest {}",
            starts[2],
            held.join(", and with the keys ")
        );
    }
}

fn footprint_of(process: u32) -> String {
    let (all, own) = (usage::resident_mib(process), usage::own_mib(process));
    format!("{all:.1} MiB resident, {own:.1} of them its own")
}
