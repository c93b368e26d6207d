//! The environment file of the platform's own Signer, beside a configuration that says the rest or nothing.

use super::*;

const FILE: [(&str, &str); 4] = [
    ("MER_API_KEY", "merchant-key"),
    ("MER_API_SECRET", "an-api-secret-of-the-platform"),
    ("EVM_PRIVATE_KEY", r#"{"139": "0xabc"}"#),
    ("TVM_PRIVATE_KEY", r#"{"136": "0xdef"}"#),
];

#[test]
fn alone_it_is_told_what_more_is_needed() {
    let told = complaints("", &FILE);
    for missing in ["chains.136.contract", "chains.139.contract", "chains.139.eip155_id"] {
        assert!(told.contains(missing), "{missing}: {told}");
    }
    for there in ["callers", "family", "chains.139.key", "chains.136.key", "chains.139.name"] {
        assert!(!told.contains(there), "{there}: {told}");
    }
    assert!(!told.contains("0xabc") && !told.contains("an-api-secret"), "{told}");
}

#[test]
fn other_variables_come_on_top_and_a_file_may_say_one_half() {
    let rest = [
        ("SIGNER__CHAINS__139__RPC", "http://127.0.0.1:8545"),
        ("SIGNER__CHAINS__139__CONTRACT", "0x5FbDB2315678afecb367f032d93F642f64180aa3"),
    ];
    let told = complaints("", &[FILE.as_slice(), &rest].concat());
    assert!(told.contains("chains.139.eip155_id") && !told.contains("chains.139.family"), "{told}");
    assert!(!told.contains("chains.139.rpc") && !told.contains("chains.139.contract"), "{told}");
    let text = local("keystore:billing", "env").replace("[callers.local]", "[none]");
    let callers = text.find("[none]").zip(text.find("[chains.139]")).unwrap();
    let text = text.replacen(&text[callers.0..callers.1], "", 1);
    let config = load(&text, &FILE).unwrap();
    let [caller] = config.callers.as_slice() else { panic!("{:?}", config.callers) };
    assert_eq!((caller.label.as_str(), caller.key.as_str()), ("merchant", "merchant-key"));
    assert_eq!(config.chains.len(), 1, "the file has all chains");
}

#[test]
fn a_file_that_has_callers_and_chains_has_all_of_them() {
    let config = load(LOCAL, &FILE).unwrap();
    assert_eq!((config.callers.len(), config.callers[0].label.as_str()), (1, "local"));
    assert!(matches!(signs(&config), KeyRef::Keystore(_)));
    for lone in ["0xabc", "not json", "[1]", ""] {
        let told = complaints("", &[FILE[0], FILE[1], ("EVM_PRIVATE_KEY", lone)]);
        assert!(told.contains("chains: missing"), "{lone}: {told}");
    }
}

#[test]
fn half_a_caller_is_told_by_what_it_lacks() {
    let told = complaints("", &[FILE[0]]);
    assert!(told.contains("callers.merchant.secret: missing"), "{told}");
}
