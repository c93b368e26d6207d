//! A TRON chain in this process, behind the doors of a node, and a second door that speaks the dialect
//! of anvil: so contracts are deployed, people enrolled and blocks asked for by the same code on both
//! families.
//!
//! What goes through that second door is the world's own doing: it changes the state without blocks
//! and bills. Everything that the Signer sends goes through the node's own doors, which are strict.

mod dialect;
pub(crate) mod remote;
mod shapes;

use super::anvil::{Anvil, Family, Mining};
use super::contracts::somebody;
use super::patience::unix_ms;
use alloy::primitives::{Address, B256, Bytes, keccak256};
use sandbox_chains::chain::Orphans;
use sandbox_chains::serve::{Ports, Served};
use sandbox_chains::state::State;
use sandbox_chains::tron::ledger::Ledger;
use sandbox_chains::tron::meter::Meter;
use sandbox_chains::tron::tvm::{self, Call, Ending, Outcome};
use sandbox_chains::tron::{Cpu, Tron, TronNode};
use std::time::Duration;

/// How many blocks the solid head is behind.
pub(crate) const LAG: u64 = 2;

/// After so many more blocks a block is irrevocable, wherever the stride of three blocks begins.
const FINAL_AFTER: u64 = LAG + 2;

/// The length of a slot (ms).
pub(crate) const SLOT_MS: u64 = 3000;

/// More energy than any call uses.
const PLENTY: u64 = 10_000_000_000;

/// How long a call may compute (steps): a node that is warm and has little to do.
const STEPS: u64 = 20_000_000;

/// The head is never further ahead of this machine's clock when blocks are made without being asked
/// for (ms), since the Signer believes no node that is a minute ahead.
const AHEAD_MS: u64 = 45_000;

/// A head that is further behind this machine's clock catches up (ms).
const BEHIND_MS: u64 = 35_000;

/// A TRON chain and its node.
#[derive(Debug)]
pub(crate) struct TronWorld {
    pub(crate) node: TronNode,
    pub(crate) served: Served,
}

impl TronWorld {
    /// A chain that began an hour ago and has no block since; and the door that speaks anvil's dialect.
    pub(crate) async fn start() -> (Self, Anvil) {
        let genesis = (unix_ms() / SLOT_MS * SLOT_MS) - 3_600_000;
        let tron = Tron { cpu: Cpu::of(STEPS), ..Tron::default().with_witnesses(1) };
        let node = TronNode::new(tron, genesis, LAG, State::new(Ledger::default()));
        let served = node.serve(Ports::default()).await.unwrap();
        let url = dialect::serve(node.clone()).await;
        let anvil = Anvil::elsewhere(&url, Family::Tron).await;
        (Self { node, served }, anvil)
    }

    /// Makes the first blocks, up to `behind_ms` before now, and blocks from then on as told.
    pub(crate) fn open(&self, mining: Mining, behind_ms: u64) {
        self.node.step();
        catch_up(&self.node, behind_ms);
        self.node.steps(FINAL_AFTER);
        let node = self.node.clone();
        let (every, waits) = match mining {
            Mining::OnRequest => return,
            Mining::EachTransaction => (Duration::from_millis(10), true),
            Mining::EverySeconds(seconds) => (Duration::from_secs(seconds), false),
        };
        self.node.node().run_with(every, move || {
            if behind(&node) > BEHIND_MS {
                catch_up(&node, 10_000);
            } else if !waits || !node.node().chain().pool().is_empty() {
                step_in_time(&node);
            }
        });
    }

    /// Whether a block would bring a transaction nearer to being irrevocable, and is not too far
    /// ahead of this machine's clock.
    pub(crate) fn wants_a_block(&self) -> bool {
        if behind(&self.node) > BEHIND_MS {
            catch_up(&self.node, 10_000);
        }
        let chain = self.node.node().chain();
        let head = &chain.head().header;
        let fresh = (chain.solid().header.number + 1..=head.number).rev();
        let recent = fresh.filter_map(|number| chain.block(number));
        let busy = !chain.pool().is_empty() || recent.into_iter().any(|b| !b.body.is_empty());
        busy && head.time_ms + SLOT_MS <= unix_ms() + AHEAD_MS
    }

    /// Leaves slots empty up to this much before now, if the head is further behind, and makes a few
    /// blocks there.
    pub(crate) fn approach(&self, behind_ms: u64) {
        if behind(&self.node) > behind_ms + SLOT_MS * (FINAL_AFTER + 2) {
            catch_up(&self.node, behind_ms + SLOT_MS * FINAL_AFTER);
            self.node.steps(FINAL_AFTER);
        }
    }

    /// The time of the head (Unix ms).
    pub(crate) fn now_ms(&self) -> u64 {
        self.node.node().chain().head().header.time_ms
    }

    /// Makes blocks until the irrevocable one has this time (Unix ms).
    pub(crate) fn solidify_at(&self, time_ms: u64) {
        let stride = self.node.node().chain().settings().stride;
        self.node.node().chain().set_stride(1);
        while self.node.node().chain().solid().header.time_ms < time_ms {
            self.node.step();
        }
        self.node.node().chain().set_stride(stride);
    }

    /// The same, while the witnesses take nothing of what waits in the pool.
    pub(crate) fn solidify_without_the_pool(&self, time_ms: u64) {
        self.node.configure(|options| options.isolated = true);
        self.solidify_at(time_ms);
        self.node.configure(|options| options.isolated = false);
    }

    /// The transactions of an account: those in blocks, and those in the pool, by id.
    pub(crate) fn transactions_of(&self, owner: Address) -> (Vec<B256>, Vec<B256>) {
        transactions_of(&self.node, owner)
    }

    /// Replaces the newest blocks with empty ones. What becomes of their transactions is said.
    pub(crate) fn reorg(&self, depth: u64, orphans: Orphans) {
        self.node.reorg(depth, orphans);
    }
}

fn behind(node: &TronNode) -> u64 {
    let head = node.node().chain().head().header.time_ms;
    unix_ms().saturating_sub(head)
}

/// Leaves slots empty so that the next block is this much behind now, and makes it.
fn catch_up(node: &TronNode, behind_ms: u64) {
    let gap = behind(node).saturating_sub(behind_ms);
    node.skip((gap / SLOT_MS).saturating_sub(1));
    node.step();
}

fn step_in_time(node: &TronNode) {
    let head = node.node().chain().head().header.time_ms;
    if head + SLOT_MS <= unix_ms() + AHEAD_MS {
        node.step();
    }
}

fn transactions_of(node: &TronNode, owner: Address) -> (Vec<B256>, Vec<B256>) {
    let chain = node.node().chain();
    let blocks = (0..=chain.head().header.number).filter_map(|number| chain.block(number));
    let included = blocks.flat_map(|block| &block.body).map(|included| &included.tx);
    let included = included.filter(|tx| tx.owner() == Some(owner)).map(|tx| tx.id).collect();
    let waiting = chain.pool().iter().filter(|pending| pending.tx.owner() == Some(owner));
    (included, waiting.map(|pending| pending.id).collect())
}

/// What a call would do on the state of the head, without what the pool would do before it.
pub(crate) fn peek(node: &TronNode, from: Address, to: Address, data: Bytes) -> Outcome {
    let chain = node.node().chain();
    let header = chain.head().header.clone();
    let setting = chain.family().setting(&header, header.time_ms, &*chain);
    let call = Call { from, to, value: 0, data, energy: PLENTY, code: None };
    tvm::run(chain.head_state(), &*chain, &setting.scene, &call, Meter::default())
}

/// Deploys creation code at an address of our choice.
fn deploy(node: &TronNode, number: usize, code: &[u8]) -> Address {
    let at = Address::from_word(keccak256(format!("contract {number}")));
    node.deploy_at(at, somebody("deployer"), "contract", code).expect("it deploys");
    at
}

fn succeeded(outcome: &Outcome) -> bool {
    outcome.ending == Ending::Success
}
