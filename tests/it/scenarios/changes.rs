//! Histories in which the configuration changes at random between kills: the key, what is retired, the
//! contract, the platform's number of the chain, which nodes and how many, how the contract is called and
//! what its events say; now and then the chain's section is gone. Whatever was
//! open ends or is named in readiness, nobody pays twice, and in the end everybody has paid once.
//!
//! `HISTORIES=200` runs so many on each family, from `SEED=` on; without it, a few.

mod setup;

pub(crate) use setup::ANOTHER_CHAIN;

use crate::world::anvil::{Family, Mining};
use crate::world::contracts::{Billing, Merchant};
use crate::world::patience::{Dice, eventually};
use crate::world::proxy::{Act, Proxy, SEND};
use crate::world::signer::{Heard, Signer, unix_seconds};
use crate::world::town::{Founding, Town, signer_address};
use alloy::primitives::U256;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use setup::{Key, SecondNode, Setup};
use std::collections::BTreeSet;
use std::time::Duration;

on_both_families![whatever_is_configured_between_kills_everything_ends_and_nobody_pays_twice];

/// How many histories are tried when nobody says otherwise.
const FEW: u64 = 3;

/// How many run at the same time: each waits most of its time.
const AT_ONCE: usize = 3;

/// How often the process is killed in each.
const KILLS: u32 = 4;

/// What happens between two kills, at most.
const DEEDS: u64 = 7;

const PEOPLE: u64 = 4;

fn number(variable: &str) -> Option<u64> {
    std::env::var_os(variable).and_then(|text| text.to_str()?.parse().ok())
}

async fn whatever_is_configured_between_kills_everything_ends_and_nobody_pays_twice(
    family: Family,
) {
    let first = number("SEED").unwrap_or_else(unix_seconds);
    let histories = number("HISTORIES").unwrap_or(FEW);
    let all = stream::iter((first..first + histories).map(|seed| History::of(family, seed)));
    let told: Vec<Told> = all.buffer_unordered(AT_ONCE).collect().await;
    let sum = |of: fn(&Told) -> usize| told.iter().map(of).sum::<usize>();
    println!(
        "{family:?}: {histories} histories from SEED={first}: {} promises, {} kills, {} changes of the \
         configuration, {} of them refused by name at start",
        sum(|told| told.promised),
        sum(|told| told.kills),
        sum(|told| told.changes),
        sum(|told| told.refused)
    );
}

/// What came of a history.
#[derive(Debug, Default)]
struct Told {
    promised: usize,
    kills: usize,
    changes: usize,
    refused: usize,
}

struct History {
    seed: u64,
    dice: Dice,
    town: Town,
    setup: Setup,
    /// Another way to the node. Nothing is ever wrong with it.
    _second: Proxy,
    /// Every hash that was ever promised.
    promised: BTreeSet<String>,
    told: Told,
}

impl History {
    async fn of(family: Family, seed: u64) -> Told {
        println!("{family:?} SEED={seed}");
        let mut history = Self::begun(family, seed).await;
        let mut signer = history.started().await;
        for _ in 0..KILLS {
            for _ in 0..=history.dice.below(DEEDS) {
                history.something(&signer).await;
            }
            history.kill(signer).await;
            signer = history.restarted().await;
        }
        history.ends(signer).await;
        Told { promised: history.promised.len(), ..history.told }
    }

    async fn begun(family: Family, seed: u64) -> Self {
        let chain_keys = match family {
            Family::Evm => "replace_after = \"1s\"".to_owned(),
            // The head runs ahead of this machine's clock, so that transactions die in good time.
            Family::Tron => "expiry = \"1m\"\nclock_tolerance = \"1d\"".to_owned(),
        };
        let mining = Mining::OnRequest;
        let founding = Founding { mining, people: PEOPLE, chain_keys, ..Founding::on(family) };
        let town = Town::with(founding).await;
        town.anvil.set_automine(true).await;
        let other = Merchant::open(&town.anvil.rpc(), signer_address()).await;
        let second = Key::Second.address();
        town.anvil.fund(&[second]).await;
        let rich = U256::from(1_000_000_000_000_000_000_000_u128);
        town.anvil.call::<Value>("anvil_setBalance", json!([second, rich])).await;
        let allow =
            Billing::setBillerCall { merKey: town.merchant.mer_key, who: second, allowed: true };
        town.merchant.execute(town.merchant.owner, &allow).await;
        town.anvil.set_automine(false).await;
        let (second_node, second) = SecondNode::of(&town).await;
        let setup = Setup::of(&town, other.billing, second_node);
        Setup::put_second_key(&town.installation);
        let (dice, promised, told) = (Dice::new(seed), BTreeSet::new(), Told::default());
        Self { seed, dice, town, setup, _second: second, promised, told }
    }

    async fn something(&mut self, signer: &Signer) {
        match self.dice.below(10) {
            0..5 => self.bill(signer).await,
            5..7 => self.town.anvil.mine(1 + self.dice.below(4)).await,
            7 => {
                self.town.anvil.call::<Value>("anvil_dropAllTransactions", json!([])).await;
            }
            8 => self.town.proxy.fault(SEND, Act::Refuse("not now")),
            _ => tokio::time::sleep(Duration::from_millis(self.dice.below(300))).await,
        }
    }

    fn some(&mut self) -> Value {
        let some: BTreeSet<usize> =
            (0..2).map(|_| self.dice.place(self.town.people.len())).collect();
        let mut list = self.town.entries(some);
        for entry in &mut list {
            entry["chainId"] = json!(self.setup.number);
        }
        json!({"mode": "partial", "list": list})
    }

    async fn bill(&mut self, signer: &Signer) {
        let body = self.some();
        let heard = signer.scheduler.bill(&body).await;
        self.hear(Some(heard));
    }

    fn hear(&mut self, heard: Option<Heard>) {
        if let Some(heard) = heard.filter(|heard| heard.code() == 1) {
            self.promised.insert(heard.tx_hash());
        }
    }

    /// Kills the process, while a request is on its way as often as not.
    async fn kill(&mut self, signer: Signer) {
        let asked = self.dice.below(2) == 0;
        let (body, after) = (self.some(), Duration::from_millis(self.dice.below(120)));
        let scheduler = signer.scheduler.clone();
        let request = async { if asked { scheduler.try_bill(&body).await } else { None } };
        let killed = async {
            tokio::time::sleep(after).await;
            tokio::task::spawn_blocking(|| signer.kill()).await.unwrap();
        };
        let (heard, ()) = tokio::join!(request, killed);
        self.told.kills += 1;
        self.hear(heard);
    }

    /// A process with another configuration; one that it refuses is refused by name.
    async fn restarted(&mut self) -> Signer {
        self.town.proxy.heal();
        if self.dice.below(4) == 0 {
            self.without_its_section().await;
        }
        for _ in 0..self.dice.below(3) {
            let changed = self.setup.changed(&mut self.dice);
            self.told.changes += 1;
            if changed.number != self.setup.number {
                changed.write(&self.town.installation);
                self.is_refused_for_its_number().await;
                self.rename(changed.number).await;
            }
            self.setup = changed;
        }
        self.setup.write(&self.town.installation);
        self.accept_contract().await;
        let signer = self.started().await;
        self.names_what_is_open(&signer).await;
        signer
    }

    /// A person says that the contract is meant, where it is another one than the last time.
    async fn accept_contract(&self) {
        let number = self.setup.number.to_string();
        let words = ["networks", "accept", &number, "--why", "a history of changes"];
        let accepted = self.town.installation.run(&words).await;
        let told = String::from_utf8_lossy(&accepted.stderr).into_owned();
        let same = told.contains("there is nothing to accept");
        assert!(accepted.status.success() || same, "SEED={}\n{told}", self.seed);
    }

    /// A process that does not know the chain: it names what is open there, or nothing is.
    async fn without_its_section(&mut self) {
        self.setup.write_without_section(&self.town.installation);
        self.told.changes += 1;
        match self.town.installation.try_start().await {
            Err(log) => {
                let named =
                    format!("no [chains.{}] is configured to follow them", self.setup.number);
                assert!(log.contains(&named), "SEED={}\n{log}", self.seed);
                self.told.refused += 1;
            }
            Ok(signer) => {
                for hash in &self.promised {
                    let heard = signer.scheduler.billings(hash).await;
                    let state = &heard.body["data"][0]["state"];
                    assert_ne!(*state, "open", "{hash} has nobody, SEED={}", self.seed);
                }
                drop(signer.kill());
            }
        }
    }

    /// A process that has seen the chain.
    async fn started(&self) -> Signer {
        let signer = self.town.signer().await;
        eventually("it has seen the chain", async || {
            let ready = signer.scheduler.get("/health/ready").await.body;
            !ready["chains"][0]["head"].is_null()
        })
        .await;
        signer
    }

    /// Where the journal holds anything of the old number, the new one is not started.
    async fn is_refused_for_its_number(&mut self) {
        let started = self.town.installation.try_start().await;
        let log = started.expect_err("the number is another one");
        assert!(log.contains("merchant-signer networks rename"), "SEED={}\n{log}", self.seed);
        self.told.refused += 1;
    }

    async fn rename(&self, to: u32) {
        let (from, to) = (self.setup.number.to_string(), to.to_string());
        let words = ["networks", "rename", &from, &to, "--why", "a history of changes"];
        let renamed = self.town.installation.run(&words).await;
        assert!(renamed.status.success(), "SEED={} {renamed:?}", self.seed);
    }

    /// Every promise that is open is counted among those that are undecided, and found by its hash.
    async fn names_what_is_open(&self, signer: &Signer) {
        let mut open = 0;
        for hash in &self.promised {
            let heard = signer.scheduler.billings(hash).await;
            assert_eq!(heard.code(), 1, "{hash} is forgotten: {heard:?}, SEED={}", self.seed);
            open += usize::from(heard.body["data"][0]["state"] == "open");
        }
        let ready = signer.scheduler.get("/health/ready").await.body;
        let undecided = ready["chains"][0]["undecided"].as_u64().unwrap();
        // Some may have ended since they were asked for, and nothing is sent meanwhile.
        let ended = open.saturating_sub(usize::try_from(undecided).unwrap());
        let mut still = 0;
        for hash in self.promised.iter().filter(|_| ended > 0) {
            let heard = signer.scheduler.billings(hash).await;
            still += usize::from(heard.body["data"][0]["state"] == "open");
        }
        let now = usize::try_from(undecided).unwrap();
        assert!(still <= now, "{still} are open, {now} are named: {ready}, SEED={}", self.seed);
    }

    /// From now on nothing goes wrong: everything ends, and everybody can be billed and pays once.
    async fn ends(&mut self, signer: Signer) {
        drop(signer.kill());
        self.setup = self.setup.settled();
        self.setup.write(&self.town.installation);
        self.accept_contract().await;
        let signer = self.town.signer().await;
        self.quiet(&signer).await;
        let mut charged = BTreeSet::new();
        for hash in &self.promised {
            let billing = signer.scheduler.billings(hash).await.body["data"][0].clone();
            for line in billing["subscriptions"].as_array().unwrap() {
                if line["state"] == "charged" {
                    charged.insert(line["subscribeId"].as_u64().unwrap());
                }
            }
        }
        for who in &self.town.people {
            let (paid, told) = (self.town.payments(who).await, charged.contains(&who.subscribe_id));
            assert!(paid <= 1, "{} paid {paid} times, SEED={}", who.subscribe_id, self.seed);
            assert!(paid == 1 || !told, "{} was told of, SEED={}", who.subscribe_id, self.seed);
        }
        for place in 0..self.town.people.len() {
            let mut list = self.town.entries([place]);
            list[0]["chainId"] = json!(self.setup.number);
            let said = format!("{place} can be billed, SEED={}", self.seed);
            // A busy machine's node may take too long for one of them.
            eventually(&said, async || signer.scheduler.bill(&json!(list)).await.code() == 1).await;
        }
        self.quiet(&signer).await;
        self.town.assert_paid(&vec![1; self.town.people.len()]).await;
        signer.terminate().await;
        let audit = self.town.installation.run(&["audit"]).await;
        assert!(audit.status.success(), "SEED={} {audit:?}", self.seed);
    }

    /// Makes blocks until nothing is undecided and the lane takes new work.
    async fn quiet(&self, signer: &Signer) {
        for _ in 0..1200 {
            let ready = signer.scheduler.get("/health/ready").await;
            if ready.status == 200 && ready.body["chains"][0]["undecided"] == 0 {
                return;
            }
            self.town.anvil.mine(1).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let ready = signer.scheduler.get("/health/ready").await.body;
        panic!("something never ends: {ready}, SEED={}\n{}", self.seed, signer.log());
    }
}
