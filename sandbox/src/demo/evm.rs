//! The Ethereum side: a chain, its JSON-RPC, and what a merchant tells the Signer about it.

use super::scheduler::unix_ms;
use super::side::{BILLER, Family, Side};
use super::stories::{self, PEOPLE, TRIAL};
use super::{Error, Options, doors};
use sandbox_chains::chain::{Chain, Header, Settings};
use sandbox_chains::eth;
use sandbox_chains::evm::Evm;
use sandbox_chains::node::Node;
use sandbox_chains::state::State;
use sandbox_chains::town::{Founding, Town, wallet};
use std::path::Path;

/// The platform's id of the chain.
const CHAIN: u32 = 139;

/// How long before now the first block was made (ms). Founding a town takes fewer blocks.
const HISTORY_MS: u64 = 60_000;

/// Sets up the chain and serves it.
pub(crate) async fn found(options: &Options, place: &Path) -> Result<Side, Error> {
    let wanted = options.port(options.evm_port, 8545);
    let listener = doors::open(wanted).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let (node, town) = tokio::task::spawn_blocking(settle).await?;
    node.run(options.beat());
    doors::serve(listener, eth::router(node.clone()));
    let head = r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}"#;
    Ok(Side {
        family: Family::Evm,
        chain: CHAIN,
        config: config(&url, &town, place),
        before: town.balance(&node, town.payee),
        ground: Box::new(node),
        town,
        ask: format!("curl -s {url} -d '{head}'"),
        doors: vec![("Ethereum JSON-RPC", url)],
        _open: None,
    })
}

fn settle() -> (Node<Evm>, Town) {
    let settings = Settings { slot_ms: 1000, lag: 2, safe: 1, ..Settings::default() };
    let began = unix_ms() - HISTORY_MS;
    let genesis =
        Header { time_ms: began, gas_limit: 30_000_000, price: 1_000_000_000, ..Header::default() };
    let node = Node::new(Chain::new(Evm::default(), settings, genesis, State::new(())));
    let biller = wallet(BILLER).address();
    let price = 10_000_000_000_000_000_000; // ten tokens of 18 decimals: more than fits in an int64
    let town =
        Town::found(&node, Founding { biller, decimals: 18, price, people: PEOPLE, trial: TRIAL });
    stories::happen(&node, &town);
    node.solidify();
    let behind_ms = unix_ms().saturating_sub(node.chain().head().header.time_ms);
    node.skip(behind_ms / settings.slot_ms);
    (node, town)
}

fn config(url: &str, town: &Town, place: &Path) -> String {
    format!(
        r#"[chains.{CHAIN}]
name = "sandbox-evm"
family = "evm"
test = true
eip155_id = 31337
rpc = "{url}"
contract = "{}"
multicall = "{}"
key = "file:{}"
poll_interval = "100ms"

[chains.{CHAIN}.fees]
max_fee_per_gas = "100 gwei"
max_priority_fee_per_gas = "2 gwei"
max_tx_cost = "1 ether"
"#,
        town.billing,
        town.multicall,
        place.join(super::signer::KEY).display(),
    )
}
