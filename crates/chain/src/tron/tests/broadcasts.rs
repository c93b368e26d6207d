//! What every recorded answer to a broadcast means, and what no answer can mean.

use super::super::delivery::judge;
use super::*;
use ::node::{AskError, Fault, NoReply, NodeError};
use alloy::primitives::B256;
use billing::NodeRejection;
use proptest::prelude::*;
use prost::Message;
use sha2::{Digest, Sha256};
use tron_node::Broadcast;
use tron_primitives::messages::Transaction;

const OURS: B256 = B256::repeat_byte(7);

const FEW: &str = "NOT_ENOUGH_EFFECTIVE_CONNECTION";

fn word(delivery: &Delivery) -> &'static str {
    match delivery {
        Delivery::Accepted => "accepted",
        Delivery::Refused { rejection: NodeRejection::Busy, .. } => "busy",
        Delivery::Refused { rejection: NodeRejection::Starved, .. } => "starved",
        Delivery::Refused { rejection: NodeRejection::Policy, .. } => "policy",
        Delivery::Refused { rejection: NodeRejection::Late, .. } => "late",
        Delivery::Refused { .. } => "structural",
        Delivery::Unknown(_) => "unknown",
    }
}

/// A node's answer that it took our transaction.
fn taken(code: &str) -> Broadcast {
    Broadcast { result: true, ..not_taken(code, "") }
}

/// A node's answer that it did not.
fn not_taken(code: &str, message: &str) -> Broadcast {
    let (code, message) = (code.to_owned(), message.to_owned());
    Broadcast { result: false, code, message, txid: Some(OURS) }
}

/// What the code of a recorded answer means. One row per kind of answer in tron.md 3.4.
fn expected(body: &Value) -> &'static str {
    match body["code"].as_str() {
        Some("SUCCESS") => "accepted",
        Some("SERVER_BUSY" | "NO_CONNECTION" | "BLOCK_UNSOLIDIFIED" | "TAPOS_ERROR") => "busy",
        Some("BANDWITH_ERROR") => "starved",
        Some("SIGERROR" | "CONTRACT_VALIDATE_ERROR") => "policy",
        Some("TRANSACTION_EXPIRATION_ERROR") => "late",
        Some("TOO_BIG_TRANSACTION_ERROR") => "structural",
        Some("DUP_TRANSACTION_ERROR") | None => "unknown",
        Some(other) => panic!("{other}"),
    }
}

/// The transaction id of what was sent, read from the bytes without the code under test.
fn sent_id(asked: &Value) -> Option<B256> {
    let raw = hex::decode(asked["transaction"].as_str()?).ok()?;
    let tx = Transaction::decode(raw.as_slice()).ok()?;
    Some(B256::from(<[u8; 32]>::from(Sha256::digest(&tx.raw_data))))
}

#[tokio::test]
async fn every_recorded_answer_is_judged_by_the_table() {
    let double = Arc::new(Double::default());
    let mut seen: HashMap<String, usize> = HashMap::new();
    serving(&double, async |url| {
        for exchange in exchanges().iter().filter(|one| one.path == "/wallet/broadcasthex") {
            let Exchange { place, asked, status, sent, body, .. } = exchange;
            double.says("/wallet/broadcasthex", *status, sent);
            let ours = sent_id(asked).unwrap_or(OURS);
            let judged = judge(client(url).broadcast(&[]).await.as_ref(), ours);
            let of_ours = body["txid"].as_str() == Some(&hex::encode(ours)) && *status == 200;
            let expected = if of_ours { expected(body) } else { "unknown" };
            assert_eq!(word(&judged), expected, "{place}: {body} -> {judged:?}");
            let code = body["code"].as_str().unwrap_or("none").to_owned();
            *seen.entry(code).or_default() += 1;
        }
    })
    .await;
    for code in [
        "SUCCESS",
        "DUP_TRANSACTION_ERROR",
        "SERVER_BUSY",
        "NO_CONNECTION",
        "BLOCK_UNSOLIDIFIED",
        "TAPOS_ERROR",
        "BANDWITH_ERROR",
        "SIGERROR",
        "TOO_BIG_TRANSACTION_ERROR",
        "TRANSACTION_EXPIRATION_ERROR",
        "CONTRACT_VALIDATE_ERROR",
        "none",
    ] {
        assert!(seen.contains_key(code), "{code} was never recorded");
    }
}

#[test]
fn what_was_never_recorded_is_judged_by_the_source() {
    let judged = |code, message| word(&judge(Ok(&not_taken(code, message)), OURS));
    assert_eq!(judged(FEW, "P2P broadcast failed."), "unknown", "it is in the pool");
    assert_eq!(judged(FEW, "Effective connection:0"), "busy");
    assert_eq!(judged(FEW, "anything else"), "unknown");
    assert_eq!(judged("CONTRACT_EXE_ERROR", "Contract execute error : …"), "unknown");
    assert_eq!(judged("OTHER_ERROR", "Error: …"), "unknown");
}

#[test]
fn only_success_for_our_own_transaction_is_taken_for_success() {
    let success = taken("SUCCESS");
    assert_eq!(judge(Ok(&success), OURS), Delivery::Accepted);
    assert_eq!(word(&judge(Ok(&success), B256::ZERO)), "unknown");
    let nameless = Broadcast { txid: None, ..success };
    assert_eq!(word(&judge(Ok(&nameless), OURS)), "unknown");
    assert_eq!(word(&judge(Ok(&not_taken("SUCCESS", "")), OURS)), "unknown");
    assert_eq!(word(&judge(Ok(&taken("TAPOS_ERROR")), OURS)), "unknown");
    assert_eq!(word(&judge(Ok(&taken("")), OURS)), "unknown");
}

#[test]
fn silence_is_unknown_unless_nobody_looked() {
    let judged = |fault| word(&judge(Err(&AskError { question: "broadcasthex", fault }), OURS));
    assert_eq!(judged(Fault::ShutOut { wait: Duration::from_secs(1) }), "busy");
    assert_eq!(judged(Fault::Http(413)), "busy");
    assert_eq!(judged(Fault::Http(404)), "busy");
    assert_eq!(judged(Fault::Lost(NoReply::Refused)), "busy");
    let disabled = "this API is unavailable due to config".to_owned();
    assert_eq!(judged(Fault::Node(NodeError::of(disabled))), "policy");
    for fault in [
        Fault::Node(NodeError::of("class X : y")),
        Fault::Garbled,
        Fault::Lost(NoReply::TimedOut),
        Fault::Lost(NoReply::Broken),
        Fault::Http(503),
        Fault::Lost(NoReply::TooLong),
    ] {
        assert_eq!(judged(fault.clone()), "unknown", "{fault:?}");
    }
}

proptest! {
    #[test]
    fn no_unknown_text_is_taken_for_success(
        result: bool, code in "\\PC{0,40}", message in "\\PC{0,40}", ours: bool,
    ) {
        let txid = Some(if ours { OURS } else { B256::ZERO });
        let judged = judge(Ok(&Broadcast { result, code: code.clone(), message, txid }), OURS);
        prop_assert!(judged != Delivery::Accepted || (code == "SUCCESS" && result && ours));
        if !code.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') {
            prop_assert_eq!(word(&judged), "unknown");
        }
    }
}
