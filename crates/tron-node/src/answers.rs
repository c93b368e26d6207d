//! A node's answers about accounts, contracts and prices. Fields with default values are left out of every answer,
//! and `{}` means that there is nothing.

use super::api::{Api, garbled};
use super::endpoints::Side;
use alloy::primitives::{Address, Bytes};
use node::AskError;
use serde::Deserialize;
use serde_json::json;
use std::collections::HashMap;
use tron_primitives::address::to_hex;

/// The holdings and permissions of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Sun.
    pub balance: u64,
    /// The time of the block before the one that holds its newest transaction, Unix ms; 0 where it has
    /// none.
    pub used_ms: u64,
    /// The authority of the account's own key alone.
    pub own_key: Authority,
    /// The active permissions by which its own key may call contracts alone. Nothing is signed by them.
    pub active: Vec<u64>,
    /// The permissions by which others may sign without its own key, by their ids: 0 is the owner's.
    pub others: Vec<u64>,
}

/// The authority of one key under the owner permission of an account, by which we sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority {
    /// The weight of the key's signature.
    pub weight: u64,
    /// The weight that signatures have to reach together.
    pub threshold: u64,
}

impl Authority {
    /// That of the only key of an ordinary account.
    pub const ALONE: Self = Self { weight: 1, threshold: 1 };

    /// Returns true if the key's signature is enough.
    pub fn suffices(self) -> bool {
        self.weight >= self.threshold
    }
}

#[derive(Deserialize)]
struct RawPermission {
    #[serde(default)]
    id: u64,
    /// One bit for each type of contract, hex, of an active permission.
    #[serde(default)]
    operations: String,
    #[serde(default)]
    threshold: u64,
    #[serde(default)]
    keys: Vec<RawKey>,
}

#[derive(Deserialize)]
struct RawKey {
    address: String,
    #[serde(default)]
    weight: u64,
}

impl RawPermission {
    fn of(&self, who: &str) -> Authority {
        let own = self.keys.iter().filter(|key| key.address == who);
        let weight = own.fold(0_u64, |sum, key| sum.saturating_add(key.weight));
        Authority { weight, threshold: self.threshold }
    }

    /// Returns true if all other keys together suffice.
    fn lets_others(&self, who: &str) -> bool {
        let others = self.keys.iter().filter(|key| key.address != who);
        let weight = others.fold(0_u64, |sum, key| sum.saturating_add(key.weight));
        Authority { weight, threshold: self.threshold }.suffices()
    }

    /// Returns true if contracts may be called by the permission (type 31).
    fn calls_contracts(&self) -> bool {
        let byte = hex::decode(&self.operations).ok().and_then(|bits| bits.get(3).copied());
        byte.is_some_and(|byte| byte & 0x80 != 0)
    }
}

#[derive(Deserialize)]
struct RawAccount {
    address: String,
    #[serde(default)]
    balance: u64,
    /// The node's own spelling.
    #[serde(default, rename = "latest_opration_time")]
    used_ms: u64,
    /// Left out for accounts of the genesis block, whose own key is enough.
    owner_permission: Option<RawPermission>,
    #[serde(default)]
    active_permission: Vec<RawPermission>,
}

impl RawAccount {
    fn read(self, who: &str) -> Account {
        let Self { balance, used_ms, owner_permission: owner, active_permission, .. } = self;
        let own_key = owner.as_ref().map_or(Authority::ALONE, |owner| owner.of(who));
        let alone = |one: &&RawPermission| one.calls_contracts() && one.of(who).suffices();
        let active = active_permission.iter().filter(alone).map(|one| one.id).collect();
        let all = owner.iter().chain(&active_permission);
        let others = all.filter(|one| one.lets_others(who)).map(|one| one.id).collect();
        Account { balance, used_ms, own_key, active, others }
    }
}

/// The resources that an account can use without paying for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct RawResources {
    #[serde(rename = "freeNetUsed")]
    free_net_used: u64,
    #[serde(rename = "freeNetLimit")]
    free_net_limit: u64,
    #[serde(rename = "NetUsed")]
    net_used: u64,
    #[serde(rename = "NetLimit")]
    net_limit: u64,
    #[serde(rename = "EnergyUsed")]
    energy_used: u64,
    #[serde(rename = "EnergyLimit")]
    energy_limit: u64,
}

/// The rest of an account's resources today. All zero for an account that is not activated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Of the free bandwidth, bytes.
    pub free_bandwidth: u64,
    /// Of the staked bandwidth, bytes.
    pub staked_bandwidth: u64,
    /// Of the staked or rented energy.
    pub energy: u64,
}

impl From<RawResources> for Resources {
    fn from(raw: RawResources) -> Self {
        Self {
            free_bandwidth: raw.free_net_limit.saturating_sub(raw.free_net_used),
            staked_bandwidth: raw.net_limit.saturating_sub(raw.net_used),
            energy: raw.energy_limit.saturating_sub(raw.energy_used),
        }
    }
}

/// The parameters that the chain has voted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters(HashMap<String, i64>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawParameters {
    chain_parameter: Vec<RawParameter>,
}

#[derive(Deserialize)]
struct RawParameter {
    key: String,
    #[serde(default)]
    value: i64,
}

impl Parameters {
    /// The parameter with this name; none where the node does not know it.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(|value| u64::try_from(*value).ok())
    }
}

#[derive(Deserialize)]
struct RawNumber {
    #[serde(default)]
    num: u64,
}

/// A contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractInfo {
    /// The code that runs.
    pub code: Bytes,
    /// Share of the energy that the caller pays, percent.
    pub caller_pays_percent: u64,
    /// The surcharge of the chain on each unit of energy in the contract, in 1/10,000.
    pub energy_factor: u64,
}

#[derive(Deserialize)]
struct RawContract {
    #[serde(default)]
    runtimecode: Bytes,
    smart_contract: RawTerms,
    #[serde(default)]
    contract_state: RawState,
}

#[derive(Deserialize)]
struct RawTerms {
    #[serde(default)]
    consume_user_resource_percent: u64,
}

#[derive(Default, Deserialize)]
struct RawState {
    #[serde(default)]
    energy_factor: u64,
}

impl Api<'_> {
    /// Asks for an account's holdings and permissions; none if the account is not activated.
    pub async fn account(self, side: Side, who: Address) -> Result<Option<Account>, AskError> {
        const QUESTION: &str = "getaccount";
        let who = to_hex(who);
        match self.ask(side, QUESTION, json!({ "address": who })).await? {
            None => Ok(None),
            Some(account) if account.address == who => Ok(Some(account.read(&who))),
            Some(RawAccount { .. }) => Err(garbled(QUESTION)),
        }
    }

    /// The resources that an account can use without paying for them.
    pub async fn resources(self, who: Address) -> Result<Resources, AskError> {
        let params = json!({ "address": to_hex(who) });
        let raw: Option<RawResources> = self.ask(Side::Full, "getaccountresource", params).await?;
        Ok(raw.unwrap_or_default().into())
    }

    /// The parameters that the chain has voted for.
    pub async fn parameters(self) -> Result<Parameters, AskError> {
        let raw: RawParameters = self.demand(Side::Full, "getchainparameters", json!({})).await?;
        let pairs = raw.chain_parameter.into_iter().map(|one| (one.key, one.value));
        Ok(Parameters(pairs.collect()))
    }

    /// When parameters and energy factors change next, Unix ms.
    pub async fn next_maintenance_ms(self) -> Result<u64, AskError> {
        let raw: RawNumber = self.demand(Side::Full, "getnextmaintenancetime", json!({})).await?;
        Ok(raw.num)
    }

    /// A contract; none where there is none at the address.
    pub async fn contract(self, at: Address) -> Result<Option<ContractInfo>, AskError> {
        let params = json!({ "value": to_hex(at) });
        let raw: Option<RawContract> = self.ask(Side::Full, "getcontractinfo", params).await?;
        Ok(raw.map(|raw| ContractInfo {
            code: raw.runtimecode,
            caller_pays_percent: raw.smart_contract.consume_user_resource_percent,
            energy_factor: raw.contract_state.energy_factor,
        }))
    }
}
