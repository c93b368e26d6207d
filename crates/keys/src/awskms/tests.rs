use super::*;
use crate::Key;
use crate::double::{Double, Heard, told};
use alloy::primitives::Address;
use axum::response::{IntoResponse as _, Response};
use config::AwsCredentialSource;
use k256::ecdsa::SigningKey;
use serde_json::json;

const ARN: &str = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

/// KMS, held to the published API: it refuses what KMS would, and hashes a message again that is not called a
/// digest. `high` says whether every s is a high one.
async fn kms(high: bool) -> Double {
    Double::serve(move |heard| answer(heard, high)).await
}

fn answer(heard: &Heard, high: bool) -> Response {
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
    let (low, _) = key().sign_prehash_recoverable(&digest).unwrap();
    let turned = k256::ecdsa::Signature::from_scalars(low.r(), low.s().negate()).unwrap();
    let der = STANDARD.encode(if high { turned } else { low }.to_der());
    told(200, &json!({"KeyId": ARN, "Signature": der, "SigningAlgorithm": "ECDSA_SHA_256"}))
}

/// Who asked, by the header that says so.
fn who(double: &Double) -> Vec<String> {
    double.heard.lock().iter().map(|heard| heard.header("authorization").to_owned()).collect()
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
    for high in [false, true] {
        let double = kms(high).await;
        let store = Box::new(store(&double.url, fixed()));
        let key = Key::elsewhere(store, address(), "chains.139.key").await.unwrap();
        assert_eq!(key.trouble(), None);
        let signature = key.sign_digest(DIGEST).await.unwrap();
        assert_eq!(signature.normalize_s(), None, "it is low");
        assert_eq!(signature.recover_address_from_prehash(&DIGEST).unwrap(), address());
        let asked = who(&double).remove(0);
        assert!(asked.contains("Credential=AKIDEXAMPLE/"), "{asked}");
        assert!(asked.contains("/eu-central-1/kms/aws4_request"), "{asked}");
        let signed = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target";
        assert!(asked.contains(signed), "{asked}");
    }
    let double = kms(false).await;
    let url = double.url.clone();
    let machine = store(&url, AwsCredentialSource::Machine { url: url.clone() });
    machine.sign(DIGEST).await.unwrap();
    machine.sign(DIGEST).await.unwrap();
    assert!(who(&double).iter().all(|asked| asked.contains("Credential=ASIAMACHINE/")));
}

#[tokio::test]
async fn what_aws_refuses_has_a_word_and_no_message() {
    let double = kms(false).await;
    let url = double.url.clone();
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
        double.first.lock().push((status, said));
        let refused = store.sign(DIGEST).await.unwrap_err();
        assert_eq!(refused.fault, fault, "{status} {kind}");
        assert!(!refused.said.contains(SECRET), "{refused}");
    }
    for (wrong, why) in [
        (json!({"KeyId": "another", "Signature": ""}), "another key"),
        (json!({"KeyId": ARN, "Signature": "!"}), "base64"),
        (json!({"KeyId": ARN, "Signature": "MAYCAQECAQEA"}), "DER"),
        (json!({"Signature": ""}), "JSON"),
    ] {
        double.first.lock().push((200, wrong));
        let refused = store.sign(DIGEST).await.unwrap_err();
        assert_eq!(refused.fault, StoreFault::Odd);
        assert!(refused.said.contains(why), "{refused}");
    }
    assert!(!format!("{store:?}").contains(SECRET));
}

#[tokio::test]
async fn a_message_that_is_hashed_again_is_no_signature_of_ours() {
    let double = kms(false).await;
    let url = double.url.clone();
    let store = store(&url, fixed());
    // As a server that does not know MessageType does.
    let digest = <sha2::Sha256 as sha2::Digest>::digest(DIGEST);
    let (hashed, _) = key().sign_prehash_recoverable(&digest).unwrap();
    let key = Key::elsewhere(Box::new(store), address(), "chains.139.key").await.unwrap();
    let answer = json!({"KeyId": ARN, "Signature": STANDARD.encode(hashed.to_der())});
    *double.first.lock() = vec![(200, answer); 4];
    assert!(key.sign_digest(DIGEST).await.is_err());
    assert_eq!(key.trouble(), Some(StoreFault::OtherKey));
}
