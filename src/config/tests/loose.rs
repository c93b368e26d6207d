//! Loose installations are refused, and an open door is told.

use super::*;

#[test]
fn one_secret_belongs_to_one_caller() {
    let text = format!(
        "{LOCAL}\n[callers.operator]\nkey = \"operator\"\n\
         secret = \"local-example-secret-do-not-use-elsewhere\"\ncontrol = true\n"
    );
    let complaint = complaints(&text, &[]);
    assert!(
        complaint.starts_with("callers.operator: has the secret of callers.local"),
        "{complaint}"
    );
}

#[test]
fn the_door_has_its_defaults_and_says_where_it_is_open_to_others() {
    let config = load(LOCAL, &[]).unwrap();
    assert_eq!((config.http.max_connections, config.http.max_connections_per_address), (512, 256));
    assert_eq!(config.http.body_timeout, Duration::from_secs(10));
    assert_eq!(config.http.write_timeout, Duration::from_secs(10));
    assert_eq!((config.http.health_listen, config.http.in_the_clear()), (None, None));
    let environment =
        [("SIGNER__HTTP__LISTEN", "0.0.0.0:9980"), ("SIGNER__HTTP__HEALTH_LISTEN", "[::1]:9981")];
    let config = load(LOCAL, &environment).unwrap();
    assert_eq!(config.http.health_listen, "[::1]:9981".parse().ok());
    assert!(config.http.in_the_clear().is_some_and(|said| said.contains("TLS")));
}

#[test]
fn the_local_example_pointed_at_a_main_network_is_refused_with_what_to_do() {
    for (id, name) in [(1, "Ethereum"), (56, "BNB Chain"), (8453, "Base")] {
        let told = complaints(&local("eip155_id = 31337", &format!("eip155_id = {id}")), &[]);
        for fault in [
            "callers.local.secret: is the one of the example".to_owned(),
            "chains.139.finality: 1 blocks can be undone".to_owned(),
            "chains.139.policy: missing".to_owned(),
            format!("chains.139.test: is true, but this is {name}, where money is; write false"),
        ] {
            assert!(told.lines().any(|line| line.starts_with(&fault)), "{fault}: {told}");
        }
    }
}

#[test]
fn a_secret_that_somebody_typed_is_refused_where_money_is() {
    let weak = local("local-example-secret-do-not-use-elsewhere", "aaaaaaaaaaaaaaaabbb");
    assert!(load(&weak, &[]).is_ok(), "a test chain may do with it");
    let environment = [
        ("SIGNER__CHAINS__139__TEST", "false"),
        ("SIGNER__CHAINS__139__POLICY__UNLIMITED", "true"),
    ];
    let told = complaints(&weak, &environment);
    assert!(told.starts_with("callers.local.secret: has only 2 different bytes"), "{told}");
}

#[test]
fn nobody_is_served_unsigned_where_money_is() {
    let (head, tail) = LOCAL.split_once("[callers.local]").unwrap();
    let (_, chains) = tail.split_once("[chains.139]").unwrap();
    let text = format!("{head}[chains.139]{chains}");
    let environment = [
        ("SIGNER__ALLOW_UNAUTHENTICATED", "true"),
        ("SIGNER__CHAINS__139__TEST", "false"),
        ("SIGNER__CHAINS__139__POLICY__UNLIMITED", "true"),
    ];
    let told = complaints(&text, &environment);
    assert!(told.starts_with("allow_unauthenticated: true only goes with test chains"), "{told}");
}
