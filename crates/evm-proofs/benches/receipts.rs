//! The time to prove all receipts of a block, from the nodes' text on: a block of Ethereum's main network with 202 of
//! them. Prints figures; judges none. `cargo bench -p evm-proofs`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark may panic, and prints")]

use evm_proofs::answer::{BlockAnswer, ReceiptAnswer};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// The number of times that each part is done.
const TIMES: usize = 201;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/evm");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (block, receipts) = (text("block.json"), text("receipts.json"));
    let read = || -> (BlockAnswer, Vec<ReceiptAnswer>) {
        (serde_json::from_str(&block).unwrap(), serde_json::from_str(&receipts).unwrap())
    };
    let told = read();
    let prove = || told.0.prove_header(None).unwrap().prove_receipts(&told.1).unwrap();
    println!(
        "{} receipts, {} bytes of JSON; the middle of {TIMES} runs",
        told.1.len(),
        receipts.len()
    );
    println!("read  {:?}", median(|| drop(black_box(read()))));
    println!("prove {:?}", median(|| drop(black_box(prove()))));
}

fn median(work: impl Fn()) -> Duration {
    let once = || {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..TIMES).map(|_| once()).collect();
    times.sort_unstable();
    times.into_iter().nth(TIMES / 2).unwrap_or_default()
}
