//! Keys that others hand over or sign with, as the program finds them in its environment.

use crate::world::town::Town;
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use parking_lot::Mutex;
use serde_json::json;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

#[tokio::test]
async fn a_key_that_systemd_hands_over_signs() {
    let mut town = Town::found().await;
    let directory = town.installation.path().display().to_string();
    town.installation = town
        .installation
        .env("CREDENTIALS_DIRECTORY", &directory)
        .env("SIGNER__CHAINS__139__KEY", "credential:evm.key");
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aws_is_asked_by_whoever_the_environment_says_and_its_refusal_is_told_without_a_secret() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&asked);
    let router = Router::new().fallback(move |request: Request| {
        let said = request.headers().get("authorization").cloned();
        heard.lock().extend(said.and_then(|said| said.to_str().ok().map(str::to_owned)));
        async { (StatusCode::BAD_REQUEST, json!({"__type": "AccessDeniedException"}).to_string()) }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    TaskTracker::new().spawn(async { axum::serve(listener, router).await.unwrap() });
    let mut town = Town::found().await;
    let key = "awskms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd\
               @0x5FbDB2315678afecb367f032d93F642f64180aa3";
    town.installation = town
        .installation
        .env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "Zq8fT3awssecretW7xLr2N")
        .env("SIGNER__KEYS__AWS_KMS_URL", &url)
        .env("SIGNER__CHAINS__139__KEY", key);
    let mut check = town.installation.command();
    let told = check.arg("check");
    let told = tokio::task::block_in_place(|| told.output()).unwrap();
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&told.stdout),
        String::from_utf8_lossy(&told.stderr)
    );
    assert!(told.contains("chains.139.key: the self-test failed"), "{told}");
    assert!(told.contains("it does not let the Signer use the key"), "{told}");
    assert!(!told.contains("awssecret"), "{told}");
    let asked = asked.lock();
    assert!(asked.iter().any(|one| one.contains("Credential=AKIDEXAMPLE/")), "{asked:?}");
}
