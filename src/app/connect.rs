//! From configured chains to adapters: keys opened, profiles read, nodes asked who they are. Every
//! fault of every chain is told at once.

use crate::billing::{Again, Family, PlatformChainId, Rules};
use crate::chain::evm::{self, EvmChain, EvmParts};
use crate::chain::tron::{self, TronChain, TronParts};
use crate::chain::{Chain, Facts, Inspect};
use crate::clock::Clock;
use crate::config::{
    BillingConfig, ChainConfig, Config, EvmConfig, FamilyConfig, KeyRef, KeysConfig, Replacement,
    TvmConfig,
};
use crate::contract::Profile;
use crate::keys::{Key, KeySource};
use crate::node::{Dial, Fleet, FleetRules, RealChain};
use crate::policy::Policy;
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
    pub(super) chain: Arc<dyn Inspect>,
}

impl Connected {
    pub(super) fn as_chain(&self) -> Arc<dyn Chain> {
        Arc::<dyn Inspect>::clone(&self.chain)
    }
}

/// What both families say in their own sections.
struct Terms<'a> {
    family: Family,
    /// Its EIP-155 id; on TRON, the last four bytes of its genesis block's id.
    network: u64,
    /// The chain id that transactions name; none on TRON.
    bound_to: Option<u64>,
    contract: Address,
    key: &'a KeyRef,
    poll_interval: Duration,
    rules: Rules,
    max_in_flight: u32,
    billing: &'a BillingConfig,
}

impl<'a> Terms<'a> {
    fn of(config: &'a FamilyConfig) -> Self {
        match config {
            FamilyConfig::Evm(evm) => Self {
                family: Family::Evm,
                network: evm.eip155_id,
                bound_to: Some(evm.eip155_id),
                contract: evm.contract,
                key: &evm.key,
                poll_interval: evm.poll_interval,
                rules: Rules {
                    offer_again_ms: millis(evm.rebroadcast_interval),
                    again: again(evm.replacement),
                },
                max_in_flight: evm.max_in_flight,
                billing: &evm.billing,
            },
            FamilyConfig::Tvm(tvm) => Self {
                family: Family::Tvm,
                network: tvm.chain_id.into(),
                bound_to: None,
                contract: tvm.contract,
                key: &tvm.key,
                poll_interval: tvm.poll_interval,
                rules: Rules {
                    offer_again_ms: millis(tvm.rebroadcast_interval),
                    again: Again::Renew {
                        most: tvm.max_attempts,
                        within_ms: millis(tvm.retry_within),
                    },
                },
                max_in_flight: tvm.max_in_flight,
                billing: &tvm.billing,
            },
        }
    }
}

/// Connects every configured chain.
pub(super) async fn all(
    config: &Config,
    dial: &dyn Dial,
    clock: Clock,
) -> Result<Vec<Connected>, ConnectError> {
    let (mut connected, mut faults) = (Vec::new(), Vec::new());
    for chain in &config.chains {
        match one(chain, &config.keys, dial, clock).await {
            Ok(chain) => connected.push(chain),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() { Ok(connected) } else { Err(ConnectError(faults)) }
}

/// Connects one chain; otherwise every fault, each with its key path.
pub(super) async fn one(
    chain: &ChainConfig,
    keys: &KeysConfig,
    dial: &dyn Dial,
    clock: Clock,
) -> Result<Connected, Vec<String>> {
    let (path, terms) = (format!("chains.{}", chain.platform_id), Terms::of(&chain.family));
    let profile = Profile::parse(terms.billing, terms.family).map_err(|faults| {
        faults.iter().map(|fault| format!("{path}.billing.{fault}")).collect::<Vec<_>>()
    });
    let (profile, key) = match (profile, load_key(chain, terms.key, keys).await) {
        (Ok(profile), Ok(key)) => (profile, key),
        (profile, key) => {
            let faults = profile.err().into_iter().flatten();
            return Err(faults.chain(key.err()).collect());
        }
    };
    let facts = Facts {
        id: chain.platform_id,
        name: chain.name.clone(),
        family: terms.family,
        network: terms.network,
        contract: terms.contract,
        signer: key.address(),
        max_in_flight: terms.max_in_flight.into(),
    };
    let policy = Policy {
        chain: chain.platform_id,
        family: terms.family,
        bound_to: terms.bound_to,
        contract: facts.contract,
        selector: profile.selector(),
        signer: facts.signer,
        paused: chain.paused,
        limits: chain.policy.clone(),
    };
    let own = Own { facts, profile, key: Arc::new(key), policy };
    let adapter = match &chain.family {
        FamilyConfig::Evm(config) => connect_evm(own, config, dial, clock).await,
        FamilyConfig::Tvm(config) => connect_tvm(own, config, dial, clock).await,
    };
    Ok(Connected {
        id: chain.platform_id,
        default: chain.default,
        poll_interval: terms.poll_interval,
        rules: terms.rules,
        guard: terms.billing.guard,
        chain: adapter.map_err(|fault| vec![format!("{path}.{fault}")])?,
    })
}

/// What an adapter of either family is made of, besides its way to the chain.
struct Own {
    facts: Facts,
    profile: Profile,
    key: Arc<Key>,
    policy: Policy,
}

/// Connects an EVM chain; otherwise the fault, with its key.
async fn connect_evm(
    own: Own,
    config: &EvmConfig,
    dial: &dyn Dial,
    clock: Clock,
) -> Result<Arc<dyn Inspect>, String> {
    let Own { facts, profile, key, policy } = own;
    let rules = FleetRules {
        chain: RealChain::Eip155(config.eip155_id),
        timeout: config.rpc_timeout,
        passing: evm::passing,
    };
    let fleet = Fleet::dial(dial, &config.rpc, &config.send_only, rules);
    let fleet = Arc::new(fleet.map_err(|unusable| unusable.to_string())?);
    let parts = EvmParts { facts, profile, key, policy, fleet, config: config.clone(), clock };
    let adapter = EvmChain::connect(parts).await.map_err(|error| format!("rpc: {error}"))?;
    Ok(Arc::new(adapter))
}

/// Connects a TRON chain; otherwise the fault, with its key.
async fn connect_tvm(
    own: Own,
    config: &TvmConfig,
    dial: &dyn Dial,
    clock: Clock,
) -> Result<Arc<dyn Inspect>, String> {
    let Own { facts, profile, key, policy } = own;
    let fleet = Arc::new(tron::fleet(dial, config).map_err(|unusable| unusable.to_string())?);
    let config = config.clone();
    let parts = TronParts { facts, profile, key, policy, fleet, config, clock };
    let adapter = TronChain::connect(parts).await.map_err(|error| format!("nodes: {error}"))?;
    Ok(Arc::new(adapter))
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
async fn load_key(chain: &ChainConfig, key: &KeyRef, keys: &KeysConfig) -> Result<Key, String> {
    let source = match key {
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
