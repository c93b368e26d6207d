//! Every request has a name, which its answer and its log lines tell.

use crate::world::patience::unix_ms;
use crate::world::signer::EVM_PATH;
use crate::world::town::Town;
use serde_json::{Value, json};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// The name in an answer.
async fn name(request: reqwest::RequestBuilder) -> String {
    let answer = request.send().await.unwrap();
    answer.headers()["x-trace-id"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_trace_of_a_request_is_in_its_answer_and_in_every_line_about_it() {
    let town = Town::found().await;
    let signer = town.signer().await;
    signer.ready().await;
    let body = json!(town.entries([0])).to_string();
    let letter = signer.scheduler.letter("POST", EVM_PATH, body.as_bytes(), unix_ms() / 1000);
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    assert_eq!(name(letter.header("traceparent", parent)).await, TRACE);
    let client = &signer.scheduler.client;
    let nowhere = || client.get(format!("{}/nowhere", signer.scheduler.url));
    let by_chance = name(nowhere().header("traceparent", "00-what-is-this-01")).await;
    assert!(by_chance.len() == 32 && by_chance != name(nowhere()).await, "{by_chance}");
    signer.wrote("billed").await;
    let log = signer.log();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
    let named = lines.filter(|line| line["span"]["trace"] == TRACE);
    let said: Vec<String> = named.map(|line| line["message"].to_string()).collect();
    assert!(said.contains(&"\"billed\"".to_owned()), "{said:?}");
}
