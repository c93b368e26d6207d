//! Recorded bytes, signed by a key of the product.

use alloy::primitives::{Address, B256, Selector, Signature, U256};
use billing::{AttemptKind, Family, PlatformChainId};
use config::PolicyConfig;
use futures_util::FutureExt as _;
use keys::Key;
use policy::{Data, Effect, Intent, Policy};
use std::convert::Infallible;

/// Bytes that were recorded. They call contracts of others: to the policy they are told as doing nothing.
struct Recorded {
    raw_data: Vec<u8>,
    signer: Address,
}

impl policy::Unsigned for Recorded {
    type Unreadable = Infallible;

    fn bytes(&self) -> &[u8] {
        &self.raw_data
    }

    fn family(&self) -> Family {
        Family::Tvm
    }

    fn effect(&self) -> Result<Effect, Infallible> {
        Ok(Effect {
            chain_id: None,
            from: None,
            to: self.signer,
            value: U256::ZERO,
            cost: U256::ZERO,
            data: Data::None,
        })
    }
}

pub(super) fn signed(raw_data: Vec<u8>, key: &Key) -> (Signature, B256) {
    let signer = key.address();
    let policy = Policy {
        chain: PlatformChainId(195),
        family: Family::Tvm,
        bound_to: None,
        contract: signer,
        selector: Selector::ZERO,
        signer,
        paused: false,
        limits: PolicyConfig::default(),
    };
    let nothing = Intent {
        kind: AttemptKind::Cancel,
        contract: signer,
        function: Selector::ZERO,
        items: &[],
        tokens: None,
        earlier: None,
        cost: U256::ZERO,
    };
    let approved = policy.approve(Recorded { raw_data, signer }, &nothing).unwrap();
    (key.sign(&approved, &nothing).now_or_never().unwrap().unwrap(), approved.digest())
}
