use super::*;
use crate::config::AwsCredentialSource;
use crate::keys::Key;
use alloy::primitives::Address;
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use k256::ecdsa::SigningKey;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::task::TaskTracker;

const ARN: &str = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

/// A double of KMS, held to the published API: it refuses what KMS would, and hashes a message again that is
/// not called a digest.
#[derive(Clone, Default)]
struct Double {
    /// What it answers before anything else, one after the other: status and body.
    first: Arc<Mutex<Vec<(u16, Value)>>>,
    /// Who asked, by the header that says so.
    asked: Arc<Mutex<Vec<String>>>,
    /// Whether every s is a high one.
    high: bool,
}

impl Double {
    async fn serve(self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(move |request: Request| {
            let double = self.clone();
            async move { double.answer(request).await }
        });
        TaskTracker::new().spawn(async { axum::serve(listener, router).await.unwrap() });
        url
    }

    async fn answer(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, 1 << 16).await.unwrap();
        let header = |name: &str| {
            parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
        };
        match parts.uri.path() {
            "/latest/api/token" => return "session".into_response(),
            "/latest/meta-data/iam/security-credentials/" => return "role\n".into_response(),
            "/latest/meta-data/iam/security-credentials/role" => {
                assert_eq!(header("x-aws-ec2-metadata-token"), "session");
                let document = json!({"Code": "Success", "AccessKeyId": "ASIAMACHINE",
                    "SecretAccessKey": SECRET, "Token": "of-the-role",
                    "Expiration": "2099-01-01T00:00:00Z"});
                return document.to_string().into_response();
            }
            _ => {}
        }
        self.asked.lock().push(header("authorization").to_owned());
        if let Some((status, body)) = self.first.lock().pop() {
            return told(status, &body);
        }
        assert_eq!(header("x-amz-target"), "TrentService.Sign");
        assert_eq!(header("content-type"), "application/x-amz-json-1.1");
        let asked: Value = serde_json::from_slice(&body).unwrap();
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
        let high = k256::ecdsa::Signature::from_scalars(low.r(), low.s().negate()).unwrap();
        let signature = if self.high { high } else { low };
        let der = STANDARD.encode(signature.to_der());
        told(200, &json!({"KeyId": ARN, "Signature": der, "SigningAlgorithm": "ECDSA_SHA_256"}))
    }
}

fn told(status: u16, body: &Value) -> Response {
    (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
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
    let config = AwsConfig { kms_url: Some(url.to_owned()), credentials };
    let (arn, region) = (ARN.to_owned(), "eu-central-1".to_owned());
    AwsKms::new(KmsKey { arn, region }, &config).unwrap()
}

const DIGEST: B256 = B256::repeat_byte(9);

#[tokio::test]
async fn a_digest_is_signed_as_it_is_and_by_whoever_the_machine_is() {
    for high in [false, true] {
        let double = Double { high, ..Double::default() };
        let url = double.clone().serve().await;
        let store = Box::new(store(&url, fixed()));
        let key = Key::elsewhere(store, address(), "chains.139.key").await.unwrap();
        assert_eq!(key.trouble(), None);
        let signature = key.sign_digest(DIGEST).await.unwrap();
        assert_eq!(signature.normalize_s(), None, "it is low");
        assert_eq!(signature.recover_address_from_prehash(&DIGEST).unwrap(), address());
        let asked = double.asked.lock()[0].clone();
        assert!(asked.contains("Credential=AKIDEXAMPLE/"), "{asked}");
        assert!(asked.contains("/eu-central-1/kms/aws4_request"), "{asked}");
        let signed = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target";
        assert!(asked.contains(signed), "{asked}");
    }
    let double = Double::default();
    let url = double.clone().serve().await;
    let machine = store(&url, AwsCredentialSource::Machine { url: url.clone() });
    machine.sign(DIGEST).await.unwrap();
    machine.sign(DIGEST).await.unwrap();
    assert!(double.asked.lock().iter().all(|asked| asked.contains("Credential=ASIAMACHINE/")));
}

#[tokio::test]
async fn what_aws_refuses_has_a_word_and_no_message() {
    let double = Double::default();
    let url = double.clone().serve().await;
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
    let double = Double::default();
    let url = double.clone().serve().await;
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
