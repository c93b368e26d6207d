//! A TRON chain: its nodes, its contract, how long a transaction lives, and what may be paid.

use std::time::Duration;

use alloy::primitives::Address;
use secrecy::SecretString;
use tron_primitives::block::Producer;
use tron_primitives::finality::Witnesses;

use super::{clock_tolerance, requests_a_day};
use crate::billing::BillingConfig;
use crate::faults::Reported;
use crate::kinds::{Expected, rpc_url, sun, time, tron_address, whole};
use crate::reader::TableReader;
use crate::secret;
use crate::secret_url::RpcUrl;
use crate::units::{Sun, is_digits};
use crate::{millis, seconds};
use billing::{Family, parse_address};

/// A TRON chain.
#[derive(Debug, Clone)]
pub struct TvmConfig {
    /// The last four bytes of its genesis block's id: what tells TRON chains apart. Unique, never 0.
    pub chain_id: u32,
    /// Its nodes: at least one, none of them twice.
    pub nodes: Vec<TvmNode>,
    /// Producers of the chain's blocks, if they are pinned: the beginning of the list by which blocks are proven.
    /// None: the first list is the one that the nodes state.
    pub witnesses: Option<Witnesses>,
    /// Longest time for one question to a node: 100 ms to 1 min.
    pub rpc_timeout: Duration,
    /// The billing contract.
    pub contract: Address,
    /// The Multicall3 contract. Without one, everything is read in single calls.
    pub multicall: Option<Address>,
    /// Number of customers read in one call to Multicall: 1 to 500.
    pub chunk: usize,
    /// Greatest distance of the newest block from this machine's clock before nothing is signed: 1 s to 60 s, on a
    /// test chain any time.
    pub clock_tolerance: Duration,
    /// Interval at which open transactions are looked at: 10 ms to 5 min.
    pub poll_interval: Duration,
    /// Interval at which the chain is looked at while nothing is open: 10 ms to 5 min, and never shorter than
    /// [`Self::poll_interval`].
    pub idle_poll_interval: Duration,
    /// Most requests that each provider may get in a day, at least the number that a day takes with nothing open;
    /// none if requests are not counted. Requests above the limit are made all the same, and looks keep further
    /// apart.
    pub max_requests_per_day: Option<u64>,
    /// Interval at which the bytes of a transaction that the chain does not know are offered again: 100 ms to 10
    /// min. Nodes forget a transaction that waits for a minute.
    pub rebroadcast_interval: Duration,
    /// Most transactions that may be in no block at one time: 1 to 100000. Twenty times as many may be in no final
    /// block.
    pub max_in_flight: u32,
    /// Time within which a transaction can land after it was signed, chain time: 1 min to 24 h.
    pub expiry: Duration,
    /// Most transactions that a batch may get, one after the proven death of the other: 1 to 100.
    pub max_attempts: usize,
    /// Time within which a batch may still get another transaction after it was accepted: 0 to 24 h.
    pub retry_within: Duration,
    /// The fees that may be paid for a transaction.
    pub fees: TvmFeeConfig,
    /// The billing call.
    pub billing: BillingConfig,
}

/// One node, at one provider: two or three endpoints that are believed and doubted together.
#[derive(Debug, Clone)]
pub struct TvmNode {
    /// The HTTP API of its full node: answers from the head, and takes transactions.
    pub full: RpcUrl,
    /// The HTTP API of its solidity node: answers from solidified blocks only.
    pub solidity: RpcUrl,
    /// The Ethereum-like API of its full node, if it is to be read through that.
    pub jsonrpc: Option<RpcUrl>,
    /// API key sent to the node as `TRON-PRO-API-KEY`: 1 to 256 visible ASCII characters.
    pub api_key: Option<SecretString>,
}

/// The fees that may be paid for a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TvmFeeConfig {
    /// The highest fee limit that is signed, in sun: 1 TRX to 100000 TRX. A failed transaction can
    /// burn all of its fee limit.
    pub max_fee_limit: Sun,
    /// Margin added to the simulated energy because the contract's energy factor may rise, in percent: 0 to 400.
    pub energy_margin_percent: u32,
    /// Margin added on top because the state may change until the transaction runs, in percent: 0 to 400.
    pub drift_margin_percent: u32,
    /// Reserve added on top of both, energy: 0 to 5000000. A contract that isolates failures needs this reserve in
    /// hand to tell a charge that failed from one that it could not afford to try.
    pub energy_reserve: u64,
    /// Most that failed transactions may cost in one UTC day, in sun, before nothing new is signed: 1 TRX to
    /// 1000000 TRX.
    pub max_burnt_per_day: Sun,
    /// Longest time for a simulation of more than one charge, the way to the node not counted, in percent of the
    /// CPU time that the chain allows one transaction: 50 to 1000000.
    pub max_run_percent: u32,
}

/// The variable that `key = "env"` means here.
pub(crate) const KEY_VARIABLE: &str = crate::incumbent::TVM_KEYS;

const TRX: u64 = 1_000_000;

impl TvmConfig {
    pub(super) fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let chain_id = reader.get("chain_id", &chain_id());
        let nodes = nodes(reader);
        let witnesses = witnesses(reader);
        let rpc_timeout = reader.get("rpc_timeout", &time(millis(100)..=seconds(60)));
        let contract = reader.get("contract", &tron_address());
        let multicall = reader.optional("multicall", &tron_address());
        let chunk = reader.get("chunk", &whole(1..=500));
        // A node that lags lets transactions expire unseen, and one that runs ahead makes them live too
        // long.
        let clock_tolerance = reader.get("clock_tolerance", &clock_tolerance(reader, 60));
        let poll_interval = reader.get("poll_interval", &time(millis(10)..=seconds(300)));
        let idle = reader.get("idle_poll_interval", &time(millis(10)..=seconds(300)));
        let a_day = requests_a_day(reader, 4, 7, idle);
        let rebroadcast = reader.get("rebroadcast_interval", &time(millis(100)..=seconds(600)));
        let max_in_flight = reader.get("max_in_flight", &whole(1..=100_000));
        let expiry = reader.get("expiry", &time(seconds(60)..=seconds(DAY)));
        let max_attempts = reader.get("max_attempts", &whole(1..=100));
        let retry_within = reader.get("retry_within", &time(seconds(0)..=seconds(DAY)));
        let fees = reader.section("fees", TvmFeeConfig::read);
        let billing = reader.section("billing", BillingConfig::read);
        Ok(Self {
            chain_id: chain_id?,
            nodes: nodes?,
            witnesses: witnesses?,
            rpc_timeout: rpc_timeout?,
            contract: contract?,
            multicall: multicall?,
            chunk: chunk?,
            clock_tolerance: clock_tolerance?,
            poll_interval: poll_interval?,
            idle_poll_interval: idle?.max(poll_interval?),
            max_requests_per_day: a_day?,
            rebroadcast_interval: rebroadcast?,
            max_in_flight: max_in_flight?,
            expiry: expiry?,
            max_attempts: max_attempts?,
            retry_within: retry_within?,
            fees: fees?,
            billing: billing?,
        })
    }
}

const DAY: u64 = 86_400;

/// The nodes in the list `nodes`, or the one that is written flat.
fn nodes(reader: &mut TableReader<'_>) -> Result<Vec<TvmNode>, Reported> {
    const FLAT: [&str; 5] = ["full", "solidity", "jsonrpc", "api_key", "api_key_file"];
    let Some(nodes) = reader.list("nodes", TvmNode::read)? else {
        return TvmNode::read(reader).map(|node| vec![node]);
    };
    let mut outcome = Ok(());
    for key in FLAT.into_iter().filter(|key| reader.has(key)) {
        outcome = Err(reader.fault(key, "set beside nodes; put it into one of them"));
    }
    reader.know(&FLAT);
    if nodes.is_empty() {
        outcome = Err(reader.fault("nodes", "is empty; describe at least one node"));
    }
    for (place, node) in nodes.iter().enumerate() {
        let same = |other: &TvmNode| other.full == node.full || other.solidity == node.solidity;
        if nodes.iter().take(place).any(same) {
            let path = format!("{}.nodes[{place}]", reader.path());
            outcome = Err(reader.fault_at(&path, "is a node that is named already; name it once"));
        }
    }
    outcome.map(|()| nodes)
}

/// The witnesses that are pinned, if any are.
fn witnesses(reader: &mut TableReader<'_>) -> Result<Option<Witnesses>, Reported> {
    let pinned = reader.several("witnesses", &witness())?;
    if pinned.is_empty() {
        return Ok(None);
    }
    Witnesses::new(pinned).map(Some).map_err(|why| reader.fault("witnesses", why.to_string()))
}

/// A witness, and who signs its blocks.
fn witness() -> Expected<Producer> {
    let expects = "a witness: T…, or T…/T… where another address signs its blocks";
    Expected::of_text(expects, |text| {
        let (witness, signer) = text.split_once('/').unwrap_or((text, text));
        let read = |text| parse_address(Family::Tvm, text).map_err(|why| why.to_string());
        Ok::<_, String>(Producer { witness: read(witness)?, signer: read(signer)? })
    })
}

impl TvmNode {
    fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let full = reader.get("full", &rpc_url());
        let solidity = reader.get("solidity", &rpc_url());
        let jsonrpc = reader.optional("jsonrpc", &rpc_url());
        let api_key = secret::read(reader, "api_key", "api_key_file", API_KEY, accept);
        Ok(Self { full: full?, solidity: solidity?, jsonrpc: jsonrpc?, api_key: api_key? })
    }
}

impl TvmFeeConfig {
    fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let max_fee_limit = reader.get("max_fee_limit", &sun(Sun(TRX)..=Sun(100_000 * TRX)));
        let energy_margin_percent = reader.get("energy_margin_percent", &whole(0..=400));
        let drift_margin_percent = reader.get("drift_margin_percent", &whole(0..=400));
        let energy_reserve = reader.get("energy_reserve", &whole(0..=5_000_000));
        let burnt = reader.get("max_burnt_per_day", &sun(Sun(TRX)..=Sun(1_000_000 * TRX)));
        let max_run_percent = reader.get("max_run_percent", &whole(50..=1_000_000));
        Ok(Self {
            max_fee_limit: max_fee_limit?,
            energy_margin_percent: energy_margin_percent?,
            drift_margin_percent: drift_margin_percent?,
            energy_reserve: energy_reserve?,
            max_burnt_per_day: burnt?,
            max_run_percent: max_run_percent?,
        })
    }
}

/// The id that tells two TRON chains apart.
pub(super) fn chain_id() -> Expected<u32> {
    let expects = "the last four bytes of the genesis block's id, such as \"0x2b6653dc\" (mainnet), \
                   or the same as a whole number";
    Expected::of_scalar(expects, |text| {
        let read = match text.strip_prefix("0x") {
            Some(digits) if digits.len() == 8 => u32::from_str_radix(digits, 16).ok(),
            None if is_digits(text) => text.parse().ok(),
            Some(_) | None => None,
        };
        read.filter(|id| *id > 0).ok_or("is no chain id of TRON")
    })
}

/// The form that an API key must have.
const API_KEY: &str = "an API key: 1 to 256 visible ASCII characters";

fn accept(text: &str) -> Result<SecretString, String> {
    match text.len() {
        0 => Err("is empty".to_owned()),
        257.. => Err("is too long".to_owned()),
        _ if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err("has a blank, or a letter beyond ASCII".to_owned())
        }
        _ => Ok(SecretString::from(text)),
    }
}
