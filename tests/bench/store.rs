//! Signatures of a store that takes its time, beside a key that is here: AWS KMS as its API is published, which
//! answers after [`TAKES`].

use crate::load::{Load, run};
use crate::stage::{Kind, Running, Stage};
use crate::usage;
use crate::world::town::{KEY, signer_address};
use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long a signature takes there: the middle of what is seen of AWS KMS from within its region.
const TAKES: Duration = Duration::from_millis(20);

const ARN: &str = "arn:aws:kms:eu-central-1:111122223333:key/00000000-0000-4000-8000-000000000000";

/// One caller and many, with a key that is here and with the store.
pub(crate) async fn beside_a_keystore() {
    println!("a key that is here, then in a store that answers after {} ms:", TAKES.as_millis());
    println!("{:>8} {:>8}  {:>24} {:>14}", "key", "callers", "req/s (p50, p99)", "processor ms");
    let url = kms().await;
    for callers in [1, 16, 64] {
        let stage = Stage::set(callers + 4, "").await;
        for stored in [false, true] {
            row(&stage, callers, stored.then_some(&url)).await;
        }
    }
}

async fn row(stage: &Stage, callers: usize, store: Option<&String>) {
    let before = stage.snapshot().await;
    let mut installation = stage.installation(None);
    if let Some(url) = store {
        installation = installation
            .env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", "a secret of AWS")
            .env("SIGNER__KEYS__AWS_KMS_URL", url)
            .env("SIGNER__CHAINS__139__KEY", &format!("awskms:{ARN}@{}", signer_address()));
    }
    let signer = Running::on(installation).await;
    let load = Load { size: 1, callers, count: 100 + 30 * callers, first_period: 1 };
    let warm = Load { count: callers.max(4), first_period: 1_000_000, ..load };
    run(stage, &signer.scheduler, Kind::Signer, &warm).await;
    let begun = usage::processor_ms(signer.process.id());
    let measured = run(stage, &signer.scheduler, Kind::Signer, &load).await;
    let busy = (usage::processor_ms(signer.process.id()) - begun) / measured.requests() as f64;
    let place = if store.is_some() { "store" } else { "here" };
    println!("{place:>8} {callers:>8}  {:>24} {busy:>14.2}", measured.to_string());
    drop(signer);
    stage.revert(&before).await;
}

/// Answers to `Sign` alone, and to every caller.
async fn kms() -> String {
    let key = SigningKey::from_slice(&hex::decode(KEY).unwrap()).unwrap();
    let answer = move |asked: &[u8]| {
        let asked: Value = serde_json::from_slice(asked).unwrap();
        assert_eq!(asked["MessageType"], "DIGEST");
        let digest = STANDARD.decode(asked["Message"].as_str().unwrap()).unwrap();
        let (signature, _) = key.sign_prehash_recoverable(&digest).unwrap();
        let signature = STANDARD.encode(signature.to_der());
        json!({"KeyId": ARN, "Signature": signature, "SigningAlgorithm": "ECDSA_SHA_256"})
            .to_string()
    };
    let answer = Arc::new(answer);
    let sign = move |asked: Bytes| {
        let answer = Arc::clone(&answer);
        async move {
            tokio::time::sleep(TAKES).await;
            answer(&asked)
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let rules = Router::new().route("/", post(sign));
    #[expect(clippy::disallowed_methods, reason = "it answers as long as the benchmark runs")]
    tokio::spawn(async move { axum::serve(listener, rules).await.unwrap() });
    url
}
