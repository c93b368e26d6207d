//! The configuration of a TRON chain.

use secrecy::ExposeSecret;

use super::*;

/// `local.toml` with a TRON chain behind it, whose own section ends with `rows`.
pub(super) fn with_tron(rows: &str) -> String {
    let (_, billing) = LOCAL.split_once("[chains.139.billing]").unwrap();
    let billing = billing.replace("chains.139", "chains.195");
    format!(
        r#"{LOCAL}
[chains.195]
name = "tron"
family = "tvm"
test = true
chain_id = 12345
full = "http://127.0.0.1:8090/hunter2"
solidity = "http://127.0.0.1:8091/hunter2"
contract = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
key = "env"
{rows}
[chains.195.fees]
[chains.195.billing]{billing}"#
    )
}

/// The variable that holds the key, and the secret of these tests.
pub(super) const KEY: (&str, &str) = ("TVM_PRIVATE_KEY", "hunter2");

fn tvm(config: &Config) -> &TvmConfig {
    let FamilyConfig::Tvm(tvm) = &config.chains[1].family else { panic!("{config:?}") };
    tvm
}

#[test]
fn a_tron_chain_stands_beside_an_evm_chain() {
    let config = load(&with_tron(""), &[KEY]).unwrap();
    let tron = tvm(&config);
    assert_eq!(tron.chain_id, 12_345);
    assert_eq!(tron.nodes[0].full.to_string(), "http://127.0.0.1:8090");
    assert_eq!(tron.expiry, Duration::from_mins(2));
    assert_eq!(tron.fees.max_fee_limit, Sun(500_000_000));
    assert_eq!((tron.chunk, tron.max_in_flight, tron.max_attempts), (50, 50, 3));
    assert!(tron.nodes.len() == 1 && tron.multicall.is_none());
    assert!(tron.nodes[0].jsonrpc.is_none() && tron.nodes[0].api_key.is_none());
    assert!(matches!(config.chains[1].keys.signing().next(), Some((_, KeyRef::Env(_)))));

    let evm_key = ("EVM_PRIVATE_KEY", "hunter2");
    assert!(complaints(&with_tron(""), &[evm_key]).contains("TVM_PRIVATE_KEY is not set"));
}

#[test]
fn the_clock_is_watched_but_on_a_test_chain() {
    let config = load(&with_tron(""), &[KEY]).unwrap();
    assert_eq!(tvm(&config).clock_tolerance, Duration::from_mins(1));
    let moved = with_tron("clock_tolerance = \"36500d\"");
    let config = load(&moved, &[KEY]).unwrap();
    assert_eq!(tvm(&config).clock_tolerance, Duration::from_hours(24 * 36_500));
    let (before, after) = moved.split_once("[chains.195]").unwrap();
    let serious = format!("{before}[chains.195]{}", after.replace("test = true", "test = false"));
    assert!(complaints(&serious, &[KEY]).contains("chains.195.clock_tolerance"));
}

#[test]
fn a_tron_address_is_read_in_every_spelling() {
    let usdt = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
    let digits = "a614f803b6fd780986a42c78ec9c7f77e6ded13c";
    for spelling in [usdt.to_owned(), format!("41{digits}"), format!("0x{digits}")] {
        let text = with_tron(&format!("multicall = \"{spelling}\""));
        let config = load(&text, &[KEY]).unwrap();
        assert_eq!(tvm(&config).multicall, Some(tvm(&config).contract), "{spelling}");
    }
}

#[test]
fn one_tron_chain_is_described_once() {
    let text = with_tron("").replace("12345", "31337");
    let found = complaints(&text, &[KEY]);
    assert_eq!(
        found,
        "chains.195.chain_id: chains.139 is the same chain; describe every chain once"
    );
    for id in ["\"0x00000000\"", "0", "4294967296", "\"2b6653dc\"", "\"0x2b6653dcff\""] {
        let text = with_tron("").replace("12345", id);
        assert!(complaints(&text, &[KEY]).contains("genesis"), "{id}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test looks at what it wrote")]
fn the_api_key_of_a_node_is_read_from_a_file_and_never_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = closed_file(&folder, "trongrid", "hunter2-of-trongrid\n");
    let row = format!("api_key_file = \"{}\"", file.to_str().unwrap());
    let config = load(&with_tron(&row), &[KEY]).unwrap();
    let key = tvm(&config).nodes[0].api_key.as_ref().unwrap();
    assert_eq!(key.expose_secret(), "hunter2-of-trongrid");
    assert!(!format!("{config:?}").contains("hunter2"));

    let both = [KEY, ("SIGNER__CHAINS__195__API_KEY", "hunter2")];
    assert!(complaints(&with_tron(&row), &both).contains("set beside api_key_file"));
}

/// `with_tron`, its node in a list.
fn with_nodes(nodes: &str) -> String {
    let flat = r#"full = "http://127.0.0.1:8090/hunter2"
solidity = "http://127.0.0.1:8091/hunter2""#;
    let text = with_tron("");
    assert!(text.contains(flat));
    text.replace(flat, &format!("nodes = [{nodes}]"))
}

#[test]
fn several_nodes_are_a_list_and_every_fault_names_its_node() {
    let good = |host: &str| {
        format!(r#"{{ full = "http://{host}/hunter2", solidity = "http://{host}:1/hunter2" }}"#)
    };
    let nodes = format!("{}, {}", good("a.example"), good("b.example"));
    let config = load(&with_nodes(&nodes), &[KEY]).unwrap();
    let hosts: Vec<_> = tvm(&config).nodes.iter().map(|node| node.full.host()).collect();
    assert_eq!(hosts, ["a.example", "b.example"]);

    let faulty = format!(
        r#"{}, {{ full = "nowhere", solidityy = "http://b.example" }}, "text""#,
        good("a.example")
    );
    let found = complaints(&with_nodes(&faulty), &[KEY]);
    for fault in [
        "chains.195.nodes[1].full: not an http or https URL",
        "chains.195.nodes[1].solidity: missing",
        "chains.195.nodes[1].solidityy: unknown key; did you mean \"solidity\"?",
        "chains.195.nodes[2]: is text; expected a table",
    ] {
        assert!(found.contains(fault), "{fault} in {found}");
    }

    let twice = format!("{}, {}", good("a.example"), good("a.example"));
    assert!(complaints(&with_nodes(&twice), &[KEY]).contains("nodes[1]: is a node that is named"));
    assert!(complaints(&with_nodes(""), &[KEY]).contains("chains.195.nodes: is empty"));
    let mixed = with_nodes(&good("a.example"))
        .replace("contract = \"TR7", "full = \"http://c.example\"\ncontract = \"TR7");
    let found = complaints(&mixed, &[KEY]);
    assert!(
        found.contains("chains.195.full: set beside nodes; put it into one of them"),
        "{found}"
    );
}
