//! The part of a configuration that a process needs which holds keys: chains, limits, and where keys are.
//!
//! It is written anew as a text, without a secret that signing does not need: no caller's, no webhook's, no
//! node's, no password of the journal. The process reads the whole file once, writes this, and begins anew
//! with it (exec), so that nothing of the rest is left in its memory.

use super::faults::{Faults, Reported};
use super::incumbent;
use super::keys;
use super::layers::{self, Environment};
use super::places;
use super::reader::TableReader;
use super::{ChainConfig, ConfigErrors, JournalPlace, KeysConfig, chain};
use super::{process_environment, read_file};
use alloy::primitives::B256;
use config_rs::{Value, ValueKind};
use sha2::{Digest as _, Sha256};
use std::path::Path;

/// The sections that are read again. Of the journal it is where its files are.
const SECTIONS: [&str; 4] = ["chain_defaults", "chains", "journal", "keys"];

/// The keys of [`SECTIONS`] that say where the journal's files are.
const PLACES: [&str; 2] = ["path", "mark_path"];

/// In place of a secret: a node's key, or the URL of the journal.
const NO_KEY: &str = "-";
const NO_URL: &str = "postgresql://nobody@localhost/nothing";

/// Chains, limits, and where keys are.
#[derive(Debug)]
pub struct ForKeys {
    /// The chains. Of their nodes no more is known than where they are.
    pub chains: Vec<ChainConfig>,
    /// The places where keys are.
    pub keys: KeysConfig,
}

/// The same as a text, and the variables that go with it.
#[derive(Debug)]
pub struct TextForKeys {
    /// Of a configuration file.
    pub text: String,
    /// Those that name keys or stores that hand keys out.
    pub environment: Vec<(String, String)>,
}

impl TextForKeys {
    /// Of the file at `path` and the environment of the process.
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigErrors> {
        let faults = Faults::default();
        let environment = process_environment(&faults);
        let text = read_file(path, &faults);
        let text = text.and_then(|text| Self::of((&text, path), environment, &faults));
        faults.settle(text)
    }

    fn of(
        (text, file): (&str, Option<&Path>),
        environment: Vec<(String, String)>,
        faults: &Faults,
    ) -> Result<Self, Reported> {
        let mut tree = layers::merge(text, &environment, faults)?;
        places::start_at(file, &mut tree);
        let ValueKind::Table(mut sections) = tree.kind else { return Ok(Self::of_nothing()) };
        sections.retain(|name, _| SECTIONS.contains(&name.as_str()));
        let mut places = 0;
        for (name, section) in &mut sections {
            match name.as_str() {
                "journal" => keep_places(section),
                "keys" => {}
                _ => strip(section, &mut places),
            }
        }
        let mut text = String::new();
        for (name, section) in &sections {
            write_row((name, section), &mut text);
            text.push('\n');
        }
        let needed = |(name, _): &(String, String)| is_needed(name, &text);
        let environment = environment.into_iter().filter(needed).collect();
        Ok(Self { text, environment })
    }

    fn of_nothing() -> Self {
        Self { text: String::new(), environment: Vec::new() }
    }
}

impl ForKeys {
    /// Reads what [`TextForKeys`] wrote, with the environment of the process.
    pub fn read(text: &str) -> Result<Self, ConfigErrors> {
        let faults = Faults::default();
        let environment = process_environment(&faults);
        let read = Self::of(text, &environment, &faults);
        faults.settle(read)
    }

    fn of(text: &str, environment: &Environment, faults: &Faults) -> Result<Self, Reported> {
        let tree = layers::merge(text, environment, faults)?;
        TableReader::read_all(&tree, faults, |root| {
            let journal = root.section("journal", JournalPlace::read);
            let ceiling = journal.map(|journal| journal.beside(".signed"));
            let keys = root.section("keys", |reader| {
                KeysConfig::read(reader, environment, ceiling.unwrap_or_default())
            });
            let chains = chain::read_all(root, environment);
            root.ignore_the_rest();
            Ok(Self { chains: chains.read?, keys: keys? })
        })
    }
}

/// Returns true if the variable belongs to a store that hands out a key which `text` names, or is such a key.
fn is_needed(name: &str, text: &str) -> bool {
    let named = |place: &str| text.contains(&format!("\"{place}"));
    if [incumbent::EVM_KEYS, incumbent::TVM_KEYS].contains(&name) {
        return named("env\"");
    }
    if name == keys::CREDENTIALS_DIRECTORY {
        return named("credential:");
    }
    keys::is_of_a_store(name) && named("awssecret:")
}

/// Leaves where the journal's files are, and that it is on a server.
fn keep_places(journal: &mut Value) {
    let ValueKind::Table(table) = &mut journal.kind else { return };
    let on_server = table.contains_key("url") || table.contains_key("url_file");
    let places = |name: &String| PLACES.contains(&name.as_str()) && !(on_server && name == "path");
    table.retain(|name, _| places(name));
    if on_server {
        table.insert("url".to_owned(), Value::new(None, NO_URL));
    }
}

/// Takes out of a chain the keys of its nodes, and of their URLs all but where they are. Two that were told apart
/// stay apart.
fn strip(at: &mut Value, places: &mut u32) {
    match &mut at.kind {
        ValueKind::Table(table) => {
            table.remove("explorer");
            let key = table.remove("api_key").or(table.remove("api_key_file"));
            if key.is_some() {
                table.insert("api_key".to_owned(), Value::new(None, NO_KEY));
            }
            for value in table.values_mut() {
                strip(value, places);
            }
        }
        ValueKind::Array(parts) => {
            for part in parts {
                strip(part, places);
            }
        }
        ValueKind::String(text) if text.contains("://") => {
            let words = text.split_whitespace().map(|word| place_of(word, places));
            *text = words.collect::<Vec<_>>().join(" ");
        }
        ValueKind::String(_)
        | ValueKind::Nil
        | ValueKind::Boolean(_)
        | ValueKind::I64(_)
        | ValueKind::I128(_)
        | ValueKind::U64(_)
        | ValueKind::U128(_)
        | ValueKind::Float(_) => {}
    }
}

fn place_of(url: &str, places: &mut u32) -> String {
    let Ok(url) = super::RpcUrl::parse(url) else { return String::new() };
    *places = places.saturating_add(1);
    format!("{url}/{places}")
}

fn write_row((name, value): (&String, &Value), to: &mut String) {
    to.push_str(&quoted(name));
    to.push_str(" = ");
    write(value, to);
}

/// Writes a value as TOML.
fn write(value: &Value, to: &mut String) {
    match &value.kind {
        ValueKind::Table(table) => {
            let rows = table.iter().filter(|(_, value)| !matches!(value.kind, ValueKind::Nil));
            list(rows, ('{', '}'), to, write_row);
        }
        ValueKind::Array(parts) => list(parts.iter(), ('[', ']'), to, write),
        ValueKind::String(text) => to.push_str(&quoted(text)),
        ValueKind::Nil => to.push_str("\"\""),
        ValueKind::Boolean(is) => to.push_str(&is.to_string()),
        ValueKind::I64(number) => to.push_str(&number.to_string()),
        ValueKind::I128(number) => to.push_str(&number.to_string()),
        ValueKind::U64(number) => to.push_str(&number.to_string()),
        ValueKind::U128(number) => to.push_str(&number.to_string()),
        ValueKind::Float(number) => to.push_str(&serde_json::json!(number).to_string()),
    }
}

fn list<T>(
    parts: impl Iterator<Item = T>,
    (open, close): (char, char),
    to: &mut String,
    write: impl Fn(T, &mut String),
) {
    to.push(open);
    for (place, part) in parts.enumerate() {
        if place > 0 {
            to.push_str(", ");
        }
        write(part, to);
    }
    to.push(close);
}

/// A digest of all that two processes have to have read alike: chains, limits, and where keys are.
pub fn terms(chains: &[ChainConfig], keys: &KeysConfig) -> B256 {
    // An explorer is for people; credentials of stores are for those that hand keys out.
    let mut chains = chains.to_vec();
    for chain in &mut chains {
        chain.explorer = None;
    }
    let places = (&keys.directory, &keys.ceiling_file, &keys.vault, &keys.aws.secrets_url);
    B256::from_slice(&Sha256::digest(format!("{chains:?}{places:?}")))
}

/// A basic string of TOML: JSON's escapes are TOML's, and DEL must be escaped as well.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    const FILE: &str = r#"
        callers.a = { key = "a", secret = "hunter2-of-a-caller" }
        webhook = { url = "https://a.example/hunter2", secret = "whsec_hunter2hunter2hunter2hunter2hunt" }
        [journal]
        url = "postgresql://signer:hunter2@db.example/signer"
        mark_path = "/var/lib/signer/journal.mark"
        [chains.139]
        name = "a"
        test = true
        family = "evm"
        key = "env"
        eip155_id = 31337
        explorer = "https://a.example/hunter2/{hash}"
        rpc = "https://hunter2@a.example/v3/hunter2 https://a.example:8443/hunter2?key=hunter2"
        contract = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
        fees = { max_fee_per_gas = "100 gwei", max_priority_fee_per_gas = 7, max_tx_cost = "1 ether" }
        billing.call = "charge(uint64 planId, bytes32 userHash, uint128 amount)"
        billing.reasons = { "\"odd\\\n\u007f" = "ALLOWANCE_INSUFFICIENT" }
        policy = { max_fee_per_day = "1 ether" }
        [chains.195]
        name = "b"
        test = true
        family = "tvm"
        key = "file:/nowhere"
        chain_id = "0xcd8690dc"
        nodes = [
            { full = "https://t.example/hunter2", solidity = "https://s.example/h2", api_key = "hunter2" },
        ]
        contract = "TXLAQ63Xg1NAzckPwKHvzw7CSEmLMEqcdj"
        fees.max_fee_limit = "100 TRX"
        billing.call = "charge(uint64 planId, bytes32 userHash, uint128 amount)"
    "#;

    fn environment() -> Vec<(String, String)> {
        let named = [
            ("EVM_PRIVATE_KEY", "x"),
            ("AWS_SECRET_ACCESS_KEY", "hunter2"),
            ("AWS_ACCESS_KEY_ID", "hunter2"),
            ("SIGNER__CALLERS__A__SECRET", "hunter2-of-a-variable"),
            ("SIGNER__CHAINS__139__POLICY__MAX_BATCH", "7"),
        ];
        named.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn it_is_the_same_configuration_without_a_secret() {
        let faults = Faults::default();
        let given = TextForKeys::of((FILE, None), environment(), &faults).unwrap();
        assert!(!given.text.contains("hunter2"), "{}", given.text);
        let names: Vec<&str> = given.environment.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["EVM_PRIVATE_KEY"]);
        let read = ForKeys::of(&given.text, &given.environment, &faults);
        let read = faults.settle(read).unwrap_or_else(|why| panic!("{why}"));
        let whole = Config::from_toml(FILE, &environment()).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(terms(&read.chains, &read.keys), terms(&whole.chains, &whole.keys));
        assert_eq!(read.chains[0].policy, whole.chains[0].policy);
        assert_eq!(read.chains[0].policy.max_batch, Some(7));
        assert_eq!(read.keys.ceiling_file, Path::new("/var/lib/signer/journal.signed"));
    }
}
