//! Certificates made on the chains of the sandbox.

use alloy::primitives::{Address, B256, U256};
use certificate::evm::Named;
use certificate::form::{Certificate, Statement};
use evm_proofs::answer::BlockAnswer as EvmAnswer;
use evm_proofs::block::ProvenBlock;
use sandbox_chains::chain::{Chain, Header, Settings};
use sandbox_chains::contracts::{self, Token};
use sandbox_chains::eth;
use sandbox_chains::evm::Evm;
use sandbox_chains::node::Node;
use sandbox_chains::state::State;
use sandbox_chains::town::{Call, Ground, wallet};
use sandbox_chains::tron::http::Port;
use sandbox_chains::tron::{Tron, TronNode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tron_primitives::answer::BlockAnswer;

/// The event that the token logs.
pub(crate) const TRANSFER: &str =
    "event Transfer(address indexed from, address indexed to, uint256 value)";

/// A token of Ann's with so many mints in one block, from the first on.
fn minted(ground: &dyn Ground, many: u64) -> Address {
    let ann = wallet("Ann");
    ground.endow(&[ann.address()]);
    let token = ground.deploy(&ann, contracts::token(18));
    let mint = |value| Token::mintCall { to: ann.address(), value: U256::from(value) };
    ground.execute((1..=many).map(|value| Call::new(&ann, token, &mint(value))).collect());
    token
}

pub(crate) fn statement(network: u64, contract: Address) -> Statement {
    let claim = [
        ("contract", format!("{contract:#x}")),
        ("subscribeId", "7000001".to_owned()),
        ("period", "3".to_owned()),
    ];
    let claim = claim.map(|(name, value)| (name.to_owned(), value));
    Statement { network, claim: BTreeMap::from(claim), history: B256::repeat_byte(9) }
}

/// A block of the Ethereum node with so many charges, and the contract that made them.
pub(crate) fn evm_block(many: u64) -> (ProvenBlock, Address) {
    let genesis = Header {
        time_ms: 1_700_000_000_000,
        gas_limit: 100_000_000,
        price: 1_000_000_000,
        ..Header::default()
    };
    let rules = Evm { gas_limit: 100_000_000, ..Evm::default() };
    let node = Node::new(Chain::new(rules, Settings::default(), genesis, State::new(())));
    let token = minted(&node, many);
    let number = format!("{:#x}", node.chain().head().header.number);
    let ask = |method: &str, params: Value| {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        eth::respond_to(&node, asked).unwrap()["result"].take()
    };
    let block = ask("eth_getBlockByNumber", json!([number, true]));
    let receipts = ask("eth_getBlockReceipts", json!([number]));
    let block: EvmAnswer = serde_json::from_value(block).unwrap();
    let receipts: Vec<_> = serde_json::from_value(receipts).unwrap();
    (block.prove(&receipts, None).unwrap(), token)
}

/// The certificates of a block with so many charges.
pub(crate) fn of_evm(many: u64) -> Vec<Certificate> {
    let (block, token) = evm_block(many);
    let made = |hash| {
        let event = Named::of(0, TRANSFER);
        Certificate::of_evm(&block, hash, event, statement(31_337, token)).unwrap()
    };
    block.records().iter().map(|record| made(record.transaction.hash())).collect()
}

/// A block of the TRON node with so many charges, the blocks on top of it, and the contract that made them.
pub(crate) fn tvm_blocks(many: u64) -> (Vec<BlockAnswer>, Address) {
    let node =
        TronNode::new(Tron::default().with_witnesses(27), 1_795_253_256_000, 19, State::default());
    let token = minted(&node, many);
    let number = node.node().chain().head().header.number;
    node.steps(19);
    let block = |number: u64| {
        let asked = json!({"id_or_num": number.to_string(), "detail": true});
        let said = node.answer(Port::Full, "POST", "/wallet/getblock", &asked.to_string());
        serde_json::from_str(&said.body).unwrap()
    };
    ((number..=number + 18).map(block).collect(), token)
}

/// The certificates of a block of TRON with so many charges.
pub(crate) fn of_tvm(many: u64) -> Vec<Certificate> {
    let (blocks, token) = tvm_blocks(many);
    let (own, above) = blocks.split_first().unwrap();
    let made = |id| Certificate::of_tvm(own, above, id, statement(3_000_000_000, token)).unwrap();
    own.transactions.iter().map(|one| made(one.tx_id)).collect()
}
