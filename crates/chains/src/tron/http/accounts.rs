//! Accounts, contracts, parameters and the node itself.

use super::reads::Sight;
use super::request::Request;
use crate::chain::Chain;
use crate::tron::calls::{Seen, Side};
use crate::tron::json::{Sparse, Spelling, account, accounts};
use crate::tron::{Tron, TronNode, Witness, address};
use serde_json::{Value, json};

impl TronNode {
    pub(super) fn looks_up(&self, side: Side, name: &str, request: &Request) -> Option<Value> {
        let mut chain = self.node().chain();
        let state = self.view(&mut chain, Seen { side, lag: request.lag }).1;
        let sight = Sight::new(&chain, side, request.lag);
        let now = chain.block(sight.newest).map_or(0, |block| block.header.time_ms);
        let params = &chain.family().params;
        let found = |key: &str| request.place(key).map(|bytes| address::from21(&bytes));
        let key = if name.starts_with("getcontract") { "value" } else { "address" };
        Some(match name {
            "getaccount" | "getaccountresource" | "getaccountnet" | "getcontract"
            | "getcontractinfo" => match (found(key), name) {
                (Err(error), _) => json!({"Error": error}),
                (Ok(None), _) => json!({}),
                (Ok(Some(at)), "getaccount") => {
                    accounts::account(&state, &at, now, request.spelling())
                }
                (Ok(Some(at)), "getaccountresource") => {
                    accounts::resources(state.ledger(), params, &at, now)
                }
                (Ok(Some(at)), "getaccountnet") => {
                    accounts::net(state.ledger(), params, &at, now).done()
                }
                (Ok(Some(at)), "getcontract") => accounts::contract(&state, &at),
                (Ok(Some(at)), _) => accounts::contract_info(&state, params, &at),
            },
            "getchainparameters" => {
                let listed = params
                    .listed()
                    .map(|(key, value)| Sparse::new().text("key", key).number("value", value));
                let listed: Vec<_> = listed.map(Sparse::done).collect();
                json!({"chainParameter": listed})
            }
            "getenergyprices" => json!({"prices": format!("0:{}", params.energy_price())}),
            "getbandwidthprices" => json!({"prices": format!("0:{}", params.byte_price())}),
            "getnextmaintenancetime" => {
                json!({"num": chain.family().next_maintenance(&chain.head().header)})
            }
            "getnodeinfo" => node_info(&chain),
            "listwitnesses" | "getpaginatednowwitnesslist" => {
                let all = witnesses(&chain, now, request.spelling());
                let page = |key| usize::try_from(request.number(key)).unwrap_or(0);
                let all = all.into_iter();
                match name {
                    "listwitnesses" => json!({"witnesses": all.collect::<Vec<_>>()}),
                    _ => {
                        json!({"witnesses": all.skip(page("offset")).take(page("limit")).collect::<Vec<_>>()})
                    }
                }
            }
            "validateaddress" => validity(request),
            _ => return None,
        })
    }
}

/// The witnesses at a block time, each with what it has produced. Nobody votes here.
fn witnesses(chain: &Chain<Tron>, now: u64, spelling: Spelling) -> Vec<Value> {
    let produced = |witness: &Witness| {
        let blocks = (1..=chain.head().header.number).filter_map(|number| chain.block(number));
        blocks
            .filter(|block| block.header.producer == witness.address)
            .fold((0_u64, 0, 0), |(count, _, _), block| {
                (count + 1, block.header.number, block.header.time_ms / 3000)
            })
    };
    let active = chain.family().active(now).iter();
    let told = active.map(|witness| {
        let (total, latest, slot) = produced(witness);
        Sparse::new()
            .text("address", account(&address::to21(&witness.address), spelling))
            .number("totalProduced", total)
            .number("latestBlockNum", latest)
            .number("latestSlotNum", slot)
            .flag("isJobs")
            .done()
    });
    told.collect()
}

fn node_info(chain: &Chain<Tron>) -> Value {
    let line =
        |number: u64, id: revm::primitives::B256| format!("Num:{number},ID:{}", hex::encode(id));
    json!({
        "beginSyncNum": chain.solid().header.number,
        "block": line(chain.head().header.number, chain.head().id),
        "solidityBlock": line(chain.solid().header.number, chain.solid().id),
        "currentConnectCount": 0,
        "activeConnectCount": 0,
        "passiveConnectCount": 0,
        "totalFlow": 0,
        "peerList": [],
        "cheatWitnessInfoMap": {},
    })
}

fn validity(request: &Request) -> Value {
    let text = request.text("address").unwrap_or_default();
    let (ok, message) = if text.starts_with('T') {
        (address::from_base58(&text).is_some(), "Base58check format")
    } else if text.len() == 42 {
        (
            hex::decode(&text).ok().and_then(|bytes| address::from21(&bytes)).is_some(),
            "Hex string format",
        )
    } else {
        (false, "Length error")
    };
    json!({"result": ok, "message": message})
}
