use super::*;
use crate::fake_store::{FakeStore, Heard, told};
use alloy::primitives::Address;
use axum::http::Method;
use axum::response::Response;
use k256::ecdsa::SigningKey;
use keys::{LocalKey, TestKeys};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use tempfile::TempDir;

/// 32 bytes of a key, as hex.
const KEY: &str = "4545454545454545454545454545454545454545454545454545454545454545";

const TOKEN: &str = "hvs.CAESIJtoken";

/// A server, as strict as the published API: it answers what it was asked, in the way that it should have been
/// asked, and nothing else.
fn rules(heard: &Heard) -> Response {
    if heard.header("x-vault-namespace") != "billing" {
        return told(404, &json!({"errors": []}));
    }
    let logged_in = told(200, &json!({"auth": {"client_token": TOKEN, "lease_duration": 60}}));
    match (&heard.method, heard.path.as_str()) {
        (&Method::POST, "/v1/auth/approle/login")
            if heard.json() == json!({"role_id": "r", "secret_id": "s-1"}) =>
        {
            logged_in
        }
        (&Method::POST, "/v1/auth/pods/login")
            if heard.json() == json!({"role": "signer", "jwt": "e.y.J"}) =>
        {
            logged_in
        }
        (&Method::POST, _) => told(400, &json!({"errors": ["invalid role or secret ID"]})),
        _ if heard.header("x-vault-token") != TOKEN => {
            told(403, &json!({"errors": ["permission denied"]}))
        }
        (&Method::GET, "/v1/secret/data/signer/billing") => told(
            200,
            &json!({
                "request_id": "1", "lease_id": "",
                "data": {"data": {"key": KEY, "number": 7}, "metadata": {"version": 3}},
            }),
        ),
        (&Method::GET, "/v1/secret/data/signer/deleted") => told(
            404,
            &json!({
                "data": {"data": null, "metadata": {"deletion_time": "2026-01-01T00:00:00Z"}},
            }),
        ),
        _ => told(404, &json!({"errors": []})),
    }
}

/// What the fake was asked.
fn asked(fake: &FakeStore) -> Vec<String> {
    fake.heard.lock().iter().map(|heard| format!("{} {}", heard.method, heard.path)).collect()
}

struct Room(TempDir);

impl Room {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

fn server(url: &str, login: VaultLogin) -> VaultConfig {
    let namespace = Some("billing".to_owned());
    VaultConfig { url: url.to_owned(), namespace, ca_file: None, login }
}

async fn get(path: &str, field: &str, server: &VaultConfig) -> Result<Secret, KeyError> {
    let [mount, path, field] = ["secret", path, field].map(str::to_owned);
    fetch(&VaultSecret { mount, path, field }, server, "chains.139.key").await
}

fn fault(outcome: Result<Secret, KeyError>) -> StoreFault {
    match outcome {
        Err(KeyError::Store { key, source }) if key == "chains.139.key" => source.fault,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is there"),
    }
}

#[tokio::test]
async fn a_key_is_fetched_by_a_token_an_approle_or_the_account_of_a_pod() {
    let (room, fake) = (Room::new(), FakeStore::serve(rules).await);
    let url = fake.url.clone();
    let secret_id =
        VaultProof::SecretId { role_id: "r".to_owned(), file: room.file("id", "s-1", 0o600) };
    let account = VaultProof::Kubernetes {
        role: "signer".to_owned(),
        file: room.file("jwt", "e.y.J", 0o644),
    };
    for (login, logins) in [
        (VaultLogin::Token(room.file("token", &format!("{TOKEN}\n"), 0o400)), vec![]),
        (
            VaultLogin::Role { mount: "approle".to_owned(), proof: secret_id },
            vec!["POST /v1/auth/approle/login"],
        ),
        (
            VaultLogin::Role { mount: "pods".to_owned(), proof: account },
            vec!["POST /v1/auth/pods/login"],
        ),
    ] {
        fake.heard.lock().clear();
        let secret = get("signer/billing", "key", &server(&url, login)).await.unwrap();
        let owner = SigningKey::from_slice(&[0x45; 32]).unwrap();
        let owner = Address::from_public_key(owner.verifying_key());
        let key = LocalKey::exported(secret, owner, "chains.139.key", TestKeys::Allowed);
        assert_eq!(key.unwrap().address(), owner);
        let wanted = [logins, vec!["GET /v1/secret/data/signer/billing"]].concat();
        assert_eq!(asked(&fake), wanted);
    }
}

#[tokio::test]
async fn what_is_not_there_or_not_ours_is_told_at_once_and_what_may_pass_is_tried_again() {
    let (room, fake) = (Room::new(), FakeStore::serve(rules).await);
    let url = fake.url.clone();
    let server = server(&url, VaultLogin::Token(room.file("token", TOKEN, 0o600)));
    for (path, field, why) in [
        ("signer/other", "key", StoreFault::Missing),
        ("signer/deleted", "key", StoreFault::Missing),
        ("signer/billing", "password", StoreFault::Missing),
        ("signer/billing", "number", StoreFault::Odd),
    ] {
        fake.heard.lock().clear();
        assert_eq!(fault(get(path, field, &server).await), why, "{path} {field}");
        assert_eq!(fake.heard.lock().len(), 1, "{path} {field}");
    }
    let other = VaultConfig { namespace: Some("another".to_owned()), ..server.clone() };
    assert_eq!(fault(get("signer/billing", "key", &other).await), StoreFault::Missing);
    let stranger = VaultLogin::Token(room.file("stranger", "hvs.other", 0o600));
    let stranger = VaultConfig { login: stranger, ..server.clone() };
    assert_eq!(fault(get("signer/billing", "key", &stranger).await), StoreFault::Denied);
    let sealed = json!({"errors": ["Vault is sealed"]});
    *fake.first.lock() = vec![(429, json!({})), (503, sealed.clone())];
    fake.heard.lock().clear();
    assert!(get("signer/billing", "key", &server).await.is_ok());
    assert_eq!(fake.heard.lock().len(), 3);
    *fake.first.lock() = vec![(503, sealed); 4];
    assert_eq!(fault(get("signer/billing", "key", &server).await), StoreFault::Down);
    let nowhere = VaultConfig { url: "http://127.0.0.1:1".to_owned(), ..server };
    assert_eq!(fault(get("signer/billing", "key", &nowhere).await), StoreFault::Unreachable);
}

#[tokio::test]
async fn no_error_quotes_a_secret_and_a_token_that_others_can_read_is_not_used() {
    let (room, fake) = (Room::new(), FakeStore::serve(rules).await);
    let url = fake.url.clone();
    *fake.first.lock() = vec![(403, json!({"errors": [format!("bad token {TOKEN} for {KEY}")]}))];
    let config = server(&url, VaultLogin::Token(room.file("token", TOKEN, 0o600)));
    let refused = get("signer/billing", "key", &config).await.map(drop).unwrap_err();
    for shown in [refused.to_string(), format!("{refused:?}"), format!("{config:?}")] {
        assert!(!shown.contains(TOKEN) && !shown.contains(KEY), "{shown}");
    }
    let open = server(&url, VaultLogin::Token(room.file("open", TOKEN, 0o644)));
    let refused = get("signer/billing", "key", &open).await.map(drop);
    assert!(matches!(refused, Err(KeyError::TooOpen { .. })), "{refused:?}");
    let empty = server(&url, VaultLogin::Token(room.file("empty", "\n", 0o600)));
    let refused = get("signer/billing", "key", &empty).await.map(drop);
    assert!(matches!(refused, Err(KeyError::NotAToken { .. })), "{refused:?}");
}
