//! The compiled contracts that the project ships for its tests, and how they are spoken to.
//!
//! The sources are in tests/contracts. The same bytecode runs on both families.

#![expect(clippy::too_many_arguments, reason = "generated from events that have this many fields")]

use alloy::primitives::{Bytes, U256};
use alloy::sol;
use alloy::sol_types::SolValue as _;
use serde::Deserialize;

sol!(
    /// The reference contract.
    #[derive(Debug)]
    Billing,
    "../../tests/contracts/artifacts/Billing.json"
);

sol!(
    /// A contract that charges whatever it is told.
    #[derive(Debug)]
    Careless,
    "../../tests/contracts/artifacts/Careless.json"
);

sol!(
    /// A token in the style of USDT. Anybody may mint and block: it is worth nothing.
    Token,
    "../../tests/contracts/artifacts/NoReturnToken.json"
);

#[derive(Deserialize)]
struct Artefact {
    bytecode: Bytes,
}

/// Creation code of the reference contract.
pub fn billing() -> Bytes {
    creation(include_str!("../../../tests/contracts/artifacts/Billing.json"))
}

/// Creation code of the contract that enforces nothing.
pub fn careless() -> Bytes {
    creation(include_str!("../../../tests/contracts/artifacts/Careless.json"))
}

/// Creation code of Multicall3.
pub fn multicall() -> Bytes {
    creation(include_str!("../../../tests/contracts/artifacts/Multicall3.json"))
}

/// Creation code of a token with so many decimals.
pub fn token(decimals: u8) -> Bytes {
    let code = creation(include_str!("../../../tests/contracts/artifacts/NoReturnToken.json"));
    [code.to_vec(), U256::from(decimals).abi_encode()].concat().into()
}

fn creation(artefact: &str) -> Bytes {
    serde_json::from_str::<Artefact>(artefact).expect("the artefact is committed").bytecode
}
