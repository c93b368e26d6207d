use super::*;
use crate::Key;
use crate::double::{Double, Heard, told};
use alloy::primitives::Address;
use axum::response::Response;
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};

const NAME: &str =
    "projects/p-1/locations/europe-west1/keyRings/signer/cryptoKeys/billing/cryptoKeyVersions/3";
const TOKEN: &str = "ya29.c.b0Aaekm1K4QkTokenOfTheMachine";
const DIGEST: B256 = B256::repeat_byte(9);

/// Cloud KMS and the metadata server, held to the published API: they refuse what Google would, and data that
/// is not called a digest is hashed. `high` says whether every s is a high one.
async fn kms(high: bool) -> Double {
    Double::serve(move |heard| answer(heard, high)).await
}

fn answer(heard: &Heard, high: bool) -> Response {
    if heard.path.starts_with("/computeMetadata/") {
        assert_eq!(heard.path, "/computeMetadata/v1/instance/service-accounts/default/token");
        if heard.header("metadata-flavor") != "Google" {
            return told(403, &json!({}));
        }
        let token = json!({"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"});
        return told(200, &token);
    }
    if heard.header("authorization") != format!("Bearer {TOKEN}") {
        return refusal(401, "UNAUTHENTICATED");
    }
    if heard.path != format!("/v1/{NAME}:asymmetricSign") {
        return refusal(404, "NOT_FOUND");
    }
    assert_eq!(heard.header("content-type"), "application/json");
    let asked = heard.json();
    let known = ["data", "dataCrc32c", "digest", "digestCrc32c"];
    let fields = asked.as_object().unwrap();
    assert!(fields.keys().all(|field| known.contains(&field.as_str())), "{asked}");
    let (digest, verified) = match (asked["digest"]["sha256"].as_str(), asked["data"].as_str()) {
        (Some(text), None) => {
            let digest = STANDARD.decode(text).unwrap();
            // The checksum of iSCSI (RFC 3720), by its bits.
            if asked["digestCrc32c"].as_str() != Some(&by_bits(&digest).to_string()) {
                return refusal(400, "INVALID_ARGUMENT");
            }
            (digest, true)
        }
        (None, Some(text)) => {
            let data = STANDARD.decode(text).unwrap();
            (<sha2::Sha256 as sha2::Digest>::digest(data).to_vec(), false)
        }
        _ => return refusal(400, "INVALID_ARGUMENT"),
    };
    told(200, &signed(&digest, high, verified))
}

fn signed(digest: &[u8], high: bool, verified: bool) -> Value {
    let (low, _) = key().sign_prehash_recoverable(digest).unwrap();
    let turned = k256::ecdsa::Signature::from_scalars(low.r(), low.s().negate()).unwrap();
    let der = if high { turned } else { low }.to_der();
    let mut answer = json!({
        "signature": STANDARD.encode(&der), "name": NAME, "protectionLevel": "HSM",
        "signatureCrc32c": by_bits(der.as_bytes()).to_string(),
    });
    if verified {
        answer["verifiedDigestCrc32c"] = json!(true);
    }
    answer
}

fn refusal(code: u16, status: &str) -> Response {
    told(code, &json!({"error": {"code": code, "message": "…", "status": status}}))
}

fn by_bits(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc: u32, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

fn key() -> SigningKey {
    SigningKey::from_slice(&[7; 32]).unwrap()
}

fn address() -> Address {
    Address::from_public_key(key().verifying_key())
}

fn store(url: &str, name: &str) -> GcpKms {
    let config = GcpConfig { url: url.to_owned(), metadata_url: url.to_owned() };
    GcpKms::new(GcpKey(name.to_owned()), config).unwrap()
}

#[test]
fn the_checksum_is_castagnolis() {
    // RFC 3720, B.4: 32 bytes of zeroes.
    assert_eq!(by_bits(&[0; 32]), 0x8a91_36aa);
    assert_eq!(CRC32C.checksum(&[0; 32]), 0x8a91_36aa);
}

#[tokio::test]
async fn a_digest_is_signed_as_it_is_by_the_account_of_the_machine() {
    for high in [false, true] {
        let double = kms(high).await;
        let store = Box::new(store(&double.url, NAME));
        let key = Key::elsewhere(store, address(), "chains.139.key").await.unwrap();
        assert_eq!(key.trouble(), None);
        let signature = key.sign_digest(DIGEST).await.unwrap();
        assert_eq!(signature.normalize_s(), None, "it is low");
        assert_eq!(signature.recover_address_from_prehash(&DIGEST).unwrap(), address());
    }
}

#[tokio::test]
async fn a_token_that_is_refused_is_fetched_anew() {
    let double = kms(false).await;
    let store = store(&double.url, NAME);
    let stale = Lasting { value: "stale".into(), until_ms: None };
    store.token.or(async { Ok(stale) }).await.map(drop).unwrap();
    assert_eq!(store.sign(DIGEST).await.unwrap_err().fault, StoreFault::Denied);
    store.sign(DIGEST).await.unwrap();
}

#[tokio::test]
async fn what_google_refuses_has_a_word_and_no_message() {
    let double = kms(false).await;
    let (other, store) = (store(&double.url, &NAME.replace("/3", "/4")), store(&double.url, NAME));
    for (code, status, fault) in [
        (429, "RESOURCE_EXHAUSTED", StoreFault::Busy),
        (503, "UNAVAILABLE", StoreFault::Down),
        (500, "INTERNAL", StoreFault::Down),
        (502, "", StoreFault::Down),
        (400, "FAILED_PRECONDITION", StoreFault::Disabled),
        (404, "NOT_FOUND", StoreFault::Missing),
        (403, "PERMISSION_DENIED", StoreFault::Denied),
        (401, "UNAUTHENTICATED", StoreFault::Denied),
        (400, "INVALID_ARGUMENT", StoreFault::Odd),
    ] {
        let said = json!({"error": {"code": code, "status": status, "message": TOKEN}});
        double.first.lock().push((code, said));
        let refused = store.sign(DIGEST).await.unwrap_err();
        assert_eq!(refused.fault, fault, "{code} {status}");
        assert!(!refused.said.contains(TOKEN), "{refused}");
    }
    assert!(!format!("{store:?}").contains(TOKEN));
    assert_eq!(other.sign(DIGEST).await.unwrap_err().fault, StoreFault::Missing);
    double.first.lock().push((200, json!({})));
    assert!(other.sign(DIGEST).await.unwrap_err().said.contains("JSON"));
}

#[tokio::test]
async fn what_was_changed_on_its_way_or_is_of_another_key_is_not_used() {
    let double = kms(false).await;
    let store = store(&double.url, NAME);
    let good = signed(DIGEST.as_slice(), false, true);
    for (field, value, why) in [
        ("name", json!(NAME.replace("/3", "/4")), "another key"),
        ("verifiedDigestCrc32c", json!(false), "did not check"),
        ("signatureCrc32c", json!("1"), "changed on its way"),
        ("signature", json!("MAYCAQECAQEA"), "changed on its way"),
        ("signature", json!("!"), "base64"),
    ] {
        let mut wrong = good.clone();
        wrong[field] = value;
        double.first.lock().push((200, wrong));
        let refused = store.sign(DIGEST).await.unwrap_err();
        assert_eq!(refused.fault, StoreFault::Odd);
        assert!(refused.said.contains(why), "{refused}");
    }
    // What is hashed again leads elsewhere.
    let hashed = <sha2::Sha256 as sha2::Digest>::digest(DIGEST);
    let key = Key::elsewhere(Box::new(store), address(), "chains.139.key").await.unwrap();
    *double.first.lock() = vec![(200, signed(&hashed, false, true)); 4];
    assert!(key.sign_digest(DIGEST).await.is_err());
    assert_eq!(key.trouble(), Some(StoreFault::OtherKey));
}
