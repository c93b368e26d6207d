//! The chains: which node, which contract, which key, and how much a transaction may cost.
//!
//! Settings that a chain does not state come from `[chain_defaults.<family>]`. No node is asked whether any of them
//! is true.

mod beacon;
mod evm;
mod keys;
mod main_networks;
mod proven_by;
mod tvm;

pub use beacon::{BeaconConfig, BeaconNetwork};
pub use evm::{EvmConfig, FeeConfig, Finality};
pub use keys::ChainKeys;
pub use proven_by::{ProvenBy, SealsConfig};
pub use tvm::{TvmConfig, TvmFeeConfig, TvmNode};

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use alloy::primitives::Address;

use super::billing::BillingConfig;
use super::faults::Reported;
use super::kinds::{Expected, flag, time, whole, word};
use super::layers::Environment;
use super::policy::PolicyConfig;
use super::reader::TableReader;
use super::seconds;
use super::units::is_digits;
use billing::{Family, PlatformChainId};
use std::sync::Arc;

/// A chain.
#[derive(Debug, Clone)]
pub struct ChainConfig {
    /// Its id as the platform counts: 1 to 2147483647. Unique.
    pub platform_id: PlatformChainId,
    /// Its name in logs and metrics. Unique.
    pub name: String,
    /// True if nothing of value is on the chain: only then are well-known keys and secrets good enough.
    pub test: bool,
    /// True if a request that names no chain means this one. At most one chain is the default.
    pub default: bool,
    /// State of new work: is anything new signed on the chain? Open transactions are followed all the same.
    pub new_work: NewWork,
    /// Keys that sign on the chain, and keys that have signed on it before.
    pub keys: ChainKeys,
    /// Below how many billings that its account can still pay for the gas money runs low: 0 (never)
    /// to 1000000.
    pub gas_warn_billings: u64,
    /// URL at which people look a transaction up, with `{hash}` in the place of its hash: a link on the page of
    /// operators. None if they have no such URL.
    pub explorer: Option<String>,
    /// Limits on the transactions that may be signed on the chain.
    pub policy: PolicyConfig,
    /// Everything that depends on the family.
    pub family: FamilyConfig,
}

/// The state of new work on a chain: is anything new signed?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewWork {
    /// It is.
    Taken,
    /// Not at present (`paused`).
    Paused,
    /// Never again: the chain is only there for what is still open (`retired`).
    Retired,
}

/// The part of a chain's configuration that depends on its family.
#[derive(Debug, Clone)]
pub enum FamilyConfig {
    /// A chain that speaks Ethereum's JSON-RPC.
    Evm(Arc<EvmConfig>),
    /// TRON, or a chain that works like it.
    Tvm(Arc<TvmConfig>),
}

impl FamilyConfig {
    /// The family.
    pub fn family(&self) -> Family {
        match self {
            Self::Evm(_) => Family::Evm,
            Self::Tvm(_) => Family::Tvm,
        }
    }

    /// The network's own id: by EIP-155, or on TRON the last four bytes of its genesis block's id.
    pub fn network(&self) -> u64 {
        match self {
            Self::Evm(evm) => evm.eip155_id,
            Self::Tvm(tvm) => tvm.chain_id.into(),
        }
    }

    /// The billing contract.
    pub fn contract(&self) -> Address {
        match self {
            Self::Evm(evm) => evm.contract,
            Self::Tvm(tvm) => tvm.contract,
        }
    }

    /// Returns the interval at which open transactions are looked at.
    pub fn poll_interval(&self) -> Duration {
        match self {
            Self::Evm(evm) => evm.poll_interval,
            Self::Tvm(tvm) => tvm.poll_interval,
        }
    }

    /// Returns the interval at which the chain is looked at while nothing is open.
    pub fn idle_poll_interval(&self) -> Duration {
        match self {
            Self::Evm(evm) => evm.idle_poll_interval,
            Self::Tvm(tvm) => tvm.idle_poll_interval,
        }
    }

    /// Returns how far the newest block may be from this machine's clock before nothing new is signed.
    pub fn clock_tolerance(&self) -> Duration {
        match self {
            Self::Evm(evm) => evm.clock_tolerance,
            Self::Tvm(tvm) => tvm.clock_tolerance,
        }
    }

    /// Returns how many transactions may be in no block at one time.
    pub fn max_in_flight(&self) -> u32 {
        match self {
            Self::Evm(evm) => evm.max_in_flight,
            Self::Tvm(tvm) => tvm.max_in_flight,
        }
    }

    /// The billing call.
    pub fn billing(&self) -> &BillingConfig {
        match self {
            Self::Evm(evm) => &evm.billing,
            Self::Tvm(tvm) => &tvm.billing,
        }
    }
}

/// All chains, and what the rest of the configuration wants to know even if some are faulty.
pub(super) struct Chains {
    /// The chains, unless one of them is faulty.
    pub(super) read: Result<Vec<ChainConfig>, Reported>,
    /// The path of a chain that is not marked as a test chain, if there is one.
    pub(super) non_test_chain: Option<String>,
}

/// Reads all chains, ordered by platform chain id.
pub(super) fn read_all(root: &mut TableReader<'_>, environment: &Environment) -> Chains {
    let defaults =
        root.section("chain_defaults", |reader| Ok([reader.table("evm")?, reader.table("tvm")?]));
    let mut outlines = Vec::new();
    let all = root.each("chains", |id, reader| {
        let family = reader.get("family", &family());
        if let (Ok([evm, tvm]), Ok(family)) = (&defaults, family) {
            reader.fall_back_on(match family {
                Family::Evm => evm,
                Family::Tvm => tvm,
            });
        }
        outlines.push(Outline::of(reader, family.ok()));
        match (&defaults, &family) {
            (Ok(_), Ok(family)) => ChainConfig::read(id, *family, reader, environment),
            (Err(reported), _) | (_, Err(reported)) => {
                reader.ignore_the_rest();
                Err(*reported)
            }
        }
    });
    if all.as_ref().is_ok_and(Vec::is_empty) {
        root.fault("chains", "missing; describe at least one as [chains.<platform chain id>]");
    }
    compare(&outlines, root);
    let read = all.and_then(|all| all.into_iter().collect()).map(|mut all: Vec<ChainConfig>| {
        all.sort_by_key(|chain| chain.platform_id);
        all
    });
    let non_test_chain =
        outlines.into_iter().find(|outline| !outline.test).map(|outline| outline.path);
    Chains { read, non_test_chain }
}

/// The settings by which a chain is compared with the others, as far as they can be read.
struct Outline {
    path: String,
    test: bool,
    default: bool,
    name: Option<String>,
    /// The id that signatures commit to, or that tells chains without one apart, with its key.
    real: Option<(&'static str, u64)>,
}

impl Outline {
    fn of(reader: &TableReader<'_>, family: Option<Family>) -> Self {
        let evm = || reader.peek("eip155_id", &evm::eip155_id()).map(|id| ("eip155_id", id));
        let tvm = || reader.peek("chain_id", &tvm::chain_id()).map(|id| ("chain_id", id.into()));
        let real = match family {
            Some(Family::Evm) => evm(),
            Some(Family::Tvm) => tvm(),
            None => None,
        };
        Self {
            real,
            path: reader.path(),
            test: is_test(reader, family),
            default: reader.peek("default", &flag()).unwrap_or(false),
            name: reader.peek("name", &name()),
        }
    }
}

/// The main network that a chain is, if it is one that is known.
fn main_network(reader: &TableReader<'_>, family: Family) -> Option<&'static str> {
    let id = match family {
        Family::Evm => reader.peek("eip155_id", &evm::eip155_id()),
        Family::Tvm => reader.peek("chain_id", &tvm::chain_id()).map(u64::from),
    };
    id.and_then(|id| main_networks::named(family, id))
}

/// Returns true if nothing of value is on a chain: it is declared so, and is no main network.
fn is_test(reader: &TableReader<'_>, family: Option<Family>) -> bool {
    let main = family.and_then(|family| main_network(reader, family));
    main.is_none() && reader.peek("test", &flag()).unwrap_or(false)
}

/// No two chains may share what has to tell them apart. Two entries for one real chain would be
/// two claims to one charge, and two sources of nonces for one account.
fn compare(outlines: &[Outline], root: &TableReader<'_>) {
    let (mut defaults, mut names, mut ids) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for Outline { path, default, name, real, .. } in outlines {
        if let Some(other) = default.then(|| defaults.insert((), path)).flatten() {
            let problem = format!("is true for {other} as well; keep one of them");
            root.fault_at(&format!("{path}.default"), problem);
        }
        if let Some(other) = name.as_ref().and_then(|name| names.insert(name, path)) {
            let problem = format!("is the name of {other} as well; choose another");
            root.fault_at(&format!("{path}.name"), problem);
        }
        if let Some((key, id)) = real
            && let Some(other) = ids.insert(id, path)
        {
            let problem = format!("{other} is the same chain; describe every chain once");
            root.fault_at(&format!("{path}.{key}"), problem);
        }
    }
}

impl ChainConfig {
    /// Returns the nodes on other machines that are asked over http.
    pub fn nodes_in_the_clear(&self) -> BTreeSet<String> {
        let all: Vec<&super::RpcUrl> = match &self.family {
            FamilyConfig::Evm(evm) => {
                let beacon = evm.proven_by.iter().filter_map(ProvenBy::url);
                evm.rpc.iter().chain(&evm.send_only).chain(&evm.witness_rpc).chain(beacon).collect()
            }
            FamilyConfig::Tvm(tvm) => {
                let nodes = tvm.nodes.iter();
                nodes
                    .flat_map(|node| [&node.full, &node.solidity].into_iter().chain(&node.jsonrpc))
                    .collect()
            }
        };
        all.into_iter().filter(|url| !url.is_private()).map(ToString::to_string).collect()
    }

    fn read(
        id: &str,
        family: Family,
        reader: &mut TableReader<'_>,
        environment: &Environment,
    ) -> Result<Self, Reported> {
        let platform_id = platform_id(id, reader);
        let name = reader.get("name", &name());
        let test = reader.get("test", &flag());
        let main = main_network(reader, family);
        if let (Some(network), Ok(true)) = (main, &test) {
            let problem = format!("is true, but this is {network}, where money is; write false");
            reader.fault("test", problem);
        }
        let default = reader.get("default", &flag());
        let paused = reader.optional("paused", &flag()).map(Option::unwrap_or_default);
        let retired = reader.optional("retired", &flag()).map(Option::unwrap_or_default);
        if let (Ok(true), Ok(true)) = (retired, default) {
            reader.fault("retired", "is true for the default chain; make another one the default");
        }
        let variable = match family {
            Family::Evm => evm::KEY_VARIABLE,
            Family::Tvm => tvm::KEY_VARIABLE,
        };
        let keys = ChainKeys::read(reader, family, variable, environment);
        let warn = reader.get("gas_warn_billings", &whole(0..=1_000_000));
        let explorer = reader.optional("explorer", &explorer());
        let policy = reader.section("policy", |reader| PolicyConfig::read(reader, family));
        if let (Ok(policy), false, Ok(false)) = (&policy, is_test(reader, Some(family)), retired) {
            policy.check_serious(reader);
        }
        let family = match family {
            Family::Evm => EvmConfig::read(reader).map(|evm| FamilyConfig::Evm(evm.into())),
            Family::Tvm => TvmConfig::read(reader).map(|tvm| FamilyConfig::Tvm(tvm.into())),
        };
        if let (Some(network), Ok(FamilyConfig::Evm(evm))) = (main, &family)
            && let Some(problem) = main_networks::objection(network, evm.finality)
        {
            reader.fault("finality", problem);
        }
        Ok(Self {
            platform_id: platform_id?,
            name: name?,
            test: test?,
            default: default?,
            new_work: match (retired?, paused?) {
                (true, _) => NewWork::Retired,
                (false, true) => NewWork::Paused,
                (false, false) => NewWork::Taken,
            },
            keys: keys?,
            gas_warn_billings: warn?,
            explorer: explorer?,
            policy: policy?,
            family: family?,
        })
    }
}

fn platform_id(id: &str, reader: &TableReader<'_>) -> Result<PlatformChainId, Reported> {
    let canonical = is_digits(id) && !id.starts_with('0');
    match id.parse::<i32>().ok().and_then(|id| u32::try_from(id).ok()) {
        Some(id) if canonical => Ok(PlatformChainId(id)),
        _ => Err(reader.fault_at(
            &reader.path(),
            "not a platform chain id; expected a whole number from 1 to 2147483647",
        )),
    }
}

fn family() -> Expected<Family> {
    word("is not a family of chains")
}

fn explorer() -> Expected<String> {
    let expects = "a URL with {hash} in it, as in \"https://etherscan.io/tx/{hash}\"";
    Expected::of_text(expects, |text| {
        let (before, _) = text.split_once("{hash}").ok_or("has no {hash}")?;
        let url: url::Url = before.parse().map_err(|_| "is no URL")?;
        match url.scheme() {
            "http" | "https" => Ok(text.to_owned()),
            _ => Err("is no URL of a web page"),
        }
    })
}

fn name() -> Expected<String> {
    Expected::of_text("a name of 1 to 64 letters, digits, \"-\", \"_\" or \".\"", |text| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let good = text.len() <= 64 && text.bytes().all(plain);
        good.then(|| text.to_owned()).ok_or("is too long, or has a blank or another sign")
    })
}

/// Accepts the distance of the newest block from this machine's clock, at most `most` seconds. Only a test chain,
/// whose time may be moved by hand, is allowed more.
fn clock_tolerance(reader: &TableReader<'_>, most: u64) -> Expected<Duration> {
    let test = reader.peek("test", &flag()).unwrap_or(false);
    let any = seconds(36_500 * 86_400);
    time(seconds(1)..=if test { any } else { seconds(most) })
}

/// Reads how many requests each provider may get in a day, for looks of `look` requests that are `idle` apart while
/// nothing is open, and `recheck` requests every ten minutes.
fn requests_a_day(
    reader: &mut TableReader<'_>,
    look: u64,
    recheck: u64,
    idle: Result<Duration, Reported>,
) -> Result<Option<u64>, Reported> {
    const KEY: &str = "max_requests_per_day";
    const DAY_MS: u128 = 86_400_000;
    const RECHECKS: u64 = 144;
    let a_day: Option<u64> = reader.optional(KEY, &whole(1_000..=1_000_000_000))?;
    let (Some(a_day), Ok(idle)) = (a_day, idle) else { return Ok(a_day) };
    let looks = DAY_MS.div_ceil(idle.as_millis().max(1));
    let looks = u64::try_from(looks).unwrap_or(u64::MAX);
    let least = looks.saturating_mul(look).saturating_add(RECHECKS.saturating_mul(recheck));
    if a_day < least {
        let said = format!(
            "a day with nothing open takes {least} requests; allow more, or raise idle_poll_interval"
        );
        return Err(reader.fault(KEY, said));
    }
    Ok(Some(a_day))
}
