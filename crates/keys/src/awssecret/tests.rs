use super::*;
use crate::double::{Double, Heard, told};
use crate::{EveryStore, KeyError, KeyPlace, OpenKeys as _};
use alloy::primitives::Address;
use axum::response::Response;
use config::AwsCredentialSource;
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};

const ARN: &str = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:signer/billing-a1B2c3";
const CREDENTIAL: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
/// 32 bytes of a key, as hex.
const KEY: &str = "4545454545454545454545454545454545454545454545454545454545454545";

/// Secrets Manager, held to the published API, with one secret: this text.
async fn holding(text: &'static str) -> Double {
    Double::serve(move |heard| answer(heard, text)).await
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

async fn get(store: &Double, field: Option<&str>) -> Result<Secret, StoreError> {
    fetch(&named(ARN, field), &config(&store.url)).await
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
    assert_eq!(hex::encode(secret.as_slice()), KEY);
    let fields = holding(FIELDS).await;
    let secret = get(&fields, Some("key")).await.unwrap();
    assert_eq!(hex::encode(secret.as_slice()), KEY);
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
        assert!(!refused.said.contains(CREDENTIAL) && !refused.said.contains(KEY), "{refused}");
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
        assert!(refused.fault == StoreFault::Odd && refused.said.contains(why), "{refused}");
    }
}

#[tokio::test]
async fn a_key_of_another_address_is_not_taken() {
    let store = holding(KEY).await;
    let owner = SigningKey::from_slice(&[0x45; 32]).unwrap();
    let owner = Address::from_public_key(owner.verifying_key());
    let open = async |address| {
        let place =
            KeyPlace::AwsSecret { secret: named(ARN, None), aws: config(&store.url), address };
        EveryStore.open(place, "chains.139.key", true).await
    };
    assert_eq!(open(owner).await.unwrap().address(), owner);
    let refused = open(Address::ZERO).await.unwrap_err();
    assert!(matches!(refused, KeyError::NotPinned { actual, .. } if actual == owner), "{refused}");
}
