//! A token that the whole chain uses, and a call that cannot pay for what that adds to its steps.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use alloy::primitives::{Address, U256, keccak256};
use sandbox_chains::state::State;
use sandbox_chains::tron::{Tron, TronNode, Wallet};
use serde_json::Value;
use std::path::Path;

const TOKEN: Address = Address::repeat_byte(0x77);

/// The highest factor that the chain gives.
const HIGHEST: u64 = 34_000;

fn bytecode() -> Vec<u8> {
    let at = "../../tests/golden/tron/contracts/Trc20.json";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(at)).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    hex::decode(json["bytecode"].as_str().unwrap().trim_start_matches("0x")).unwrap()
}

#[test]
fn a_call_runs_out_at_whatever_step_and_burns_what_it_may() {
    let node =
        TronNode::new(Tron::default().with_witnesses(1), 1_795_253_256_000, 2, State::default());
    let mut rich = Wallet::new(&[1; 32]).unwrap();
    node.fund(rich.address(), 1_000_000_000_000);
    node.deploy_at(TOKEN, rich.address(), "Trc20", &bytecode()).unwrap();
    node.steps(5);
    node.set_energy_factor(TOKEN, HIGHEST);
    let words = [rich.address().into_word().to_vec(), U256::from(1).to_be_bytes_vec()].concat();
    let mint = [keccak256("mint(address,uint256)")[..4].to_vec(), words].concat();
    let (mut failed, mut went_well) = (0, 0);
    for energy in (50..250_000).step_by(331) {
        rich.salt += 1;
        rich.fee_limit = energy * 100;
        let call = rich.call(&node, TOKEN, mint.clone());
        let id = call.id;
        node.broadcast(call).unwrap();
        node.step();
        let receipt = node.node().chain().find(&id).unwrap().included().receipt.clone();
        assert!(receipt.energy_total <= energy.unsigned_abs());
        if receipt.succeeded() { went_well += 1 } else { failed += 1 }
    }
    assert!(failed > 20 && went_well > 20, "{failed} failed, {went_well} did not");
}
