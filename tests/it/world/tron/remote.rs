//! A TRON node that is reached by its HTTP API alone, and an account with TRX on it: what a town is
//! founded on where nothing can be had out of nowhere.

use alloy::primitives::{Address, B256, Bytes};
use alloy::signers::SignerSync as _;
use alloy::signers::local::PrivateKeySigner;
use parking_lot::Mutex;
use prost::Message as _;
use sandbox_chains::town::{Call, Ground, wallet};
use sandbox_chains::tron::address::{deployed, hex21, to21};
use sandbox_chains::tron::proto::{
    Any, Contract, Create, Raw, SmartContract, Transaction, Transfer, Trigger,
};
use sandbox_chains::tron::tx::sha256;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::runtime::Handle;

/// What a deployer is given, and what its deployments may burn where the chain allows it (sun).
const FOR_DEPLOYING: i64 = 1_500_000_000;

/// What anybody else is given, and what their calls may burn (sun).
const FOR_CALLING: i64 = 100_000_000;

/// How long a transaction of the town can land (ms).
const LIFE_MS: i64 = 600_000;

/// How often a transaction is asked about before it counts as lost; a block takes three seconds.
const PATIENCE: usize = 1_500;

/// After how many of these it is offered again: a block that ran out of time drops what it had no room for.
const OFFERED_EVERY: usize = 50;

/// A transaction of the town on its way.
struct Submitted {
    id: B256,
    /// As `broadcasthex` takes it.
    bytes: String,
}

/// The node, and who pays. Asked from a thread of its own: its questions block.
#[derive(Debug)]
pub(crate) struct Remote {
    /// The base of `/wallet`.
    pub(crate) full: String,
    /// The base of `/walletsolidity`.
    pub(crate) solidity: String,
    /// Shown to the node, if it wants one.
    pub(crate) api_key: Option<String>,
    /// Whose TRX everybody gets.
    pub(crate) bank: PrivateKeySigner,
    client: reqwest::Client,
    handle: Handle,
    /// Tells equal calls of one moment apart.
    number: Mutex<i64>,
}

impl Remote {
    /// Must be made inside the runtime that answers its questions.
    pub(crate) fn new(full: &str, solidity: &str, bank: PrivateKeySigner) -> Self {
        let (full, solidity) = [full, solidity].map(|u| u.trim_end_matches('/').to_owned()).into();
        let (client, handle) = (reqwest::Client::new(), Handle::current());
        Self { full, solidity, api_key: None, bank, client, handle, number: Mutex::new(0) }
    }

    /// The highest fee limit that the chain takes (sun): a private chain's is lower than others'.
    fn most_allowed(&self) -> i64 {
        let told = self.post(&format!("{}/wallet/getchainparameters", self.full), &json!({}));
        let all = told["chainParameter"].as_array().expect("the node tells its parameters");
        let most = all.iter().find(|one| one["key"] == "getMaxFeeLimit");
        most.and_then(|one| one["value"].as_i64()).expect("getMaxFeeLimit")
    }

    fn post(&self, url: &str, body: &Value) -> Value {
        let mut request = self.client.post(url).body(body.to_string());
        if let Some(key) = &self.api_key {
            request = request.header("TRON-PRO-API-KEY", key);
        }
        let answer = self.handle.block_on(async { request.send().await?.text().await });
        let text = answer.unwrap_or_else(|error| panic!("{}", error.without_url()));
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}"))
    }

    fn ask(&self, question: &str, body: &Value) -> Value {
        self.post(&format!("{}/wallet/{question}", self.full), body)
    }

    /// The id and the time (Unix ms) of a block.
    fn block(&self, url: &str, body: &Value) -> (B256, i64) {
        let block = self.post(url, body);
        let id = block["blockID"].as_str().unwrap_or_else(|| panic!("{block}"));
        (id.parse().unwrap(), block["block_header"]["raw_data"]["timestamp"].as_i64().unwrap_or(0))
    }

    fn submit(
        &self,
        from: &PrivateKeySigner,
        kind: i32,
        name: &str,
        value: Vec<u8>,
        fee_limit: i64,
    ) -> Submitted {
        let newest = json!({"detail": false});
        let (_, now_ms) = self.block(&format!("{}/wallet/getblock", self.full), &newest);
        let solid = format!("{}/walletsolidity/getblock", self.solidity);
        let (solid, _) = self.block(&solid, &newest);
        let number = {
            let mut number = self.number.lock();
            *number += 1;
            *number
        };
        let parameter = Any { type_url: format!("type.googleapis.com/protocol.{name}"), value };
        let raw = Raw {
            ref_block_bytes: solid[6..8].to_vec(),
            ref_block_hash: solid[8..16].to_vec(),
            expiration: now_ms + LIFE_MS,
            contract: vec![Contract {
                r#type: kind,
                parameter: Some(parameter),
                ..Contract::default()
            }],
            timestamp: now_ms + number,
            fee_limit,
            ..Raw::default()
        };
        let id = sha256(&raw.encode_to_vec());
        let signature = vec![from.sign_hash_sync(&id).unwrap().as_bytes().to_vec()];
        let bytes = Transaction { raw_data: Some(raw), signature }.encode_to_vec();
        let submitted = Submitted { id, bytes: hex::encode(bytes) };
        let said = self.offer(&submitted);
        assert_eq!(said["result"], true, "{said}");
        submitted
    }

    fn offer(&self, one: &Submitted) -> Value {
        self.ask("broadcasthex", &json!({"transaction": one.bytes}))
    }

    /// Waits until all are in blocks, and sees that they succeeded. What a node has forgotten it is told again; what
    /// it says to that decides nothing.
    fn include(&self, all: &[Submitted]) {
        for one in all {
            let id = one.id;
            let asked = json!({"value": hex::encode(id)});
            let info = (1..=PATIENCE).find_map(|times| {
                if times.is_multiple_of(OFFERED_EVERY) {
                    self.offer(one);
                }
                let info = self.ask("gettransactioninfobyid", &asked);
                let found = info.get("id").is_some();
                if !found {
                    std::thread::sleep(Duration::from_millis(200));
                }
                found.then_some(info)
            });
            let info = info.unwrap_or_else(|| panic!("{id} never landed"));
            assert!(info.get("result").is_none(), "a transaction of the town failed: {info}");
        }
    }
}

impl Ground for Remote {
    fn chain_id(&self) -> u64 {
        let first = json!({"id_or_num": "0", "detail": false});
        let (genesis, _) = self.block(&format!("{}/wallet/getblock", self.full), &first);
        u64::from(u32::from_be_bytes(genesis[28..].try_into().unwrap()))
    }

    fn endow(&self, accounts: &[Address]) {
        let owner_address = to21(&self.bank.address());
        let others = accounts.iter().filter(|who| **who != self.bank.address());
        let sent: Vec<Submitted> = others
            .map(|who| {
                let deploys = *who == wallet("owner").address();
                let amount = if deploys { 2 * FOR_DEPLOYING } else { FOR_CALLING };
                let (owner_address, to_address) = (owner_address.clone(), to21(who));
                let transfer = Transfer { owner_address, to_address, amount };
                self.submit(&self.bank, 1, "TransferContract", transfer.encode_to_vec(), 0)
            })
            .collect();
        self.include(&sent);
    }

    fn deploy(&self, from: &PrivateKeySigner, creation: Bytes) -> Address {
        let contract = SmartContract {
            origin_address: to21(&from.address()),
            bytecode: creation.to_vec(),
            consume_user_resource_percent: 100,
            origin_energy_limit: 10_000_000,
            ..SmartContract::default()
        };
        let create = Create {
            owner_address: to21(&from.address()),
            new_contract: Some(contract),
            ..Create::default()
        };
        let most = self.most_allowed().min(FOR_DEPLOYING);
        let create = create.encode_to_vec();
        let creation = self.submit(from, 30, "CreateSmartContract", create, most);
        let id = creation.id;
        self.include(&[creation]);
        deployed(id.as_slice(), &from.address())
    }

    fn execute(&self, calls: Vec<Call>) {
        let send = |call: Call| {
            let trigger = Trigger {
                owner_address: to21(&call.from.address()),
                contract_address: to21(&call.to),
                data: call.data.to_vec(),
                ..Trigger::default()
            };
            let trigger = trigger.encode_to_vec();
            self.submit(&call.from, 31, "TriggerSmartContract", trigger, FOR_CALLING)
        };
        let sent: Vec<Submitted> = calls.into_iter().map(send).collect();
        self.include(&sent);
    }

    fn view(&self, to: Address, data: Bytes) -> Bytes {
        let owner = hex21(&self.bank.address());
        let asked = json!({
            "owner_address": owner, "contract_address": hex21(&to), "data": hex::encode(&data),
        });
        let said = self.ask("triggerconstantcontract", &asked);
        let answer = said["constant_result"][0].as_str().unwrap_or_else(|| panic!("{said}"));
        hex::decode(answer).unwrap().into()
    }
}
