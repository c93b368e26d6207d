//! The TRON side: a node of its own with both its doors, and what a merchant tells the Signer about it.

use super::scheduler::unix_ms;
use super::side::{BILLER, Family, Side};
use super::stories::{self, PEOPLE, TRIAL};
use super::{Error, Options, doors};
use sandbox_chains::serve::{Ports, Served};
use sandbox_chains::state::State;
use sandbox_chains::town::{Founding, Ground as _, Town, wallet};
use sandbox_chains::tron::ledger::Ledger;
use sandbox_chains::tron::{Tron, TronNode};
use std::path::Path;

/// The platform's id of the chain.
const CHAIN: u32 = 136;

/// How many blocks the solid head is behind.
const LAG: u64 = 2;

/// How long before now the first block was made (ms). Founding a town takes fewer blocks.
const HISTORY_MS: u64 = 180_000;

/// Sets up the chain and serves it.
pub(crate) async fn found(options: &Options, place: &Path) -> Result<Side, Error> {
    let full = doors::free(options.port(options.tron_port, 8090)).await?;
    let (node, town) = tokio::task::spawn_blocking(settle).await?;
    let served = node.serve(Ports { full, ..Ports::default() }).await?;
    node.run(options.beat());
    Ok(Side {
        family: Family::Tron,
        chain: CHAIN,
        config: config(&served, (&node, &town), place),
        before: town.balance(&node, town.payee),
        ground: Box::new(node),
        town,
        ask: format!("curl -s {}/wallet/getnowblock", served.full),
        doors: vec![
            ("HTTP API, full node", served.full.clone()),
            ("solidity node", served.solidity.clone()),
            ("JSON-RPC", served.jsonrpc.clone()),
        ],
        _open: Some(served),
    })
}

fn settle() -> (TronNode, Town) {
    let began = unix_ms() - HISTORY_MS;
    let node = TronNode::new(Tron::default(), began, LAG, State::new(Ledger::default()));
    let biller = wallet(BILLER).address();
    let price = 10_000_000; // ten tokens of 6 decimals
    let wanted = Founding { biller, decimals: 6, price, people: PEOPLE, trial: TRIAL };
    let town = Town::found(&node, wanted);
    stories::happen(&node, &town);
    node.solidify();
    let (behind_ms, slot_ms) = {
        let chain = node.node().chain();
        (unix_ms().saturating_sub(chain.head().header.time_ms), chain.settings().slot_ms)
    };
    node.skip(behind_ms / slot_ms);
    (node, town)
}

fn config(served: &Served, (node, town): (&TronNode, &Town), place: &Path) -> String {
    let spell = |address| Family::Tron.spell(address);
    format!(
        r#"[chains.{CHAIN}]
name = "sandbox-tron"
family = "tvm"
test = true
chain_id = "{:#010x}"
full = "{}"
solidity = "{}"
jsonrpc = "{}"
contract = "{}"
multicall = "{}"
key = "file:{}"
poll_interval = "100ms"

[chains.{CHAIN}.fees]
max_fee_limit = "500 TRX"
"#,
        node.chain_id(),
        served.full,
        served.solidity,
        served.jsonrpc,
        spell(town.billing),
        spell(town.multicall),
        place.join(super::signer::KEY).display(),
    )
}
