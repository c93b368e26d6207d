//! Keys in the Signer's own process, then in one of their own: what each request costs more, what is held, and
//! how long a start takes.

use crate::load::{Load, run};
use crate::stage::{Kind, Running, Stage};
use crate::usage;
use std::time::{Duration, Instant};

/// How often each has its turn.
const ROUNDS: usize = 3;

/// What turns of one kind did.
#[derive(Default)]
struct Turns {
    rates: Vec<f64>,
    last: String,
    ours: f64,
    theirs: f64,
    requests: f64,
    resident: [f64; 2],
    starts: Vec<Duration>,
}

pub(crate) async fn beside_one_process() {
    println!("keys in the Signer's own process, then apart:");
    println!(
        "{:>6} {:>8} {:>7}  {:>10} {:>24} {:>22} {:>16} {:>9}",
        "batch",
        "callers",
        "keys",
        "req/s",
        "last (p50, p99)",
        "processor ms (apart)",
        "MiB (apart)",
        "start ms"
    );
    for (size, callers, count) in
        [(1, 1, 400), (1, 16, 1_600), (1, 64, 3_200), (100, 1, 150), (100, 16, 400)]
    {
        let stage = Stage::set(size * (callers + 4), "").await;
        let load = Load { size, callers, count, first_period: 1 };
        let mut all = [("here", Turns::default()), ("apart", Turns::default())];
        for _ in 0..ROUNDS {
            for (place, turns) in &mut all {
                turn(&stage, load, *place == "apart", turns).await;
            }
        }
        for (place, turns) in &all {
            let rate = turns.rates.iter().sum::<f64>() / turns.rates.len() as f64;
            let of_processor = format!(
                "{:.2} ({:.2})",
                turns.ours / turns.requests,
                turns.theirs / turns.requests
            );
            let held = format!("{:.1} ({:.1})", turns.resident[0], turns.resident[1]);
            let start = turns.starts.iter().min().map_or(0.0, |took| took.as_secs_f64() * 1000.0);
            println!(
                "{size:>6} {callers:>8} {place:>7}  {rate:>10.0} {:>24} {of_processor:>22} {held:>16} {start:>9.0}",
                turns.last
            );
        }
    }
}

async fn turn(stage: &Stage, load: Load, apart: bool, turns: &mut Turns) {
    let before = stage.snapshot().await;
    let split = if apart { "true" } else { "false" };
    let installation = stage.installation(None).env("SIGNER__KEYS__SPLIT", split);
    let begun = Instant::now();
    let signer = Running::on(installation).await;
    turns.starts.push(begun.elapsed());
    let (ours, theirs) = (signer.process.id(), usage::child_of(signer.process.id()));
    assert_eq!(theirs.is_some(), apart);
    let warm = Load { count: load.callers.max(4), first_period: 1_000_000, ..load };
    run(stage, &signer.scheduler, Kind::Signer, &warm).await;
    let used = || [Some(ours), theirs].map(|id| id.map_or(0.0, usage::processor_ms));
    let begun = used();
    let measured = run(stage, &signer.scheduler, Kind::Signer, &load).await;
    let ended = used();
    turns.ours += ended[0] - begun[0];
    turns.theirs += ended[1] - begun[1];
    turns.requests += measured.requests() as f64;
    turns.rates.push(measured.rate());
    turns.last = measured.to_string();
    turns.resident = [Some(ours), theirs].map(|id| id.map_or(0.0, usage::resident_mib));
    drop(signer);
    stage.revert(&before).await;
}
