//! `Transaction` and `TransactionInfo` in JSON, and a transaction back from it.

use super::super::address;
use super::super::info::Info;
use super::super::proto::{
    Any, Contract, Create, Raw, SmartContract, Transaction, Transfer, Trigger,
};
use super::super::tx::{Action, Tx, new_contract};
use super::{Sparse, Spelling, account};
use crate::chain::Place;
use crate::tron::Tron;
use prost::Message;
use serde_json::{Value, json};

/// A transaction with `contractRet`, if it has been run.
pub fn transaction(tx: &Tx, ret: Option<&str>, spelling: Spelling) -> Value {
    let signature: Vec<_> = tx.message.signature.iter().map(hex::encode).collect();
    Sparse::new()
        .put("ret", ret.map(|ret| json!([{"contractRet": ret}])))
        .put("signature", Some(json!(signature)))
        .put("txID", Some(json!(hex::encode(tx.id))))
        .put("raw_data", Some(raw(tx, spelling)))
        .put("raw_data_hex", Some(json!(hex::encode(tx.raw_bytes()))))
        .done()
}

/// The signed part.
pub fn raw(tx: &Tx, spelling: Spelling) -> Value {
    let raw = tx.raw();
    let contracts: Vec<_> =
        raw.contract.iter().map(|contract| contract_json(tx, contract, spelling)).collect();
    Sparse::new()
        .put("contract", Some(json!(contracts)))
        .bytes("ref_block_bytes", &raw.ref_block_bytes)
        .bytes("ref_block_hash", &raw.ref_block_hash)
        .number("expiration", raw.expiration)
        .bytes("data", &raw.data)
        .number("fee_limit", raw.fee_limit)
        .number("timestamp", raw.timestamp)
        .done()
}

fn contract_json(tx: &Tx, contract: &Contract, spelling: Spelling) -> Value {
    let any = contract.parameter.clone().unwrap_or_default();
    json!({
        "parameter": {"value": value(&tx.action, spelling), "type_url": any.type_url},
        "type": type_name(contract.r#type),
    })
    .as_object()
    .cloned()
    .map_or(Value::Null, |object| {
        object
            .into_iter()
            .fold(Sparse::new(), |sparse, (key, value)| sparse.put(&key, Some(value)))
            .number("Permission_id", contract.permission_id)
            .done()
    })
}

fn value(action: &Action, spelling: Spelling) -> Value {
    match action {
        Action::Trigger(call) => Sparse::new()
            .bytes("data", &call.data)
            .text("owner_address", account(&call.owner_address, spelling))
            .text("contract_address", account(&call.contract_address, spelling))
            .number("call_value", call.call_value)
            .done(),
        Action::Transfer(transfer) => Sparse::new()
            .number("amount", transfer.amount)
            .text("owner_address", account(&transfer.owner_address, spelling))
            .text("to_address", account(&transfer.to_address, spelling))
            .done(),
        Action::Create(create) => Sparse::new()
            .text("owner_address", account(&create.owner_address, spelling))
            .put("new_contract", Some(smart_contract(&new_contract(create), spelling)))
            .done(),
        Action::Other => json!({}),
    }
}

fn smart_contract(new: &SmartContract, spelling: Spelling) -> Value {
    Sparse::new()
        .bytes("bytecode", &new.bytecode)
        .number("call_value", new.call_value)
        .number("consume_user_resource_percent", new.consume_user_resource_percent)
        .text("name", new.name.clone())
        .text("origin_address", account(&new.origin_address, spelling))
        .number("origin_energy_limit", new.origin_energy_limit)
        .done()
}

fn type_name(number: i32) -> &'static str {
    match number {
        1 => "TransferContract",
        30 => "CreateSmartContract",
        31 => "TriggerSmartContract",
        _ => "AccountCreateContract",
    }
}

/// The text that a broadcast echoes: protobuf's own JSON, parameters in hex.
pub fn echo(tx: &Tx) -> String {
    if tx.message == Transaction::default() {
        return "{}".to_owned();
    }
    let raw = tx.raw();
    let contracts: Vec<_> = raw
        .contract
        .iter()
        .map(|contract| {
            let any = contract.parameter.clone().unwrap_or_default();
            let inner = format!(
                "{{\"type_url\": \"{}\",\"value\": \"{}\"}}",
                any.type_url,
                hex::encode(any.value)
            );
            format!("{{\"type\": \"{}\",\"parameter\": {inner}}}", type_name(contract.r#type))
        })
        .collect();
    let fields = [
        quoted("ref_block_bytes", &raw.ref_block_bytes),
        quoted("ref_block_hash", &raw.ref_block_hash),
        plain("expiration", raw.expiration),
        quoted("data", &raw.data),
        (!contracts.is_empty()).then(|| format!("\"contract\": [{}]", contracts.join(","))),
        plain("timestamp", raw.timestamp),
        plain("fee_limit", raw.fee_limit),
    ];
    let fields: Vec<_> = fields.into_iter().flatten().collect();
    let signatures: Vec<_> =
        tx.message.signature.iter().map(|bytes| format!("\"{}\"", hex::encode(bytes))).collect();
    format!("{{\"raw_data\": {{{}}},\"signature\": [{}]}}", fields.join(","), signatures.join(","))
}

fn quoted(key: &str, bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| format!("\"{key}\": \"{}\"", hex::encode(bytes)))
}

fn plain(key: &str, number: i64) -> Option<String> {
    (number != 0).then(|| format!("\"{key}\": {number}"))
}

/// `TransactionInfo`.
pub fn info(place: &Place<Tron>) -> Value {
    let included = place.included();
    let info = &included.receipt;
    Sparse::new()
        .put("id", Some(json!(hex::encode(included.tx.id))))
        .number("fee", info.fee)
        .number("blockNumber", place.block.header.number)
        .number("blockTimeStamp", place.block.header.time_ms)
        .put("contractResult", Some(json!([hex::encode(&info.output)])))
        .text("contract_address", info.contract.map(|at| address::hex21(&at)).unwrap_or_default())
        .put("receipt", Some(receipt(info)))
        .put("log", (!info.logs.is_empty()).then(|| logs(info)))
        .text("result", if info.succeeded() { "" } else { "FAILED" })
        .bytes("resMessage", info.message.as_bytes())
        .done()
}

fn receipt(info: &Info) -> Value {
    Sparse::new()
        .number("energy_usage", info.energy_usage)
        .number("energy_fee", info.energy_fee)
        .number("origin_energy_usage", info.origin_energy_usage)
        .number("energy_usage_total", info.energy_total)
        .number("net_usage", info.net_usage)
        .number("net_fee", info.net_fee)
        .text("result", info.ending.map_or("", super::super::tvm::Ending::name))
        .number("energy_penalty_total", info.penalty)
        .done()
}

fn logs(info: &Info) -> Value {
    info.logs.iter().map(log).collect()
}

/// A log; its address has 20 bytes.
pub fn log(log: &revm::primitives::Log) -> Value {
    let topics: Vec<_> = log.data.topics().iter().map(hex::encode).collect();
    Sparse::new()
        .put("address", Some(json!(hex::encode(log.address))))
        .put("topics", (!topics.is_empty()).then(|| json!(topics)))
        .bytes("data", &log.data.data)
        .done()
}

/// A transaction from the JSON of `broadcasttransaction`, which re-encodes `raw_data` and ignores ids; None if it is no such JSON.
pub fn parse(body: &Value) -> Option<Tx> {
    let raw = body.get("raw_data")?;
    let spelling = Spelling::of(body);
    let contracts = raw.get("contract")?.as_array()?;
    let contracts: Option<Vec<_>> =
        contracts.iter().map(|contract| parse_contract(contract, spelling)).collect();
    let signature =
        body.get("signature").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let signature: Option<Vec<_>> =
        signature.iter().map(|hex| hex::decode(hex.as_str()?).ok()).collect();
    Some(Tx::new(Transaction {
        raw_data: Some(Raw {
            ref_block_bytes: bytes(raw, "ref_block_bytes")?,
            ref_block_hash: bytes(raw, "ref_block_hash")?,
            expiration: number(raw, "expiration"),
            data: bytes(raw, "data")?,
            contract: contracts?,
            timestamp: number(raw, "timestamp"),
            fee_limit: number(raw, "fee_limit"),
            ..Raw::default()
        }),
        signature: signature?,
    }))
}

fn parse_contract(contract: &Value, spelling: Spelling) -> Option<Contract> {
    let name = contract.get("type")?.as_str()?;
    let value = contract.get("parameter")?.get("value")?;
    let owner_address = place(value, "owner_address", spelling)?;
    let (kind, bytes) = match name {
        "TriggerSmartContract" => (
            31,
            Trigger {
                owner_address,
                contract_address: place(value, "contract_address", spelling)?,
                call_value: number(value, "call_value"),
                data: bytes(value, "data")?,
                ..Trigger::default()
            }
            .encode_to_vec(),
        ),
        "TransferContract" => (
            1,
            Transfer {
                owner_address,
                to_address: place(value, "to_address", spelling)?,
                amount: number(value, "amount"),
            }
            .encode_to_vec(),
        ),
        "CreateSmartContract" => (
            30,
            Create {
                owner_address,
                new_contract: Some(parse_new(value.get("new_contract")?, spelling)?),
                ..Create::default()
            }
            .encode_to_vec(),
        ),
        _ => return None,
    };
    let type_url = format!("type.googleapis.com/protocol.{name}");
    let permission_id = i32::try_from(number(contract, "Permission_id")).ok()?;
    Some(Contract {
        r#type: kind,
        parameter: Some(Any { type_url, value: bytes }),
        permission_id,
        ..Contract::default()
    })
}

fn parse_new(new: &Value, spelling: Spelling) -> Option<SmartContract> {
    Some(SmartContract {
        origin_address: place(new, "origin_address", spelling)?,
        bytecode: bytes(new, "bytecode")?,
        call_value: number(new, "call_value"),
        consume_user_resource_percent: number(new, "consume_user_resource_percent"),
        name: new.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        origin_energy_limit: number(new, "origin_energy_limit"),
        ..SmartContract::default()
    })
}

fn place(object: &Value, key: &str, spelling: Spelling) -> Option<Vec<u8>> {
    match spelling {
        Spelling::Hex => bytes(object, key),
        Spelling::Base58 => address::from_base58(object.get(key)?.as_str()?),
    }
}

fn bytes(object: &Value, key: &str) -> Option<Vec<u8>> {
    object.get(key).map_or(Some(vec![]), |hex| hex::decode(hex.as_str()?).ok())
}

fn number(object: &Value, key: &str) -> i64 {
    object.get(key).and_then(Value::as_i64).unwrap_or(0)
}
