//! `broadcasthex` and `broadcasttransaction`: same checks, different answers.

use super::request::{Request, lenient};
use crate::tron::TronNode;
use crate::tron::json::transactions;
use crate::tron::refusal::Refusal;
use crate::tron::tx::Tx;
use prost::DecodeError;
use serde_json::{Value, json};

const NOT_HEX: &str = "class org.bouncycastle.util.encoders.DecoderException : exception decoding Hex string: invalid characters \
                       encountered in Hex string";
const CUT_OFF: &str = "While parsing a protocol message, the input ended unexpectedly in the middle of a field.  This could mean \
                       either that the input has been truncated or that an embedded message misreported its own length.";
const NO_TAG: &str = "Protocol message contained an invalid tag (zero).";

impl TronNode {
    pub(super) fn broadcasts(&self, name: &str, request: &Request) -> Option<Value> {
        let tx = match name {
            "broadcasthex" => read_hex(request),
            "broadcasttransaction" => read_json(request),
            _ => return None,
        };
        Some(match tx {
            Ok(tx) => {
                let result = self.broadcast_behind(request.lag, tx.clone());
                answer(name, &tx, result)
            }
            Err(error) => json!({"Error": error}),
        })
    }
}

/// The answer to a broadcast that some fault refuses.
pub(super) fn refused(path: &str, body: &str, code: &str, message: &str) -> super::Reply {
    let request = Request::new(body);
    let hex = path.ends_with("hex");
    let tx = if hex { read_hex(&request) } else { read_json(&request) };
    super::Reply::json(&match tx {
        Ok(tx) => failure(hex, &tx, code, message),
        Err(error) => json!({"Error": error}),
    })
}

fn answer(name: &str, tx: &Tx, result: Result<(), Refusal>) -> Value {
    let id = hex::encode(tx.id);
    let hex = name == "broadcasthex";
    match result {
        Err(refusal) => failure(hex, tx, refusal.code.name(), &refusal.message),
        Ok(()) if hex => {
            let echo = transactions::echo(tx);
            json!({"result": true, "code": "SUCCESS", "txid": id, "message": "", "transaction": echo})
        }
        Ok(()) => json!({"result": true, "txid": id}),
    }
}

fn failure(hex: bool, tx: &Tx, code: &str, message: &str) -> Value {
    let id = hex::encode(tx.id);
    if hex {
        let echo = transactions::echo(tx);
        json!({"result": false, "code": code, "txid": id, "message": message, "transaction": echo})
    } else {
        json!({"code": code, "txid": id, "message": hex::encode(message)})
    }
}

fn read_hex(request: &Request) -> Result<Tx, String> {
    let text = match request.json.get("transaction") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let bytes = lenient(&text).ok_or_else(|| NOT_HEX.to_owned())?;
    Tx::decode(&bytes).map_err(|error| protobuf(&error))
}

fn read_json(request: &Request) -> Result<Tx, String> {
    transactions::parse(&request.json)
        .ok_or_else(|| "class java.lang.NullPointerException : null".to_owned())
}

fn protobuf(error: &DecodeError) -> String {
    let what = if error.to_string().contains("invalid tag value: 0") { NO_TAG } else { CUT_OFF };
    format!("class com.google.protobuf.InvalidProtocolBufferException : {what}")
}
