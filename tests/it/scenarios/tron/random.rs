//! Whatever happens, in whatever order: blocks, empty slots, reorganisations, lost transactions,
//! expiry, lost answers and restarts. At most one transaction per charge lands, and every charge ends
//! final or released.
//!
//! The Signer's own engine and adapter run in this process, on a clock that is the chain's, so that
//! transactions may live for seconds. `SEED=` repeats a run, `SEEDS=` makes it longer.

mod service;

use super::*;
use crate::world::patience::Dice;
use crate::world::signer::unix_seconds;
use sandbox_chains::chain::Orphans;
use sandbox_chains::faults::{Fault, On};
use service::Service;
use std::collections::BTreeSet;

/// How many worlds are tried when nobody says otherwise.
const SEEDS: u64 = 5;

/// What happens in each.
const DEEDS: u32 = 60;

const PEOPLE: u64 = 6;

/// So many looks are waited for at most.
const PATIENCE: u32 = 600;

fn number(variable: &str) -> Option<u64> {
    std::env::var_os(variable).and_then(|text| text.to_str()?.parse().ok())
}

#[tokio::test]
async fn in_any_order_of_events_nobody_pays_twice_and_every_charge_ends() {
    let first = number("SEED").unwrap_or_else(unix_seconds);
    let seeds = number("SEEDS").unwrap_or(if number("SEED").is_some() { 1 } else { SEEDS });
    for seed in first..first + seeds {
        let told = Ordeal::of(seed).await;
        println!("SEED={seed} {told}");
    }
}

struct Ordeal {
    seed: u64,
    dice: Dice,
    town: Town,
    service: Option<Service>,
    /// Every hash that was ever promised.
    promised: BTreeSet<B256>,
}

impl Ordeal {
    async fn of(seed: u64) -> String {
        println!("SEED={seed}");
        let town = founded(PEOPLE, "").await;
        let mut dice = Dice::new(seed);
        town.tron().node.node().chain().set_lag(1 + dice.below(5));
        // As on a real chain, several blocks become irrevocable at once.
        town.tron().node.node().chain().set_stride(1 + dice.below(3));
        let service = Some(Service::start(&town).await);
        let mut ordeal = Self { seed, dice, town, service, promised: BTreeSet::new() };
        for _ in 0..DEEDS {
            ordeal.something().await;
        }
        ordeal.peace().await;
        let (landed, renewed) = ordeal.reckoning().await;
        ordeal.everybody_pays().await;
        let promised = ordeal.promised.len();
        format!("{promised} promises, {landed} landed, {renewed} after another had died")
    }

    fn node(&self) -> &TronNode {
        &self.town.tron().node
    }

    fn service(&self) -> &Service {
        self.service.as_ref().expect("the service runs")
    }

    async fn something(&mut self) {
        match self.dice.below(20) {
            0..4 => self.bill().await,
            4..8 => self.service().look().await,
            8..11 => {
                let blocks = 1 + self.dice.below(3);
                self.node().steps(blocks);
            }
            11 => {
                let slots = 1 + self.dice.below(5);
                self.node().skip(slots);
                self.node().step();
            }
            12 => {
                let orphans = [Orphans::Lose, Orphans::Return][self.dice.place(2)];
                let depth = 1 + self.dice.below(4);
                self.node().reorg(depth, orphans);
            }
            13..15 => self.node().node().chain().pool_mut().clear(),
            15..17 => {
                for _ in 0..=self.dice.below(6) {
                    let fault = self.mishap();
                    self.node().faults().add(On::Broadcast, fault);
                }
            }
            17 => {
                let fault = [Fault::Reset, Fault::NoInfo, Fault::Lag(2), Fault::RateLimit];
                let fault = fault[self.dice.place(4)].clone();
                self.node().faults().add(On::Read, fault);
            }
            18 => self.node().restart(),
            _ => self.restart().await,
        }
    }

    fn mishap(&mut self) -> Fault {
        let mishaps = [
            Fault::ActThenHang,
            Fault::ActThenReset,
            Fault::Reset,
            Fault::ActTwice,
            Fault::ActThenDrop,
            Fault::ActThenTruncate,
            Fault::PoolButNotRelay,
            Fault::refuse("SERVER_BUSY", "Server busy."),
            Fault::refuse("TRANSACTION_EXPIRATION_ERROR", "Transaction expired"),
            Fault::refuse("DUP_TRANSACTION_ERROR", "Dup transaction."),
            Fault::refuse("SIGERROR", "Validate signature error"),
        ];
        mishaps[self.dice.place(mishaps.len())].clone()
    }

    async fn bill(&mut self) {
        let some: BTreeSet<usize> =
            (0..3).map(|_| self.dice.place(self.town.people.len())).collect();
        let list = self.town.entries(some);
        let hash = self.service().bill(&list).await;
        self.promised.extend(hash.ok());
    }

    async fn restart(&mut self) {
        self.service.take().expect("the service runs").stop().await;
        self.service = Some(Service::start(&self.town).await);
    }

    /// From now on nothing goes wrong, until the chain has decided everything.
    async fn peace(&mut self) {
        self.node().faults().clear();
        for _ in 0..PATIENCE {
            self.service().look().await;
            if self.service().undecided() == 0 {
                return;
            }
            self.pass().await;
        }
        panic!("some batch never ends: {}, SEED={}", self.service().plight(), self.seed);
    }

    /// Some time passes: a block, unless the service leaves the server alone for a second, as it was told to.
    async fn pass(&self) {
        if self.service().is_shut_out() {
            tokio::time::sleep(Duration::from_millis(25)).await;
        } else {
            self.node().step();
        }
    }

    /// Compares what was told with what happened. Tells how many batches landed, and how
    /// many of them not with their first transaction.
    async fn reckoning(&self) -> (usize, usize) {
        let mut charged = BTreeSet::new();
        let (mut landed, mut renewed) = (0, 0);
        for hash in &self.promised {
            let billing = self.service().billing(*hash).await;
            assert_ne!(billing.state, "open", "SEED={}", self.seed);
            let succeeded = billing.attempts.iter().filter(|id| self.succeeded(id)).count();
            assert!(succeeded <= 1, "two transactions of one batch landed, SEED={}", self.seed);
            assert_eq!(succeeded == 1, billing.state == "charged", "SEED={}", self.seed);
            landed += succeeded;
            renewed += usize::from(succeeded == 1 && billing.attempts.len() > 1);
            charged.extend(billing.charged);
        }
        for who in &self.town.people {
            let paid = self.town.payments(who).await;
            let told = u128::from(charged.contains(&i64::try_from(who.subscribe_id).unwrap()));
            assert_eq!(paid, told, "{} paid {paid}, SEED={}", who.subscribe_id, self.seed);
        }
        (landed, renewed)
    }

    fn succeeded(&self, id: &B256) -> bool {
        let place = self.node().node().chain().find(id);
        place.is_some_and(|place| place.included().receipt.succeeded())
    }

    /// Nothing stays claimed: who has not paid yet can be billed, and pays once.
    async fn everybody_pays(&mut self) {
        for place in 0..self.town.people.len() {
            let list = self.town.entries([place]);
            let mut told = self.service().bill(&list).await;
            // A lane whose last process was killed may have to learn first.
            for _ in 0..PATIENCE {
                if told.is_ok() {
                    break;
                }
                self.pass().await;
                self.service().look().await;
                told = self.service().bill(&list).await;
            }
            assert!(told.is_ok(), "{place} cannot be billed: {told:?}, SEED={}", self.seed);
        }
        self.peace().await;
        self.town.assert_paid(&vec![1; self.town.people.len()]).await;
        self.service.take().expect("the service runs").stop().await;
    }
}
