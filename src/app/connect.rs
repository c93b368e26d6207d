//! From configured chains to adapters: keys opened, profiles read, nodes asked who they are. Every
//! fault of every chain is told at once.

use crate::billing::{Again, Family, PlatformChainId, Rules};
use crate::chain::evm::{self, EvmChain, EvmParts};
use crate::chain::fleet::{Fleet, FleetRules};
use crate::chain::profile::Profile;
use crate::chain::{Chain, Facts};
use crate::config::{
    ChainConfig, Config, EvmConfig, FamilyConfig, KeyRef, KeysConfig, Replacement,
};
use crate::keys::{Key, KeySource};
use alloy::primitives::Address;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What keeps chains from being used, each fault with its key path.
#[derive(Debug)]
pub struct ConnectError(Vec<String>);

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for ConnectError {}

/// A chain that can be used.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) id: PlatformChainId,
    pub(super) default: bool,
    pub(super) poll_interval: Duration,
    pub(super) rules: Rules,
    pub(super) guard: Duration,
    pub(super) chain: Arc<EvmChain>,
}

impl Connected {
    pub(super) fn signer(&self) -> Address {
        self.chain.facts().signer
    }

    pub(super) fn as_chain(&self) -> Arc<dyn Chain> {
        Arc::<EvmChain>::clone(&self.chain)
    }
}

/// Connects every configured chain.
pub(super) async fn all(config: &Config) -> Result<Vec<Connected>, ConnectError> {
    let (mut connected, mut faults) = (Vec::new(), Vec::new());
    for chain in &config.chains {
        match one(chain, &config.keys).await {
            Ok(chain) => connected.push(chain),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() { Ok(connected) } else { Err(ConnectError(faults)) }
}

/// Connects one chain; otherwise every fault, each with its key path.
pub(super) async fn one(chain: &ChainConfig, keys: &KeysConfig) -> Result<Connected, Vec<String>> {
    let FamilyConfig::Evm(evm) = &chain.family;
    let path = format!("chains.{}", chain.platform_id);
    let fault = |key: &str, what: &dyn fmt::Display| vec![format!("{path}.{key}: {what}")];
    let profile = Profile::parse(&evm.billing, Family::Evm).map_err(|faults| {
        faults.iter().map(|fault| format!("{path}.billing.{fault}")).collect::<Vec<_>>()
    });
    let (profile, key) = match (profile, load_key(chain, evm, keys).await) {
        (Ok(profile), Ok(key)) => (profile, key),
        (profile, key) => {
            let faults = profile.err().into_iter().flatten();
            return Err(faults.chain(key.err()).collect());
        }
    };
    let rules =
        FleetRules { chain_id: evm.eip155_id, timeout: evm.rpc_timeout, passing: evm::passing };
    let fleet = Fleet::new(&evm.rpc, &evm.send_only, rules);
    let fleet = Arc::new(fleet.map_err(|unusable| vec![format!("{path}.{unusable}")])?);
    let facts = Facts {
        id: chain.platform_id,
        name: chain.name.clone(),
        family: Family::Evm,
        contract: evm.contract,
        signer: key.address(),
        max_in_flight: evm.max_in_flight.into(),
    };
    let parts = EvmParts { facts, profile, key: Arc::new(key), fleet, config: evm.clone() };
    let adapter = EvmChain::connect(parts).await.map_err(|e| fault("rpc", &e))?;
    Ok(Connected {
        id: chain.platform_id,
        default: chain.default,
        poll_interval: evm.poll_interval,
        rules: Rules {
            offer_again_ms: millis(evm.rebroadcast_interval),
            again: again(evm.replacement),
        },
        guard: evm.billing.guard,
        chain: Arc::new(adapter),
    })
}

fn again(replacement: Replacement) -> Again {
    match replacement {
        Replacement::Off => Again::Never,
        Replacement::On { after, most, give_up_after } => Again::Replace {
            after_ms: millis(after),
            most,
            cancel_after_ms: give_up_after.map(millis),
        },
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Opens the key off the runtime's threads: an encrypted one takes about a second.
async fn load_key(chain: &ChainConfig, evm: &EvmConfig, keys: &KeysConfig) -> Result<Key, String> {
    let source = match &evm.key {
        KeyRef::Keystore(name) => {
            KeySource::Keystore { directory: keys.directory.clone(), name: name.clone() }
        }
        KeyRef::File(path) => KeySource::File { path: path.clone() },
        KeyRef::Env(text) => {
            KeySource::Env { json_or_hex: text.clone(), platform_chain_id: chain.platform_id.0 }
        }
    };
    let (path, test) = (format!("chains.{}.key", chain.platform_id), chain.test);
    let load = tokio::task::spawn_blocking(move || Key::load(source, &path, test));
    load.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}
