//! From configured chains to adapters: keys opened, profiles read, nodes asked who they are. Every
//! fault of every chain is told at once.

use super::Machine;
use super::keyring::Keyring;
use super::limits;
use super::rules::rules;
use alloy::primitives::Address;
use billing::{OnlyFollows, PlatformChainId, Rules};
use chain::evm::{EvmChain, EvmParts};
use chain::tron::{TronChain, TronParts};
use chain::{Chain, Signatory, SigningAccount};
use config::{ChainConfig, Config, FamilyConfig, KeysConfig};
use contract::Profile;
use host::clock::Clock;
use node::Dial;
use std::fmt;
use std::sync::Arc;

/// The faults that keep chains from being used, each with its key path.
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
    pub(super) config: ChainConfig,
    /// The rules by which open batches are treated.
    pub(super) rules: Rules,
    /// The chain as the first account that signs sees it.
    pub(super) chain: Arc<dyn Chain>,
    /// As the others do.
    more: Vec<Arc<dyn Chain>>,
    profile: Arc<Profile>,
    keyring: Keyring,
    wiring: Wiring,
    clock: Clock,
}

impl Connected {
    pub(super) fn id(&self) -> PlatformChainId {
        self.config.platform_id
    }

    /// The chain as every account that signs sees it.
    pub(super) fn signers(&self) -> impl Iterator<Item = &Arc<dyn Chain>> {
        std::iter::once(&self.chain).chain(&self.more)
    }

    /// The accounts of the retired keys.
    pub(super) fn retired_accounts(&self) -> impl Iterator<Item = Address> {
        self.keyring.retired()
    }

    /// Why the lane of another account would only end what it has begun.
    pub(super) fn follows(&self, account: Address) -> OnlyFollows {
        self.keyring.follower(account).1
    }

    /// The same chain for another account of it, which only ends what it has begun.
    pub(super) async fn follower(
        &self,
        account: Address,
    ) -> Result<(Arc<dyn Chain>, OnlyFollows), ConnectError> {
        let (signatory, why) = self.keyring.follower(account);
        let profile = Arc::clone(&self.profile);
        let account = SigningAccount::new(&self.config, profile, &signatory, self.clock);
        let chain = self.wiring.adapter(account).await;
        let fault = |fault| ConnectError(vec![format!("chains.{}.{fault}", self.id())]);
        Ok((chain.map_err(fault)?, why))
    }
}

/// The way to the nodes of a chain, which all its accounts share.
#[derive(Debug)]
enum Wiring {
    Evm(EvmParts),
    Tvm(TronParts),
}

impl Wiring {
    /// The way; otherwise the fault, with its key.
    fn of(family: &FamilyConfig, dial: &dyn Dial, clock: Clock) -> Result<Self, String> {
        Ok(match family {
            FamilyConfig::Evm(config) => {
                let parts = EvmParts::dial(dial, Arc::clone(config), clock);
                Self::Evm(parts.map_err(|fault| fault.to_string())?)
            }
            FamilyConfig::Tvm(config) => {
                let fleet = tron_node::fleet(dial, config).map_err(|fault| fault.to_string())?;
                Self::Tvm(TronParts::new(Arc::new(fleet), Arc::clone(config)))
            }
        })
    }

    /// The chain for one account; otherwise the fault, with its key.
    async fn adapter(&self, account: SigningAccount) -> Result<Arc<dyn Chain>, String> {
        Ok(match self {
            Self::Evm(parts) => {
                let chain = EvmChain::connect(account, parts.clone()).await;
                Arc::new(chain.map_err(|error| format!("rpc: {error}"))?)
            }
            Self::Tvm(parts) => {
                let chain = TronChain::connect(account, parts.clone()).await;
                Arc::new(chain.map_err(|error| format!("nodes: {error}"))?)
            }
        })
    }
}

/// Connects every configured chain.
pub(super) async fn all(
    config: &Config,
    machine: Machine<'_>,
) -> Result<Vec<Connected>, ConnectError> {
    let split = machine.keys.split(config).await;
    let split = split.map_err(|why| ConnectError(vec![why.to_string()]))?;
    let machine = Machine { keys: split.as_deref().unwrap_or(machine.keys), ..machine };
    let (mut connected, mut faults) = (Vec::new(), Vec::new());
    for chain in &config.chains {
        match one(chain, &config.keys, machine).await {
            Ok(chain) => connected.push(chain),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() { Ok(connected) } else { Err(ConnectError(faults)) }
}

/// Connects one chain; otherwise every fault, each with its key path.
pub(super) async fn one(
    config: &ChainConfig,
    keys: &KeysConfig,
    Machine { dial, clock, keys: open, .. }: Machine<'_>,
) -> Result<Connected, Vec<String>> {
    let (path, family) = (format!("chains.{}", config.platform_id), &config.family);
    let profile = Profile::parse(family.billing(), family.family()).map_err(|faults| {
        faults.iter().map(|fault| format!("{path}.billing.{fault}")).collect::<Vec<_>>()
    });
    let (profile, keyring) = match (profile, Keyring::open(config, keys, open).await) {
        (Ok(profile), Ok(keyring)) => (profile, keyring),
        (profile, keyring) => {
            let faults = [profile.err(), keyring.err()];
            return Err(faults.into_iter().flatten().flatten().collect());
        }
    };
    let loose = limits::faults(config, &profile);
    if !loose.is_empty() {
        return Err(loose);
    }
    let at = |fault| vec![format!("{path}.{fault}")];
    let profile = Arc::new(profile);
    let wiring = Wiring::of(family, dial, clock).map_err(at)?;
    let mut signers = Vec::new();
    for key in keyring.signing() {
        let signatory = Signatory::Key(Arc::clone(key));
        let account = SigningAccount::new(config, Arc::clone(&profile), &signatory, clock);
        signers.push(wiring.adapter(account).await.map_err(at)?);
    }
    let mut signers = signers.into_iter();
    let chain = signers.next().ok_or_else(|| at("key: no key signs".to_owned()))?;
    let (config, rules, more) = (config.clone(), rules(family), signers.collect());
    Ok(Connected { config, rules, chain, more, profile, keyring, wiring, clock })
}
