//! The main job, shown: what the scheduler posts, what it hears, and what the chain says in the end.
//! Run by `./demo`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    reason = "a demonstration prints, and may panic"
)]

#[path = "../it/world"]
#[expect(dead_code, unused_imports, reason = "the tests use the rest of it")]
mod world {
    pub(crate) mod anvil;
    pub(crate) mod contracts;
    pub(crate) mod patience;
    pub(crate) mod proxy;
    pub(crate) mod signer;
    pub(crate) mod town;
}

use serde_json::{Value, json};
use std::time::Duration;
use world::town::{Founding, PRICE, Town};

/// What is special about each of the dozen.
const STORIES: [&str; 12] = [
    "pays",
    "pays",
    "pays",
    "pays",
    "pays",
    "pays",
    "allows less than the price",
    "holds less than the price",
    "is blocked by the token",
    "has cancelled",
    "is asked for the next period too early",
    "is unknown to the contract",
];

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let stay = std::env::args().any(|argument| argument == "--stay");
    say("A chain, a token, the reference contract, a plan that two admins approved, subscribers.");
    let town = Town::with(Founding { people: 12, ..Founding::default() }).await;
    let mut list = dozen(&town).await;
    for (entry, story) in list.iter().zip(STORIES) {
        println!("  {}  {story}", entry["subscribeId"]);
    }

    say("The Signer starts, on a journal of its own.");
    let signer = town.signer().await;
    println!("  {}", signer.scheduler.url);
    let (ready, check) = (signer.scheduler.get("/health/ready").await, signer.scheduler.clone());
    println!("  /health/ready: {}", ready.body);

    say("The scheduler posts all twelve, all or nothing. Six cannot be charged, so nobody is.");
    let heard = check.bill(&json!({"requestId": "demo/1", "list": list})).await;
    show(&heard.body);

    say(
        "It posts them again and says that the others may be charged. One transaction charges six.",
    );
    let partial = json!({"requestId": "demo/2", "mode": "partial", "list": list});
    let heard = check.bill(&partial).await;
    show(&heard.body);
    let hash = heard.tx_hash();

    say("It lost the answer and posts the six again: the same transaction, nothing new is signed.");
    list.truncate(6);
    let again = check.bill(&json!(list)).await;
    println!("  code {}, txHash {}", again.code(), again.tx_hash());
    assert_eq!(again.tx_hash(), hash);

    say("Blocks pass. What the chain decided, for each:");
    let billing = town.settled(&signer, &hash).await;
    println!("  {} in block {}", billing["state"], billing["block"]);
    for line in billing["subscriptions"].as_array().unwrap() {
        println!("  {}  {}", line["subscribeId"], line["state"]);
    }
    town.assert_paid(&[1; 6]).await;
    println!("  The merchant holds {} base units: six times the price.", 6 * PRICE);

    if stay {
        stay_up(&signer.scheduler.url, &list).await;
    }
}

/// The entries of everybody, after their stories have happened.
async fn dozen(town: &Town) -> Vec<Value> {
    let (token, people) = (&town.token, &town.people);
    let billing = town.merchant.billing;
    token.approve(people[6].wallet, billing, alloy::primitives::U256::from(PRICE - 1)).await;
    token.set_balance(people[7].wallet, PRICE - 1).await;
    token.block(people[8].wallet, true).await;
    town.merchant.cancel(&people[9]).await;
    let mut list = town.entries(0..12);
    list[10]["period"] = json!(2);
    list[11]["userHash"] = json!(format!("0x{}", "ab".repeat(32)));
    list
}

async fn stay_up(url: &str, list: &[Value]) {
    say("The Signer stays up until Ctrl-C. Ask it yourself:");
    let path = world::signer::EVM_PATH;
    println!(
        "  BODY='{}'; TS=$(date +%s)\n  SIGN=$(printf '%s' \"${{TS}}POST{path}${{BODY}}\" | openssl dgst -sha256 -hmac '{}' -binary | base64)\n  \
         curl -s '{url}{path}' -H 'X-PAY-KEY: {}' -H \"X-PAY-TIMESTAMP: $TS\" -H \"X-PAY-SIGN: $SIGN\" -d \"$BODY\"\n  \
         curl -s {url}/health/ready; curl -s {url}/metrics",
        json!(list[..1]),
        world::signer::SECRET,
        world::signer::CALLER,
    );
    tokio::time::sleep(Duration::from_hours(24)).await;
}

fn say(what: &str) {
    println!("\n{what}");
}

fn show(body: &Value) {
    let text = serde_json::to_string_pretty(body).unwrap();
    for line in text.lines() {
        let short: String = line.chars().take(150).collect();
        println!("  {short}{}", if line.chars().count() > 150 { "…" } else { "" });
    }
}
