//! Callers that post as fast as they are answered, and what they measured.

use crate::stage::{Kind, Stage};
use crate::world::signer::Scheduler;
use parking_lot::Mutex;
use serde_json::json;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// So many requests of so many charges, from so many callers at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) size: usize,
    pub(crate) callers: usize,
    pub(crate) count: usize,
    pub(crate) first_period: usize,
}

/// What a load measured.
#[derive(Debug)]
pub(crate) struct Measured {
    took: Duration,
    latencies: Vec<Duration>,
    /// The signed transactions, in the order of the answers.
    pub(crate) raw: Vec<String>,
}

impl Measured {
    /// Requests per second.
    pub(crate) fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.took.as_secs_f64()
    }

    /// How many requests were answered.
    pub(crate) fn requests(&self) -> usize {
        self.latencies.len()
    }

    fn percentile(&self, percent: usize) -> f64 {
        self.latencies[(self.latencies.len() - 1) * percent / 100].as_secs_f64() * 1000.0
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p50, p99) = (self.percentile(50), self.percentile(99));
        write!(f, "{:.0} ({p50:.1}, {p99:.1} ms)", self.rate())
    }
}

/// Sends the load and waits for every answer, which must all be code 1.
pub(crate) async fn run(stage: &Stage, target: &Scheduler, kind: Kind, load: &Load) -> Measured {
    let next = Arc::new(AtomicUsize::new(0));
    let done = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let bodies: Arc<Vec<_>> = Arc::new(
        (0..load.count)
            .map(|n| stage.batch(load.size, load.first_period + n).to_string())
            .collect(),
    );
    let begun = Instant::now();
    let callers: Vec<_> = (0..load.callers)
        .map(|_| {
            let (next, done, bodies) = (Arc::clone(&next), Arc::clone(&done), Arc::clone(&bodies));
            let target = target.clone();
            let caller = async move {
                while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let sent = Instant::now();
                    let heard = target.post(kind.path(), body.as_bytes()).await.expect("an answer");
                    assert_eq!(heard.code(), 1, "{heard:?}");
                    let raw =
                        heard.body["data"]["signedTransactionData"].as_str().map(str::to_owned);
                    let mut done = done.lock();
                    done.0.push(sent.elapsed());
                    done.1.extend(raw);
                }
            };
            #[expect(clippy::disallowed_methods, reason = "callers are tasks of the benchmark")]
            tokio::spawn(caller)
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let took = begun.elapsed();
    let (mut latencies, raw) = std::mem::take(&mut *done.lock());
    latencies.sort();
    Measured { took, latencies, raw }
}

/// The same transactions, pushed straight into the node.
pub(crate) async fn push_raw(stage: &Stage, raw: &[String], callers: usize) {
    let next = Arc::new(AtomicUsize::new(0));
    let raw = Arc::new(raw.to_vec());
    let pushers: Vec<_> = (0..callers)
        .map(|_| {
            let (next, raw, rpc) = (Arc::clone(&next), Arc::clone(&raw), stage.anvil.rpc());
            let pusher = async move {
                while let Some(tx) = raw.get(next.fetch_add(1, Ordering::Relaxed)) {
                    drop::<String>(rpc.call("eth_sendRawTransaction", json!([tx])).await);
                }
            };
            #[expect(clippy::disallowed_methods, reason = "pushers are tasks of the benchmark")]
            tokio::spawn(pusher)
        })
        .collect();
    for pusher in pushers {
        pusher.await.unwrap();
    }
}
