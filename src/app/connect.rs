//! From configured chains to adapters: keys opened, profiles read, nodes asked who they are. Every
//! fault of every chain is told at once.

use crate::billing::{Again, PlatformChainId, Rules};
use crate::chain::evm::{self, EvmChain, EvmParts};
use crate::chain::tron::{self, TronChain, TronParts};
use crate::chain::{Chain, Inspect, Signatory, SigningAccount};
use crate::clock::Clock;
use crate::config::{ChainConfig, Config, FamilyConfig, KeyRef, KeysConfig, Replacement};
use crate::contract::Profile;
use crate::keys::{Key, KeySource};
use crate::node::Dial;
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
    let (path, family) = (format!("chains.{}", chain.platform_id), &chain.family);
    let profile = Profile::parse(family.billing(), family.family()).map_err(|faults| {
        faults.iter().map(|fault| format!("{path}.billing.{fault}")).collect::<Vec<_>>()
    });
    let (profile, key) = match (profile, load_key(chain, family.key(), keys).await) {
        (Ok(profile), Ok(key)) => (profile, key),
        (profile, key) => {
            let faults = profile.err().into_iter().flatten();
            return Err(faults.chain(key.err()).collect());
        }
    };
    let signatory = Signatory::Key(Arc::new(key));
    let account = SigningAccount::new(chain, profile, &signatory, clock);
    let adapter = connect(account, family, dial).await;
    Ok(Connected {
        id: chain.platform_id,
        default: chain.default,
        poll_interval: family.poll_interval(),
        rules: rules(family),
        guard: family.billing().guard,
        chain: adapter.map_err(|fault| vec![format!("{path}.{fault}")])?,
    })
}

/// Connects a chain; otherwise the fault, with its key.
async fn connect(
    account: SigningAccount,
    family: &FamilyConfig,
    dial: &dyn Dial,
) -> Result<Arc<dyn Inspect>, String> {
    match family.clone() {
        FamilyConfig::Evm(config) => {
            let fleet = Arc::new(evm::fleet(dial, &config).map_err(|fault| fault.to_string())?);
            let adapter = EvmChain::connect(account, EvmParts { fleet, config }).await;
            Ok(Arc::new(adapter.map_err(|error| format!("rpc: {error}"))?))
        }
        FamilyConfig::Tvm(config) => {
            let fleet = Arc::new(tron::fleet(dial, &config).map_err(|fault| fault.to_string())?);
            let adapter = TronChain::connect(account, TronParts { fleet, config }).await;
            Ok(Arc::new(adapter.map_err(|error| format!("nodes: {error}"))?))
        }
    }
}

/// How open batches are treated.
fn rules(family: &FamilyConfig) -> Rules {
    match family {
        FamilyConfig::Evm(evm) => {
            let again = match evm.replacement {
                Replacement::Off => Again::Never,
                Replacement::On { after, most, give_up_after } => Again::Replace {
                    after_ms: millis(after),
                    most,
                    cancel_after_ms: give_up_after.map(millis),
                },
            };
            Rules { offer_again_ms: millis(evm.rebroadcast_interval), again }
        }
        FamilyConfig::Tvm(tvm) => {
            let within_ms = millis(tvm.retry_within);
            let again = Again::Renew { most: tvm.max_attempts, within_ms };
            Rules { offer_again_ms: millis(tvm.rebroadcast_interval), again }
        }
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
