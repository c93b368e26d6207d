//! What the tests share: the recordings of a real node, and a server that plays them back.

mod approved;
mod arrivals;
mod beat;
mod broadcasts;
mod doors;
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod drafts;
mod forged;
mod golden_billing;
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod node;
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod past;
mod preflights;
#[path = "../../../tron-node/src/tests/recorded.rs"]
mod recorded;
mod sightings;
mod untold;
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod vectors;

use super::*;
use alloy::primitives::Address;
use keys::{Key, KeySource, TestKeys};
use node::account;
use recorded::{Double, Exchange, client, client_of, exchanges, recorded, serving, serving_at};
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;

fn key(hex: &str) -> Arc<Key> {
    let source = KeySource::Env { json_or_hex: hex.to_owned().into(), platform_chain_id: 1 };
    Arc::new(source.load("chains.1.key", TestKeys::Allowed).unwrap().into())
}
