//! The same counts on TRON: the reference contract, a node in this process, and a proxy before its
//! three doors that counts.

use crate::print_counts;
use crate::stage::Reads;
use crate::usage::SystemCalls;
use crate::world::anvil::{Family, Mining};
use crate::world::proxy::{Asked, sequential_round_trips};
use crate::world::town::{Founding, Town};
use serde_json::json;
use std::time::Duration;

/// How many requests of a size are counted.
const ROUNDS: usize = 10;

/// Round trips and fsyncs of single requests, with the head's figures already known.
pub(crate) async fn counts() {
    println!("the same on TRON:");
    for reads in [Reads::Together, Reads::Apart] {
        for size in [1, 10, 50] {
            row(size, reads).await;
        }
    }
}

async fn row(size: usize, reads: Reads) {
    let mut town = Town::with(Founding {
        family: Family::Tron,
        mining: Mining::OnRequest,
        people: u64::try_from(size * (ROUNDS + 1)).unwrap(),
        multicall: reads == Reads::Together,
        chain_keys: "poll_interval = \"60s\"".to_owned(),
        behind: Duration::from_secs(5),
        ..Founding::default()
    })
    .await;
    town.installation = town.installation.env("SIGNER__LOG__FILTER", "info");
    let signer = town.signer().await;
    let bill = async |round: usize| {
        let list = town.entries(round * size..(round + 1) * size);
        assert_eq!(signer.scheduler.bill(&json!(list)).await.code(), 1);
    };
    // The first request opens connections and warms caches.
    bill(0).await;
    let fsyncs = SystemCalls::of(signer.process.id(), "fsync,fdatasync");
    let mut fewest: Option<Vec<Asked>> = None;
    for round in 1..=ROUNDS {
        town.proxy.take_asked();
        bill(round).await;
        let asked = town.proxy.take_asked();
        let trips = sequential_round_trips(&asked);
        if fewest.as_ref().is_none_or(|seen| trips < sequential_round_trips(seen)) {
            fewest = Some(asked);
        }
    }
    print_counts(size, reads, 1, &fewest.unwrap_or_default(), fsyncs, ROUNDS);
}
