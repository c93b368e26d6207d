//! The setup of this process, for the journal and for the machines that share it.

use super::connect::Connected;
use alloy::primitives::keccak256;
use billing::{PeriodNaming, spell_address};
use journal::Setup;

/// All that money depends on, of every chain.
pub(super) fn of(chains: &[Connected]) -> Setup {
    let mut setup = Setup::default();
    for chain in chains {
        let (binding, first) = (chain.chain.binding(), &chain.chain);
        let family = binding.network.family;
        let spell = |account| spell_address(family, account);
        let call = keccak256(first.profile().written().as_bytes());
        let mut keys: Vec<String> =
            chain.signers().map(|signer| spell(signer.facts().signer)).collect();
        keys.sort_unstable();
        let period = match &binding.naming {
            PeriodNaming::Field(name) => name.clone(),
            PeriodNaming::Guard => "-".to_owned(),
        };
        for (name, value) in [
            ("network", binding.network.to_string()),
            ("contract", spell(binding.contract)),
            ("period", period),
            ("call", hex::encode(call.get(..8).unwrap_or_default())),
            ("keys", keys.join(" ")),
            ("policy", first.policy().describe().0),
        ] {
            setup.facts.insert(format!("chains.{}.{name}", chain.id()), value);
        }
        setup.bindings.push(binding);
    }
    setup
}
