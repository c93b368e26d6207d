use super::*;
use crate::{HeaderKey, Http, NoReply};
use axum::Router;
use axum::http::{HeaderMap, StatusCode as Status};
use axum::routing::post;
use config::RpcUrl;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::future::IntoFuture;
use std::time::Duration;
use tokio::net::TcpListener;

const KEY: &str = "SECRETAPIKEY";

fn client(url: &str, timeout: Duration, key: Option<&SecretString>) -> Result<JsonRpc, Undialable> {
    let url = RpcUrl::parse(url).unwrap();
    let key = key.map(|key| HeaderKey { header: "tron-pro-api-key", key });
    JsonRpc::new(&Http::default(), Target { url: &url, key, timeout })
}

async fn ask(rpc: &JsonRpc) -> Result<Value, Fault> {
    let raw = rpc.ask(&Request::of("eth_test", json!([]))).await?;
    read_answer(&raw)
}

/// Asks a server that answers everything with `status` and `body`.
async fn ask_one_that_says(status: u16, body: &str) -> Result<Value, Fault> {
    let (status, body) = (Status::from_u16(status).unwrap(), body.to_owned());
    let answer = move || async move { (status, body) };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v3/{KEY}?token={KEY}", listener.local_addr().unwrap());
    let server = axum::serve(listener, Router::new().route("/v3/{key}", post(answer)));
    let rpc = client(&url, Duration::from_millis(300), None).unwrap();
    tokio::select! {
        answer = ask(&rpc) => answer,
        stopped = server.into_future() => panic!("{stopped:?}"),
    }
}

async fn fault_of(status: u16, body: &str) -> Fault {
    ask_one_that_says(status, body).await.unwrap_err()
}

#[tokio::test]
async fn an_answer_is_taken_only_when_it_answers_the_question() {
    let good = r#"{"jsonrpc":"2.0","id":1,"result":null}"#;
    assert_eq!(ask_one_that_says(200, good).await, Ok(Value::Null));
    for garbled in [
        r#"{"jsonrpc":"2.0","id":2,"result":null}"#,
        r#"{"jsonrpc":"2.0","result":null}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":"#,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"nonce too low"}}"#,
        "<html>busy</html>",
        "",
    ] {
        assert_eq!(fault_of(200, garbled).await, Fault::Garbled, "{garbled}");
    }
}

#[tokio::test]
async fn an_overloaded_server_is_not_taken_at_its_word() {
    let refusal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"nonce too low"}}"#;
    assert_eq!(fault_of(502, refusal).await, Fault::Http(502));
    assert_eq!(fault_of(429, refusal).await, Fault::Http(429));
    assert_eq!(fault_of(404, "nothing here").await, Fault::Http(404));
    assert!(matches!(fault_of(400, refusal).await, Fault::Node(error) if error.code == -32000));
    assert!(matches!(fault_of(200, refusal).await, Fault::Node(error) if error.code == -32000));
}

#[tokio::test]
async fn no_error_holds_the_key_of_the_url() {
    let quoting = format!(
        r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":1,"message":"bad key {KEY} at https://x.example/{KEY}"}}}}"#
    );
    let mut errors = vec![ask_one_that_says(200, &quoting).await.unwrap_err()];
    errors.push(ask_one_that_says(403, KEY).await.unwrap_err());
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/{KEY}", nobody.local_addr().unwrap());
    let rpc = client(&url, Duration::from_millis(200), None).unwrap();
    errors.push(ask(&rpc).await.unwrap_err());
    assert_eq!(
        errors.last().unwrap(),
        &Fault::Lost(NoReply::TimedOut),
        "it listens and says nothing"
    );
    drop(nobody);
    errors.push(ask(&rpc).await.unwrap_err());
    assert_eq!(errors.last().unwrap(), &Fault::Lost(NoReply::Refused));
    for error in errors {
        let shown = format!("{error} {error:?} {rpc:?}");
        assert!(!shown.contains(KEY) && !shown.contains("://"), "{shown}");
    }
}

#[tokio::test]
async fn a_key_is_shown_in_its_header_and_nowhere_else() {
    let refuse = |key: &HeaderMap| {
        let words = format!("{:?} is no key of ours", key.get("tron-pro-api-key"));
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": words } }).to_string()
    };
    let answer = move |headers: HeaderMap| async move { refuse(&headers) };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jsonrpc", listener.local_addr().unwrap());
    let server = axum::serve(listener, Router::new().route("/jsonrpc", post(answer)));
    let rpc = |key: &str| client(&url, Duration::from_secs(5), Some(&key.to_owned().into()));
    assert_eq!(rpc("two\nlines").unwrap_err(), Undialable::Key);
    let rpc = rpc("K3Y").unwrap();
    let refused = tokio::select! {
        answer = ask(&rpc) => answer.unwrap_err(),
        stopped = server.into_future() => panic!("{stopped:?}"),
    };
    let shown = format!("{refused} {refused:?} {rpc:?}");
    assert!(shown.contains("(hidden)"), "the server was shown the key and quotes it: {shown}");
    assert!(!shown.contains("K3Y"), "{shown}");
}

#[tokio::test]
async fn the_data_of_a_revert_is_read_in_every_spelling() {
    for data in [r#""0xabcd""#, r#""Reverted 0xabcd""#, r#"{"data":"0xabcd"}"#] {
        let reply = format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":3,"message":"reverted","data":{data}}}}}"#
        );
        let Fault::Node(error) = fault_of(200, &reply).await else { panic!("{data}") };
        assert_eq!(error.data, Some(vec![0xab, 0xcd]), "{data}");
    }
}
