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
            "callers.local.secret: is one of the examples".to_owned(),
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
fn secrets_that_the_documents_print_are_refused_where_money_is() {
    let pages = [
        include_str!("../../../../docs/sandbox.md"),
        include_str!("../../../../docs/integrate.md"),
        include_str!("../../../../sandbox/src/demo/scheduler.rs"),
    ];
    let printed = pages.into_iter().flat_map(|page| page.split(['`', '"']));
    let printed: Vec<&str> = printed.filter(|word| word.starts_with("everybody-knows-")).collect();
    assert!(printed.len() > 4, "{printed:?}");
    let environment = [
        ("SIGNER__CHAINS__139__TEST", "false"),
        ("SIGNER__CHAINS__139__POLICY__UNLIMITED", "true"),
    ];
    for secret in printed {
        let text = local("local-example-secret-do-not-use-elsewhere", secret);
        assert!(load(&text, &[]).is_ok(), "a test chain may do with it");
        let told = complaints(&text, &environment);
        assert!(told.starts_with("callers.local.secret: is one of the examples"), "{told}");
    }
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

const STRONG: &str = "8f14e45fceea167a5a36dedd4bea2543";

#[test]
fn a_secret_in_a_file_is_its_owners_alone() {
    let room = tempfile::tempdir().unwrap();
    for (mode, good) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
        let path = file_of_mode(&room, "secret", STRONG, mode);
        let told = local(
            "secret = \"local-example-secret-do-not-use-elsewhere\"",
            &format!("secret_file = {path:?}"),
        );
        let told = load(&told, &[]).err().map(|errors| errors.to_string());
        let fault = "callers.local.secret_file: others can read or change the file";
        assert_eq!(
            told.as_ref().map(|told| told.starts_with(fault)),
            (!good).then_some(true),
            "{told:?}"
        );
    }
}

#[test]
fn a_configuration_with_secrets_in_it_is_its_owners_alone_where_money_is() {
    let room = tempfile::tempdir().unwrap();
    let test = local("local-example-secret-do-not-use-elsewhere", STRONG);
    assert!(Config::load(Some(&file_of_mode(&room, "test.toml", &test, 0o644))).is_ok());
    let text = test.replace("test = true", "test = false\npolicy.unlimited = true");
    assert!(Config::load(Some(&file_of_mode(&room, "closed.toml", &text, 0o600))).is_ok());
    let told = Config::load(Some(&file_of_mode(&room, "open.toml", &text, 0o644)))
        .unwrap_err()
        .to_string();
    let fault =
        "callers.local.secret: stands in the configuration file, and others can read or change";
    assert!(told.starts_with(fault) && told.contains("(mode 0644)"), "{told}");
    let secret = file_of_mode(&room, "secret", STRONG, 0o600);
    let elsewhere =
        text.replace(&format!("secret = \"{STRONG}\""), &format!("secret_file = {secret:?}"));
    assert!(Config::load(Some(&file_of_mode(&room, "elsewhere.toml", &elsewhere, 0o644))).is_ok());
}
