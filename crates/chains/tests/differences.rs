//! Where the node was found to differ from the reference node, and does so no more.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use alloy::primitives::Address;
use sandbox_chains::serve::Ports;
use sandbox_chains::state::State;
use sandbox_chains::tron::refusal::Code;
use sandbox_chains::tron::tx::Tx;
use sandbox_chains::tron::{Tron, TronNode, Wallet};
use serde_json::Value;

const TOKEN: Address = Address::repeat_byte(0x77);
const GENESIS_MS: u64 = 1_795_253_256_000;

/// A chain with a rich account and a contract that does nothing.
fn town() -> (TronNode, Wallet) {
    let node = TronNode::new(Tron::default().with_witnesses(1), GENESIS_MS, 2, State::default());
    let rich = Wallet::new(&[1; 32]).unwrap();
    node.fund(rich.address(), 1_000_000_000_000);
    // Returns one byte of code: STOP.
    let creation = [0x60, 0x01, 0x60, 0x00, 0xf3];
    node.deploy_at(TOKEN, rich.address(), "nothing", &creation).unwrap();
    node.steps(5);
    (node, rich)
}

#[test]
fn trx_is_not_sent_to_a_contract_and_no_call_carries_a_token() {
    let (node, rich) = town();
    let words = |tx: Tx| node.broadcast(tx).unwrap_err();
    let refused = |tx: Tx, text: &str| {
        let refusal = words(tx);
        assert_eq!(refusal.code, Code::ContractValidateError);
        assert!(refusal.message.contains(text), "{refusal:?}");
    };
    refused(rich.transfer(&node, TOKEN, 5), "Cannot transfer TRX to a smartContract.");
    refused(rich.call_with_token(&node, TOKEN, 1, 0), "tokenValue = 1, tokenId = 0");
    refused(rich.call_with_token(&node, TOKEN, 0, 7), "tokenId must be > 1000000");
    refused(rich.call_with_token(&node, TOKEN, 1, 1_000_001), "No asset !");
    assert_eq!(node.node().chain().pool().len(), 0);
}

#[tokio::test]
async fn what_is_no_json_is_an_error_where_the_reference_node_says_so() {
    let (node, _) = town();
    let doors = node.serve(Ports::default()).await.unwrap();
    let http = reqwest::Client::new();
    let send = async |url: String| {
        let reply = http.post(url).body("{\"no").send().await.unwrap();
        serde_json::from_str::<Value>(&reply.text().await.unwrap()).unwrap()
    };
    let block = send(format!("{}/wallet/getblock", doors.full)).await;
    assert!(block["Error"].is_string(), "{block}");
    assert_eq!(send(doors.jsonrpc.clone()).await["error"]["code"], -32700);
}
