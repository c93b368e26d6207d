use super::*;
use crate::KeyStores;
use crate::fake_store::{FakeStore, Heard, told};
use alloy::primitives::Address;
use axum::response::Response;
use config::{AwsCredentialSource, Config};
use k256::ecdsa::SigningKey;
use keys::{KeyError, LocalKey, NamedKey, OpenKeys as _, TestKeys};
use serde_json::{Value, json};

const ARN: &str = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:signer/billing-a1B2c3";
const CREDENTIAL: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
/// 32 bytes of a key, as hex.
const KEY: &str = "4545454545454545454545454545454545454545454545454545454545454545";

/// Secrets Manager, held to the published API, with one secret: this text.
async fn holding(text: &'static str) -> FakeStore {
    FakeStore::serve(move |heard| answer(heard, text)).await
}

fn answer(heard: &Heard, text: &str) -> Response {
    assert_eq!(heard.header("x-amz-target"), "secretsmanager.GetSecretValue");
    assert_eq!(heard.header("content-type"), "application/x-amz-json-1.1");
    let who = heard.header("authorization");
    assert!(who.contains("Credential=AKIDEXAMPLE/"), "{who}");
    assert!(who.contains("/eu-central-1/secretsmanager/aws4_request"), "{who}");
    if heard.json() != json!({ "SecretId": ARN }) {
        return told(400, &json!({"__type": "ResourceNotFoundException", "Message": "…"}));
    }
    told(
        200,
        &json!({
            "ARN": ARN, "Name": "signer/billing", "SecretString": text, "CreatedDate": 1.5e9,
            "VersionId": "EXAMPLE1-90ab-cdef-fedc-ba987SECRET1", "VersionStages": ["AWSCURRENT"],
        }),
    )
}

fn config(url: &str) -> AwsConfig {
    let (id, secret) = ("AKIDEXAMPLE".to_owned(), CREDENTIAL.into());
    let credentials = AwsCredentialSource::Fixed { id, secret, token: None };
    AwsConfig { kms_url: None, secrets_url: Some(url.to_owned()), credentials }
}

fn named(arn: &str, field: Option<&str>) -> AwsSecret {
    let (arn, region) = (arn.to_owned(), "eu-central-1".to_owned());
    AwsSecret { arn, region, field: field.map(str::to_owned) }
}

async fn get(store: &FakeStore, field: Option<&str>) -> Result<Secret, StoreError> {
    fetch(&named(ARN, field), &config(&store.url)).await
}

fn owner() -> Address {
    let owner = SigningKey::from_slice(&[0x45; 32]).unwrap();
    Address::from_public_key(owner.verifying_key())
}

fn address_of(secret: Secret) -> Address {
    LocalKey::exported(secret, owner(), "chains.139.key", TestKeys::Allowed).unwrap().address()
}

#[tokio::test]
async fn a_key_is_the_whole_secret_or_one_of_its_fields() {
    const FIELDS: &str = concat!(
        "{\n\t\"user\": \"a\\\\b\", \"key\": \"0x",
        "4545454545454545454545454545454545454545454545454545454545454545",
        "\", \"number\": 7}"
    );
    let whole =
        holding(concat!("4545454545454545454545454545454545454545454545454545454545454545", "\n"));
    let secret = get(&whole.await, None).await.unwrap();
    assert_eq!(address_of(secret), owner());
    let fields = holding(FIELDS).await;
    let secret = get(&fields, Some("key")).await.unwrap();
    assert_eq!(address_of(secret), owner());
    for (field, fault) in [
        (Some("password"), StoreFault::Missing),
        (Some("number"), StoreFault::Odd),
        (Some("user"), StoreFault::Odd),
        (None, StoreFault::Odd),
    ] {
        let refused = get(&fields, field).await.map(drop).unwrap_err();
        assert_eq!(refused.fault, fault, "{field:?}");
        assert!(!refused.to_string().contains("4545"), "{refused}");
    }
}

#[tokio::test]
async fn it_is_refused_in_words_and_asked_again_where_that_helps() {
    let store = holding(KEY).await;
    let refusal = |kind: &str| json!({"__type": kind, "Message": format!("{CREDENTIAL} {KEY}")});
    for (status, kind, fault) in [
        (400, "ResourceNotFoundException", StoreFault::Missing),
        (400, "AccessDeniedException", StoreFault::Denied),
        (400, "DecryptionFailure", StoreFault::Denied),
        (400, "InvalidParameterException", StoreFault::Odd),
    ] {
        *store.first.lock() = vec![(status, refusal(kind))];
        store.heard.lock().clear();
        let refused = get(&store, None).await.map(drop).unwrap_err();
        assert_eq!(refused.fault, fault, "{kind}");
        assert!(
            !refused.message.contains(CREDENTIAL) && !refused.message.contains(KEY),
            "{refused}"
        );
        assert_eq!(store.heard.lock().len(), 1, "{kind}");
    }
    for (status, kind, fault) in [
        (500, "InternalServiceError", StoreFault::Down),
        (400, "ThrottlingException", StoreFault::Busy),
        (400, "InvalidRequestException", StoreFault::Disabled),
    ] {
        *store.first.lock() = vec![(status, refusal(kind)); 3];
        assert!(get(&store, None).await.is_ok(), "{kind}: the fourth try");
        *store.first.lock() = vec![(status, refusal(kind)); 4];
        assert_eq!(get(&store, None).await.map(drop).unwrap_err().fault, fault, "{kind}");
    }
    for (wrong, why) in [
        (json!({"ARN": "another", "SecretString": KEY}), "another secret"),
        (json!({"ARN": ARN, "SecretBinary": "AAAA"}), "no text"),
        (json!({"ARN": ARN, "SecretString": 7}), "plain text"),
        (Value::Null, "JSON"),
    ] {
        *store.first.lock() = vec![(200, wrong)];
        let refused = get(&store, None).await.map(drop).unwrap_err();
        assert!(refused.fault == StoreFault::Odd && refused.message.contains(why), "{refused}");
    }
}

#[tokio::test]
async fn a_key_of_another_address_is_not_taken() {
    let store = holding(KEY).await;
    let open = async |address: Address| {
        let text = format!(
            "allow_unauthenticated = true\nkeys.aws_secrets_url = \"{}\"\n[chains.139]\nname = \"a\"\n\
             test = true\nfamily = \"evm\"\nkey = \"awssecret:{ARN}@{address}\"\neip155_id = 31337\n\
             rpc = \"http://127.0.0.1:8545\"\ncontract = \"0x5FbDB2315678afecb367f032d93F642f64180aa3\"\n\
             fees = {{ max_fee_per_gas = \"100 gwei\", max_priority_fee_per_gas = \"1 gwei\", \
             max_tx_cost = \"1 ether\" }}\n\
             billing.call = \"charge(uint64 planId, bytes32 userHash, uint128 amount)\"\n",
            store.url
        );
        let variables =
            [("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"), ("AWS_SECRET_ACCESS_KEY", CREDENTIAL)];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let config = Config::from_toml(&text, &variables).unwrap();
        let chain = &config.chains[0];
        let (place, key) = chain.keys.all().next().unwrap();
        KeyStores.open(NamedKey::new(chain, &config.keys, &place, key)).await
    };
    assert_eq!(open(owner()).await.unwrap().address(), owner());
    let other = Address::repeat_byte(1);
    let refused = open(other).await.unwrap_err();
    assert!(
        matches!(refused, KeyError::NotPinned { actual, .. } if actual == owner()),
        "{refused}"
    );
}
