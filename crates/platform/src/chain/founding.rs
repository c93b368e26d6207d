//! The beginning of the two chains: contracts, a merchant with two admins, plans, subscribers and test wallets, or
//! the stored state.

use super::Chain;
use super::evm::EvmChain;
use super::tron::TronChain;
use crate::contracts::Token;
use alloy::primitives::{Address, U256};
use alloy::signers::local::PrivateKeySigner;
use parking_lot::RwLock;
use sandbox_chains::chain::{Chain as Blocks, Header, Settings};
use sandbox_chains::evm::Evm;
use sandbox_chains::node::Node;
use sandbox_chains::state::State;
use sandbox_chains::town::{Call, Founding, Ground, PLAN, Town, wallet};
use sandbox_chains::tron::ledger::Ledger;
use sandbox_chains::tron::{Tron, TronNode};
use std::sync::Arc;

/// Number of blocks that the solid head is behind, on both chains.
const LAG: u64 = 2;
/// Time before now at which the Ethereum chain begins (ms). Founding a town takes fewer blocks.
const EVM_HISTORY_MS: u64 = 120_000;
/// The same of the TRON chain.
const TRON_HISTORY_MS: u64 = 360_000;
/// The number before that of the first subscription on Ethereum.
const EVM_IDS: u64 = PLAN * 1_000_000;
/// The number before that of the first subscription on TRON, so that no number is used on both chains.
const TRON_IDS: u64 = 7_500_000;
/// The distance between the first numbers of one seed and of the next: more than a sandbox ever gives.
const SEED_IDS: u64 = 10_000_000_000;
/// Coins of an account of the sandbox (wei): a million ether.
const ETHER: u128 = 1_000_000_000_000_000_000_000_000;
/// Coins of an account of the sandbox (sun): a hundred million TRX.
const TRX: u64 = 100_000_000_000_000;

/// The names of the built-in test wallets.
pub(crate) const TESTERS: [&str; 6] = ["ada", "ben", "cleo", "dan", "eve", "finn"];
/// The two admin accounts, with the names of their wallets.
pub(crate) const ADMINS: [(&str, &str); 2] = [("alice", "first admin"), ("bob", "second admin")];

/// The settings that the chains begin with.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Number of subscribers from the start, on each chain.
    pub people: u64,
    /// The number of the one of them with a free month, from 1; 0 if nobody has.
    pub trial: u64,
    /// Sandboxes with other seeds give other numbers to subscriptions.
    pub seed: u64,
    /// When the newest block of the founding is made (ms since the epoch).
    pub now_ms: u64,
    /// When the chains begin, if they are to be made again from what is stored: Ethereum's genesis and TRON's (ms).
    pub stored: Option<[u64; 2]>,
}

/// A chain with what is settled on it.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The chain.
    pub chain: Arc<dyn Chain>,
    /// Contracts, prices and the first subscribers.
    pub town: Town,
    /// Decimals of the token.
    pub decimals: u8,
}

/// Both nodes themselves, for their HTTP faces and for tests.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// The Ethereum node.
    pub evm: Node<Evm>,
    /// True if the Ethereum node is down.
    pub(crate) evm_down: Arc<RwLock<bool>>,
    /// The TRON node.
    pub tron: TronNode,
}

/// The wallet of a built-in tester.
pub(crate) fn tester(name: &str) -> PrivateKeySigner {
    wallet(&format!("tester {name}"))
}

/// Founds both chains, or begins them as they began when they were stored.
pub(crate) fn found(setup: Setup) -> (Nodes, [Settlement; 2]) {
    let (evm_node, evm, evm_town) = found_evm(setup);
    let (tron_node, tron, tron_town) = found_tron(setup);
    let nodes = Nodes { evm: evm_node, evm_down: Arc::clone(&evm.down), tron: tron_node };
    let evm = Settlement { chain: Arc::new(evm), town: evm_town, decimals: 18 };
    let tron = Settlement { chain: Arc::new(tron), town: tron_town, decimals: 6 };
    (nodes, [evm, tron])
}

fn founding(setup: Setup, decimals: u8) -> Founding {
    let price = 10 * 10_u128.pow(u32::from(decimals));
    let (people, trial) = (setup.people, setup.trial);
    Founding { biller: wallet("biller").address(), decimals, price, people, trial }
}

fn found_evm(setup: Setup) -> (Node<Evm>, EvmChain, Town) {
    let began = setup.stored.map_or(setup.now_ms - EVM_HISTORY_MS, |[evm, _]| evm);
    let settings = Settings { slot_ms: 1000, lag: LAG, safe: 1, ..Settings::default() };
    let genesis =
        Header { time_ms: began, gas_limit: 30_000_000, price: 1_000_000_000, ..Header::default() };
    let node = Node::new(Blocks::new(Evm::default(), settings, genesis, State::new(())));
    let rich = rich(setup.people);
    node.chain().edit_all(|state| {
        for who in &rich {
            state.account_mut(*who).balance += U256::from(ETHER);
        }
    });
    let town = Town::found_numbered(&node, founding(setup, 18), EVM_IDS + setup.seed * SEED_IDS);
    enrich(&node, &town);
    node.solidify();
    (node.clone(), EvmChain::new(node), town)
}

fn found_tron(setup: Setup) -> (TronNode, TronChain, Town) {
    let began = setup.stored.map_or(setup.now_ms - TRON_HISTORY_MS, |[_, tron]| tron);
    let node = TronNode::new(Tron::default(), began, LAG, State::new(Ledger::default()));
    let town = Town::found_numbered(&node, founding(setup, 6), TRON_IDS + setup.seed * SEED_IDS);
    for who in rich(setup.people) {
        node.fund(who, TRX);
    }
    enrich(&node, &town);
    node.solidify();
    (node.clone(), TronChain::new(node), town)
}

/// Gives the test wallets tokens for a hundred months.
fn enrich(ground: &dyn Ground, town: &Town) {
    let value = U256::from(town.price) * U256::from(100);
    let mint = |name| {
        let who = tester(name);
        Call::new(&who, town.token, &Token::mintCall { to: who.address(), value })
    };
    ground.execute(TESTERS.map(mint).to_vec());
}

/// Everybody who has coins from the first block on.
fn rich(people: u64) -> Vec<Address> {
    let staff = ["merchant", "owner", "issuer", "payee", "biller", "first admin", "second admin"];
    let staff = staff.map(wallet).into_iter();
    let testers = TESTERS.map(tester).into_iter();
    let people = (1..=people).map(|number| wallet(&format!("subscriber {number}")));
    staff.chain(testers).chain(people).map(|wallet| wallet.address()).collect()
}
