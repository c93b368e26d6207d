//! Contenders beside one another, one after the other on the same chain: this Signer, an earlier one, and
//! the script.

use crate::load::{Load, Measured, run};
use crate::stage::{Kind, Running, Stage};
use crate::usage::{self, Allocations};
use std::fmt;
use std::path::{Path, PathBuf};

/// How a row is measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// A program of an earlier version, beside this one.
    pub(crate) earlier: Option<PathBuf>,
    /// How often each contender has its turn.
    pub(crate) rounds: usize,
    /// Leave out what takes long: the script, and most requests.
    pub(crate) quick: bool,
}

/// What a Signer did in all its turns.
#[derive(Debug, Default)]
struct Signed {
    rates: Vec<f64>,
    latencies: String,
    processor_ms: f64,
    node_ms: f64,
    requests: usize,
    peak_mib: f64,
    allocations: Option<f64>,
    raw: Vec<String>,
}

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = |ms: f64| ms / self.requests.max(1) as f64;
        let allocations = self.allocations.map_or_else(|| "-".to_owned(), |n| format!("{n:.0}"));
        write!(
            f,
            "{:>24} {:>12.2} {:>9.2} {allocations:>12} {:>8.1}",
            self.latencies,
            each(self.processor_ms),
            each(self.node_ms),
            self.peak_mib
        )
    }
}

/// The head of the table.
pub(crate) fn head() {
    println!(
        "\n{:>6} {:>8} {:>8}  {:>24} {:>12} {:>9} {:>12} {:>8}  ratios",
        "batch",
        "callers",
        "who",
        "req/s (p50, p99)",
        "processor ms",
        "node ms",
        "allocations",
        "peak MiB"
    );
}

/// Measures one load, by every contender.
pub(crate) async fn row(stage: &Stage, load: Load, options: &Options) {
    let mut all: Vec<(&str, Option<&Path>, Signed)> = vec![("now", None, Signed::default())];
    if let Some(earlier) = &options.earlier {
        all.push(("before", Some(earlier), Signed::default()));
    }
    for _ in 0..options.rounds {
        for (_, program, signed) in &mut all {
            turn(stage, load, *program, signed).await;
        }
    }
    for (_, program, signed) in &mut all {
        signed.allocations = allocations(stage, load, *program).await;
    }
    let now = mean(&all[0].2.rates);
    for (who, _, signed) in &all {
        let each = |one: &Signed| one.processor_ms / one.requests as f64;
        let ratio = if *who == "now" {
            String::new()
        } else {
            let (fast, busy) = (now / mean(&signed.rates), each(&all[0].2) / each(signed));
            format!("now is {fast:.2} times as fast, with {busy:.2} of its processor time")
        };
        println!("{:>6} {:>8} {who:>8}  {signed}  {ratio}", load.size, load.callers);
    }
    if !options.quick {
        let theirs = script(stage, load).await;
        let raw = pushed(stage, &all[0].2.raw, load.callers).await;
        println!(
            "{:>6} {:>8} {:>8}  {:>24} {:>44}  {:.1}x as fast as the script, {:.0} % of what the node takes",
            load.size,
            load.callers,
            "script",
            theirs.to_string(),
            "",
            now / theirs.rate(),
            100.0 * now / raw
        );
    }
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

/// One turn of a Signer, with a journal and a chain as new.
async fn turn(stage: &Stage, load: Load, program: Option<&Path>, signed: &mut Signed) {
    let before = stage.snapshot().await;
    let signer = Running::on(stage.installation(program)).await;
    let (process, node) = (signer.process.id(), usage::node());
    let node_ms = || node.map_or(0.0, usage::processor_ms);
    // Connections are open and caches warm.
    run(
        stage,
        &signer.scheduler,
        Kind::Signer,
        &Load { count: load.callers.max(4), first_period: 1_000_000, ..load },
    )
    .await;
    let begun = (usage::processor_ms(process), node_ms());
    let measured = run(stage, &signer.scheduler, Kind::Signer, &load).await;
    signed.processor_ms += usage::processor_ms(process) - begun.0;
    signed.node_ms += node_ms() - begun.1;
    signed.requests += measured.requests();
    signed.rates.push(measured.rate());
    signed.latencies = measured.to_string();
    signed.peak_mib = signed.peak_mib.max(usage::peak_mib(process));
    signed.raw = measured.raw;
    drop(signer);
    stage.revert(&before).await;
}

/// How often a request asks for memory, on average; in a turn of its own, because counting costs time.
async fn allocations(stage: &Stage, load: Load, program: Option<&Path>) -> Option<f64> {
    let counter = Allocations::counter()?;
    let before = stage.snapshot().await;
    let mut installation = stage.installation(program);
    for (name, value) in counter.environment() {
        installation = installation.env(name, &value.to_string_lossy());
    }
    let signer = Running::on(installation).await;
    let some = Load { count: 40.max(load.callers), ..load };
    let warm = Load { first_period: 1_000_000, ..some };
    run(stage, &signer.scheduler, Kind::Signer, &warm).await;
    let begun = counter.so_far()?;
    let measured = run(stage, &signer.scheduler, Kind::Signer, &some).await;
    let counted = counter.so_far()?.saturating_sub(begun);
    drop(signer);
    stage.revert(&before).await;
    Some(counted as f64 / measured.requests() as f64).filter(|each| *each >= 1.0)
}

async fn script(stage: &Stage, load: Load) -> Measured {
    let before = stage.snapshot().await;
    let naive = stage.naive();
    let fewer = Load { count: (load.count / 6).max(60), ..load };
    let theirs = run(stage, &naive.scheduler, Kind::Naive, &fewer).await;
    drop(naive);
    stage.revert(&before).await;
    theirs
}

/// The same transactions, straight into the node: how many it takes in a second.
async fn pushed(stage: &Stage, raw: &[String], callers: usize) -> f64 {
    let before = stage.snapshot().await;
    let begun = std::time::Instant::now();
    crate::load::push_raw(stage, raw, callers).await;
    let rate = raw.len() as f64 / begun.elapsed().as_secs_f64();
    stage.revert(&before).await;
    rate
}
