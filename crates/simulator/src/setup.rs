//! The configuration of a seed's Signer, as a merchant writes it down.

use crate::genesis::{NAMES, Places, Towns};
use crate::mutants::Mutant;
use crate::seed_settings::{Change, GUARD, Scene, Shape};
use crate::world::Side;
use config::Config;
use sandbox_chains::tron::address::base58;
use sandbox_chains::tron::{Tron, Witness};
use std::path::Path;

const ITEM: &str = "(uint64 subscribeId, uint64 planId, bytes32 userHash, uint32 PERIOD, uint128 amount, address userWallet, address tokenAddress, uint64 tag)[] items";
const BARE: &str = "(uint64 subscribeId, uint32 PERIOD, uint128 amount, address userWallet, address tokenAddress, uint64 tag)[] items";
const LOOKUP: &str = "termsOf(uint64 subscribeId) view returns (address userWallet, address tokenAddress, uint128 amount, uint32 PERIOD)";
const CHARGED: &str = "event Charged(uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 PERIOD, uint128 amount)";
const SKIPPED: &str = "event NotCharged(uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 PERIOD, uint8 reason)";

/// More witnesses there never are.
const MOST_WITNESSES: usize = 27;

/// The settings that the configuration of a process follows from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) scene: Scene,
    pub(crate) mutant: Option<Mutant>,
    /// The chain that alone is configured, if it is not both.
    pub(crate) only: Option<Side>,
    /// The change since the first start.
    pub(crate) changed: Option<(Side, Change)>,
}

impl Wanted {
    fn change(&self, side: Side) -> Option<Change> {
        self.changed.filter(|(at, _)| *at == side).map(|(_, change)| change)
    }

    /// Returns the platform's present number of a chain.
    pub(crate) fn number(&self, side: Side) -> u32 {
        let other = self.change(side) == Some(Change::Number);
        side.platform_id() + u32::from(other)
    }

    /// Which chains are configured.
    pub(crate) fn sides(&self) -> Vec<Side> {
        let here = |side: &Side| {
            self.change(*side) != Some(Change::Removed)
                && self.only.is_none_or(|only| only == *side)
        };
        Side::ALL.into_iter().filter(here).collect()
    }
}

/// The configuration of a process.
pub(crate) fn config(towns: &Towns, journal: &Path, wanted: &Wanted) -> Config {
    let mut text = general(journal);
    for side in wanted.sides() {
        text += &match side {
            Side::Evm => evm(&towns.evm_at, wanted),
            Side::Tron => tron(&towns.tron_at, wanted),
        };
    }
    match Config::from_toml(&text, &[]) {
        Ok(config) => config,
        Err(errors) => panic!("the configuration of the simulator is refused: {errors}\n{text}"),
    }
}

fn general(journal: &Path) -> String {
    format!(
        "allow_unauthenticated = true\n[http]\nrequest_deadline = \"25s\"\n\
         [journal]\npath = \"{}\"\nmin_free = \"1MiB\"\nqueue_length = 64\n\
         keep_refusals = \"never\"\n",
        journal.display()
    )
}

/// Interval of looks at a chain on which nothing is open: once before a simulation that is quiet ends.
const IDLE: &str = "9s";

fn poll(mutant: Option<Mutant>, usual: &str) -> String {
    // The first look, at the start, is all that there is.
    if mutant == Some(Mutant::NobodyLooks) { "5m".to_owned() } else { usual.to_owned() }
}

/// Returns the setting of the keys that sign: one key, or a list.
fn keys(wanted: &Wanted, side: Side) -> String {
    let billers = wanted.scene.billers(side, wanted.change(side)).into_iter();
    let named: Vec<String> = billers.map(|place| format!("\"file:{}\"", NAMES[place])).collect();
    match named.as_slice() {
        [one] => format!("key = {one}\n"),
        several => format!("keys = [{}]\n", several.join(", ")),
    }
}

fn contract(at: &Places, change: Option<Change>) -> alloy::primitives::Address {
    if change == Some(Change::Contract) { at.other_billing } else { at.billing }
}

fn evm(at: &Places, wanted: &Wanted) -> String {
    let (scene, side) = (&wanted.scene, Side::Evm);
    let rpc: Vec<String> =
        (0..scene.nodes(side)).map(|number| format!("\"http://evm{number}/\"")).collect();
    let again = if wanted.mutant == Some(Mutant::NoRebroadcast) { "10m" } else { "4s" };
    let give_up = if scene.cancels { "1m" } else { "never" };
    let replacement = if scene.replaces { "on" } else { "off" };
    let number = wanted.number(side);
    format!(
        "[chains.{number}]\nfamily = \"evm\"\nname = \"evm\"\ntest = true\neip155_id = {}\nrpc = [{}]\n{}\
         contract = \"{}\"\nmulticall = \"{}\"\n{}poll_interval = \"{}\"\nidle_poll_interval = \"{IDLE}\"\n\
         rebroadcast_interval = \"{again}\"\nreplacement = \"{replacement}\"\nreplace_after = \"6s\"\n\
         max_attempts = 6\ngive_up_after = \"{give_up}\"\nmax_in_flight = 6\n\
         [chains.{number}.fees]\nmax_fee_per_gas = \"2000 gwei\"\nmax_priority_fee_per_gas = \"100 gwei\"\n\
         max_tx_cost = \"50 ether\"\n{}",
        at.chain_id,
        rpc.join(", "),
        if scene.witnessed { "witness_rpc = \"http://evm1/\"\n" } else { "" },
        contract(at, wanted.change(side)),
        at.multicall,
        keys(wanted, side),
        poll(wanted.mutant, "2s"),
        profile(number, scene.shape(side), wanted.change(side)),
    )
}

fn tron(at: &Places, wanted: &Wanted) -> String {
    let (scene, side) = (&wanted.scene, Side::Tron);
    let node = |number: usize| {
        let door = format!(", jsonrpc = \"http://tron{number}-jsonrpc/\"");
        let door = if scene.jsonrpc { door } else { String::new() };
        format!(
            "{{ full = \"http://tron{number}-full/\", solidity = \"http://tron{number}-solidity/\"{door} }}"
        )
    };
    let nodes: Vec<String> = (0..scene.nodes(side)).map(node).collect();
    let number = wanted.number(side);
    format!(
        "[chains.{number}]\nfamily = \"tvm\"\nname = \"tron\"\ntest = true\nchain_id = {}\n\
         nodes = [{}]\n\
         contract = \"{}\"\nmulticall = \"{}\"\n{}poll_interval = \"{}\"\nidle_poll_interval = \"{IDLE}\"\n\
         rebroadcast_interval = \"4s\"\nexpiry = \"60s\"\nretry_within = \"3m\"\n{}\
         [chains.{number}.fees]\nmax_run_percent = 1000000\n{}",
        at.chain_id,
        nodes.join(", "),
        base58(&contract(at, wanted.change(side))),
        base58(&at.multicall),
        keys(wanted, side),
        poll(wanted.mutant, "3s"),
        pin(scene, wanted.mutant),
        profile(number, scene.shape(side), wanted.change(side)),
    )
}

/// Returns the setting of the witnesses, if they are not to be read: witnesses told by one provider alone are not
/// taken. A block is final too early if one witness is enough.
fn pin(scene: &Scene, mutant: Option<Mutant>) -> String {
    if scene.nodes(Side::Tron) > 1 && !scene.pinned {
        return String::new();
    }
    let each = |witness: &Witness| format!("\"{}\"", base58(&witness.address));
    let known = if mutant == Some(Mutant::LatestNotFinal) { 1 } else { MOST_WITNESSES };
    let pinned: Vec<String> = Tron::default().witnesses.iter().take(known).map(each).collect();
    format!("witnesses = [{}]\n", pinned.join(", "))
}

fn profile(number: u32, shape: Shape, change: Option<Change>) -> String {
    let section = format!("chains.{number}.billing");
    // The contract has a period in every shape; what it is called decides whether it is one.
    let named = (shape == Shape::Guarded) == (change == Some(Change::Naming));
    let name = if named { "period" } else { "edition" };
    let call = if shape == Shape::Bare {
        format!("chargeBare({BARE})")
    } else {
        format!("charge({ITEM})")
    };
    // The bare call emits an event without plan and user: what stands in their place has other names.
    let [charged, skipped] = [CHARGED, SKIPPED].map(|event| {
        let bare = shape == Shape::Bare;
        let other = |text: &str| text.replace("planId", "noPlan").replace("userHash", "nobody");
        if bare { other(event) } else { event.to_owned() }
    });
    let lookup = if shape == Shape::Lookup { LOOKUP } else { "none" };
    format!(
        "[{section}]\ncall = \"{call}\"\nlookup = \"{lookup}\"\ncharged = \"{charged}\"\n\
         skipped = \"{skipped}\"\nguard = \"{GUARD}s\"\n\
         [{section}.reasons]\n1 = \"BALANCE_INSUFFICIENT\"\n"
    )
    .replace("PERIOD", name)
}
