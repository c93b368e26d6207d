//! Compares an answer with the recorded one.

use serde_json::Value;

/// Keys whose values follow from the producers, from unrecorded traffic or from the moment.
const IGNORED: [&str; 21] = [
    "blockID",
    "blockHash",
    "hash",
    "parentHash",
    "witness_address",
    "witness_signature",
    "txTrieRoot",
    "transactionsRoot",
    "logsBloom",
    "miner",
    "size",
    "internal_transactions",
    "create_time",
    "latest_opration_time",
    "latest_consume_time",
    "latest_consume_free_time",
    "latest_consume_time_for_energy",
    "energy_window_size",
    "net_window_size",
    "bytecode",
    "runtimecode",
];

/// Every difference, as `path: recorded / got`.
pub(crate) fn differences(recorded: &Value, got: &Value) -> Vec<String> {
    let mut found = vec![];
    walk("", recorded, got, &mut found);
    found
}

fn walk(path: &str, recorded: &Value, got: &Value, found: &mut Vec<String>) {
    match (recorded, got) {
        (Value::String(text), _) if text.starts_with('(') || text.starts_with("<html") => {}
        (Value::Object(a), Value::Object(b)) => {
            let partial = a.contains_key("rest") || a.contains_key("note");
            let mut keys: Vec<_> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            let compared = |key: &&String| {
                let key = key.as_str();
                !IGNORED.contains(&key)
                    && !(partial && (!a.contains_key(key) || key == "rest" || key == "note"))
            };
            for key in keys.into_iter().filter(compared) {
                let path = format!("{path}.{key}");
                walk(
                    &path,
                    a.get(key).unwrap_or(&Value::Null),
                    b.get(key).unwrap_or(&Value::Null),
                    found,
                );
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                walk(&format!("{path}[{index}]"), a, b, found);
            }
        }
        _ if recorded == got => {}
        _ => found.push(format!("{path}: {} / {}", short(recorded), short(got))),
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(160).collect()
}
