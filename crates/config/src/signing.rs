//! The part of a configuration that signing needs: chains, limits, and the places of keys.
//!
//! A process that holds keys reads the whole file once, writes this part as a text, and begins anew with the text
//! (exec), so that nothing of the rest is left in its memory. The text has no secret that signing does not need: no
//! caller's, no webhook's, no node's, no password of the journal.
//!
//! The text is TOML with the names of each table in order, so one configuration has one text. Two processes compare
//! its SHA-256.

use super::faults::{Faults, Reported};
use super::incumbent;
use super::key_ref::CREDENTIALS_DIRECTORY;
use super::layers::{self, Environment};
use super::places;
use super::reader::TableReader;
use super::stores;
use super::tree::{self, Walk};
use super::{ChainConfig, ConfigErrors, JournalPlace, KeysConfig, chain};
use super::{process_environment, read_file};
use alloy::primitives::B256;
use config_rs::{Map, Value, ValueKind};
use sha2::{Digest as _, Sha256};
use std::path::Path;

/// The sections of the text.
const SECTIONS: [&str; 4] = ["chain_defaults", "chains", "journal", "keys"];

/// The entries of `journal`: where its files are.
const JOURNAL: [&str; 2] = ["path", "mark_path"];

/// The entries of `keys`: where the keys are that come into memory, and what was signed for on a day.
const KEYS: [&str; 4] = ["directory", "ceiling_file", "vault", "aws_secrets_url"];

/// The entries of chains that signing does not need.
const LEFT_OUT: [&str; 3] = ["explorer", "api_key", "api_key_file"];

/// In place of the URL of a journal on a server.
const NO_URL: &str = "postgresql://nobody@localhost/nothing";

/// Chains, limits, and the places of keys.
#[derive(Debug)]
pub struct SigningConfig {
    /// The chains. The URLs of their nodes are hosts and ports alone.
    pub chains: Vec<ChainConfig>,
    /// The places where keys are.
    pub keys: KeysConfig,
    /// The SHA-256 of the text.
    pub digest: B256,
}

/// The part as a text, and the variables that go with it.
#[derive(Debug)]
pub struct SigningText {
    /// The text of a configuration file.
    pub text: String,
    /// The variables that hold keys, or by which stores that export keys are reached.
    pub environment: Vec<(String, String)>,
}

impl SigningText {
    /// Reads the file at `path` and the environment of the process.
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigErrors> {
        let faults = Faults::default();
        let environment = process_environment(&faults);
        let text = read_file(path, &faults);
        let text = text.and_then(|text| Self::read(&text, path, environment, &faults));
        faults.settle(text)
    }

    fn read(
        text: &str,
        file: Option<&Path>,
        environment: Vec<(String, String)>,
        faults: &Faults,
    ) -> Result<Self, Reported> {
        let mut tree = layers::merge(text, &environment, faults)?;
        places::start_at(file, &mut tree);
        let text = text_of(tree);
        let needed = |(name, _): &(String, String)| is_needed(name, &text);
        let environment = environment.into_iter().filter(needed).collect();
        Ok(Self { text, environment })
    }
}

impl SigningConfig {
    /// Reads the text of [`SigningText`], with the environment of the process.
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
            Ok(Self { chains: chains.read?, keys: keys?, digest: digest(text) })
        })
    }
}

/// The digest of the part of a merged tree that signing needs.
pub(super) fn digest_of(tree: Value) -> B256 {
    digest(&text_of(tree))
}

fn digest(text: &str) -> B256 {
    B256::from_slice(&Sha256::digest(text))
}

/// The part of a merged tree that signing needs, as a text.
fn text_of(mut tree: Value) -> String {
    let ValueKind::Table(sections) = &mut tree.kind else { return String::new() };
    sections.retain(|name, _| SECTIONS.contains(&name.as_str()));
    let mut nodes = 0;
    for (name, section) in in_order(sections) {
        match (name.as_str(), &mut section.kind) {
            ("journal", ValueKind::Table(journal)) => keep_places(journal),
            ("keys", ValueKind::Table(keys)) => {
                keys.retain(|name, _| KEYS.contains(&name.as_str()));
            }
            _ => hide_nodes(section, &mut nodes),
        }
    }
    let mut text = String::new();
    for (name, section) in in_order(sections) {
        write_row(name, section, &mut text);
        text.push('\n');
    }
    text
}

/// Returns true if the variable holds a key that `text` names, or belongs to a store that exports one.
fn is_needed(name: &str, text: &str) -> bool {
    if [incumbent::EVM_KEYS, incumbent::TVM_KEYS].contains(&name) {
        return text.contains("\"env\"");
    }
    if name == CREDENTIALS_DIRECTORY {
        return text.contains("\"credential:");
    }
    stores::exports_by(name, text)
}

/// Leaves where the journal's files are, and that it is on a server.
fn keep_places(journal: &mut Map<String, Value>) {
    let on_server = journal.contains_key("url") || journal.contains_key("url_file");
    let is_place = |name: &str| JOURNAL.contains(&name) && !(on_server && name == "path");
    journal.retain(|name, _| is_place(name));
    if on_server {
        journal.insert("url".to_owned(), Value::new(None, NO_URL));
    }
}

/// Takes the keys of nodes out of chains, and of the URLs of nodes all but host and port. Each URL ends in a number of
/// its own: two that were told apart stay apart.
fn hide_nodes(chains: &mut Value, nodes: &mut u32) {
    tree::entries(chains, "", &mut |_, name, value| {
        if LEFT_OUT.contains(&name) {
            value.kind = ValueKind::Nil;
        }
        tree::texts(value, &mut |text| {
            if text.contains("://") {
                let words = text.split_whitespace().map(|url| hidden(url, nodes));
                *text = words.collect::<Vec<_>>().join(" ");
            }
        });
        Walk::Inside
    });
}

fn hidden(url: &str, nodes: &mut u32) -> String {
    let Ok(url) = super::RpcUrl::parse(url) else { return String::new() };
    *nodes = nodes.saturating_add(1);
    format!("{url}/{nodes}")
}

/// The rows of a table in the order of their names.
fn in_order(table: &mut Map<String, Value>) -> Vec<(&String, &mut Value)> {
    let mut rows: Vec<_> = table.iter_mut().collect();
    rows.sort_by_key(|(name, _)| *name);
    rows
}

fn write_row(name: &str, value: &mut Value, to: &mut String) {
    to.push_str(&quoted(name));
    to.push_str(" = ");
    write(value, to);
}

/// Writes a value as TOML.
fn write(value: &mut Value, to: &mut String) {
    match &mut value.kind {
        ValueKind::Table(table) => {
            table.retain(|_, value| !matches!(value.kind, ValueKind::Nil));
            to.push('{');
            for (place, (name, value)) in in_order(table).into_iter().enumerate() {
                to.push_str(if place > 0 { ", " } else { "" });
                write_row(name, value, to);
            }
            to.push('}');
        }
        ValueKind::Array(parts) => {
            to.push('[');
            for (place, part) in parts.iter_mut().enumerate() {
                to.push_str(if place > 0 { ", " } else { "" });
                write(part, to);
            }
            to.push(']');
        }
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

/// A basic string of TOML: JSON's escapes are TOML's, and DEL must be escaped as well.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

// The configuration below names a journal on a server.
#[cfg(all(test, feature = "postgres"))]
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
        let given = SigningText::read(FILE, None, environment(), &faults).unwrap();
        assert!(!given.text.contains("hunter2"), "{}", given.text);
        let names: Vec<&str> = given.environment.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["EVM_PRIVATE_KEY"]);
        let read = SigningConfig::of(&given.text, &given.environment, &faults);
        let read = faults.settle(read).unwrap_or_else(|why| panic!("{why}"));
        let whole = Config::from_toml(FILE, &environment()).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(read.digest, whole.signing_digest);
        assert_eq!(read.chains[0].policy, whole.chains[0].policy);
        assert_eq!(read.chains[0].policy.max_batch, Some(7));
        assert_eq!(read.keys.ceiling_file, Path::new("/var/lib/signer/journal.signed"));
    }

    #[test]
    fn the_digest_tells_what_signing_needs_and_nothing_else() {
        let of = |text: &str| Config::from_toml(text, &environment()).unwrap().signing_digest;
        for (one, other) in [
            ("hunter2-of-a-caller", "hunter3-of-a-caller"),
            ("https://a.example:8443/hunter2?key=hunter2", "https://a.example:8443/hunter3"),
            ("a.example/hunter2/{hash}", "b.example/{hash}"),
            ("api_key = \"hunter2\"", "api_key = \"hunter3\""),
            ("signer:hunter2@db", "signer:hunter3@db"),
        ] {
            assert!(FILE.contains(one));
            assert_eq!(of(FILE), of(&FILE.replace(one, other)), "{one}");
        }
        for (one, other) in [
            ("max_fee_per_gas = \"100 gwei\"", "max_fee_per_gas = \"101 gwei\""),
            ("max_fee_per_day = \"1 ether\"", "max_fee_per_day = \"2 ether\""),
            ("file:/nowhere", "file:/elsewhere"),
            ("a.example:8443", "a.example:8444"),
            ("/var/lib/signer/", "/var/lib/other/"),
            ("[journal]", "keys.directory = \"other\"\n[journal]"),
        ] {
            assert!(FILE.contains(one));
            assert_ne!(of(FILE), of(&FILE.replace(one, other)), "{one}");
        }
    }
}
