//! The time to begin at a block, to step to the next committee and to prove a final block, from the answers' text on.
//! The answers are made here. Prints figures; judges none. `cargo bench -p beacon`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    reason = "a benchmark may panic, and prints"
)]
#![expect(dead_code, reason = "the tests use more of the answers")]

#[path = "../tests/it/made.rs"]
mod made;

use beacon::answer::{Answer, Bootstrap, FinalityUpdate, Update};
use beacon::client::LightClient;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The number of times that each part is done.
const TIMES: usize = 51;

fn main() {
    let (pinned, start) = made::bootstrap(3 * made::PERIOD + 32);
    let claim = made::Claim::at(3, 320);
    let [start, update, finality] =
        [start, claim.update(), claim.finality()].map(|told| told.to_string());
    let read_start = || serde_json::from_str::<Answer<Bootstrap>>(&start).unwrap();
    let read_update = || serde_json::from_str::<Answer<Update>>(&update).unwrap();
    let read_finality = || serde_json::from_str::<Answer<FinalityUpdate>>(&finality).unwrap();
    let begin = || LightClient::begin(made::network(), pinned, &read_start()).unwrap();
    let client = begin();
    let advance = || client.clone().advance(&read_update()).unwrap();
    let finalize = || client.clone().finalized(&read_finality()).unwrap();
    println!("the middle of {TIMES} runs, with reading the JSON");
    println!("begin      {:?}, {} bytes", median(begin), start.len());
    println!("advance    {:?}, {} bytes", median(advance), update.len());
    println!("finalized  {:?}, {} bytes", median(finalize), finality.len());
}

fn median<T>(work: impl Fn() -> T) -> Duration {
    let once = || {
        let begun = Instant::now();
        black_box(work());
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..TIMES).map(|_| once()).collect();
    times.sort_unstable();
    times.into_iter().nth(TIMES / 2).unwrap_or_default()
}
