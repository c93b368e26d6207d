use super::*;
use crate::fake_store::{FakeStore, Half, Heard, leads_back, signature, told};
use alloy::primitives::Address;
use axum::response::{IntoResponse as _, Response};
use config::AwsCredentialSource;
use k256::ecdsa::SigningKey;
use keys::{Key, RemoteKey};
use serde_json::json;

const ARN: &str = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

/// KMS, held to the published API: it refuses what KMS would, and hashes a message again that is not called a
/// digest. Every s is in this half.
async fn kms(half: Half) -> FakeStore {
    FakeStore::serve(move |heard| answer(heard, half)).await
}

fn answer(heard: &Heard, half: Half) -> Response {
    match heard.path.as_str() {
        "/latest/api/token" => return "session".into_response(),
        "/latest/meta-data/iam/security-credentials/" => return "role\n".into_response(),
        "/latest/meta-data/iam/security-credentials/role" => {
            assert_eq!(heard.header("x-aws-ec2-metadata-token"), "session");
            let document = json!({"Code": "Success", "AccessKeyId": "ASIAMACHINE",
                "SecretAccessKey": SECRET, "Token": "of-the-role",
                "Expiration": "2099-01-01T00:00:00Z"});
            return document.to_string().into_response();
        }
        _ => {}
    }
    assert_eq!(heard.header("x-amz-target"), "TrentService.Sign");
    assert_eq!(heard.header("content-type"), "application/x-amz-json-1.1");
    let asked = heard.json();
    let refused = |kind: &str| told(400, &json!({"__type": kind, "message": "…"}));
    if asked["KeyId"] != ARN {
        return refused("com.amazonaws.kms#NotFoundException");
    }
    if asked["SigningAlgorithm"] != "ECDSA_SHA_256" {
        return refused("ValidationException");
    }
    let message = STANDARD.decode(asked["Message"].as_str().unwrap()).unwrap();
    let digest = match asked["MessageType"].as_str() {
        Some("DIGEST") if message.len() == 32 => message,
        Some("DIGEST") => return refused("ValidationException"),
        _ => <sha2::Sha256 as sha2::Digest>::digest(&message).to_vec(),
    };
    let der = STANDARD.encode(signature(&key(), &digest, half).to_der());
    told(200, &json!({"KeyId": ARN, "Signature": der, "SigningAlgorithm": "ECDSA_SHA_256"}))
}

/// Who asked, by the header that says so.
fn who(fake: &FakeStore) -> Vec<String> {
    fake.heard.lock().iter().map(|heard| heard.header("authorization").to_owned()).collect()
}

fn key() -> SigningKey {
    SigningKey::from_slice(&[7; 32]).unwrap()
}

fn address() -> Address {
    Address::from_public_key(key().verifying_key())
}

fn fixed() -> AwsCredentialSource {
    let (id, secret) = ("AKIDEXAMPLE".to_owned(), SECRET.into());
    AwsCredentialSource::Fixed { id, secret, token: Some("of-a-session".into()) }
}

fn store(url: &str, credentials: AwsCredentialSource) -> AwsKms {
    let config = AwsConfig { kms_url: Some(url.to_owned()), secrets_url: None, credentials };
    let (arn, region) = (ARN.to_owned(), "eu-central-1".to_owned());
    AwsKms::new(KmsKey { arn, region }, &config).unwrap()
}

const DIGEST: B256 = B256::repeat_byte(9);

#[tokio::test]
async fn a_digest_is_signed_as_it_is_and_by_whoever_the_machine_is() {
    for half in [Half::Low, Half::High] {
        let fake = kms(half).await;
        let store = store(&fake.url, fixed());
        assert!(leads_back(store.sign(DIGEST).await.unwrap(), DIGEST, address()));
        let key = RemoteKey::open(Box::new(store), address(), "chains.139.key").await.unwrap();
        assert_eq!(Key::from(key).trouble(), None);
        let asked = who(&fake).remove(0);
        assert!(asked.contains("Credential=AKIDEXAMPLE/"), "{asked}");
        assert!(asked.contains("/eu-central-1/kms/aws4_request"), "{asked}");
        let signed = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target";
        assert!(asked.contains(signed), "{asked}");
    }
    let fake = kms(Half::Low).await;
    let url = fake.url.clone();
    let machine = store(&url, AwsCredentialSource::Machine { url: url.clone() });
    machine.sign(DIGEST).await.unwrap();
    machine.sign(DIGEST).await.unwrap();
    assert!(who(&fake).iter().all(|asked| asked.contains("Credential=ASIAMACHINE/")));
}

#[tokio::test]
async fn what_aws_refuses_has_a_word_and_no_message() {
    let fake = kms(Half::Low).await;
    let url = fake.url.clone();
    let store = store(&url, fixed());
    for (status, kind, fault) in [
        (400, "ThrottlingException", StoreFault::Busy),
        (500, "com.amazonaws.kms#KMSInternalException", StoreFault::Down),
        (500, "KeyUnavailableException", StoreFault::Down),
        (503, "", StoreFault::Down),
        (400, "DisabledException", StoreFault::Disabled),
        (400, "KMSInvalidStateException", StoreFault::Disabled),
        (400, "NotFoundException", StoreFault::Missing),
        (400, "AccessDeniedException", StoreFault::Denied),
        (400, "ExpiredTokenException", StoreFault::Denied),
        (400, "InvalidKeyUsageException", StoreFault::Odd),
        (418, "", StoreFault::Odd),
    ] {
        let said = json!({"__type": kind, "message": format!("you are {SECRET}")});
        fake.first.lock().push((status, said));
        let refused = store.sign(DIGEST).await.unwrap_err();
        assert_eq!(refused.fault, fault, "{status} {kind}");
        assert!(!refused.message.contains(SECRET), "{refused}");
    }
    for (wrong, why) in [
        (json!({"KeyId": "another", "Signature": ""}), "another key"),
        (json!({"KeyId": ARN, "Signature": "!"}), "base64"),
        (json!({"KeyId": ARN, "Signature": "MAYCAQECAQEA"}), "DER"),
        (json!({"Signature": ""}), "JSON"),
    ] {
        fake.first.lock().push((200, wrong));
        let refused = store.sign(DIGEST).await.unwrap_err();
        assert_eq!(refused.fault, StoreFault::Odd);
        assert!(refused.message.contains(why), "{refused}");
    }
    assert!(!format!("{store:?}").contains(SECRET));
}

#[tokio::test]
async fn a_message_that_is_hashed_again_is_no_signature_of_ours() {
    let fake = kms(Half::Low).await;
    let url = fake.url.clone();
    let store = store(&url, fixed());
    // As a server that does not know MessageType does.
    let digest = <sha2::Sha256 as sha2::Digest>::digest(DIGEST);
    let hashed = signature(&key(), &digest, Half::Low);
    let answer = json!({"KeyId": ARN, "Signature": STANDARD.encode(hashed.to_der())});
    *fake.first.lock() = vec![(200, answer); 5];
    assert!(!leads_back(store.sign(DIGEST).await.unwrap(), DIGEST, address()));
    let refused = RemoteKey::open(Box::new(store), address(), "chains.139.key").await;
    assert!(refused.unwrap_err().to_string().contains("by another key"));
}
