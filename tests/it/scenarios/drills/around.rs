//! Outages of what stands around the Signer: the receiver of its webhook, the store of its key, and a
//! configuration that cannot be taken up.

use super::{drill, lively};
use crate::world::anvil::Family;
use crate::world::signer::{Signer, WEBHOOK_SECRET};
use crate::world::town::{KEY, Town, signer_address};
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

on_both_families![
    the_webhooks_receiver_is_down,
    the_webhooks_receiver_refuses,
    the_store_of_the_key_is_out,
];

/// Serves until the test ends; tells where.
async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    TaskTracker::new().spawn(async move { axum::serve(listener, router).await });
    url
}

fn add(town: &Town, section: &str) {
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{before}\n{section}\n")).unwrap();
}

/// A Signer that tells a receiver, which takes everything until it is told otherwise: then it answers this.
async fn telling(family: Family, otherwise: StatusCode) -> (Town, Signer, Arc<AtomicBool>) {
    let well = Arc::new(AtomicBool::new(true));
    let takes = Arc::clone(&well);
    let router = Router::new().fallback(move || {
        let status = if takes.load(Ordering::Relaxed) { StatusCode::OK } else { otherwise };
        async move { (status, "success") }
    });
    let url = serve(router).await;
    let town = Town::with(lively(family, "")).await;
    add(&town, &format!("[webhook]\nurl = {url:?}\nsecret = {WEBHOOK_SECRET:?}"));
    let signer = town.signer().await;
    (town, signer, well)
}

async fn the_webhooks_receiver_is_down(family: Family) {
    let (town, signer, well) = telling(family, StatusCode::BAD_GATEWAY).await;
    let outage = async || {
        well.store(false, Ordering::Relaxed);
        let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
        town.settled(&signer, &hash).await;
    };
    drill("the webhook's receiver is down", &signer, outage).await;
}

async fn the_webhooks_receiver_refuses(family: Family) {
    let (town, signer, well) = telling(family, StatusCode::IM_A_TEAPOT).await;
    let outage = async || {
        well.store(false, Ordering::Relaxed);
        let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
        town.settled(&signer, &hash).await;
    };
    drill("the webhook's receiver refuses", &signer, outage).await;
}

/// Signs as AWS KMS does, while it does.
fn kms(body: &[u8], works: bool) -> (StatusCode, String) {
    if !works {
        let down = json!({"__type": "KMSInternalException"});
        return (StatusCode::INTERNAL_SERVER_ERROR, down.to_string());
    }
    let asked: Value = serde_json::from_slice(body).unwrap();
    let digest = STANDARD.decode(asked["Message"].as_str().unwrap()).unwrap();
    let key = SigningKey::from_slice(&hex::decode(KEY).unwrap()).unwrap();
    let (signature, _) = key.sign_prehash_recoverable(&digest).unwrap();
    let signature = STANDARD.encode(signature.to_der());
    (StatusCode::OK, json!({"KeyId": asked["KeyId"], "Signature": signature}).to_string())
}

async fn the_store_of_the_key_is_out(family: Family) {
    let works = Arc::new(AtomicBool::new(true));
    let working = Arc::clone(&works);
    let url = serve(Router::new().fallback(move |body: Bytes| {
        let told = kms(&body, working.load(Ordering::Relaxed));
        async move { told }
    }))
    .await;
    let mut town = Town::with(lively(family, "")).await;
    let arn = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd";
    let key = format!("awskms:{arn}@{}", town.spell(signer_address()));
    town.installation = town
        .installation
        .env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "Zq8fT3awssecretW7xLr2N")
        .env("SIGNER__KEYS__AWS_KMS_URL", &url)
        .env("SIGNER__CHAINS__139__KEY", &key);
    let signer = town.signer().await;
    let outage = async || {
        works.store(false, Ordering::Relaxed);
        let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
        assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
    };
    drill("the store of the key is out", &signer, outage).await;
    town.assert_paid(&[0]).await;
}
