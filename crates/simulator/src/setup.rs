//! How the Signer of a seed is configured: as a merchant writes it down.

use crate::mutants::Mutant;
use crate::town::{Places, Towns, biller};
use crate::world::{NODES, Side};
use merchant_signer::config::Config;
use sandbox_chains::tron::address::base58;
use std::path::Path;

const CALL: &str = "charge((uint64 subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint128 amount, address userWallet, address tokenAddress, uint64 tag)[] items)";
const CHARGED: &str = "event Charged(uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint128 amount)";
const SKIPPED: &str = "event NotCharged(uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint8 reason)";

/// The configuration of a seed. It is read once, and used for every process.
pub(crate) fn config(towns: &Towns, journal: &Path, mutant: Option<Mutant>) -> Config {
    let text =
        [general(journal), evm(&towns.evm_at, mutant), tron(&towns.tron_at, mutant)].concat();
    let key = format!("0x{}", alloy::hex::encode(biller().to_bytes()));
    let keys = ["EVM_PRIVATE_KEY", "TVM_PRIVATE_KEY"].map(|name| (name.to_owned(), key.clone()));
    match Config::from_toml(&text, &keys) {
        Ok(config) => config,
        Err(errors) => panic!("the configuration of the simulator is refused: {errors}\n{text}"),
    }
}

fn general(journal: &Path) -> String {
    format!(
        "allow_unauthenticated = true\n[http]\nrequest_deadline = \"25s\"\n\
         [journal]\npath = \"{}\"\nmin_free = \"1MiB\"\nqueue_length = 64\n",
        journal.display()
    )
}

fn poll(mutant: Option<Mutant>, usual: &str) -> String {
    // The first look, at the start, is all that there is.
    if mutant == Some(Mutant::NobodyLooks) { "5m".to_owned() } else { usual.to_owned() }
}

fn evm(at: &Places, mutant: Option<Mutant>) -> String {
    let nodes = if mutant == Some(Mutant::OneNodeQuorum) { 1 } else { NODES };
    let rpc: Vec<String> = (0..nodes).map(|number| format!("\"http://evm{number}/\"")).collect();
    let again = if mutant == Some(Mutant::NoRebroadcast) { "10m" } else { "4s" };
    let give_up = if crate::worlds::cancels() { "60s" } else { "never" };
    format!(
        "[chains.139]\nfamily = \"evm\"\nname = \"evm\"\ntest = true\neip155_id = {}\nrpc = [{}]\n\
         contract = \"{}\"\nmulticall = \"{}\"\nkey = \"env\"\npoll_interval = \"{}\"\n\
         rebroadcast_interval = \"{again}\"\nreplace_after = \"6s\"\nmax_attempts = 6\n\
         give_up_after = \"{give_up}\"\nmax_in_flight = 6\n\
         [chains.139.fees]\nmax_fee_per_gas = \"2000 gwei\"\nmax_priority_fee_per_gas = \"100 gwei\"\n\
         max_tx_cost = \"50 ether\"\n{}",
        at.chain_id,
        rpc.join(", "),
        at.billing,
        at.multicall,
        poll(mutant, "2s"),
        profile(Side::Evm),
    )
}

fn tron(at: &Places, mutant: Option<Mutant>) -> String {
    let count = if mutant == Some(Mutant::OneNodeQuorum) { 1 } else { NODES };
    let node = |number: usize| {
        format!(
            "{{ full = \"http://tron{number}-full/\", solidity = \"http://tron{number}-solidity/\" }}"
        )
    };
    let nodes: Vec<String> = (0..count).map(node).collect();
    format!(
        "[chains.195]\nfamily = \"tvm\"\nname = \"tron\"\ntest = true\nchain_id = {}\n\
         nodes = [{}]\n\
         contract = \"{}\"\nmulticall = \"{}\"\nkey = \"env\"\npoll_interval = \"{}\"\n\
         rebroadcast_interval = \"4s\"\nexpiry = \"60s\"\nretry_within = \"3m\"\n\
         [chains.195.fees]\nmax_run_percent = 1000000\n{}",
        at.chain_id,
        nodes.join(", "),
        base58(&at.billing),
        base58(&at.multicall),
        poll(mutant, "3s"),
        profile(Side::Tron),
    )
}

fn profile(side: Side) -> String {
    let section = format!("chains.{}.billing", side.platform_id());
    format!(
        "[{section}]\ncall = \"{CALL}\"\ncharged = \"{CHARGED}\"\nskipped = \"{SKIPPED}\"\n\
         [{section}.reasons]\n1 = \"BALANCE_INSUFFICIENT\"\n"
    )
}
