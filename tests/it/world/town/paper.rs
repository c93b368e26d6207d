//! What a merchant writes down for the Signer: the chain, how its contract is called, and the key.

use super::{CHAIN, Doors, Founding, KEY, Settlement, Town, spell};
use crate::world::anvil::{Anvil, Family};
use crate::world::contracts::Merchant;
use crate::world::proxy::Proxy;
use crate::world::signer::Installation;
use alloy::primitives::Address;
use std::os::unix::fs::OpenOptionsExt as _;

/// Where `key = "file:evm.key"` looks.
pub(crate) fn put_key(installation: &Installation) {
    use std::io::Write as _;
    let path = installation.path().join("evm.key");
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    writeln!(file.unwrap(), "{KEY}").unwrap();
}

pub(super) fn reference_profile(founding: &Founding, merchant: &Merchant) -> String {
    let profile = profile(&spell(founding.family, merchant.mer_key));
    if founding.lookup {
        return profile;
    }
    profile.replacen("\"reference\"\n", "\"reference\"\nlookup = \"none\"\n", 1)
}

/// How the reference contract is called for a merchant: the terms are looked up.
pub(crate) fn profile(mer_key: &str) -> String {
    format!(
        "[chains.{CHAIN}.billing]\nprofile = \"reference\"\n\
         [chains.{CHAIN}.billing.constants]\nmerKey = \"{mer_key}\"\n"
    )
}

/// Everything of a chain but its billing profile, for either family.
pub(super) fn config(
    url: &str,
    doors: Option<&Doors>,
    [contract, multicall]: [Address; 2],
    founding: &Founding,
) -> String {
    match doors {
        None => chain(url, contract, multicall, &founding.chain_keys),
        Some(doors) => tron_chain(url, doors, [contract, multicall], &founding.chain_keys),
    }
}

/// The sandbox's node counts steps and not time, and the machine that tests run on has other things to
/// do: how long a simulation takes says nothing.
const UNHURRIED: &str = "[chain_defaults.tvm.fees]\nmax_run_percent = 1000000\n\
                         [chain_defaults.tvm.policy]\nmax_batch = 500\n";

pub(crate) fn tron_chain(full: &str, doors: &Doors, places: [Address; 2], keys: &str) -> String {
    let Doors { solidity, jsonrpc, chain_id } = doors;
    let jsonrpc =
        if jsonrpc.is_empty() { String::new() } else { format!("jsonrpc = {jsonrpc:?}\n") };
    let [contract, multicall] = places.map(|place| spell(Family::Tron, place));
    let usual = usual(keys);
    format!(
        "[chains.{CHAIN}]\nname = \"sandbox\"\nfamily = \"tvm\"\nchain_id = {chain_id}\n\
         full = {full:?}\nsolidity = {solidity:?}\n{jsonrpc}\
         contract = \"{contract}\"\nmulticall = \"{multicall}\"\nkey = \"file:evm.key\"\n\
         test = true\n{usual}\n{keys}\n\
         [chains.{CHAIN}.fees]\nmax_fee_limit = \"15000 TRX\"\n{UNHURRIED}"
    )
}

/// A TRON chain with these nodes in a list instead of the one that is written flat.
pub(crate) fn with_tron_nodes(config: &str, nodes: &[String]) -> String {
    let flat = |line: &&str| {
        let key = line.split(' ').next().unwrap_or_default();
        ["full", "solidity", "jsonrpc"].contains(&key)
    };
    let rest: Vec<&str> = config.lines().filter(|line| !flat(line)).collect();
    let list = format!("nodes = [{}]", nodes.join(", "));
    let (head, tail) = rest.split_at(1);
    [head, &[list.as_str()], tail].concat().join("\n") + "\n"
}

/// What tests set differently, but for what `keys` sets.
fn usual(keys: &str) -> String {
    let usual = [
        "poll_interval = \"50ms\"",
        "idle_poll_interval = \"50ms\"",
        "rebroadcast_interval = \"500ms\"",
    ];
    let said = |line: &&str| {
        let key = line.split(' ').next().unwrap_or_default();
        keys.lines().any(|said| said.split(' ').next() == Some(key))
    };
    let usual: Vec<_> = usual.into_iter().filter(|line| !said(line)).collect();
    usual.join("\n")
}

/// Everything of an EVM chain but its billing profile.
pub(crate) fn chain(rpc: &str, contract: Address, multicall: Address, keys: &str) -> String {
    // Tests make more blocks than there are seconds, and let months pass.
    let moved = if keys.contains("clock_tolerance") { "" } else { "clock_tolerance = \"36500d\"" };
    let usual = format!("{}\n{moved}", usual(keys));
    format!(
        "[chains.{CHAIN}]\nname = \"anvil\"\nfamily = \"evm\"\neip155_id = 31337\nrpc = {rpc:?}\n\
         contract = \"{contract}\"\nmulticall = \"{multicall}\"\nkey = \"file:evm.key\"\ntest = true\n\
         {usual}\n{keys}\n\
         [chains.{CHAIN}.fees]\nmax_fee_per_gas = \"500 gwei\"\nmax_priority_fee_per_gas = \"5 gwei\"\n\
         max_tx_cost = \"10 ether\"\n"
    )
}

impl Town {
    /// The usual town on an EVM node of another make than anvil.
    pub(crate) async fn on_make(make: &str, founding: Founding) -> Self {
        let anvil = Anvil::of_make(make).await;
        let settlement = Settlement::on(&anvil, &founding).await;
        let proxy = Proxy::before(&anvil.url).await;
        Self::installed(&founding, settlement, anvil, None, proxy, None)
    }

    /// On TRON: has the Signer know so many nodes, each a proxy with an endpoint for each side.
    pub(super) async fn know_nodes(&mut self, nodes: usize, founding: &Founding) -> Vec<Proxy> {
        let (served, own) = (&self.tron().served, &self.doors);
        let (mut proxies, mut list) = (vec![], vec![]);
        while proxies.len() < nodes {
            let first = own.as_ref().filter(|_| proxies.is_empty());
            let (proxy, solidity) = if let Some(doors) = first {
                (self.proxy.clone(), doors.solidity.clone())
            } else {
                let proxy = Proxy::before(&served.full).await;
                let solidity = proxy.and_before(&served.solidity).await;
                (proxy, solidity)
            };
            list.push(format!("{{ full = {:?}, solidity = {solidity:?} }}", proxy.url));
            proxies.push(proxy);
        }
        let places = [self.contract, self.multicall];
        let config = config(&self.proxy.url, self.doors.as_ref(), places, founding);
        let config = with_tron_nodes(&config, &list);
        let profile = reference_profile(founding, &self.merchant);
        self.installation = Installation::new(&format!("{config}{profile}"));
        put_key(&self.installation);
        proxies
    }
}
