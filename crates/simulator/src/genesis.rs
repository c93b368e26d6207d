//! The two chains at the beginning of every seed: contracts that enforce nothing, customers who can pay.
//! Founded once per thread; a seed begins with copies that share every block.

use alloy::primitives::{Address, U256};
use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::SolCall;
use sandbox_chains::chain::{Chain, Header, Settings};
use sandbox_chains::contracts::{self, Careless, Token};
use sandbox_chains::evm::Evm;
use sandbox_chains::node::Node;
use sandbox_chains::state::State;
use sandbox_chains::town::{Call, Ground, wallet};
use sandbox_chains::tron::ledger::Ledger;
use sandbox_chains::tron::{Tron, TronNode};

/// Number of customers on each chain.
pub(crate) const CUSTOMERS: u64 = 7;

/// The time of the first blocks, Unix ms.
pub(crate) const GENESIS_MS: u64 = 1_700_000_001_000;

/// So many blocks follow on EVM before a block is final.
pub(crate) const EVM_LAG: u64 = 5;

/// The same on TRON, where besides four of the five witnesses have to stand on a block. No more than that:
/// nothing is undone on which they stand.
pub(crate) const TRON_LAG: u64 = 3;

/// Addresses on one chain, and its chain id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) billing: Address,
    /// Another contract of the same kind.
    pub(crate) other_billing: Address,
    pub(crate) multicall: Address,
    pub(crate) token: Address,
    pub(crate) chain_id: u64,
}

/// Both chains.
#[derive(Clone, Debug)]
pub(crate) struct Towns {
    pub(crate) evm: Node<Evm>,
    pub(crate) evm_at: Places,
    pub(crate) tron: TronNode,
    pub(crate) tron_at: Places,
}

/// So many accounts may sign on a chain.
pub(crate) const BILLERS: usize = 4;

/// Names of the accounts that sign on both chains; a world uses as many as it needs, in this order.
pub(crate) const NAMES: [&str; BILLERS] =
    ["biller", "other biller", "third biller", "fourth biller"];

/// One of them.
pub(crate) fn biller(place: usize) -> PrivateKeySigner {
    wallet(NAMES[place])
}

/// The customer whose charges are told to nobody, where a world has one.
pub(crate) const MUTED: u64 = CUSTOMERS;

/// The wallet of a customer.
pub(crate) fn customer(number: u64) -> Address {
    wallet(&format!("customer {number}")).address()
}

impl Towns {
    /// Builds both.
    pub(crate) fn found() -> Self {
        let rules = Evm { base_fee: Some(10_000_000_000), ..Evm::default() };
        let settings = Settings { slot_ms: 1000, lag: EVM_LAG, stride: 1, keep: 400, safe: 3 };
        let genesis = Header {
            time_ms: GENESIS_MS,
            gas_limit: 30_000_000,
            price: 10_000_000_000,
            ..Header::default()
        };
        let evm = Node::new(Chain::new(rules, settings, genesis, State::new(())));
        let evm_at = build(&evm);
        evm.solidify();
        let tron =
            TronNode::new(Tron::default(), GENESIS_MS, TRON_LAG, State::new(Ledger::default()));
        let tron_at = build(&tron);
        tron.solidify();
        // Both begin at the same time.
        let now = |node: u64, slot: u64| node.div_ceil(slot) * slot;
        let (a, b) = (evm.chain().head().header.time_ms, tron.node().chain().head().header.time_ms);
        let begin = now(a.max(b), 3000) + 3000;
        evm.skip((begin - a) / 1000);
        evm.step();
        tron.skip((begin - b) / 3000);
        tron.step();
        evm.solidify();
        tron.solidify();
        Self { evm, evm_at, tron, tron_at }
    }
}

/// Deploys everything and gives every customer money.
fn build(ground: &dyn Ground) -> Places {
    let owner = wallet("owner");
    let mut rich = vec![owner.address()];
    rich.extend((0..BILLERS).map(|place| biller(place).address()));
    rich.extend((1..=CUSTOMERS).map(customer));
    ground.endow(&rich);
    let token = ground.deploy(&owner, contracts::token(6));
    let multicall = ground.deploy(&owner, contracts::multicall());
    let [billing, other_billing] = [(); 2].map(|()| ground.deploy(&owner, contracts::careless()));
    for number in 1..=CUSTOMERS {
        let who = wallet(&format!("customer {number}"));
        let value = U256::from(1_000_000_000_000_u64);
        let mint = Token::mintCall { to: who.address(), value };
        ground.execute(vec![Call::new(&who, token, &mint)]);
        for contract in [billing, other_billing] {
            let approve = Token::approveCall { spender: contract, value: U256::MAX };
            let enrol = Careless::enrolCall {
                subscribeId: number,
                userWallet: who.address(),
                tokenAddress: token,
                amount: 500,
            };
            ground.execute(vec![
                Call::new(&who, token, &approve),
                Call::new(&owner, contract, &enrol),
            ]);
        }
    }
    Places { billing, other_billing, multicall, token, chain_id: ground.chain_id() }
}

/// Returns the call that makes the contract tell nobody of one customer's charges.
pub(crate) fn silence() -> Vec<u8> {
    Careless::silenceCall { subscribeId: MUTED, muted: true }.abi_encode()
}

/// Returns the call that makes a customer's purse hold this much from now on.
pub(crate) fn purse(number: u64, value: u64) -> Vec<u8> {
    Token::setBalanceCall { who: customer(number), value: U256::from(value) }.abi_encode()
}
