//! The policy of a chain, from the configuration.

use alloy::primitives::Address;
use config::{ChainConfig, FamilyConfig, NewWork};
use contract::Profile;
use policy::Policy;

/// Returns the policy for what may be signed on a chain for an account.
pub fn chain_policy(chain: &ChainConfig, profile: &Profile, signer: Address) -> Policy {
    let family = &chain.family;
    let bound_to = match family {
        FamilyConfig::Evm(evm) => Some(evm.eip155_id),
        FamilyConfig::Tvm(_) => None,
    };
    Policy {
        chain: chain.platform_id,
        family: family.family(),
        bound_to,
        contract: family.contract(),
        selector: profile.selector(),
        signer,
        paused: chain.new_work == NewWork::Paused,
        limits: chain.policy.clone(),
    }
}
