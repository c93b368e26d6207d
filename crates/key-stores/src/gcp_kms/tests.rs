use super::*;
use crate::fake_store::{FakeStore, Half, Heard, leads_back, signature, told};
use alloy::primitives::Address;
use axum::response::Response;
use k256::ecdsa::SigningKey;
use keys::{Key, RemoteKey};
use serde_json::{Value, json};

const NAME: &str =
    "projects/p-1/locations/europe-west1/keyRings/signer/cryptoKeys/billing/cryptoKeyVersions/3";
const TOKEN: &str = "ya29.c.b0Aaekm1K4QkTokenOfTheMachine";
const DIGEST: B256 = B256::repeat_byte(9);

/// Cloud KMS and the metadata server, held to the published API: they refuse what Google would, and data that
/// is not called a digest is hashed. Every s is in this half.
async fn kms(half: Half) -> FakeStore {
    FakeStore::serve(move |heard| answer(heard, half)).await
}

fn answer(heard: &Heard, half: Half) -> Response {
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
    let mut answer = signed(&digest, half);
    if !verified {
        answer.as_object_mut().unwrap().remove("verifiedDigestCrc32c");
    }
    told(200, &answer)
}

fn signed(digest: &[u8], half: Half) -> Value {
    let der = signature(&key(), digest, half).to_der();
    json!({
        "signature": STANDARD.encode(&der), "name": NAME, "protectionLevel": "HSM",
        "signatureCrc32c": by_bits(der.as_bytes()).to_string(), "verifiedDigestCrc32c": true,
    })
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
    for half in [Half::Low, Half::High] {
        let fake = kms(half).await;
        let store = store(&fake.url, NAME);
        assert!(leads_back(store.sign(DIGEST).await.unwrap(), DIGEST, address()));
        let key = RemoteKey::open(Box::new(store), address(), "chains.139.key").await.unwrap();
        assert_eq!(Key::from(key).trouble(), None);
    }
}

#[tokio::test]
async fn a_token_that_is_refused_is_fetched_anew() {
    let fake = kms(Half::Low).await;
    let store = store(&fake.url, NAME);
    let stale = Lasting { value: "stale".into(), until_ms: None };
    store.token.or(async { Ok(stale) }).await.map(drop).unwrap();
    assert_eq!(store.sign(DIGEST).await.unwrap_err().fault, StoreFault::Denied);
    store.sign(DIGEST).await.unwrap();
}

#[tokio::test]
async fn what_google_refuses_has_a_word_and_no_message() {
    let fake = kms(Half::Low).await;
    let (other, store) = (store(&fake.url, &NAME.replace("/3", "/4")), store(&fake.url, NAME));
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
        fake.first.lock().push((code, said));
        let refused = store.sign(DIGEST).await.unwrap_err();
        assert_eq!(refused.fault, fault, "{code} {status}");
        assert!(!refused.message.contains(TOKEN), "{refused}");
    }
    assert!(!format!("{store:?}").contains(TOKEN));
    assert_eq!(other.sign(DIGEST).await.unwrap_err().fault, StoreFault::Missing);
    fake.first.lock().push((200, json!({})));
    assert!(other.sign(DIGEST).await.unwrap_err().message.contains("JSON"));
}

#[tokio::test]
async fn what_was_changed_on_its_way_or_is_of_another_key_is_not_used() {
    let fake = kms(Half::Low).await;
    let store = store(&fake.url, NAME);
    let good = signed(DIGEST.as_slice(), Half::Low);
    for (field, value, why) in [
        ("name", json!(NAME.replace("/3", "/4")), "another key"),
        ("verifiedDigestCrc32c", json!(false), "did not check"),
        ("signatureCrc32c", json!("1"), "changed on its way"),
        ("signature", json!("MAYCAQECAQEA"), "changed on its way"),
        ("signature", json!("!"), "base64"),
    ] {
        let mut wrong = good.clone();
        wrong[field] = value;
        fake.first.lock().push((200, wrong));
        let refused = store.sign(DIGEST).await.unwrap_err();
        assert_eq!(refused.fault, StoreFault::Odd);
        assert!(refused.message.contains(why), "{refused}");
    }
    // What is hashed again leads elsewhere.
    let hashed = <sha2::Sha256 as sha2::Digest>::digest(DIGEST);
    *fake.first.lock() = vec![(200, signed(&hashed, Half::Low)); 5];
    assert!(!leads_back(store.sign(DIGEST).await.unwrap(), DIGEST, address()));
    let refused = RemoteKey::open(Box::new(store), address(), "chains.139.key").await;
    assert!(refused.unwrap_err().to_string().contains("by another key"));
}
