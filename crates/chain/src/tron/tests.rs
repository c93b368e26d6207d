//! What the tests share: the recordings of a real node, and a server that plays them back.

#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod answers;
mod approved;
mod beat;
mod broadcasts;
mod doors;
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod drafts;
mod forged;
mod golden_billing;
mod limits;
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod node;
mod preflights;
mod sightings;
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod vectors;

use super::*;
use alloy::primitives::Address;
use keys::{Key, KeySource, TestKeys};
use node::{Double, account, client, client_of, serving};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tron")
}

fn recorded(file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(golden().join(file)).unwrap()).unwrap()
}

fn key(hex: &str) -> Arc<Key> {
    let source = KeySource::Env { json_or_hex: hex.to_owned().into(), platform_chain_id: 1 };
    Arc::new(source.load("chains.1.key", TestKeys::Allowed).unwrap().into())
}

/// One question to a node and its answer.
struct Exchange {
    place: String,
    path: String,
    /// What was asked.
    asked: Value,
    status: u16,
    /// The answer as it was sent.
    sent: String,
    /// The answer, read.
    body: Value,
}

/// Every recorded exchange over HTTP, but those that were shortened for the file.
fn exchanges() -> &'static [Exchange] {
    static ALL: LazyLock<Vec<Exchange>> = LazyLock::new(|| {
        let files = fs::read_dir(golden()).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<_> = files.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.starts_with(|first: char| first.is_ascii_digit()));
        names.sort();
        names.iter().flat_map(|file| exchanges_of(file)).collect()
    });
    &ALL
}

fn exchanges_of(file: &str) -> Vec<Exchange> {
    let recorded = recorded(file);
    let steps = recorded["steps"].as_array().unwrap().iter().enumerate();
    steps.filter_map(|(at, step)| exchange(file, at, step)).collect()
}

fn exchange(file: &str, at: usize, step: &Value) -> Option<Exchange> {
    let (request, response) = (step.get("request")?, step.get("response")?);
    let body = response.get("body")?.clone();
    let text = response.get("body_text").and_then(Value::as_str).map(str::to_owned);
    let sent = text.unwrap_or_else(|| body.as_str().map_or(body.to_string(), str::to_owned));
    let shortened = [
        r#"["(trimmed"#,
        "deployedBytecode of",
        "identical to",
        r#""logs":"(trimmed"#,
        r#""runtimecode":"("#,
    ];
    let whole = !shortened.iter().any(|mark| sent.contains(mark));
    let status = u16::try_from(response["status"].as_u64()?).ok()?;
    whole.then(|| Exchange {
        place: format!("{file} step {at}"),
        path: request["path"].as_str().unwrap().to_owned(),
        asked: request.get("body").cloned().unwrap_or_default(),
        status,
        body: serde_json::from_str(&sent).unwrap_or(body),
        sent,
    })
}
