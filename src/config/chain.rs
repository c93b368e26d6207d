//! The chains: which node, which contract, which key, and how much a transaction may cost.
//!
//! What a chain does not say comes from `[chain_defaults.<family>]`. Asks no node whether any of
//! it is true.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use alloy::primitives::Address;
use secrecy::SecretString;

use super::billing::BillingConfig;
use super::faults::Reported;
use super::kinds::{Kind, address, flag, rpc_urls, time, wei, whole};
use super::layers::Environment;
use super::reader::Reader;
use super::replacement::Replacement;
use super::secret_url::RpcUrl;
use super::units::{Wei, is_digits};
use super::{millis, seconds};
use crate::billing::PlatformChainId;

/// A chain.
#[derive(Debug, Clone)]
pub struct ChainConfig {
    /// Its id as the platform counts: 1 to 2147483647. Unique.
    pub platform_id: PlatformChainId,
    /// Its name in logs and metrics. Unique.
    pub name: String,
    /// Whether nothing of value is on it: only then are well-known keys and secrets good enough.
    pub test: bool,
    /// Whether it is meant when a request names no chain. At most one is.
    pub default: bool,
    /// Everything that depends on the family.
    pub family: FamilyConfig,
}

/// What depends on the family of a chain. TRON is not among them yet.
#[derive(Debug, Clone)]
pub enum FamilyConfig {
    /// A chain that speaks Ethereum's JSON-RPC.
    Evm(EvmConfig),
}

/// An EVM chain.
#[derive(Debug, Clone)]
pub struct EvmConfig {
    /// Its id as EIP-155 counts: the one that signatures commit to. Unique, never 0.
    pub eip155_id: u64,
    /// Its nodes: at least one.
    pub rpc: Vec<RpcUrl>,
    /// Nodes that transactions are sent to, and that are asked nothing.
    pub send_only: Vec<RpcUrl>,
    /// How long one question to a node may take: 100 ms to 1 min.
    pub rpc_timeout: Duration,
    /// The billing contract.
    pub contract: Address,
    /// The key that signs.
    pub key: KeyRef,
    /// The Multicall3 contract.
    pub multicall: Address,
    /// How often open transactions are looked at: 10 ms to 5 min.
    pub poll_interval: Duration,
    /// When a block is taken for irrevocable.
    pub finality: Finality,
    /// How many transactions may be open at one time: 1 to 100000.
    pub max_in_flight: u32,
    /// What may be paid for a transaction.
    pub fees: FeeConfig,
    /// What is added to an estimate of gas, in percent: 0 to 400.
    pub gas_margin_percent: u32,
    /// What is added on top, in gas: 0 to 5000000. The reference contract treats a token's failure as
    /// one only while 420,000 gas are left, and otherwise reverts.
    pub gas_reserve: u64,
    /// The largest gas limit that is signed, in gas: 100000 to 16777216 (the cap of EIP-7825).
    pub gas_limit_cap: u64,
    /// How often the bytes of a transaction that the chain does not know are offered again:
    /// 100 ms to 10 min.
    pub rebroadcast_interval: Duration,
    /// When a transaction that the chain does not take is replaced.
    pub replacement: Replacement,
    /// The billing call.
    pub billing: BillingConfig,
}

/// When a block is taken for irrevocable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finality {
    /// When the node calls it finalized.
    FinalizedTag,
    /// When it is the topmost of this many blocks or lies below them: 1 (the head itself) to
    /// 100000.
    Depth(u64),
}

/// Where a signing key comes from.
#[derive(Debug, Clone)]
pub enum KeyRef {
    /// The keystore of this name in the keystore directory. A plain file name.
    Keystore(String),
    /// A file that holds the key itself.
    File(PathBuf),
    /// The content of `EVM_PRIVATE_KEY` or `TVM_PRIVATE_KEY`, by family: one key, or a JSON map
    /// from platform chain id to key. Not judged yet, but not empty.
    Env(SecretString),
}

/// What may be paid for a transaction. `max_priority_fee_per_gas` never exceeds `max_fee_per_gas`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeeConfig {
    /// The most that is bid per gas, in wei: 1 wei to 1000000 gwei.
    pub max_fee_per_gas: Wei,
    /// The most that is bid as a tip per gas, in wei: 0 to 1000000 gwei. Without meaning if `legacy`.
    pub max_priority_fee_per_gas: Wei,
    /// The most that one transaction may cost, gas limit times bid, in wei: 1 gwei to 10000 ether.
    pub max_tx_cost: Wei,
    /// Whether the chain has no EIP-1559 and transactions name one gas price.
    pub legacy: bool,
}

/// The variables that `key = "env"` means.
pub(super) const KEY_VARIABLES: [&str; 2] = [EVM_KEY, "TVM_PRIVATE_KEY"];
const EVM_KEY: &str = "EVM_PRIVATE_KEY";

const GWEI: u128 = 1_000_000_000;
const ETHER: u128 = 1_000_000_000_000_000_000;

/// All chains, and what the rest of the configuration wants to know even if some are faulty.
pub(super) struct Chains {
    /// The chains, unless one of them is faulty.
    pub(super) read: Result<Vec<ChainConfig>, Reported>,
    /// The path of a chain that is not marked as a test chain, if there is one.
    pub(super) serious: Option<String>,
}

/// Reads all chains, ordered by platform chain id.
pub(super) fn read_all(root: &mut Reader<'_>, environment: &Environment) -> Chains {
    let defaults = root.section("chain_defaults", |reader| reader.table("evm"));
    let mut outlines = Vec::new();
    let all = root.each("chains", |id, reader| {
        let family = reader.get("family", &family());
        if let (Ok(defaults), Ok(Family::Evm) | Err(_)) = (&defaults, &family) {
            reader.fall_back_on(defaults);
        } else {
            reader.ignore_the_rest();
        }
        outlines.push(Outline::of(reader));
        match family {
            Ok(Family::Tvm) => {
                Err(reader.fault("family", "\"tvm\" (TRON) is not supported yet; use \"evm\""))
            }
            Ok(Family::Evm) | Err(_) => ChainConfig::read(id, reader, environment),
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
    let serious = outlines.into_iter().find(|outline| !outline.test).map(|outline| outline.path);
    Chains { read, serious }
}

enum Family {
    Evm,
    Tvm,
}

/// What a chain is compared by with the others, as far as it can be read.
struct Outline {
    path: String,
    test: bool,
    default: bool,
    name: Option<String>,
    eip155_id: Option<u64>,
}

impl Outline {
    fn of(reader: &Reader<'_>) -> Self {
        Self {
            path: reader.path(),
            test: reader.peek("test", &flag()).unwrap_or(false),
            default: reader.peek("default", &flag()).unwrap_or(false),
            name: reader.peek("name", &name()),
            eip155_id: reader.peek("eip155_id", &eip155_id()),
        }
    }
}

/// No two chains may share what has to tell them apart. Two entries for one real chain would be
/// two claims to one charge, and two sources of nonces for one account.
fn compare(outlines: &[Outline], root: &Reader<'_>) {
    let (mut defaults, mut names, mut ids) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for Outline { path, default, name, eip155_id, .. } in outlines {
        if let Some(other) = default.then(|| defaults.insert((), path)).flatten() {
            let problem = format!("is true for {other} as well; keep one of them");
            root.fault_at(&format!("{path}.default"), problem);
        }
        if let Some(other) = name.as_ref().and_then(|name| names.insert(name, path)) {
            let problem = format!("is the name of {other} as well; choose another");
            root.fault_at(&format!("{path}.name"), problem);
        }
        if let Some(other) = eip155_id.and_then(|id| ids.insert(id, path)) {
            let problem = format!("{other} is the same chain; describe every chain once");
            root.fault_at(&format!("{path}.eip155_id"), problem);
        }
    }
}

impl ChainConfig {
    fn read(
        id: &str,
        reader: &mut Reader<'_>,
        environment: &Environment,
    ) -> Result<Self, Reported> {
        let platform_id = platform_id(id, reader);
        let name = reader.get("name", &name());
        let test = reader.get("test", &flag());
        let default = reader.get("default", &flag());
        let evm = EvmConfig::read(reader, environment);
        Ok(Self {
            platform_id: platform_id?,
            name: name?,
            test: test?,
            default: default?,
            family: FamilyConfig::Evm(evm?),
        })
    }
}

impl EvmConfig {
    fn read(reader: &mut Reader<'_>, environment: &Environment) -> Result<Self, Reported> {
        let eip155_id = reader.get("eip155_id", &eip155_id());
        let rpc = rpc_urls(reader, "rpc", &[]);
        if rpc.as_ref().is_ok_and(Vec::is_empty) {
            reader.fault("rpc", "missing; expected the http or https URL of a node, or a list");
        }
        let send_only = rpc_urls(reader, "send_only", rpc.as_deref().unwrap_or_default());
        let rpc_timeout = reader.get("rpc_timeout", &time(millis(100)..=seconds(60)));
        let contract = reader.get("contract", &address());
        let key = reader.get("key", &key_ref(EVM_KEY, environment));
        let multicall = reader.get("multicall", &address());
        let poll_interval = reader.get("poll_interval", &time(millis(10)..=seconds(300)));
        let finality = reader.get("finality", &finality());
        let max_in_flight = reader.get("max_in_flight", &whole(1..=100_000));
        let fees = reader.section("fees", FeeConfig::read);
        let gas_margin_percent = reader.get("gas_margin_percent", &whole(0..=400));
        let gas_reserve = reader.get("gas_reserve", &whole(0..=5_000_000));
        let gas_limit_cap = reader.get("gas_limit_cap", &whole(100_000..=MAX_TX_GAS));
        let rebroadcast = reader.get("rebroadcast_interval", &time(millis(100)..=seconds(600)));
        let replacement = Replacement::read(reader);
        let billing = reader.section("billing", BillingConfig::read);
        Ok(Self {
            eip155_id: eip155_id?,
            rpc: rpc?,
            send_only: send_only?,
            rpc_timeout: rpc_timeout?,
            contract: contract?,
            key: key?,
            multicall: multicall?,
            poll_interval: poll_interval?,
            finality: finality?,
            max_in_flight: max_in_flight?,
            fees: fees?,
            gas_margin_percent: gas_margin_percent?,
            gas_reserve: gas_reserve?,
            gas_limit_cap: gas_limit_cap?,
            rebroadcast_interval: rebroadcast?,
            replacement: replacement?,
            billing: billing?,
        })
    }
}

impl FeeConfig {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Reported> {
        const TIP: &str = "max_priority_fee_per_gas";
        let legacy = reader.get("legacy", &flag());
        let max_fee = reader.get("max_fee_per_gas", &wei(Wei(1)..=DEAREST_GAS));
        let tip = wei(Wei(0)..=DEAREST_GAS);
        let tip = match legacy {
            Ok(true) => reader.optional(TIP, &tip).and_then(|tip| tip.map_or(max_fee, Ok)),
            Ok(false) | Err(_) => reader.get(TIP, &tip),
        };
        let max_tx_cost = reader.get("max_tx_cost", &wei(Wei(GWEI)..=Wei(10_000 * ETHER)));
        if let (Ok(fee), Ok(tip)) = (max_fee, tip)
            && tip > fee
        {
            reader.fault(TIP, "is above max_fee_per_gas, of which it is a part");
        }
        Ok(Self {
            max_fee_per_gas: max_fee?,
            max_priority_fee_per_gas: tip?,
            max_tx_cost: max_tx_cost?,
            legacy: legacy?,
        })
    }
}

/// A million gwei: above any price that a chain has asked for in earnest.
const DEAREST_GAS: Wei = Wei(1_000_000 * GWEI);

/// The most gas that one transaction may ask for since EIP-7825.
const MAX_TX_GAS: u64 = 16_777_216;

/// Ids above this are refused by wallets and by nodes that do arithmetic on them (EIP-2294).
const MAX_EIP155_ID: u64 = 9_223_372_036_854_775_771;

fn platform_id(id: &str, reader: &Reader<'_>) -> Result<PlatformChainId, Reported> {
    let canonical = is_digits(id) && !id.starts_with('0');
    match id.parse::<i32>().ok().and_then(|id| u32::try_from(id).ok()) {
        Some(id) if canonical => Ok(PlatformChainId(id)),
        _ => Err(reader.fault_at(
            &reader.path(),
            "not a platform chain id; expected a whole number from 1 to 2147483647",
        )),
    }
}

fn family() -> Kind<Family> {
    Kind::of_text("\"evm\"", |text| match text {
        "evm" => Ok(Family::Evm),
        "tvm" => Ok(Family::Tvm),
        _ => Err("is not a family of chains"),
    })
}

fn name() -> Kind<String> {
    Kind::of_text("a name of 1 to 64 letters, digits, \"-\", \"_\" or \".\"", |text| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let good = text.len() <= 64 && text.bytes().all(plain);
        good.then(|| text.to_owned()).ok_or("is not that")
    })
}

fn eip155_id() -> Kind<u64> {
    whole(1..=MAX_EIP155_ID)
}

fn finality() -> Kind<Finality> {
    Kind::of_scalar("\"finalized\" or a number of blocks from 1 to 100000", |text| match text {
        "finalized" => Ok(Finality::FinalizedTag),
        _ if !is_digits(text) => Err("is neither"),
        _ => match text.parse() {
            Ok(depth @ 1..=100_000) => Ok(Finality::Depth(depth)),
            Ok(_) | Err(_) => Err("out of range"),
        },
    })
}

fn key_ref(variable: &'static str, environment: &Environment) -> Kind<KeyRef> {
    let set = environment.iter().find(|(name, value)| name == variable && !value.is_empty());
    let set = set.map(|(_, value)| SecretString::from(value.as_str()));
    let expects = "\"keystore:<name>\", \"file:<path>\" or \"env\", never the key itself";
    Kind::of_text(expects, move |text| match text.split_once(':') {
        None if text == "env" => match &set {
            Some(secret) => Ok(KeyRef::Env(secret.clone())),
            None => Err(format!("the environment variable {variable} is not set")),
        },
        Some(("keystore", name)) if is_file_name(name) => Ok(KeyRef::Keystore(name.to_owned())),
        Some(("keystore", _)) => Err("is not the plain name of a keystore".to_owned()),
        Some(("file", path)) if !path.is_empty() && !path.contains('\0') => {
            Ok(KeyRef::File(PathBuf::from(path)))
        }
        Some(_) | None => Err("is none of these".to_owned()),
    })
}

/// One component of a path that cannot lead out of its directory.
fn is_file_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(plain)
}
