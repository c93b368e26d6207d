//! An EVM chain: its node, its contract, when a block counts as final, and what may be paid.

use std::time::Duration;

use alloy::primitives::Address;

use super::proven_by::ProvenBy;
use super::{clock_tolerance, requests_a_day};
use crate::billing::BillingConfig;
use crate::faults::Reported;
use crate::kinds::{Expected, address, flag, time, wei, whole};
use crate::l1_fee::{L1Fee, l1_fee};
use crate::nodes::{rpc_urls, witness_urls};
use crate::reader::TableReader;
use crate::replacement::Replacement;
use crate::secret_url::RpcUrl;
use crate::units::{Wei, is_digits};
use crate::{millis, seconds};

/// An EVM chain.
#[derive(Debug, Clone)]
pub struct EvmConfig {
    /// Its id as EIP-155 counts: the one that signatures commit to. Unique, never 0.
    pub eip155_id: u64,
    /// Its nodes: at least one.
    pub rpc: Vec<RpcUrl>,
    /// Nodes that transactions are sent to, and that are asked nothing.
    pub send_only: Vec<RpcUrl>,
    /// Endpoints of others that have to bear out final blocks, and are asked nothing else: each of a provider of its own.
    pub witness_rpc: Vec<RpcUrl>,
    /// The proof that has to bear out final blocks; none where finality is the nodes' word.
    pub proven_by: Option<ProvenBy>,
    /// Height up to which final blocks of earlier processes are not compared with the nodes' own: a person has looked
    /// after the billings that were undone up to there.
    pub rewritten_until: Option<u64>,
    /// Longest time for one question to a node: 100 ms to 1 min.
    pub rpc_timeout: Duration,
    /// Greatest distance of the newest block from this machine's clock before nothing new is signed: 1 s to 1 d, on
    /// a test chain to 36500 d.
    pub clock_tolerance: Duration,
    /// The billing contract.
    pub contract: Address,
    /// The Multicall3 contract.
    pub multicall: Address,
    /// Interval at which open transactions are looked at: 10 ms to 5 min.
    pub poll_interval: Duration,
    /// Interval at which the chain is looked at while nothing is open: 10 ms to 5 min, and never shorter than
    /// [`Self::poll_interval`].
    pub idle_poll_interval: Duration,
    /// Most requests that each provider may get in a day, at least the number that a day takes with nothing open;
    /// none if requests are not counted. Requests above the limit are made all the same, and looks keep further
    /// apart.
    pub max_requests_per_day: Option<u64>,
    /// When a block is taken for irrevocable.
    pub finality: Finality,
    /// Most transactions that may be in no block at one time: 1 to 100000.
    pub max_in_flight: u32,
    /// The fees that may be paid for a transaction.
    pub fees: FeeConfig,
    /// Margin added to an estimate of gas, in percent: 0 to 400.
    pub gas_margin_percent: u32,
    /// Reserve added on top, in gas: 0 to 5000000. The reference contract treats a token's failure as one only
    /// while 420,000 gas are left, and otherwise reverts.
    pub gas_reserve: u64,
    /// The largest gas limit that is signed, in gas: 100000 to 16777216 (the cap of EIP-7825).
    pub gas_limit_cap: u64,
    /// Interval at which the bytes of a transaction that the chain does not know are offered again: 100 ms to 10
    /// min.
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

/// The fees that may be paid for a transaction. `max_priority_fee_per_gas` never exceeds `max_fee_per_gas`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeeConfig {
    /// The most that is bid per gas, in wei: 1 wei to 1000000 gwei.
    pub max_fee_per_gas: Wei,
    /// The most that is bid as a tip per gas, in wei: 0 to 1000000 gwei. Without meaning if `legacy`.
    pub max_priority_fee_per_gas: Wei,
    /// The most that one transaction may cost, gas limit times bid, in wei: 1 gwei to 10000 ether.
    pub max_tx_cost: Wei,
    /// True if the chain has no EIP-1559 and transactions name one gas price.
    pub legacy: bool,
    /// Fee for data that the chain takes beside gas, if any.
    pub l1_fee: L1Fee,
}

/// The variable that `key = "env"` means here.
pub(crate) const KEY_VARIABLE: &str = crate::incumbent::EVM_KEYS;

/// The highest block that is ever counted, as the journal counts.
const MOST_BLOCKS: u64 = 9_223_372_036_854_775_807;

const GWEI: u128 = 1_000_000_000;
const ETHER: u128 = 1_000_000_000_000_000_000;

impl EvmConfig {
    pub(super) fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let eip155_id = reader.get("eip155_id", &eip155_id());
        let rpc = rpc_urls(reader, "rpc", &[]);
        if rpc.as_ref().is_ok_and(Vec::is_empty) {
            reader.fault("rpc", "missing; expected the http or https URL of a node, or a list");
        }
        let send_only = rpc_urls(reader, "send_only", rpc.as_deref().unwrap_or_default());
        let witness_rpc = witness_urls(reader, rpc.as_deref().unwrap_or_default());
        let id = eip155_id.as_ref().ok().copied();
        let proven_by = ProvenBy::read(reader, id);
        let rewritten_until = reader.optional("rewritten_until", &whole(0..=MOST_BLOCKS));
        let rpc_timeout = reader.get("rpc_timeout", &time(millis(100)..=seconds(60)));
        let clock_tolerance =
            reader.get("clock_tolerance", &clock_tolerance(reader, MOST_TOLERANCE));
        let contract = reader.get("contract", &address());
        let multicall = reader.get("multicall", &address());
        let poll_interval = reader.get("poll_interval", &time(millis(10)..=seconds(300)));
        let idle = reader.get("idle_poll_interval", &time(millis(10)..=seconds(300)));
        let proof = proven_by.as_ref().map_or(0, |by| ProvenBy::requests(by.as_ref()));
        let recheck = proof.saturating_add(9);
        let a_day = requests_a_day(reader, 5, recheck, idle);
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
            witness_rpc: witness_rpc?,
            proven_by: proven_by?,
            rewritten_until: rewritten_until?,
            rpc_timeout: rpc_timeout?,
            clock_tolerance: clock_tolerance?,
            contract: contract?,
            multicall: multicall?,
            poll_interval: poll_interval?,
            idle_poll_interval: idle?.max(poll_interval?),
            max_requests_per_day: a_day?,
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
    fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        const TIP: &str = "max_priority_fee_per_gas";
        let legacy = reader.get("legacy", &flag());
        let l1_fee = reader.get("l1_fee", &l1_fee());
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
            l1_fee: l1_fee?,
        })
    }
}

/// Ten minutes, in seconds: what a journal allows for clocks that were ahead when its rows were written.
const MOST_TOLERANCE: u64 = 600;

/// A million gwei: above any price that a chain has asked for in earnest.
const DEAREST_GAS: Wei = Wei(1_000_000 * GWEI);

/// The most gas that one transaction may ask for since EIP-7825.
const MAX_TX_GAS: u64 = 16_777_216;

/// Ids above this are refused by wallets and by nodes that do arithmetic on them (EIP-2294).
const MAX_EIP155_ID: u64 = 9_223_372_036_854_775_771;

/// The id that tells two chains apart.
pub(super) fn eip155_id() -> Expected<u64> {
    whole(1..=MAX_EIP155_ID)
}

fn finality() -> Expected<Finality> {
    Expected::of_scalar("\"finalized\" or a number of blocks from 1 to 100000", |text| match text {
        "finalized" => Ok(Finality::FinalizedTag),
        _ if !is_digits(text) => Err("is neither"),
        _ => match text.parse() {
            Ok(depth @ 1..=100_000) => Ok(Finality::Depth(depth)),
            Ok(_) | Err(_) => Err("out of range"),
        },
    })
}
