//! What happens on TRON alone: transactions that expire, a node that says one thing and does another,
//! and two heads. In every scenario nobody pays twice, nothing stays claimed, and nobody is told that
//! a transaction is dead which could still land.

mod cpu;
mod death;
mod delivery;
mod doors;
mod money;
mod nodes;
mod permissions;
mod proofs;
mod random;
mod renewed;
mod reopened;
mod restored;
mod room;
mod sightings;
mod spellings;

pub(super) use proofs::{elect, numbered};

use crate::world::anvil::{Family, Mining};
use crate::world::patience::{ASKED_AT_MOST, eventually, unix_ms};
use crate::world::signer::{Heard, Signer};
use crate::world::town::{Founding, Town, signer_address};
use crate::world::tron::TronWorld;
use alloy::primitives::B256;
use sandbox_chains::tron::TronNode;
use sandbox_chains::tron::tx::{Action, Tx};
use serde_json::{Value, json};
use std::time::Duration;

/// How far the head is behind this machine's clock when a scenario begins (ms). With transactions that
/// live for a minute, one dies and is renewed before the head is a minute ahead.
const BEHIND_MS: u64 = 40_000;

/// A town whose chain makes a block only when told to, and a Signer at work in it.
struct Scene {
    town: Town,
    signer: Signer,
}

impl Scene {
    async fn set(people: u64) -> Self {
        Self::with(people, "").await
    }

    /// With more keys of the chain.
    async fn with(people: u64, keys: &str) -> Self {
        Self::in_town(founded(people, keys).await).await
    }

    async fn in_town(town: Town) -> Self {
        Self::behind(town, BEHIND_MS).await
    }

    /// With a head that is this much behind this machine's clock (ms).
    async fn behind(town: Town, behind_ms: u64) -> Self {
        let signer = town.signer().await;
        town.tron().approach(behind_ms);
        town.noticed().await;
        Self { town, signer }
    }

    fn world(&self) -> &TronWorld {
        self.town.tron()
    }

    fn node(&self) -> &TronNode {
        &self.world().node
    }

    async fn post(&self, place: usize) -> Heard {
        self.signer.scheduler.bill(&json!(self.town.entries([place]))).await
    }

    /// Bills one, who must be charged sooner or later.
    async fn bill(&self, place: usize) -> String {
        self.post(place).await.tx_hash()
    }

    async fn billing(&self, hash: &str) -> Value {
        self.signer.scheduler.billings(hash).await.body["data"][0].clone()
    }

    async fn state(&self, hash: &str) -> String {
        self.billing(hash).await["state"].as_str().unwrap().to_owned()
    }

    /// Waits until the Signer says so of a billing.
    async fn becomes(&self, hash: &str, state: &str) {
        for _ in 0..ASKED_AT_MOST {
            if self.state(hash).await == state {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        let (told, log) = (self.billing(hash).await, self.signer.log());
        panic!("it never became {state}: {told}; {log}");
    }

    /// Waits until the Signer has looked, and is still of this opinion.
    async fn stays(&self, hash: &str, state: &str) {
        self.town.noticed().await;
        assert_eq!(self.state(hash).await, state, "{}", self.signer.log());
    }

    /// Waits until the node holds the transaction in its pool.
    async fn pooled(&self, hash: &str) -> Tx {
        let id: B256 = hash.parse().unwrap();
        let find = || self.node().node().chain().pool().get(&id).map(|waits| waits.tx.clone());
        eventually("the transaction waits in the pool", async || find().is_some()).await;
        find().unwrap()
    }

    /// Waits until a billing has so many transactions, and tells the newest.
    async fn attempt(&self, hash: &str, count: usize) -> String {
        eventually("another transaction is signed", async || {
            self.billing(hash).await["txHashes"].as_array().unwrap().len() == count
        })
        .await;
        self.billing(hash).await["txHash"].as_str().unwrap().to_owned()
    }

    /// Makes blocks until the chain has decided, and tells how.
    async fn settled(&self, hash: &str) -> String {
        let billing = self.town.settled(&self.signer, hash).await;
        billing["state"].as_str().unwrap().to_owned()
    }

    /// A new process on the same directory, after the old one was killed.
    async fn killed(self) -> Self {
        let Self { town, signer } = self;
        signer.kill();
        let signer = town.signer().await;
        Self { town, signer }
    }

    /// Nothing is undecided, these paid so often, and those who did not can be asked again and pay.
    async fn ends_with(&self, paid: &[u128]) {
        self.town.quiet(&self.signer).await;
        self.town.assert_paid(paid).await;
        let charges = self.town.charges().await;
        let mut once = charges.clone();
        once.dedup();
        assert_eq!(charges, once, "nobody is charged twice for a period");
        let free: Vec<usize> = (0..paid.len()).filter(|place| paid[*place] == 0).collect();
        if !free.is_empty() {
            self.world().approach(BEHIND_MS);
            self.town.noticed().await;
            let list = self.town.entries(free);
            let heard = self.signer.scheduler.bill(&json!(list)).await;
            assert_eq!(self.settled(&heard.tx_hash()).await, "charged");
            self.town.assert_paid(&vec![1; paid.len()]).await;
        }
    }

    /// How many transactions of the account are in blocks.
    fn landed(&self) -> usize {
        self.world().transactions_of(signer_address()).0.len()
    }
}

async fn founded(people: u64, keys: &str) -> Town {
    let chain_keys = format!("expiry = \"1m\"\nrpc_timeout = \"4s\"\n{keys}");
    let behind = Duration::from_mins(10);
    let mining = Mining::OnRequest;
    Town::with(Founding { mining, people, chain_keys, behind, ..Founding::on(Family::Tron) }).await
}

/// When a transaction expires (Unix ms).
fn expiry(tx: &Tx) -> u64 {
    tx.raw().expiration.try_into().unwrap()
}

/// The deadline in the calldata of a billing (Unix seconds): the third argument.
fn deadline(tx: &Tx) -> u64 {
    let Action::Trigger(call) = &tx.action else { panic!("{tx:?}") };
    u64::from_be_bytes(call.data[4 + 88..4 + 96].try_into().unwrap())
}
