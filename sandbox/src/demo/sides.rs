//! Both chains as the demonstration sees them, and what a merchant tells the Signer about each.

use super::side::{Family, Side};
use super::signer::KEY;
use sandbox_chains::town::Ground;
use sandbox_platform::Running;
use sandbox_platform::platform::Side as Chain;
use std::path::Path;

/// Ethereum first.
pub(crate) fn both(running: &Running, place: &Path) -> [Side; 2] {
    let [evm, tron] = running.platform.sides();
    let nodes = running.platform.nodes();
    let (url, doors) = (&running.evm_url, &running.tron);
    let head = r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}"#;
    let evm_doors = vec![("Ethereum JSON-RPC", url.clone())];
    let tron_doors = vec![
        ("HTTP API, full node", doors.full.clone()),
        ("solidity node", doors.solidity.clone()),
        ("JSON-RPC", doors.jsonrpc.clone()),
    ];
    [
        Side {
            ask: format!("curl -sS {url} -d '{head}'"),
            config: config_evm(running, evm, place),
            ..side(Family::Evm, evm, Box::new(nodes.evm.clone()), evm_doors)
        },
        Side {
            ask: format!("curl -sS {}/wallet/getnowblock", doors.full),
            config: config_tron(running, tron, place),
            ..side(Family::Tron, tron, Box::new(nodes.tron.clone()), tron_doors)
        },
    ]
}

fn side(
    family: Family,
    chain: &Chain,
    ground: Box<dyn Ground + Send + Sync>,
    doors: Vec<(&'static str, String)>,
) -> Side {
    Side {
        family,
        chain: chain.id,
        before: chain.town.balance(ground.as_ref(), chain.town.payee),
        ground,
        town: chain.town.clone(),
        doors,
        ask: String::new(),
        config: String::new(),
    }
}

fn config_evm(running: &Running, side: &Chain, place: &Path) -> String {
    format!(
        r#"[chains.{}]
name = "sandbox-evm"
family = "evm"
test = true
eip155_id = {}
rpc = "{}"
contract = "{}"
multicall = "{}"
key = "file:{}"
poll_interval = "100ms"
idle_poll_interval = "1s"
clock_tolerance = "36500d"

[chains.{}.fees]
max_fee_per_gas = "100 gwei"
max_priority_fee_per_gas = "2 gwei"
max_tx_cost = "1 ether"
"#,
        side.id,
        side.chain.chain_id(),
        running.evm_url,
        side.town.billing,
        side.town.multicall,
        place.join(KEY).display(),
        side.id,
    )
}

/// The time of the chain is moved by hand, far ahead of this machine's.
fn config_tron(running: &Running, side: &Chain, place: &Path) -> String {
    format!(
        r#"[chains.{}]
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
idle_poll_interval = "1s"
clock_tolerance = "36500d"

[chains.{}.fees]
max_fee_limit = "500 TRX"
# this node counts steps: how long a simulation takes tells how busy the machine is, and no more
max_run_percent = 1000000
"#,
        side.id,
        side.chain.chain_id(),
        running.tron.full,
        running.tron.solidity,
        running.tron.jsonrpc,
        side.spell(side.town.billing),
        side.spell(side.town.multicall),
        place.join(KEY).display(),
        side.id,
    )
}
