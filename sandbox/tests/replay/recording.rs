//! A recorded scenario, and the sandbox led through it.

use crate::compare::differences;
use sandbox::tron::TronNode;
use sandbox::tron::http::Port;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// A recorded scenario.
pub(crate) struct Recording {
    name: String,
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
            .join("../tests/golden/tron")
            .join(format!("{name}.json"));
        let text = std::fs::read_to_string(path).unwrap();
        let mut json: Value = serde_json::from_str(&text).unwrap();
        let Value::Array(steps) = json["steps"].take() else { panic!("{name} has no steps") };
        Self { name: name.to_owned(), steps }
    }

    /// The ids that the recorded transactions refer to, by height.
    pub(crate) fn ids(&self) -> HashMap<u64, String> {
        let refs = self.steps.iter().filter_map(|step| step["tx"]["ref_block_id"].as_str());
        let number = |id: &str| u64::from_str_radix(&id[..16], 16).unwrap();
        refs.map(|id| (number(id), id.to_owned())).collect()
    }

    /// When it begins.
    pub(crate) fn start(&self) -> Moment {
        self.steps.iter().find_map(moment).unwrap()
    }

    /// The recorded step with this label.
    pub(crate) fn request(&self, label: &str) -> &Value {
        let found = self.steps.iter().find(|step| step["tx"]["label"] == label);
        &found.unwrap()["request"]
    }

    /// Asks everything that was asked, `at_event` doing what was done to the node, and returns every difference.
    pub(crate) fn replay(
        &self,
        node: &TronNode,
        at_event: impl Fn(&TronNode, &str),
    ) -> Vec<String> {
        let mut found = vec![];
        for step in &self.steps {
            let label = step["at"].as_str().unwrap();
            if step["event"] == true {
                at_event(node, label);
                continue;
            }
            if let Some(moment) = moment(step) {
                go_to(node, moment);
            }
            let (status, answer) = ask(node, &step["request"]);
            let label = label.rsplit("] ").next().unwrap();
            let recorded = &step["response"];
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
        transaction.retain(|key, _| key == "ret" || key == "visible");
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

/// Makes blocks until the chain is where it was.
pub(crate) fn go_to(node: &TronNode, moment: Moment) {
    let lag = moment.head.saturating_sub(moment.solid);
    loop {
        let (head, next) = {
            let chain = node.node().chain();
            let header = &chain.head().header;
            (header.number, chain.family().next_slot(header))
        };
        if head >= moment.head {
            break;
        }
        if head + 1 == moment.head && moment.head_ms > next {
            node.skip((moment.head_ms - next) / 3000);
        }
        node.step();
    }
    node.node().chain().set_lag(lag);
}
