//! The compiled contracts that the project ships for its tests, and how they are spoken to.
//!
//! The sources are in tests/contracts. The same bytecode runs on both families.

use alloy::primitives::{Bytes, U256};
use alloy::sol;
use alloy::sol_types::SolValue as _;
use serde::Deserialize;

sol! {
    /// The reference contract, as far as a town needs it.
    interface Billing {
        #[derive(Debug)]
        struct Terms {
            address token;
            uint128 amount;
            address payee;
            uint32 interval;
            uint32 periods;
            uint32 delay;
        }

        #[derive(Debug)]
        struct Offer {
            address merKey;
            uint64 planId;
            uint32 planVersion;
            bytes32 userHash;
            uint64 subscribeId;
            address wallet;
            uint256 expiry;
        }

        function registerMerchant(address owner) external;
        function setAdmin(address merKey, address who, bool allowed) external;
        function setBiller(address merKey, address who, bool allowed) external;
        function setIssuer(address merKey, address who, bool allowed) external;
        function proposePlan(address merKey, uint64 planId, Terms terms) external returns (uint32 version);
        function approvePlan(address merKey, uint64 planId, uint32 version) external;
        function subscribe(Offer offer, bytes signature) external;
        function cancel(address merKey, uint64 planId, bytes32 userHash) external;
        function wasCharged(address merKey, uint64 planId, bytes32 userHash, uint32 period) external view returns (bool);
    }

    /// A contract that charges whatever it is told, as far as somebody watches it.
    interface Careless {
        event Moved(uint64 subscribeId, uint32 period, uint64 tag);
        function enrol(uint64 subscribeId, address userWallet, address tokenAddress, uint128 amount) external;
        function silence(uint64 subscribeId, bool muted) external;
    }

    /// A token in the style of USDT. Anybody may mint and block: it is worth nothing.
    interface Token {
        function mint(address to, uint256 value) external;
        function setBalance(address who, uint256 value) external;
        function approve(address spender, uint256 value) external;
        function setBlackListed(address who, bool blocked) external;
        function balanceOf(address who) external view returns (uint256);
    }
}

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
