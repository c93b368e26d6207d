//! The configuration as a whole: what is accepted, what is refused, and that nothing leaks.

mod incumbent;
mod journal;
mod keys;
mod loose;
mod policy;

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use secrecy::ExposeSecret;

mod tvm;

use super::*;

const DEFAULTS: &str = include_str!("../../../config/default.toml");
const LOCAL: &str = include_str!("tests/local.toml");

fn load(text: &str, environment: &[(&str, &str)]) -> Result<Config, ConfigErrors> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Config::from_toml(text, &environment.iter().map(owned).collect::<Vec<_>>())
}

fn complaints(text: &str, environment: &[(&str, &str)]) -> String {
    load(text, environment).unwrap_err().to_string()
}

/// `local.toml` with one text in it replaced.
fn local(from: &str, to: &str) -> String {
    assert!(LOCAL.contains(from), "{from}");
    LOCAL.replacen(from, to, 1)
}

/// The commented example of `default.toml`, with `#:` taken away.
fn example() -> String {
    DEFAULTS.lines().filter_map(|line| line.strip_prefix("#:")).collect::<Vec<_>>().join("\n")
}

/// A file that is its owner's alone.
fn closed_file(room: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    file_of_mode(room, name, text, 0o600)
}

fn file_of_mode(room: &tempfile::TempDir, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = room.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    path
}

fn evm(config: &Config) -> &EvmConfig {
    let FamilyConfig::Evm(evm) = &config.chains[0].family else { panic!("{config:?}") };
    evm
}

/// The first key that signs on the first chain.
fn signs(config: &Config) -> &KeyRef {
    config.chains[0].keys.signing().next().unwrap().1
}

#[expect(clippy::disallowed_methods, reason = "a test looks at what it wrote")]
fn secrets(config: &Config) -> Vec<(&str, &str)> {
    let pairs = config.callers.iter();
    pairs.map(|caller| (caller.key.as_str(), caller.secret.expose_secret())).collect()
}

#[test]
fn the_defaults_lack_only_what_nobody_can_guess() {
    let errors = load("", &[]).unwrap_err();
    let keys: Vec<_> = errors.iter().map(|error| error.key.as_str()).collect();
    assert_eq!(keys, ["callers", "chains"]);
}

#[test]
fn the_local_example_loads() {
    let config = load(LOCAL, &[]).unwrap();
    assert_eq!(config.http.listen, "127.0.0.1:9980".parse().unwrap());
    assert_eq!(config.http.body_limit_bytes, 1 << 20);
    assert_eq!(config.http.request_deadline, Duration::from_secs(10));
    assert_eq!(config.journal.min_free_bytes(), 256 << 20);
    assert_eq!(config.log.format, LogFormat::Text);
    assert!(!config.allow_unauthenticated);
    let chain = &config.chains[0];
    assert_eq!((chain.platform_id.0, chain.test, chain.default), (139, true, true));
    let evm = evm(&config);
    assert_eq!(evm.eip155_id, 31337);
    assert_eq!(evm.finality, Finality::Depth(1));
    assert_eq!(evm.fees.max_fee_per_gas, Wei(200_000_000_000));
    assert_eq!(evm.fees.max_tx_cost, Wei(1_000_000_000_000_000_000));
    assert_eq!(evm.multicall.to_string(), "0xcA11bde05977b3631167028862bE2a173976CA11");
    assert_eq!(evm.gas_limit_cap, 16_777_216);
    assert_eq!(evm.billing.deadline, Duration::from_mins(30));
    assert_eq!(evm.billing.reasons["12"], "ALLOWANCE_INSUFFICIENT");
    assert!(matches!(signs(&config), KeyRef::Keystore(name) if name == "billing"));
}

#[test]
fn a_reason_may_be_an_error_or_the_text_of_a_revert() {
    let reasons = [r"NotDue", r#""CannotPay(uint256)""#, r#""ERC20: low, v1.2""#];
    let rows = reasons.map(|reason| format!("{reason} = \"NOT_DUE_YET\"\n")).concat();
    let config = load(&format!("{LOCAL}\n[chains.139.billing.reasons]\n{rows}"), &[]).unwrap();
    for reason in reasons {
        let reason = reason.trim_matches('"');
        assert_eq!(evm(&config).billing.reasons[reason], "NOT_DUE_YET");
    }
}

#[test]
fn the_example_in_the_defaults_loads_and_repeats_the_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let file = closed_file(&folder, "scheduler", "0123456789abcdef\n");
    let file = file.to_str().unwrap();
    let text = example().replace("/run/secrets/scheduler", file);
    let text = text.replace("/run/secrets/trongrid", file);
    let mut full = load(&text, &[]).unwrap();
    assert_eq!(secrets(&full), [("merchant-api-key", "0123456789abcdef")]);

    let marker = "# These have defaults, see above.";
    let (head, tail) = text.split_once(marker).unwrap();
    let (_, tail) = tail.split_once("rebroadcast_interval = \"10s\"").unwrap();
    let (tail, tron) = tail.split_once("# These have defaults as well.").unwrap();
    let (_, tron) = tron.split_once("[chains.195.billing]").unwrap();
    let tail = format!("{tail}[chains.195.billing]{tron}");
    let tail =
        tail.replace("deadline = \"30m\"\n guard = \"24h\"\n", "").replace("legacy = false", "");
    let short = load(&format!("{head} default = true\n{tail}"), &[]).unwrap();
    assert_ne!(full.signing_digest, short.signing_digest, "it is a digest of the text");
    full.signing_digest = short.signing_digest;
    assert_eq!(format!("{full:?}"), format!("{short:?}"));
}

/// An unknown key makes the code list what it knows: each of those must stand in `default.toml`.
#[test]
fn every_key_that_is_read_is_documented() {
    let sections = [
        "",
        "[http]",
        "[journal]",
        "[keys]",
        "[keys.vault]",
        "[keys.pkcs11]",
        "[log]",
        "[chain_defaults]",
        "[callers.local]",
        "[chains.139]",
        "[chains.139.fees]",
        "[chains.139.policy]",
        "[chains.139.billing]",
        "[chains.195]",
        "[chains.195.fees]",
        "[chains.195.billing]",
    ];
    let documented: BTreeSet<&str> = DEFAULTS
        .lines()
        .flat_map(|line| line.trim_start_matches(['#', ':', ' ']).split(['=', '.', '[', ']', ' ']))
        .collect();
    for section in sections {
        let line = "something_that_no_key_resembles = 1";
        let text = if section.starts_with("[chains.195") {
            tvm::with_tron("").replacen(section, &format!("{section}\n{line}"), 1)
        } else if section.is_empty() || !LOCAL.contains(section) {
            format!("{section}\n{line}\n{LOCAL}")
        } else {
            local(section, &format!("{section}\n{line}"))
        };
        let text = complaints(&text, &[tvm::KEY]);
        let (_, known) = text.split_once("known here: ").unwrap();
        for key in known.split(", ") {
            assert!(documented.contains(key), "{section} {key} is not in default.toml");
        }
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let text = include_str!("tests/faults.toml");
    let environment = [("SIGNER__HTTP__HEADER_TIMEOUT", "fast"), ("SIGNER__JOURNAL", "x")];
    let found = complaints(text, &environment);
    let golden = include_str!("tests/faults.txt");
    let stores = stores::forms().collect::<Vec<_>>().join(", ");
    assert_eq!(found.replace(&stores, "…"), golden.trim_end());
    assert!(!found.contains("hunter2") && !found.contains("ac0974") && !found.contains("APIKEY"));
}

#[test]
fn the_environment_wins_and_can_supply_secrets() {
    let text = local("secret = ", "# ");
    assert!(complaints(&text, &[]).starts_with("callers.local.secret: missing"));
    let environment = [
        ("SIGNER__CALLERS__LOCAL__SECRET", "from-the-environment"),
        ("SIGNER__CALLERS__LOCAL_OLD__KEY", "local-example-key"),
        ("SIGNER__CALLERS__LOCAL_OLD__SECRET", "the-one-before-it"),
        ("SIGNER__HTTP__MAX_ENTRIES", "7"),
        ("SIGNER__CHAINS__139__RPC", "https://node.example/key"),
        ("SIGNER__CHAINS__139__TEST", "false"),
        ("SIGNER__CHAINS__139__POLICY__UNLIMITED", "true"),
        ("SIGNER__CHAINS__139__FINALITY", "12"),
        ("SIGNER__CHAINS__139__BILLING__CONSTANTS__MERKEY", "0x01"),
        ("SIGNER_OF_SOMETHING_ELSE", "1"),
    ];
    let config = load(&text, &environment).unwrap();
    let both =
        [("local-example-key", "from-the-environment"), ("local-example-key", "the-one-before-it")];
    assert_eq!(secrets(&config), both);
    assert_eq!(config.http.max_entries, 7);
    assert_eq!(evm(&config).rpc[0].expose(), "https://node.example/key");
    assert_eq!(evm(&config).finality, Finality::Depth(12));
    assert_eq!(evm(&config).billing.constants["merKey"], "0x01");
    assert!(!config.chains[0].test);
}

#[test]
fn a_chain_has_one_node_or_several_and_none_of_them_twice() {
    let rpc = "rpc = \"http://127.0.0.1:8545\"";
    let hosts = |config: &Config| evm(config).rpc.iter().map(RpcUrl::host).collect::<Vec<_>>();
    assert_eq!(hosts(&load(&local(rpc, "rpc = \"http://a/1\""), &[]).unwrap()), ["a"]);
    let list = local(rpc, "rpc = [\"http://a/1\", \"http://b/2\"]\nsend_only = [\"http://c\"]");
    let config = load(&list, &[]).unwrap();
    assert_eq!(hosts(&config), ["a", "b"]);
    assert_eq!(evm(&config).send_only[0].host(), "c");
    let listed = ("SIGNER__CHAINS__139__RPC", "http://a/1  http://b/2\thttp://c/3");
    assert_eq!(hosts(&load(LOCAL, &[listed]).unwrap()), ["a", "b", "c"]);
    for (bad, key) in [
        ("rpc = []", "chains.139.rpc: missing"),
        ("rpc = [\"http://a/1\", \"http://a/1\"]", "chains.139.rpc[1]: "),
        ("rpc = [\"http://a/1\", \"\"]", "chains.139.rpc[1]: "),
        ("rpc = \"http://a/1\"\nsend_only = [\"http://a/1\"]", "chains.139.send_only[0]: "),
        ("rpc = {}", "chains.139.rpc: "),
    ] {
        let told = complaints(&local(rpc, bad), &[]);
        assert!(told.starts_with(key), "{told}");
    }
}

#[test]
fn the_key_may_be_in_the_environment_but_must_then_be_there() {
    let text = local("keystore:billing", "env");
    let config = load(&text, &[("EVM_PRIVATE_KEY", "0xabc")]).unwrap();
    assert!(matches!(signs(&config), KeyRef::Env(_)));
    for environment in [vec![], vec![("EVM_PRIVATE_KEY", "")], vec![("TVM_PRIVATE_KEY", "0xabc")]] {
        let text = complaints(&text, &environment);
        assert!(text.contains("EVM_PRIVATE_KEY is not set"), "{text}");
    }
    for key in ["keystore:../billing", "keystore:", "keystore:.x", "file:", "vault:x", "ENV"] {
        assert!(load(&local("keystore:billing", key), &[]).is_err(), "{key}");
    }
}

#[test]
fn nobody_is_served_unsigned_from_elsewhere() {
    let (head, tail) = LOCAL.split_once("[callers.local]").unwrap();
    let (_, chains) = tail.split_once("[chains.139]").unwrap();
    let text = format!("{head}[chains.139]{chains}");
    assert!(complaints(&text, &[]).starts_with("callers: missing"));

    let unsigned = ("SIGNER__ALLOW_UNAUTHENTICATED", "true");
    let config = load(&text, &[unsigned]).unwrap();
    assert!(config.allow_unauthenticated && config.callers.is_empty());
    for (listen, good) in
        [("[::1]:1", true), ("127.8.8.8:1", true), ("0.0.0.0:1", false), ("[::]:1", false)]
    {
        let outcome = load(&text, &[unsigned, ("SIGNER__HTTP__LISTEN", listen)]);
        assert_eq!(outcome.is_ok(), good, "{listen}");
    }
}

#[test]
fn the_secret_of_the_example_is_worth_nothing_elsewhere() {
    let unlimited = [("SIGNER__CHAINS__139__POLICY__UNLIMITED", "true")];
    let text = complaints(&local("test = true", "test = false"), &unlimited);
    let line = "callers.local.secret: is one of the examples, and chains.139 is not marked as a \
                test chain; expected a secret of 16 to 4096 bytes";
    assert_eq!(text, line);
}

#[test]
fn one_chain_is_described_once() {
    let (_, chain) = LOCAL.split_once("[chains.139]").unwrap();
    let twin = format!("{LOCAL}\n[chains.140]{}", chain.replace("chains.139", "chains.140"));
    let found = complaints(&twin, &[]);
    let keys: Vec<_> = found.lines().filter_map(|line| line.split_once(':')).collect();
    let keys: Vec<_> = keys.into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["chains.140.default", "chains.140.eip155_id", "chains.140.name"]);

    let other = twin
        .replacen("name = \"anvil\"", "name = \"a\"", 1)
        .replacen("default = true", "default = false", 1)
        .replacen("eip155_id = 31337", "eip155_id = 31338", 1)
        .replace("chains.140", "chains.16");
    let config = load(&other, &[]).unwrap();
    let ids: Vec<_> = config.chains.iter().map(|chain| chain.platform_id.0).collect();
    assert_eq!(ids, [16, 139]);
}

#[test]
fn what_chains_share_is_said_once() {
    let text = local("[chains.139.fees]", "[chain_defaults.evm.fees]");
    assert!(load(&text, &[]).is_ok());
    let text = local("max_fee_per_gas = \"200", "max_fee_per_gas = \"2,0");
    let text = text.replace("[chains.139.fees]", "[chain_defaults.evm.fees]");
    let found = complaints(&text, &[]);
    assert!(found.starts_with("chain_defaults.evm.fees.max_fee_per_gas: not a number"), "{found}");
}

#[test]
fn a_constant_has_one_spelling() {
    let twins = [("SIGNER__CHAIN_DEFAULTS__EVM__BILLING__CONSTANTS__MERKEY", "0x01")];
    assert!(complaints(LOCAL, &twins).contains("only in upper and lower case"));
}

#[test]
fn a_legacy_chain_needs_no_tip() {
    let text = local("max_priority_fee_per_gas = \"5 gwei\"", "legacy = true");
    let fees = evm(&load(&text, &[]).unwrap()).fees;
    assert!(fees.legacy);
    assert_eq!(fees.max_priority_fee_per_gas, fees.max_fee_per_gas);
    let text = local("max_priority_fee_per_gas = \"5 gwei\"", "");
    assert!(
        complaints(&text, &[]).starts_with("chains.139.fees.max_priority_fee_per_gas: missing")
    );
}

#[test]
fn a_wrong_checksum_is_refused() {
    let right = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
    for good in [right.to_lowercase(), right.to_uppercase().replacen("0X", "0x", 1)] {
        assert!(load(&local(right, &good), &[]).is_ok(), "{good}");
    }
    for bad in [
        "5FbDB2315678afecb367f032d93F642f64180aa3",
        "0x5fbDB2315678afecb367f032d93F642f64180aa3",
        "0x5FbD",
    ] {
        assert!(load(&local(right, bad), &[]).is_err(), "{bad}");
    }
}

#[test]
fn nothing_secret_is_printed() {
    let text =
        local("http://127.0.0.1:8545", "https://me:hunter2@node.example:1/hunter2?k=hunter2");
    let text = text.replace("keystore:billing", "env");
    let environment = [
        ("SIGNER__CALLERS__LOCAL__SECRET", "hunter2hunter2hunter2"),
        ("EVM_PRIVATE_KEY", "hunter2"),
    ];
    let config = load(&text, &environment).unwrap();
    for shown in [format!("{config:?}"), format!("{config:#?}")] {
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("https://node.example:1"), "{shown}");
    }
}

#[test]
fn a_file_that_is_missing_is_named() {
    let errors = Config::load(Some(Path::new("/nowhere/signer.toml"))).unwrap_err();
    assert!(errors.to_string().starts_with("/nowhere/signer.toml: cannot be read"), "{errors}");
    let config =
        Config::load(Some(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/local.toml"))));
    assert!(config.is_ok(), "{config:?}");
}

#[test]
fn nodes_that_are_asked_over_http_on_another_machine_are_told() {
    let told = |rpc: &str| {
        let text = local("\"http://127.0.0.1:8545\"", rpc);
        let told = load(&text, &[]).unwrap().chains[0].nodes_in_the_clear();
        told.into_iter().collect::<Vec<_>>()
    };
    assert!(told("[\"http://127.0.0.1:1\", \"https://a.example\"]").is_empty());
    assert_eq!(told("[\"http://a.example/v3/hunter2\"]"), ["http://a.example"]);
}

#[test]
fn a_day_with_nothing_open_fits_into_what_a_provider_may_get() {
    let with = |lines: &str| local("idle_poll_interval = \"1s\"", lines);
    assert!(load(&with("max_requests_per_day = 10_000"), &[]).is_ok());
    let said = complaints(&with("max_requests_per_day = 8_000"), &[]);
    assert!(
        said.contains("max_requests_per_day: a day with nothing open takes 8496 requests"),
        "{said}"
    );
    let seldom = "max_requests_per_day = 8_000\nidle_poll_interval = \"2m\"";
    assert!(load(&with(seldom), &[]).is_ok());
}
