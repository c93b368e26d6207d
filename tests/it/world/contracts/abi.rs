//! The contracts' interfaces, from what the compiler wrote.

#![expect(clippy::too_many_arguments, reason = "generated from events that have this many fields")]

use alloy::sol;

sol!(
    #[derive(Debug, PartialEq)]
    Billing,
    "tests/contracts/artifacts/Billing.json"
);
sol!(
    #[derive(Debug, PartialEq)]
    PlainCharge,
    "tests/contracts/artifacts/PlainCharge.json"
);
sol!(
    #[derive(Debug, PartialEq)]
    CollectOne,
    "tests/contracts/artifacts/CollectOne.json"
);
sol!(Multicall3, "tests/contracts/artifacts/Multicall3.json");

sol! {
    /// What the kinds of tokens understand, each a part of it: no artefact has all of this.
    interface AnyToken {
        function mint(address to, uint256 value) external;
        function setBalance(address who, uint256 value) external;
        function approve(address spender, uint256 value) external;
        function transferFrom(address from, address to, uint256 value) external;
        function balanceOf(address who) external view returns (uint256);
        function setPaused(bool paused) external;
        function setBlackListed(address who, bool blocked) external;
        function setStuck(bool stuck) external;
        function setOnTop(bool onTop) external;
        function setLiar(bool liar) external;
        function setMode(uint8 mode) external;
        function setMessage(address target, bytes message) external;
        function outcome() external view returns (uint8);
    }
}

#[test]
fn every_function_of_any_token_is_one_of_a_compiled_token() {
    use alloy::sol_types::SolInterface as _;
    let artefacts = ["Bomb", "False", "Fee", "NoReturn", "Plain"].map(|kind| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/contracts/artifacts");
        std::fs::read_to_string(format!("{folder}/{kind}Token.json")).unwrap()
    });
    let artefacts: Vec<serde_json::Value> =
        artefacts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let functions = artefacts.iter().flat_map(|artefact| artefact["abi"].as_array().unwrap());
    let compiled: Vec<String> =
        functions.filter(|entry| entry["type"] == "function").map(signature).collect();
    for selector in AnyToken::AnyTokenCalls::selectors() {
        let named = AnyToken::AnyTokenCalls::signature_by_selector(selector).unwrap();
        assert!(compiled.iter().any(|name| name == named), "{named}");
    }
}

fn signature(entry: &serde_json::Value) -> String {
    let inputs = entry["inputs"].as_array().unwrap().iter();
    let inputs: Vec<&str> = inputs.map(|input| input["type"].as_str().unwrap()).collect();
    format!("{}({})", entry["name"].as_str().unwrap(), inputs.join(","))
}
