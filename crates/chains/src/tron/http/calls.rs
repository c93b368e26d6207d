//! `triggerconstantcontract` and `estimateenergy`.

use super::request::Request;
use crate::tron::TronNode;
use crate::tron::address;
use crate::tron::calls::{Estimate, Question, Seen, Side, Unasked};
use crate::tron::json::{Sparse, Spelling, transactions};
use crate::tron::proto::{Any, Contract, Raw, Transaction, Trigger};
use crate::tron::tvm::{Ending, Outcome};
use crate::tron::tx::Tx;
use prost::Message;
use revm::primitives::{Address, keccak256};
use serde_json::{Value, json};

/// Lifetime of a transaction that the node proposes (ms).
const PROPOSED_MS: u64 = 60_000;

impl TronNode {
    pub(super) fn computes(&self, side: Side, name: &str, request: &Request) -> Option<Value> {
        if !matches!(name, "triggerconstantcontract" | "estimateenergy") {
            return None;
        }
        let question = match question(request) {
            Ok(question) => question,
            Err(error) => return Some(failed("OTHER_ERROR", &error)),
        };
        let seen = Seen { side, lag: request.lag };
        Some(if name == "estimateenergy" {
            match self.estimate(seen, &question) {
                Err(why) => unasked(why),
                Ok(Estimate::Enough(energy)) => {
                    json!({"result": {"result": true}, "energy_required": energy})
                }
                Ok(Estimate::Fails(done)) if done.ending == Ending::OutOfTime => {
                    failed("OTHER_ERROR", &exception(&done))
                }
                Ok(Estimate::Fails(done)) => failed("CONTRACT_EXE_ERROR", &done.message),
            }
        } else {
            match self.ask(seen, &question) {
                Err(why) => unasked(why),
                Ok(done) if matches!(done.ending, Ending::Success | Ending::Revert) => {
                    self.result(&done, request, &question)
                }
                Ok(done) => failed("OTHER_ERROR", &exception(&done)),
            }
        })
    }

    fn result(&self, done: &Outcome, request: &Request, question: &Question) -> Value {
        let reverted = done.ending == Ending::Revert;
        let ret = if reverted { json!([{"ret": "FAILED"}]) } else { json!([{}]) };
        let tx = self.proposal(question);
        let logs: Vec<_> = done.logs.iter().map(transactions::log).collect();
        let transaction = json!({
            "ret": ret,
            "visible": request.spelling() == Spelling::Base58,
            "txID": hex::encode(tx.id),
            "raw_data": transactions::raw(&tx, request.spelling()),
            "raw_data_hex": hex::encode(tx.raw_bytes()),
        });
        Sparse::new()
            .put(
                "result",
                Some(Sparse::new().flag("result").bytes("message", done.message.as_bytes()).done()),
            )
            .number("energy_used", done.energy)
            .number("energy_penalty", done.penalty)
            .put("constant_result", Some(json!([hex::encode(&done.output)])))
            .put("logs", (!logs.is_empty()).then(|| json!(logs)))
            .put("transaction", Some(transaction))
            .done()
    }

    /// The unsigned transaction that the node hands out with its answer.
    fn proposal(&self, question: &Question) -> Tx {
        let chain = self.node().chain();
        let (solid, head) = (chain.solid(), chain.head().header.time_ms);
        let call = Trigger {
            owner_address: address::to21(&question.from),
            contract_address: question.to.map(|to| address::to21(&to)).unwrap_or_default(),
            call_value: i64::try_from(question.value).unwrap_or(0),
            data: question.data.to_vec(),
            ..Trigger::default()
        };
        let type_url = "type.googleapis.com/protocol.TriggerSmartContract".to_owned();
        let any = Any { type_url, value: call.encode_to_vec() };
        let ms = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
        let raw = Raw {
            ref_block_bytes: solid.id[6..8].to_vec(),
            ref_block_hash: solid.id[8..16].to_vec(),
            expiration: ms(head + PROPOSED_MS),
            timestamp: ms(head),
            contract: vec![Contract { r#type: 31, parameter: Some(any), ..Contract::default() }],
            ..Raw::default()
        };
        Tx::new(Transaction { raw_data: Some(raw), signature: vec![] })
    }
}

fn question(request: &Request) -> Result<Question, String> {
    let owner = request.place("owner_address")?;
    if owner.is_empty() {
        return Err(
            "class java.security.InvalidParameterException : owner_address isn't set.".to_owned()
        );
    }
    let contract = request.place("contract_address")?;
    let selector = request.text("function_selector")?;
    let data = if selector.is_empty() {
        request.bytes("data")?
    } else {
        [keccak256(&selector)[..4].to_vec(), request.bytes("parameter")?].concat()
    };
    let value = u64::try_from(request.number("call_value")).unwrap_or(0);
    let to = (!contract.is_empty()).then(|| place(&contract));
    Ok(Question { from: place(&owner), to, value, data: data.into(), out_of_time: request.timeout })
}

/// The last 20 bytes: the node does not insist on 21 here.
fn place(bytes: &[u8]) -> Address {
    let start = bytes.len().saturating_sub(20);
    Address::try_from(&bytes[start..]).unwrap_or_default()
}

fn exception(done: &Outcome) -> String {
    format!("class org.tron.core.vm.program.{} : {}", done.ending.class(), done.message)
}

fn unasked(why: Unasked) -> Value {
    failed("CONTRACT_VALIDATE_ERROR", why)
}

fn failed(code: &str, message: &str) -> Value {
    json!({"result": {"code": code, "message": hex::encode(message)}})
}
