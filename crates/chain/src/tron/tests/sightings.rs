//! Where recorded transactions stand, by what recorded nodes say of them.

use super::golden_billing::{self, step};
use super::node::{HEAD_MS, connected, node, parts};
use super::*;
use alloy::primitives::B256;
use billing::{
    Attempts, BatchId, BlockRef, Execution, FeeStanding, ItemOutcome, Landed, Signed, TakenAsTold,
};
use serde_json::json;
use std::sync::Arc;
use tron_primitives::transaction::{RefBlock, SignedBytes, Unsigned};

const LOST: &str = "17_expired_without_inclusion.json";

/// The signed bytes of a recorded broadcast.
pub(super) fn sent(file: &str, at: usize) -> Vec<u8> {
    hex::decode(step(file, at)["request"]["body"]["transaction"].as_str().unwrap()).unwrap()
}

pub(super) fn slot(attempts: &[Vec<u8>]) -> Slot {
    let attempt = |(seq, raw): (u32, &Vec<u8>)| Attempt {
        batch: BatchId(1),
        seq,
        kind: AttemptKind::Bill,
        signed: Signed {
            hash: SignedBytes::read(raw).unwrap().txid,
            raw: raw.clone(),
            gas_required: 1,
        },
    };
    let attempts = Attempts::from_oldest((0..).zip(attempts).map(attempt)).unwrap();
    let items = golden_billing::items();
    let contract = golden_billing::contract();
    let profile = Arc::clone(golden_billing::profile().written());
    Slot { batch: BatchId(1), position: 0, contract, profile, accepted_ms: 0, items, attempts }
}

pub(super) fn said(file: &str, at: usize) -> String {
    step(file, at)["response"]["body"].to_string()
}

/// A node that knows no transaction, whose newest and newest irrevocable block is this one.
pub(super) fn at_head(double: &Double, block: &str) {
    for service in ["wallet", "walletsolidity"] {
        double.says(&format!("/{service}/getblock"), 200, block);
        double.says(&format!("/{service}/gettransactioninfobyid"), 200, "{}");
    }
}

/// Has an irrevocable block with its transactions; asked for without, it has none to show.
fn has_block(double: &Double, block: &str) {
    let read: Value = serde_json::from_str(block).unwrap();
    let number = read["block_header"]["raw_data"]["number"].as_u64().unwrap();
    let asked = json!({ "detail": true, "id_or_num": number.to_string() });
    double.says(&format!("/walletsolidity/getblock {asked}"), 200, block);
}

/// A block without transactions.
fn block(number: u64, id: &str, parent: &str, time_ms: u64) -> String {
    json!({
        "blockID": id,
        "block_header": { "raw_data": {
            "number": number, "parentHash": parent, "timestamp": time_ms,
            "txTrieRoot": B256::ZERO.to_string().replace("0x", ""),
        }},
    })
    .to_string()
}

fn made_up_id(number: u64) -> String {
    format!("{number:016x}{}", "ab".repeat(24))
}

fn parent_of(block: &str) -> String {
    let block: Value = serde_json::from_str(block).unwrap();
    block["block_header"]["raw_data"]["parentHash"].as_str().unwrap().to_owned()
}

/// An adapter that knows who made the block that decides about the transaction of 17.
async fn knowing(url: &str) -> TronChain {
    let deciding: Value = serde_json::from_str(&said(LOST, 9)).unwrap();
    let witness = deciding["block_header"]["raw_data"]["witness_address"].as_str().unwrap();
    let (account, mut parts) = parts(url);
    Arc::make_mut(&mut parts.config).witnesses =
        Some(forged::alone(witness.strip_prefix("41").unwrap().parse().unwrap()));
    TronChain::connect(account, parts).await.unwrap()
}

/// A transaction that builds on the block with this id, made at this time (ms), which lives for a minute.
fn sent_after(block: B256, time_ms: u64) -> Vec<u8> {
    let key = key(&"07".repeat(32));
    let unsigned = Unsigned {
        owner: key.address(),
        contract: golden_billing::contract(),
        data: vec![1, 2, 3, 4],
        ref_block: RefBlock::to(block),
        expiration_ms: time_ms.saturating_add(60_000),
        timestamp_ms: time_ms,
        fee_limit: 1_000_000,
    };
    vectors::sign(&unsigned, &key).unwrap().raw
}

/// A contract call, as it was sent.
pub(super) fn any_call() -> Vec<u8> {
    sent_after(B256::repeat_byte(3), HEAD_MS)
}

/// Has the node show the block that a record of a transaction speaks of.
pub(super) fn holds(double: &Double, raw: &[u8], info: &Value) {
    let number = info["blockNumber"].as_u64().unwrap();
    let time_ms = info["blockTimeStamp"].as_u64().unwrap();
    let place = forged::Place { number, time_ms, parent: B256::ZERO };
    let word = info["receipt"]["result"].as_str().unwrap();
    forged::show(double, number, &forged::block(place, Some((raw, word))).1);
}

pub(super) async fn looked(chain: &TronChain, slot: &Slot) -> Sighting {
    chain.poll_head(HeadExtent::Whole).await.unwrap();
    let [sighting] = <[Sighting; 1]>::try_from(chain.tracker.sightings(&[slot]).await).unwrap();
    sighting
}

/// The blocks that decide about the transaction of 17.
fn blocks_of_17(double: &Double) {
    for at in [0, 10, 11, 12] {
        has_block(double, &said(LOST, at));
    }
}

fn blocks_asked(double: &Double) -> usize {
    let asked = double.asked.lock();
    asked
        .iter()
        .filter(|(path, asked)| path == "/walletsolidity/getblock" && asked["detail"] == true)
        .count()
}

/// Its time is over, and nothing is proven.
const LATE: Sighting = Sighting::Unsettled(billing::Unsettled::Late);

#[tokio::test]
async fn a_lost_transaction_is_proven_dead_and_every_block_is_read_once() {
    let double = node();
    serving(&double, async |url| {
        let (chain, slot) = (knowing(url).await, slot(&[sent(LOST, 1)]));
        at_head(&double, &said(LOST, 11));
        blocks_of_17(&double);
        let absent = Sighting::Absent(FeeStanding::Fair);
        assert_eq!(looked(&chain, &slot).await, absent, "block 336 is before its expiration");
        assert_eq!(blocks_asked(&double), 0);
        at_head(&double, &said(LOST, 9));
        let never = Sighting::Never(BlockRef { number: 337, time: 1_795_254_327, hash: None });
        assert_eq!(looked(&chain, &slot).await, never);
        assert_eq!(looked(&chain, &slot).await, never);
        assert_eq!(blocks_asked(&double), 4);
    })
    .await;
}

#[tokio::test]
async fn a_block_that_is_missing_or_does_not_fit_proves_nothing() {
    let double = node();
    serving(&double, async |url| {
        let (chain, slot) = (knowing(url).await, slot(&[sent(LOST, 1)]));
        at_head(&double, &said(LOST, 9));
        blocks_of_17(&double);
        let middle = said(LOST, 11);
        let asked = json!({ "detail": true, "id_or_num": "336" });
        double.says(&format!("/walletsolidity/getblock {asked}"), 200, "{}");
        assert_eq!(looked(&chain, &slot).await, LATE, "the node lags");
        has_block(&double, &middle.replace(&parent_of(&middle), &made_up_id(335)));
        assert_eq!(looked(&chain, &slot).await, LATE, "it is another chain's");
        has_block(&double, &middle);
        let chain = knowing(url).await;
        let never = Sighting::Never(BlockRef { number: 337, time: 1_795_254_327, hash: None });
        assert_eq!(looked(&chain, &slot).await, never);
    })
    .await;
}

#[tokio::test]
async fn a_transaction_is_included_until_its_block_is_irrevocable_and_may_vanish_again() {
    const REORG: &str = "16_reorg_after_kill.json";
    let double = node();
    serving(&double, async |url| {
        let (chain, slot) = (connected(url).await, slot(&[sent(REORG, 0)]));
        at_head(&double, &said(REORG, 4));
        assert_eq!(looked(&chain, &slot).await, Sighting::Absent(FeeStanding::Fair));
        double.says("/wallet/getblock", 200, &said(REORG, 5));
        double.says("/wallet/gettransactioninfobyid", 200, &said(REORG, 2));
        assert_eq!(looked(&chain, &slot).await, Sighting::Included);
        // Asked again only when more blocks are on top.
        double.says("/wallet/gettransactioninfobyid", 200, "{}");
        assert_eq!(looked(&chain, &slot).await, Sighting::Included);
        double.says("/wallet/getblock", 200, &block(340, &made_up_id(340), &made_up_id(339), 1));
        assert_eq!(
            looked(&chain, &slot).await,
            Sighting::Absent(FeeStanding::Fair),
            "it was undone"
        );

        double.says("/wallet/gettransactioninfobyid", 200, &said(REORG, 22));
        assert_eq!(looked(&chain, &slot).await, Sighting::Included);
        let expired = block(345, &made_up_id(345), &made_up_id(344), u64::MAX >> 8);
        double.says("/walletsolidity/getblock", 200, &expired);
        let info = said(REORG, 23);
        double.says("/walletsolidity/gettransactioninfobyid", 200, &info);
        holds(&double, &sent(REORG, 0), &serde_json::from_str(&info).unwrap());
        let Sighting::Final(landed, execution) = looked(&chain, &slot).await else {
            panic!("final")
        };
        assert_eq!(landed.block.number, 333);
        assert!(matches!(execution, Execution::Succeeded(_)), "{execution:?}");
        assert_eq!(blocks_asked(&double), 1, "what has landed needs no proof of death");
    })
    .await;
}

/// A node on which the recorded batch of 14b is irrevocable.
async fn billed(double: &Arc<Double>, attempts: &[Vec<u8>]) -> (Landed, Execution) {
    serving(double, async |url| {
        let (_, mut parts) = parts(url);
        Arc::make_mut(&mut parts.config).contract = golden_billing::contract();
        let me = key(&"07".repeat(32));
        let account = account(me, golden_billing::profile(), &parts.config);
        let (chain, slot) = (TronChain::connect(account, parts).await.unwrap(), slot(attempts));
        at_head(double, &said(LOST, 9));
        let info: Value = serde_json::from_str(&said(golden_billing::FILE, 7)).unwrap();
        let asked = json!({ "value": info["id"] });
        let path = format!("/walletsolidity/gettransactioninfobyid {asked}");
        double.says(&path, 200, &info.to_string());
        holds(double, &attempts[0], &info);
        let Sighting::Final(landed, execution) = looked(&chain, &slot).await else {
            panic!("final")
        };
        (landed, execution)
    })
    .await
}

#[tokio::test]
async fn who_was_charged_is_read_from_the_logs() {
    let (landed, execution) = billed(&node(), &[sent(golden_billing::FILE, 6)]).await;
    assert_eq!(landed.block, BlockRef { number: 224, time: 1_795_253_928, hash: None });
    let Execution::Succeeded(outcomes) = execution else { panic!("it succeeded") };
    let codes: HashMap<u8, &str> = golden_billing::WORDS.into_iter().collect();
    let mut told = 0;
    for (at, (outcome, reason)) in outcomes.iter().zip(golden_billing::REASONS).enumerate() {
        let keys = golden_billing::items();
        if keys.iter().filter(|item| item.key == keys[at].key).count() > 1 {
            continue; // the same subscription and period twice: an event names both
        }
        match outcome {
            // Whose wallets they were, the recorded request does not say.
            ItemOutcome::ChargedAsTold(TakenAsTold { amount: None, .. }) | ItemOutcome::Charged => {
                assert_eq!(reason, 0, "item {at}");
            }
            ItemOutcome::Failed { code, .. } => {
                assert_eq!(code.token(), codes[&reason], "item {at}");
            }
            ItemOutcome::ChargedAsTold(_) | ItemOutcome::Unproven => panic!("item {at}"),
        }
        told += 1;
    }
    assert!(told >= 8, "{told}");
}

#[tokio::test]
async fn an_earlier_attempt_that_landed_after_all_wins() {
    let attempts = [sent(golden_billing::FILE, 6), sent(LOST, 1)];
    let (landed, _) = billed(&node(), &attempts).await;
    assert_eq!(landed.hash, SignedBytes::read(&attempts[0]).unwrap().txid);
}

#[tokio::test]
async fn what_was_included_and_failed_charged_nobody() {
    const REVERTED: &str = "13_revert_included.json";
    let double = node();
    let steps = recorded(REVERTED)["steps"].as_array().unwrap().clone();
    let mut seen = 0;
    serving(&double, async |url| {
        at_head(&double, &said(LOST, 9));
        for step in steps.iter().filter(|step| step["request"]["path"] == "/wallet/broadcasthex") {
            let raw = step["request"]["body"]["transaction"].as_str().unwrap();
            let raw = hex::decode(raw).unwrap();
            if SignedBytes::read(&raw).is_err() {
                continue; // it sends TRX along, which ours never do
            }
            let slot = slot(std::slice::from_ref(&raw));
            let id = hex::encode(slot.attempts.newest().signed.hash);
            let info = steps.iter().map(|step| &step["response"]["body"]);
            let Some(info) =
                info.clone().find(|info| info["id"] == *id && info["receipt"].is_object())
            else {
                continue;
            };
            double.says("/walletsolidity/gettransactioninfobyid", 200, &info.to_string());
            holds(&double, &raw, info);
            let chain = connected(url).await;
            let Sighting::Final(_, execution) = looked(&chain, &slot).await else { panic!("{id}") };
            let succeeded = execution != Execution::Reverted;
            assert_eq!(succeeded, info["receipt"]["result"] == "SUCCESS", "{id}");
            seen += 1;
        }
    })
    .await;
    assert!(seen > 3, "{seen}");
}

#[tokio::test]
async fn a_node_without_history_tells_that_it_landed_but_not_who_was_charged() {
    let double = node();
    serving(&double, async |url| {
        let time = 1_795_255_107_000;
        let at = |number, time_ms, parent| forged::Place { number, time_ms, parent };
        let (first, builds_on) = forged::block(at(44, time, B256::ZERO), None);
        let raw = sent_after(first, time);
        let (slot, id) = (slot(std::slice::from_ref(&raw)), SignedBytes::read(&raw).unwrap().txid);
        let (second, between) = forged::block(at(45, time + 3_000, first), None);
        let (_, holds_it) = forged::block(at(46, time + 6_000, second), Some((&raw, "SUCCESS")));
        for (number, block) in [(44, builds_on), (45, between), (46, holds_it)] {
            forged::show(&double, number, &block);
        }
        forged::lacks(&double, 47..=52);
        let chain = connected(url).await;
        let late = u64::MAX >> 8;
        at_head(&double, &block(85, &made_up_id(85), &made_up_id(84), late));
        let bare = json!({ "txID": hex::encode(id), "ret": [{ "contractRet": "SUCCESS" }] });
        double.says("/walletsolidity/gettransactionbyid", 200, &bare.to_string());
        assert_eq!(looked(&chain, &slot).await, LATE, "a lagging node may yet tell");
        at_head(&double, &block(86, &made_up_id(86), &made_up_id(85), late));
        let Sighting::Final(landed, execution) = looked(&chain, &slot).await else {
            panic!("it is there")
        };
        assert_eq!((landed.hash, landed.block.number), (id, 46));
        let unproven = vec![ItemOutcome::Unproven; slot.items.len()];
        assert_eq!(execution, Execution::Succeeded(unproven));
        double.says("/walletsolidity/gettransactionbyid", 200, "{}");
        assert_eq!(looked(&chain, &slot).await, LATE);
    })
    .await;
}

#[tokio::test]
async fn a_node_that_does_not_answer_teaches_nothing() {
    let double = node();
    serving(&double, async |url| {
        let (chain, slot) = (knowing(url).await, slot(&[sent(LOST, 1)]));
        for (head, path, taught) in [(11, "wallet", Sighting::Nothing), (9, "walletsolidity", LATE)]
        {
            at_head(&double, &said(LOST, head));
            blocks_of_17(&double);
            double.says(&format!("/{path}/gettransactioninfobyid"), 502, "");
            assert_eq!(looked(&chain, &slot).await, taught);
        }
    })
    .await;
}
