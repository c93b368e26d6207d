//! The Ethereum face, asked as libraries ask it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use alloy::consensus::{SignableTransaction as _, TxEip1559, TxEnvelope};
use alloy::eips::eip2718::Encodable2718 as _;
use alloy::primitives::{Address, Bytes, TxKind, U256, hex};
use alloy::rpc::types::{Block, FeeHistory, Log, Transaction, TransactionReceipt};
use alloy::signers::SignerSync as _;
use alloy::sol_types::{Revert, SolCall as _, SolError as _};
use sandbox_chains::chain::{Chain, Header, Orphans, Settings};
use sandbox_chains::contracts::{self, Token};
use sandbox_chains::eth::{self, jsonrpc};
use sandbox_chains::evm::Evm;
use sandbox_chains::node::Node;
use sandbox_chains::state::State;
use sandbox_chains::town::{Call, Ground as _, wallet};
use serde_json::{Value, json};

alloy::sol! {
    error NotEnough();
    function transfer(address to, uint256 value);
}

/// A chain with a token on it, of which Ann holds a thousand.
struct World {
    node: Node<Evm>,
    token: Address,
}

fn ann() -> Address {
    wallet("Ann").address()
}

impl World {
    fn new() -> Self {
        let genesis = Header {
            time_ms: 1_700_000_000_000,
            gas_limit: 30_000_000,
            price: 1_000_000_000,
            ..Header::default()
        };
        let settings = Settings { slot_ms: 1000, lag: 4, stride: 1, safe: 2, keep: 8 };
        let chain = Chain::new(Evm::default(), settings, genesis, State::new(()));
        let node = Node::new(chain);
        node.endow(&[ann()]);
        let token = node.deploy(&wallet("Ann"), contracts::token(18));
        let mint = Token::mintCall { to: ann(), value: U256::from(1000) };
        node.execute(vec![Call::new(&wallet("Ann"), token, &mint)]);
        Self { node, token }
    }

    /// The whole answer.
    fn said(&self, method: &str, params: Value) -> Value {
        let mut body = json!({"jsonrpc": "2.0", "id": 1, "method": method});
        body["params"] = params;
        let answer = |method: &str, args| eth::dispatch(&mut self.node.chain(), method, args);
        jsonrpc::respond(body.to_string().as_bytes(), answer).unwrap()
    }

    fn ask(&self, method: &str, params: Value) -> Value {
        let mut said = self.said(method, params);
        assert!(said.get("error").is_none(), "{method}: {said}");
        said["result"].take()
    }

    fn read<T: serde::de::DeserializeOwned>(&self, method: &str, params: Value) -> T {
        serde_json::from_value(self.ask(method, params)).unwrap()
    }

    fn error(&self, method: &str, params: Value) -> (i64, String) {
        let said = self.said(method, params);
        let error = &said["error"];
        (error["code"].as_i64().unwrap_or(0), error["message"].as_str().unwrap_or("").to_owned())
    }

    fn nonce(&self, tag: &str) -> Value {
        self.ask("eth_getTransactionCount", json!([ann(), tag]))
    }

    fn balance_of(&self, who: Address) -> Value {
        let data = Bytes::from(Token::balanceOfCall(who).abi_encode());
        json!({"to": self.token, "data": data})
    }

    fn transfer(&self, from: Address, value: u64) -> Value {
        let data = transferCall { to: Address::repeat_byte(7), value: U256::from(value) };
        json!({"from": from, "to": self.token, "input": Bytes::from(data.abi_encode())})
    }
}

/// A transfer of Ann's, changed as a test needs it.
fn signed(change: impl FnOnce(&mut TxEip1559)) -> String {
    let mut tx = TxEip1559 {
        chain_id: 31_337,
        nonce: 2,
        gas_limit: 21_000,
        max_fee_per_gas: 10_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to: TxKind::Call(Address::repeat_byte(9)),
        value: U256::from(5),
        ..TxEip1559::default()
    };
    change(&mut tx);
    let signature = wallet("Ann").sign_hash_sync(&tx.signature_hash()).unwrap();
    hex::encode_prefixed(TxEnvelope::from(tx.into_signed(signature)).encoded_2718())
}

#[test]
fn a_transaction_is_followed_from_the_pool_to_the_final_block() {
    let world = World::new();
    let hash = world.ask("eth_sendRawTransaction", json!([signed(|_| ())]));
    assert_eq!([world.nonce("latest"), world.nonce("pending")], ["0x2", "0x3"]);
    let waiting: Transaction = world.read("eth_getTransactionByHash", json!([hash]));
    assert_eq!(waiting.block_hash, None);
    assert_eq!(world.ask("eth_getTransactionReceipt", json!([hash])), Value::Null);
    let pending = world.ask("eth_getBlockByNumber", json!(["pending", false]));
    assert_eq!((&pending["transactions"], &pending["hash"]), (&json!([hash]), &Value::Null));

    let made = world.node.step();
    let receipt: TransactionReceipt = world.read("eth_getTransactionReceipt", json!([hash]));
    assert!(receipt.status());
    assert_eq!((receipt.gas_used, receipt.from), (21_000, ann()));
    assert_eq!(receipt.block_hash, Some(made.id));
    let block: Block = world.read("eth_getBlockByHash", json!([made.id, true]));
    assert_eq!(json!(block.transactions.as_transactions().unwrap()[0].inner.tx_hash()), hash);
    assert_eq!(block.header.base_fee_per_gas, Some(made.header.price));
    let same = world.ask("eth_getTransactionBySenderAndNonce", json!([ann(), "0x2"]));
    assert_eq!(same["hash"], hash);
    assert_eq!(world.ask("eth_getTransactionBySenderAndNonce", json!([ann(), "0x3"])), Value::Null);

    let number = |tag: &str| -> Value {
        world.ask("eth_getBlockByNumber", json!([tag, false]))["number"].take()
    };
    assert_eq!([number("latest"), number("safe"), number("finalized")], ["0x3", "0x1", "0x0"]);
    assert_eq!(world.nonce("finalized"), "0x0");
    world.node.steps(4);
    assert_eq!(world.nonce("finalized"), "0x3");
    world.node.reorg(9, Orphans::Lose);
    assert_eq!(number("latest"), "0x3", "a final block stays");
    assert_eq!(world.ask("eth_getBlockByNumber", json!(["0x63", false])), Value::Null);
}

#[test]
fn the_pool_says_no_in_geths_words() {
    let world = World::new();
    let cases: [(String, &str); 7] = [
        ("0x1234".to_owned(), "rlp"),
        (signed(|tx| tx.nonce = 1), "nonce too low: next nonce 2, tx nonce 1"),
        (signed(|tx| tx.chain_id = 1), "invalid chain id for signer: have 1 want 31337"),
        (signed(|tx| tx.gas_limit = 20_999), "intrinsic gas too low"),
        (signed(|tx| tx.gas_limit = 30_000_001), "exceeds block gas limit"),
        (signed(|tx| tx.value = U256::MAX >> 1), "insufficient funds for gas * price + value"),
        (
            signed(|tx| tx.max_priority_fee_per_gas = 20_000_000_000),
            "max priority fee per gas higher than max fee per gas",
        ),
    ];
    for (raw, words) in cases {
        let (code, said) = world.error("eth_sendRawTransaction", json!([raw]));
        assert!(code == -32_000 && said.starts_with(words), "{said} is not {words}");
    }
    world.ask("eth_sendRawTransaction", json!([signed(|_| ())]));
    let (_, again) = world.error("eth_sendRawTransaction", json!([signed(|_| ())]));
    assert_eq!(again, "already known");
    let cheap = signed(|tx| tx.max_fee_per_gas += 1);
    let (_, said) = world.error("eth_sendRawTransaction", json!([cheap]));
    assert_eq!(said, "replacement transaction underpriced");
}

#[test]
fn calls_are_run_at_the_block_that_is_asked_for() {
    let world = World::new();
    let thousand = format!("0x{:064x}", 1000);
    let call = world.balance_of(ann());
    assert_eq!(world.ask("eth_call", json!([call])), thousand);
    assert_eq!(world.ask("eth_call", json!([call, "0x1"])), format!("0x{:064x}", 0));
    assert_eq!(world.ask("eth_call", json!([call, {"blockNumber": "0x2"}])), thousand);
    assert_eq!(world.error("eth_call", json!([call, "0x9"])).1, "header not found");
    world.node.steps(12);
    let (_, gone) = world.error("eth_call", json!([call, "0x2"]));
    assert!(gone.contains("not available"), "{gone}");

    // Creation code that returns a word, and code put where there is none.
    let word = json!({"data": "0x602a60005260206000f3"});
    assert_eq!(world.ask("eth_call", json!([word, "latest"])), format!("0x{:064x}", 42));
    let at = Address::repeat_byte(3);
    let overrides = json!({ at.to_string(): {"code": "0x602a60005260206000f3"} });
    let said = world.ask("eth_call", json!([{"to": at}, "latest", overrides]));
    assert_eq!(said, format!("0x{:064x}", 42));
    assert_eq!(world.ask("eth_call", json!([{"to": at}, "latest"])), "0x");
    let both = json!([{"to": at, "data": "0x01", "input": "0x02"}, "latest"]);
    assert!(world.error("eth_call", both).1.contains("not equal"));
}

#[test]
fn a_call_that_fails_says_how() {
    let world = World::new();
    let said = world.said("eth_call", json!([world.transfer(ann(), 1001), "latest"]));
    let error = &said["error"];
    let data = hex::encode_prefixed(NotEnough::SELECTOR);
    assert_eq!((&error["code"], &error["data"]), (&json!(3), &json!(data)));
    assert_eq!(error["message"], "execution reverted");
    let poor = world.transfer(ann(), 1001);
    assert_eq!(world.error("eth_estimateGas", json!([poor])).0, 3);
    // Copies what follows it, and reverts with that.
    let reason = Revert::from("no").abi_encode();
    let long = u8::try_from(reason.len()).unwrap();
    let code = [&[0x60, long, 0x60, 10, 0x5f, 0x39, 0x60, long, 0x5f, 0xfd], &reason[..]].concat();
    let (_, said) = world.error("eth_call", json!([{"data": Bytes::from(code)}]));
    assert_eq!(said, "execution reverted: no");
    assert_eq!(world.error("eth_call", json!([{"data": "0xfe"}])).1, "invalid opcode: INVALID");
    let mut starved = world.transfer(ann(), 1);
    starved["gas"] = json!("0x5800");
    assert_eq!(world.error("eth_call", json!([starved])).1, "out of gas");
    let (_, said) = world.error("eth_estimateGas", json!([starved]));
    assert_eq!(said, "gas required exceeds allowance (22528)");
}

#[test]
fn an_estimate_is_enough_and_not_much_more() {
    let world = World::new();
    let mut call = world.transfer(ann(), 1);
    let estimate: U256 = world.read("eth_estimateGas", json!([call, "latest"]));
    call["gas"] = json!(estimate);
    world.ask("eth_call", json!([call]));
    call["gas"] = json!(estimate * U256::from(98) / U256::from(100));
    assert_eq!(world.error("eth_call", json!([call])).1, "out of gas");
    let plain = json!([{"from": ann(), "to": Address::repeat_byte(1), "value": "0x1"}]);
    assert_eq!(world.ask("eth_estimateGas", plain), "0x5208");
}

#[test]
fn simulated_calls_see_those_before_them() {
    let world = World::new();
    let all = world.transfer(ann(), 1000);
    let payload =
        json!({"blockStateCalls": [{"calls": [all, all]}, {"calls": [world.balance_of(ann())]}]});
    let blocks = world.ask("eth_simulateV1", json!([payload, "latest"]));
    let calls = &blocks[0]["calls"];
    assert_eq!((&calls[0]["status"], &calls[1]["status"]), (&json!("0x1"), &json!("0x0")));
    assert_eq!(calls[0]["logs"][0]["address"], json!(world.token));
    assert_eq!((&calls[1]["error"]["code"], &calls[1]["logs"]), (&json!(3), &json!([])));
    assert_eq!(calls[1]["error"]["data"], hex::encode_prefixed(NotEnough::SELECTOR));
    assert_eq!(blocks[1]["calls"][0]["returnData"], format!("0x{:064x}", 0));
    assert_eq!([&blocks[0]["number"], &blocks[1]["number"]], ["0x3", "0x4"]);
    assert_eq!(blocks[1]["parentHash"], blocks[0]["hash"]);
    assert_eq!(world.ask("eth_call", json!([world.balance_of(ann())])), format!("0x{:064x}", 1000));
}

#[test]
fn logs_are_found_by_block_address_and_topic() {
    let world = World::new();
    let find = |filter: Value| -> Vec<Log> { world.read("eth_getLogs", json!([filter])) };
    let all = find(json!({"fromBlock": "earliest", "address": world.token}));
    assert_eq!(all.len(), 1);
    let mint = &all[0];
    let topics: Vec<_> = mint.topics().to_vec();
    assert_eq!((mint.block_number, mint.log_index, topics.len()), (Some(2), Some(0), 3));
    let by_topic = |third: Value| find(json!({"fromBlock": "0x0", "topics": [null, null, third]}));
    assert_eq!(by_topic(json!(topics[2])).len(), 1);
    assert_eq!(by_topic(json!([topics[1], topics[2]])).len(), 1);
    assert_eq!(by_topic(json!(topics[1])).len(), 0);
    assert_eq!(find(json!({"blockHash": mint.block_hash})).len(), 1);
    assert_eq!(find(json!({"fromBlock": "0x0", "toBlock": "0x1"})).len(), 0);
    assert_eq!(find(json!({"address": ann()})).len(), 0);
    let unknown = json!([{"blockHash": format!("0x{}", "11".repeat(32))}]);
    assert_eq!(world.error("eth_getLogs", unknown).1, "unknown block");
}

#[test]
fn accounts_and_fees_are_told() {
    let world = World::new();
    assert_eq!(world.ask("eth_chainId", json!([])), "0x7a69");
    assert_eq!(world.ask("net_version", json!([])), "31337");
    assert_eq!(world.ask("eth_blockNumber", json!([])), "0x2");
    assert_eq!(world.ask("eth_getCode", json!([ann(), "latest"])), "0x");
    let code = world.ask("eth_getCode", json!([world.token, "latest"]));
    assert!(code.as_str().unwrap().len() > 1000);
    assert_eq!(world.ask("eth_getCode", json!([world.token, "0x0"])), "0x");
    let supply = world.ask("eth_getStorageAt", json!([world.token, "0x0", "latest"]));
    assert_eq!(supply, format!("0x{:064x}", 1000));
    let held: U256 = world.read("eth_getBalance", json!([ann(), "latest"]));
    let before: U256 = world.read("eth_getBalance", json!([ann(), "0x0"]));
    assert!(held < before);
    let history: FeeHistory =
        world.read("eth_feeHistory", json!(["0x2", "latest", [0.0, 50.0, 100.0]]));
    assert_eq!((history.oldest_block, history.base_fee_per_gas.len()), (1, 3));
    assert!(history.gas_used_ratio.iter().all(|ratio| *ratio > 0.0));
    assert_eq!(history.reward, Some(vec![vec![1_000_000_000; 3]; 2]));
    assert_eq!(world.error("eth_feeHistory", json!([1, "latest", [9.0, 3.0]])).0, -32_000);
    assert_eq!(world.ask("eth_maxPriorityFeePerGas", json!([])), "0x3b9aca00");
    assert_eq!(world.error("eth_mine", json!([])).0, -32_601);
    assert_eq!(world.error("eth_getBalance", json!([])).0, -32_602);
}
