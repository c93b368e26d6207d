//! Runs of headers that nodes tell, of which one lies.

#![expect(clippy::arithmetic_side_effects, reason = "a test may panic")]

use super::Seals;
use crate::finality_proof::{By, FinalityProof};
use crate::made_nodes::made::{Chain, Validator, validators};
use crate::made_nodes::{Answers, fleet, told_of};
use crate::progress::{Progress, ProvenFinal};
use crate::witnesses::Need;
use alloy::consensus::Header;
use config::SealsConfig;
use host::clock::Clock;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The validators of the chain, and the most blocks that three of four seal in turns of two.
const VALIDATORS: u64 = 4;
const USUAL: u64 = 5;

/// The time of the chain, milliseconds.
const NOW: Clock = Clock::telling(|| 1_800_001_000_000);

/// A chain that grows, and those who were asked for its headers.
#[derive(Clone)]
struct World {
    chain: Arc<Mutex<Chain>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl World {
    /// The chain begins with an epoch header.
    fn new() -> Self {
        let mut chain = Chain::begin(1_000, validators(0..VALIDATORS));
        chain.turn = 2;
        chain.grow(30);
        Self { chain: Arc::new(Mutex::new(chain)), asked: Arc::default() }
    }

    fn head(&self) -> u64 {
        self.chain.lock().headers.last().unwrap().number
    }

    /// A node that tells the truth.
    fn honest(&self) -> Answers {
        let world = self.clone();
        Arc::new(move |_, asked| {
            world.asked.lock().push(asked.to_owned());
            Some(told_of(&world.chain.lock().headers[1..], asked))
        })
    }

    /// A node that tells of the chain what `lie` makes of it.
    fn liar(&self, lie: impl Fn(&mut Chain, &Validator) + Send + Sync + 'static) -> Answers {
        let world = self.clone();
        let stranger = validators(70..71).remove(0);
        Arc::new(move |method, asked| {
            let mut chain = world.chain.lock().clone();
            if method == "eth_getBlockByNumber" {
                lie(&mut chain, &stranger);
            }
            Some(told_of(&chain.headers[1..], asked))
        })
    }

    async fn seals(&self, nodes: Vec<Answers>, clock: Clock) -> Seals {
        let checkpoint = self.chain.lock().headers[1].hash_slow();
        Seals::of(fleet(nodes).await, &SealsConfig { checkpoint }, 56, clock)
    }

    /// Lets the chain grow, with looks every three seconds, until a newer block is proven. Returns the height that nodes
    /// called final in the first look, the proven block, and how much the chain grew.
    async fn until_proven(&self, seals: &Seals) -> (u64, ProvenFinal, u64) {
        let (first, begun) = (self.head() - 2, self.head());
        loop {
            tokio::time::advance(Duration::from_secs(3)).await;
            if let Ok(Progress::Proven(block)) = seals.go_on(self.head() - 2, Need::Awaited).await {
                return (first, block, self.head() - begun);
            }
            assert!(self.head() - begun < 100, "nothing is proven");
            self.chain.lock().grow(1);
        }
    }
}

/// The block that is proven is the one in question, and of the chain.
fn assert_of_the_chain(world: &World, number: u64, block: &ProvenFinal) {
    assert_eq!(block.block.number, number);
    assert_eq!(block.block.hash, world.chain.lock().at(number).hash_slow());
}

#[tokio::test(start_paused = true)]
async fn a_header_above_the_newest_that_anybody_sealed_stops_no_run() {
    let world = World::new();
    // The liar is asked first. Its header stands on the true newest one.
    let liar = world.liar(Chain::append);
    let seals = world.seals(vec![liar, world.honest(), world.honest()], NOW).await;
    for _ in 0..5 {
        let (first, block, grown) = world.until_proven(&seals).await;
        assert_of_the_chain(&world, first, &block);
        assert!(grown <= USUAL, "{grown} blocks");
    }
}

#[tokio::test(start_paused = true)]
async fn a_branch_of_its_own_holds_a_proof_up_once_and_not_again() {
    let world = World::new();
    let branch = |chain: &mut Chain, stranger: &Validator| {
        // From the block in question on, and always ahead of the chain.
        *chain = chain.fork(1_028);
        for _ in 0..500 {
            if chain.headers.last().unwrap().number < 1_100 {
                chain.append(stranger);
            }
        }
    };
    let seals = world.seals(vec![world.liar(branch), world.honest()], NOW).await;
    let (first, block, grown) = world.until_proven(&seals).await;
    assert_of_the_chain(&world, first, &block);
    assert!((2 * USUAL..3 * USUAL).contains(&grown), "{grown} blocks");
    for _ in 0..5 {
        let (first, block, grown) = world.until_proven(&seals).await;
        assert_of_the_chain(&world, first, &block);
        assert!(grown <= USUAL, "{grown} blocks");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_holds_headers_back_is_passed_over() {
    let world = World::new();
    let held = |chain: &mut Chain, _: &Validator| *chain = chain.fork(1_029);
    let seals = world.seals(vec![world.liar(held), world.honest()], NOW).await;
    let (first, block, _) = world.until_proven(&seals).await;
    assert_of_the_chain(&world, first, &block);
    let (first, block, grown) = world.until_proven(&seals).await;
    assert_of_the_chain(&world, first, &block);
    assert!(grown <= USUAL, "{grown} blocks");
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_header_is_none_is_asked_after_the_others() {
    let world = World::new();
    let liar: Answers = {
        let honest = world.honest();
        let world = world.clone();
        Arc::new(move |method, asked| {
            let mut told = honest(method, asked)?;
            if asked == format!("{:#x}", world.head()) {
                told["miner"] = json!("0x0000000000000000000000000000000000000001");
            }
            Some(told)
        })
    };
    let seals = world.seals(vec![liar, world.honest()], NOW).await;
    for _ in 0..3 {
        let (_, _, grown) = world.until_proven(&seals).await;
        assert!(grown <= USUAL + 1, "{grown} blocks");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_outlives_the_newest_blocks_of_a_branch_that_is_left() {
    let world = World::new();
    let seals = world.seals(vec![world.honest()], NOW).await;
    let number = world.head() - 2;
    tokio::time::advance(Duration::from_secs(3)).await;
    assert!(seals.go_on(number, Need::Awaited).await.is_err());
    {
        let mut chain = world.chain.lock();
        let fork = chain.headers.last().unwrap().number - 1;
        *chain = chain.fork(fork);
        let other = chain.seated[0].clone();
        chain.append(&other);
    }
    let (_, block, grown) = world.until_proven(&seals).await;
    assert_of_the_chain(&world, number, &block);
    assert!(grown <= USUAL, "{grown} blocks");
    let asked = world.asked.lock();
    let begun = asked.iter().filter(|asked| **asked == format!("{number:#x}")).count();
    assert_eq!(begun, 1, "the run was not begun anew");
}

#[tokio::test(start_paused = true)]
async fn an_old_pin_is_told_and_stops_nothing() {
    let (late, world) = (Clock::telling(|| 1_800_800_000_000), World::new());
    for (clock, is_old) in [(NOW, false), (late, true)] {
        let nodes = vec![world.honest()];
        let checkpoint = world.chain.lock().headers[1].hash_slow();
        let fleet = fleet(nodes).await;
        let seals = Seals::of(Arc::clone(&fleet), &SealsConfig { checkpoint }, 56, clock);
        let proof = FinalityProof::of(fleet, By::Seals(Box::new(seals)));
        proof.ask_for_newest(1_010, Need::Awaited).await;
        assert_eq!(proof.newest().number, 1_010);
        assert_eq!(proof.objection(), None);
        let reproach = proof.view().reproach;
        let told = reproach.is_some_and(|said| said.contains("seals.checkpoint is 9 days old"));
        assert_eq!(told, is_old);
    }
}

#[test]
fn a_made_header_is_told_by_number_and_by_hash() {
    let world = World::new();
    let headers: Vec<Header> = world.chain.lock().headers.clone();
    let told = told_of(&headers, "0x3e8");
    assert_eq!(told["number"], "0x3e8");
    assert_eq!(told_of(&headers, told["hash"].as_str().unwrap()), told);
    assert_eq!(told_of(&headers, "0xffff"), Value::Null);
}
