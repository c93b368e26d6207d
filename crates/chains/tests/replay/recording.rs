//! A recorded scenario, and the sandbox led through it.

use crate::compare::differences;
use sandbox_chains::tron::TronNode;
use sandbox_chains::tron::http::Port;
use sandbox_chains::tron::tx::Tx;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A recorded scenario.
pub(crate) struct Recording {
    name: String,
    /// Whether it was recorded on the chain with one block producer.
    pub(crate) single: bool,
    steps: Vec<Value>,
}

/// Where the chain was when a request was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) head: u64,
    pub(crate) head_ms: u64,
    pub(crate) solid: u64,
}

impl Recording {
    pub(crate) fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/golden/tron")
            .join(format!("{name}.json"));
        let text = std::fs::read_to_string(path).unwrap();
        let mut json: Value = serde_json::from_str(&text).unwrap();
        let Value::Array(steps) = json["steps"].take() else { panic!("{name} has no steps") };
        let single = json["chain"].as_str().unwrap().starts_with("single");
        Self { name: name.to_owned(), single, steps }
    }

    /// The ids that the recorded transactions refer to, by height. Of an id that is not spelt out, the part that is referred to.
    pub(crate) fn ids(&self) -> HashMap<u64, String> {
        let mut ids = HashMap::new();
        for step in &self.steps {
            let hex = step["request"]["body"]["transaction"].as_str().unwrap_or_default();
            let tx = hex::decode(hex.trim_start_matches("0x"))
                .ok()
                .and_then(|bytes| Tx::decode(&bytes).ok());
            if let (Some(tx), Some(moment), true) =
                (tx, moment(step), step["response"]["body"]["result"] == true)
            {
                let raw = tx.raw();
                if raw.ref_block_hash.len() != 8 {
                    continue;
                }
                let low = u64::from_str_radix(&hex::encode(&raw.ref_block_bytes), 16).unwrap_or(0);
                let number = (moment.head & !0xffff) | low;
                ids.insert(
                    number,
                    format!("{number:016x}{}{}", hex::encode(&raw.ref_block_hash), "0".repeat(32)),
                );
            }
        }
        let refs = self.steps.iter().filter_map(|step| step["tx"]["ref_block_id"].as_str());
        let number = |id: &str| u64::from_str_radix(&id[..16], 16).unwrap();
        ids.extend(refs.map(|id| (number(id), id.to_owned())));
        ids
    }

    /// When it begins: one block earlier if the first request was made before the head was noted.
    pub(crate) fn start(&self) -> Moment {
        let first = self.steps.iter().find_map(moment).unwrap();
        let noted = self
            .steps
            .iter()
            .find(|step| step["event"] != true)
            .is_some_and(|step| moment(step).is_some());
        if noted {
            first
        } else {
            Moment { head: first.head - 1, head_ms: first.head_ms - 3000, ..first }
        }
    }

    /// When each block was made (ms), as far as the steps from `first` to the next restart tell.
    pub(crate) fn times(&self, first: usize) -> BTreeMap<u64, u64> {
        let mut times = BTreeMap::new();
        for step in self.steps[first..].iter().take_while(|step| !is_restart(step)) {
            times.extend(moment(step).map(|moment| (moment.head, moment.head_ms)));
            let raw = &step["response"]["body"]["block_header"]["raw_data"];
            times.extend(raw["number"].as_u64().zip(raw["timestamp"].as_u64()));
        }
        times
    }

    /// Asks everything that was asked, after `hook` has done what the step's label says was done to the node, and returns every difference.
    pub(crate) fn replay(&self, node: &TronNode, hook: impl Fn(&TronNode, &str)) -> Vec<String> {
        let mut times = self.times(0);
        let mut found = vec![];
        for (index, step) in self.steps.iter().enumerate() {
            let label = step["at"].as_str().unwrap();
            if step["event"] == true {
                hook(node, label);
                if is_restart(step) {
                    times = self.times(index + 1);
                }
                continue;
            }
            if let Some(moment) = moment(step) {
                go_to(node, moment, &times);
            }
            if is_trimmed(&step["request"]["body"]) || step["request"]["method"].is_null() {
                continue;
            }
            let label = label.rsplit("] ").next().unwrap();
            hook(node, label);
            let recorded = &step["response"];
            let lost = recorded["transport_error"].as_str();
            if lost.is_some_and(|error| error.starts_with("ECONN")) {
                continue; // it never reached the node
            }
            let (status, answer) = ask(node, &step["request"]);
            if recorded["status"].is_null() {
                continue; // nothing was answered, or it was asked eight times at once
            }
            if recorded["status"] != status {
                found.push(format!(
                    "{}: {label}: status {} / {status}",
                    self.name, recorded["status"]
                ));
            }
            let body = normal(&step["request"], recorded["body"].clone());
            for line in differences(&body, &normal(&step["request"], answer)) {
                found.push(format!("{}: {label}: {line}", self.name));
            }
        }
        found
    }
}

/// What a node proposes with a constant call depends on the moment; the rest of the answer does not.
fn normal(request: &Value, mut body: Value) -> Value {
    if request["path"].as_str().is_some_and(|path| path.ends_with("triggerconstantcontract"))
        && let Some(transaction) = body.get_mut("transaction").and_then(Value::as_object_mut)
    {
        transaction.retain(|key, _| key == "ret");
    }
    body
}

/// Sends a recorded request.
pub(crate) fn ask(node: &TronNode, request: &Value) -> (u64, Value) {
    let port = match request["port"].as_str().unwrap() {
        "full" => Port::Full,
        "solidity" => Port::Solidity,
        "jsonrpc" => Port::JsonRpc,
        _ => Port::JsonRpcSolidity,
    };
    let body = python_json(&request["body"]);
    let reply = node.answer(
        port,
        request["method"].as_str().unwrap(),
        request["path"].as_str().unwrap(),
        &body,
    );
    let value = serde_json::from_str(&reply.body).unwrap_or(Value::String(reply.body));
    (u64::from(reply.status), value)
}

/// JSON with a space after every colon: the recorded client wrote so, and the node's errors count columns.
fn python_json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let fields: Vec<_> = map
                .iter()
                .map(|(key, value)| format!("\"{key}\": {}", python_json(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(python_json).collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn moment(step: &Value) -> Option<Moment> {
    let text = step["at"].as_str()?.strip_prefix("[head ")?;
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|text| !text.is_empty());
    let mut next = || numbers.next()?.parse().ok();
    Some(Moment { head: next()?, head_ms: next()?, solid: next()? })
}

/// Whether the node was killed.
fn is_restart(step: &Value) -> bool {
    step["event"] == true && step["at"].as_str().is_some_and(|at| at.contains("kill"))
}

/// Whether part of a request was left out of the recording.
fn is_trimmed(body: &Value) -> bool {
    match body {
        Value::String(text) => text.starts_with('('),
        Value::Object(map) => map.values().any(is_trimmed),
        Value::Array(items) => items.iter().any(is_trimmed),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Makes blocks at their recorded times until the chain is where it was.
pub(crate) fn go_to(node: &TronNode, moment: Moment, times: &BTreeMap<u64, u64>) {
    node.node().chain().set_lag(u64::MAX);
    loop {
        let (head, next) = {
            let chain = node.node().chain();
            let header = &chain.head().header;
            (header.number, chain.family().next_slot(header))
        };
        if head >= moment.head {
            break;
        }
        if let Some(due) = times.get(&(head + 1)).filter(|due| **due > next) {
            node.skip((due - next) / 3000);
        }
        node.step();
    }
    node.node().chain().set_lag(moment.head.saturating_sub(moment.solid));
}
