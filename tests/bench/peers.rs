//! Charges posted to the Signer that serves, and to one that stands by and passes them on, in turns: on one journal
//! on a server, of two Signers that know where each listens (`journal.peers`, over loopback and without TLS).

use crate::load::{Load, Measured, run};
use crate::stage::{Kind, Running, Stage};
use crate::usage;
use crate::world::patience::eventually;
use crate::world::signer::database::asked_for;
use crate::world::signer::{Installation, Signer};
use std::net::TcpListener;

/// How often each has its turn.
const ROUNDS: usize = 3;

/// What was measured of requests that went in at one of the two.
#[derive(Default)]
struct Turns {
    all: Option<Measured>,
    /// Processor time, ms: of the one that serves, and of the one that stands by.
    processor_ms: [f64; 2],
}

pub(crate) async fn straight_and_passed_on() {
    assert!(asked_for(), "SIGNER_TEST_JOURNAL=server tests/postgres.sh cargo bench …");
    println!(
        "{:>6} {:>8} {:>10}  {:>26} {:>30}",
        "batch", "callers", "posted to", "req/s (p50, p99)", "processor ms (of the standby)"
    );
    for (size, callers, count) in [(1, 1, 200), (1, 16, 600), (100, 1, 40), (100, 16, 80)] {
        let stage = Stage::set(size * (callers + 4), "").await;
        let [one, other] = machines(&stage);
        let first = Running::on(one).await;
        let second = other.start().await;
        stands_by(&second).await;
        let ids = [first.process.id(), second.process.id()];
        let doors = [("it", &first.scheduler), ("a standby", &second.scheduler)];
        let mut turns = [Turns::default(), Turns::default()];
        let mut first_period = 1;
        let mut load = |count| {
            let load = Load { size, callers, count, first_period };
            first_period += count;
            load
        };
        for (_, door) in doors {
            run(&stage, door, Kind::Signer, &load(callers.max(4))).await;
        }
        for _ in 0..ROUNDS {
            for ((_, door), turns) in doors.into_iter().zip(&mut turns) {
                let begun = ids.map(usage::processor_ms);
                let measured = run(&stage, door, Kind::Signer, &load(count)).await;
                turns.take(measured, [0, 1].map(|at| usage::processor_ms(ids[at]) - begun[at]));
            }
        }
        for ((place, _), turns) in doors.into_iter().zip(&turns) {
            let Turns { all: Some(all), processor_ms: [serves, stands_by] } = turns else {
                continue;
            };
            let each = |ms: &f64| ms / all.requests() as f64;
            let processor = format!("{:.2} ({:.2})", each(serves), each(stands_by));
            println!("{size:>6} {callers:>8} {place:>10}  {:>26} {processor:>30}", all.to_string());
        }
    }
}

impl Turns {
    fn take(&mut self, measured: Measured, processor_ms: [f64; 2]) {
        for (sum, ms) in self.processor_ms.iter_mut().zip(processor_ms) {
            *sum += ms;
        }
        match &mut self.all {
            Some(all) => all.take(measured),
            None => self.all = Some(measured),
        }
    }
}

/// Two machines on a journal of the stage, which know where each listens.
fn machines(stage: &Stage) -> [Installation; 2] {
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let [first, second] = [free(), free()];
    let here = stage
        .installation(None)
        .env("SIGNER__JOURNAL__INSTANCE", "first")
        .env("SIGNER__JOURNAL__PEERS__FIRST", &format!("http://{first}"))
        .env("SIGNER__JOURNAL__PEERS__SECOND", &format!("http://{second}"));
    let there = here.beside("second").env("SIGNER__HTTP__LISTEN", &second);
    [here.env("SIGNER__HTTP__LISTEN", &first), there]
}

async fn stands_by(signer: &Signer) {
    eventually("it knows who serves", async || {
        signer.scheduler.get("/health/ready").await.text.contains("standing by: first (")
    })
    .await;
}
