//! The system calls and allocations of one request. A slow machine moves these counts little, but for those of the
//! threads that wake one another. The pages of the journal's log are counted in `crates/journal/tests/it/pages.rs`.

#[path = "../../bench/usage.rs"]
#[expect(
    dead_code,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::float_arithmetic,
    reason = "the benchmark uses the rest of it, and counts in floats"
)]
mod usage;

use crate::world::anvil::{Family, Mining};
use crate::world::town::{Founding, Town};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use usage::{Allocations, SystemCalls};

/// Requests before any is counted: connections are open, and caches warm.
const WARM: usize = 10;

/// The most that a request of so many charges may ask for, on average of so many requests.
struct Bound {
    family: Family,
    charges: usize,
    requests: usize,
    system_calls: u64,
    futex: u64,
    allocations: u64,
}

#[tokio::test]
async fn a_request_of_one_charge_asks_little_of_the_machine_on_evm() {
    let (family, charges, requests) = (Family::Evm, 1, 50);
    Bound { family, charges, requests, system_calls: 85, futex: 20, allocations: 560 }
        .holds()
        .await;
}

#[tokio::test]
async fn a_request_of_one_charge_asks_little_of_the_machine_on_tron() {
    let (family, charges, requests) = (Family::Tron, 1, 50);
    Bound { family, charges, requests, system_calls: 92, futex: 20, allocations: 740 }
        .holds()
        .await;
}

#[tokio::test]
async fn a_request_of_a_hundred_charges_asks_little_of_the_machine() {
    let (family, charges, requests) = (Family::Evm, 100, 3);
    Bound { family, charges, requests, system_calls: 200, futex: 30, allocations: 2_600 }
        .holds()
        .await;
}

impl Bound {
    async fn holds(self) {
        let counter = Allocations::counter().expect("a C compiler");
        let warm = WARM.min(self.requests);
        // The head is looked at so rarely that a request is alone.
        let mut town = Town::with(Founding {
            mining: Mining::OnRequest,
            people: u64::try_from((warm + self.requests) * self.charges).unwrap(),
            chain_keys: "poll_interval = \"60s\"\nmax_in_flight = 100".to_owned(),
            behind: Duration::from_secs(5),
            ..Founding::on(self.family)
        })
        .await;
        town.installation = town.installation.env("SIGNER__LOG__FILTER", "info");
        for (name, value) in counter.environment() {
            town.installation = town.installation.env(name, &value.to_string_lossy());
        }
        let signer = town.signer().await;
        let bill = async |request: usize| {
            let places = request * self.charges..(request + 1) * self.charges;
            let heard = signer.scheduler.bill(&json!(town.entries(places))).await;
            assert_eq!(heard.code(), 1, "{heard:?}");
        };
        for request in 0..warm {
            bill(request).await;
        }
        let Some(calls) = SystemCalls::of(signer.process.id(), "all") else {
            println!("not counted: there is no strace");
            return;
        };
        let before = counter.so_far().expect("allocations are counted");
        for request in warm..warm + self.requests {
            bill(request).await;
        }
        let allocations = counter.so_far().unwrap() - before;
        self.judge(&calls.stop(), allocations);
    }

    fn judge(&self, calls: &BTreeMap<String, u64>, allocations: u64) {
        let requests = u64::try_from(self.requests).unwrap();
        let each = |count: u64| count / requests;
        let called: Vec<_> = calls
            .iter()
            .map(|(name, count)| format!("{name} {}", tenths(*count, requests)))
            .collect();
        println!(
            "a request of {} on {:?}: {} system calls ({}), {} allocations",
            self.charges,
            self.family,
            tenths(calls.values().sum(), requests),
            called.join(", "),
            each(allocations)
        );
        let futex = calls.get("futex").copied().unwrap_or_default();
        let found = [calls.values().sum(), futex, allocations].map(each);
        let most = [self.system_calls, self.futex, self.allocations];
        let over = found.into_iter().zip(most).any(|(found, most)| found > most);
        assert!(!over, "system calls, futex and allocations: {found:?}, at most {most:?}");
    }
}

/// A share, with a tenth.
fn tenths(count: u64, of: u64) -> String {
    format!("{}.{}", count / of, 10 * count / of % 10)
}
