//! Accounts, their resources and contracts in JSON.

use super::super::ledger::{Account, Deployed, Ledger, Permission, WINDOW};
use super::super::params::Params;
use super::{Sparse, Spelling, address_of};
use crate::state::State;
use revm::primitives::{Address, keccak256};
use serde_json::{Value, json};

/// The operations that every ordinary account may do with its active permission.
const OPERATIONS: &str = "7fff1fc0033e0100000000000000000000000000000000000000000000000000";
const TRX: u64 = 1_000_000;

/// `getaccount`; `{}` for an account that is not activated.
pub fn account(state: &State<Ledger>, at: &Address, now_ms: u64, spelling: Spelling) -> Value {
    let Some(account) = state.ledger().account(at) else { return json!({}) };
    let balance = u64::try_from(state.balance(at)).unwrap_or(u64::MAX);
    let free = account.free_net.left_at(now_ms);
    Sparse::new()
        .bytes("account_name", account.name.as_bytes())
        .text("type", if account.is_contract { "Contract" } else { "" })
        .put("address", Some(json!(address_of(at, spelling))))
        .number("balance", balance)
        .number("create_time", account.created_ms.unwrap_or(0))
        .number("latest_opration_time", account.operated_ms)
        .number("net_usage", account.net.left_at(now_ms))
        .number("free_net_usage", free)
        .number("latest_consume_time", account.net.at_ms)
        .number("latest_consume_free_time", account.free_net.at_ms)
        .number("net_window_size", WINDOW)
        .put("account_resource", Some(resource(account, now_ms)))
        .put(
            "owner_permission",
            account.owner.as_ref().map(|owner| permission(owner, None, spelling)),
        )
        .put(
            "active_permission",
            (!account.active.is_empty()).then(|| active(&account.active, spelling)),
        )
        .put("frozenV2", Some(frozen(account)))
        .flag("asset_optimized")
        .done()
}

fn resource(account: &Account, now_ms: u64) -> Value {
    Sparse::new()
        .number("energy_usage", account.energy.left_at(now_ms))
        .number("latest_consume_time_for_energy", account.energy.at_ms)
        .number("energy_window_size", WINDOW)
        .done()
}

fn frozen(account: &Account) -> Value {
    json!([
        Sparse::new().number("amount", account.net_stake).done(),
        Sparse::new().text("type", "ENERGY").number("amount", account.energy_stake).done(),
        {"type": "TRON_POWER"},
    ])
}

fn active(permissions: &[Permission], spelling: Spelling) -> Value {
    permissions
        .iter()
        .enumerate()
        .map(|(index, active)| permission(active, Some(index + 2), spelling))
        .collect()
}

fn permission(permission: &Permission, id: Option<usize>, spelling: Spelling) -> Value {
    let keys: Vec<_> = permission
        .keys
        .iter()
        .map(|(key, weight)| json!({"address": address_of(key, spelling), "weight": weight}))
        .collect();
    Sparse::new()
        .text("type", if id.is_some() { "Active" } else { "" })
        .put("id", id.map(Value::from))
        .text("permission_name", if id.is_some() { "active" } else { "owner" })
        .number("threshold", permission.threshold)
        .text("operations", if id.is_some() { OPERATIONS } else { "" })
        .put("keys", Some(json!(keys)))
        .done()
}

/// `getaccountnet`, and the first half of `getaccountresource`.
pub fn net(ledger: &Ledger, params: &Params, at: &Address, now_ms: u64) -> Sparse {
    let account = ledger.account(at).cloned().unwrap_or_default();
    Sparse::new()
        .number("freeNetUsed", account.free_net.left_at(now_ms))
        .number("freeNetLimit", params.get("getFreeNetLimit"))
        .number("NetUsed", account.net.left_at(now_ms))
        .number("NetLimit", ledger.net_limit(at, params))
        .number("TotalNetLimit", params.get("getTotalNetLimit"))
        .number("TotalNetWeight", ledger.stakes().0 / TRX)
}

/// `getaccountresource`; `{}` for an account that is not activated.
pub fn resources(ledger: &Ledger, params: &Params, at: &Address, now_ms: u64) -> Value {
    let Some(account) = ledger.account(at) else { return json!({}) };
    net(ledger, params, at, now_ms)
        .number("tronPowerLimit", (account.net_stake + account.energy_stake) / TRX)
        .number("EnergyUsed", account.energy.left_at(now_ms))
        .number("EnergyLimit", ledger.energy_limit(at, params))
        .number("TotalEnergyLimit", params.get("getTotalEnergyCurrentLimit"))
        .number("TotalEnergyWeight", ledger.stakes().1 / TRX)
        .done()
}

/// `getcontract`; `{}` if it is none.
pub fn contract(state: &State<Ledger>, at: &Address) -> Value {
    let Some(contract) = state.ledger().contract(at) else { return json!({}) };
    Sparse::new()
        .bytes("bytecode", &contract.bytecode)
        .number("consume_user_resource_percent", contract.percent)
        .text("name", contract.name.clone())
        .put("origin_address", Some(json!(address_of(&contract.origin, Spelling::Hex))))
        .put("abi", Some(json!({})))
        .number("origin_energy_limit", contract.origin_energy_limit)
        .put("contract_address", Some(json!(address_of(at, Spelling::Hex))))
        .put("code_hash", Some(json!(hex::encode(keccak256(runtime(state, at))))))
        .number("version", 1)
        .done()
}

/// `getcontractinfo`; `{}` if it is none.
pub fn contract_info(state: &State<Ledger>, params: &Params, at: &Address) -> Value {
    let Some(found) = state.ledger().contract(at) else { return json!({}) };
    Sparse::new()
        .bytes("runtimecode", &runtime(state, at))
        .put("smart_contract", Some(contract(state, at)))
        .put("contract_state", Some(heat(found, state.ledger().cycle, params)))
        .done()
}

fn heat(contract: &Deployed, cycle: u64, params: &Params) -> Value {
    let heat = contract.heat.at(cycle, params);
    Sparse::new()
        .number("energy_usage", heat.usage)
        .number("energy_factor", heat.factor)
        .number("update_cycle", heat.cycle)
        .done()
}

/// The deployed code of a contract.
pub fn runtime(state: &State<Ledger>, at: &Address) -> Vec<u8> {
    state.code(at).map(|code| code.original_byte_slice().to_vec()).unwrap_or_default()
}
