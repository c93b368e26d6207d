//! The account's past as several nodes tell it: its last use, and calls that can be undone.

use super::forged::{Place, block, lacks, show};
use super::node::{HEAD_MS, account, config, node, parts, profile};
use super::sightings::any_call;
use super::*;
use crate::{AccountHistory, BlockHistory, HeadExtent, RevocableCalls, ScanRange, Unanswered};
use ::node::NodeId;
use alloy::primitives::B256;
use config::TvmConfig;
use serde_json::json;
use std::collections::BTreeSet;
use tron_primitives::transaction::{RefBlock, SignedBytes, Unsigned};

const FIRST: u64 = 100;
const DAY_MS: u64 = 86_400_000;

fn at(number: u64, parent: B256) -> Place {
    Place { number, time_ms: time_ms(number), parent }
}

fn time_ms(number: u64) -> u64 {
    HEAD_MS + (number - FIRST) * 3_000
}

/// Has the node show these blocks as its newest, and its newest irrevocable one.
fn at_head(double: &Double, newest: &Value, solid: &Value) {
    double.says("/wallet/getblock", 200, &newest.to_string());
    double.says("/walletsolidity/getblock", 200, &solid.to_string());
}

/// Has the node say that the account was used last at this time, Unix ms of blocks.
fn used(double: &Double, service: &str, used_ms: u64) {
    let address = tron_primitives::address::to_hex(key(&"07".repeat(32)).address());
    let account = json!({ "address": address, "latest_opration_time": used_ms });
    double.says(&format!("/{service}/getaccount"), 200, &account.to_string());
}

/// Has the node hold this transaction in its pool.
fn pools(double: &Double, raw_data: &[u8]) {
    let id = hex::encode(tron_primitives::transaction::txid(raw_data));
    let pool = json!({ "txId": [id] }).to_string();
    double.says("/wallet/gettransactionlistfrompending", 200, &pool);
    let waiting = json!({ "raw_data_hex": hex::encode(raw_data) }).to_string();
    double.says("/wallet/gettransactionfrompending", 200, &waiting);
}

fn id_of(raw: &[u8]) -> B256 {
    SignedBytes::read(raw).unwrap().txid
}

/// A call of the account that can land up to this time, Unix ms of blocks; its bytes that are signed.
fn call_until(expiration_ms: u64) -> Vec<u8> {
    let unsigned = SignedBytes::read(&any_call()).unwrap().unsigned;
    let ref_block = RefBlock::to(B256::repeat_byte(3));
    Unsigned { expiration_ms, ref_block, ..unsigned }.raw_data().unwrap()
}

fn another_call() -> Vec<u8> {
    let unsigned = SignedBytes::read(&any_call()).unwrap().unsigned;
    vectors::sign(&Unsigned { fee_limit: 7, ..unsigned }, &key(&"07".repeat(32))).unwrap().raw
}

async fn connected_to(urls: &[&str]) -> TronChain {
    let (_, mut parts) = parts(urls[0]);
    let nodes = urls.iter().flat_map(|url| config(url, url).nodes).collect();
    let configured = TvmConfig { nodes, ..config(urls[0], urls[0]) };
    parts.fleet = client_of(&configured).unwrap().0;
    parts.config = configured.into();
    let account = account(key(&"07".repeat(32)), profile(), &parts.config);
    let chain = TronChain::connect(account, parts).await.unwrap();
    chain.poll_head(HeadExtent::Whole).await.unwrap();
    chain
}

/// Runs `test` with an account that is connected to three providers.
async fn with_three(doubles: &[Arc<Double>; 3], test: impl AsyncFnOnce(TronChain)) {
    let [one, two, three] = doubles;
    serving(one, async |first| {
        serving_at("127.0.0.2", two, async |second| {
            serving_at("127.0.0.3", three, async |third| {
                test(connected_to(&[first, second, third]).await).await;
            })
            .await;
        })
        .await;
    })
    .await;
}

fn history(chain: &TronChain) -> &dyn BlockHistory {
    let AccountHistory::Blocks(blocks) = chain.history() else { panic!("it has blocks") };
    blocks
}

/// The calls in new blocks and in pools, after a new look.
async fn calls(chain: &TronChain) -> RevocableCalls {
    chain.poll_head(HeadExtent::Whole).await.unwrap();
    history(chain).revocable_calls(Some(&BTreeSet::new())).await.unwrap()
}

fn hashes(told: &RevocableCalls) -> BTreeSet<B256> {
    told.calls.iter().map(|call| call.hash).collect()
}

async fn tells_nothing(chain: &TronChain) {
    let last = history(chain).last_used().await;
    assert_eq!(last, Err(Unanswered::TooFewNodes.into()));
    let told = history(chain).revocable_calls(Some(&BTreeSet::new())).await.unwrap();
    assert!(told.unread.is_some(), "{told:?}");
}

#[tokio::test]
async fn no_node_asked_is_no_account_never_used() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected_to(&[url]).await;
        double.says("/walletsolidity/getaccount", 200, "{}");
        assert_eq!(history(&chain).last_used().await, Ok(None));
        chain.access.fleet.caught_lying(NodeId(0), "about something");
        tells_nothing(&chain).await;
    })
    .await;
}

#[tokio::test]
async fn one_of_two_providers_tells_of_no_empty_pool() {
    let (one, two) = (node(), node());
    one.says("/walletsolidity/getaccount", 200, "{}");
    two.says("/walletsolidity/getaccount", 200, "{}");
    serving(&one, async |first| {
        serving_at("127.0.0.2", &two, async |second| {
            let chain = connected_to(&[first, second]).await;
            assert_eq!(history(&chain).last_used().await, Ok(None));
            assert!(calls(&chain).await.unread.is_none());
            chain.access.fleet.caught_lying(NodeId(1), "about something");
            tells_nothing(&chain).await;
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn one_of_three_nodes_that_does_not_tell_the_last_use_keeps_no_lane_closed() {
    let doubles = [node(), node(), node()];
    for (double, used_ms) in doubles.iter().zip([1_000, 2_000]) {
        used(double, "walletsolidity", used_ms);
    }
    with_three(&doubles, async |chain| {
        assert_eq!(history(&chain).last_used().await, Ok(Some(2_000)));
    })
    .await;
}

#[tokio::test]
async fn a_last_use_after_the_irrevocable_block_is_no_reason_to_wait() {
    let double = node();
    let (earlier, before) = block(at(FIRST, B256::ZERO), None);
    let (second, read) = block(at(FIRST + 1, earlier), None);
    let (third, newest) = block(at(FIRST + 2, second), None);
    for (number, block) in [(FIRST, &before), (FIRST + 1, &read), (FIRST + 2, &newest)] {
        show(&double, number, block);
    }
    at_head(&double, &newest, &newest);
    used(&double, "walletsolidity", u64::MAX >> 1);
    serving(&double, async |url| {
        let chain = connected_to(&[url]).await;
        let told_ms = history(&chain).last_used().await.unwrap().unwrap();
        assert_eq!(told_ms, time_ms(FIRST + 2) - 1, "any later use is in a block that comes");
        let since_ms = i64::try_from(time_ms(FIRST + 1)).unwrap();
        let used_ms = i64::try_from(told_ms).unwrap();
        let range = ScanRange::Uses { since_ms, used_ms };
        assert!(history(&chain).scan_blocks(range).await.unwrap().complete);

        let raw = any_call();
        let (fourth, holds) = block(at(FIRST + 3, third), Some((&raw, "SUCCESS")));
        let (_, last) = block(at(FIRST + 4, fourth), None);
        show(&double, FIRST + 3, &holds);
        show(&double, FIRST + 4, &last);
        at_head(&double, &last, &last);
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        let arrived = history(&chain).scan_blocks(ScanRange::Arrivals).await.unwrap();
        let found: Vec<B256> = arrived.found.iter().map(|found| found.landed().hash).collect();
        assert_eq!(found, [id_of(&raw)], "it is read from that block on");
    })
    .await;
}

#[tokio::test]
async fn a_third_node_without_blocks_keeps_no_batch_from_being_offered_again() {
    let doubles = [node(), node(), node()];
    let (raw, pooled) = (any_call(), call_until(HEAD_MS + 60_001));
    let (first, solid) = block(at(FIRST, B256::ZERO), None);
    let (second, holds) = block(at(FIRST + 1, first), Some((&raw, "SUCCESS")));
    let (third, newest) = block(at(FIRST + 2, second), None);
    let (_, next) = block(at(FIRST + 3, third), None);
    for double in &doubles {
        for (number, block) in [(FIRST, &solid), (FIRST + 1, &holds), (FIRST + 2, &newest)] {
            show(double, number, block);
        }
        at_head(double, &newest, &solid);
        used(double, "wallet", time_ms(FIRST));
    }
    let silent = &doubles[2];
    lacks(silent, FIRST + 1..=FIRST + 2);
    used(silent, "wallet", time_ms(FIRST + 2));
    pools(silent, &pooled);
    with_three(&doubles, async |chain| {
        let told = calls(&chain).await;
        assert_eq!(told.unread, None, "two have told");
        let in_pool = tron_primitives::transaction::txid(&pooled);
        assert_eq!(hashes(&told), [id_of(&raw), in_pool].into(), "what the third has counts");
        for double in &doubles {
            at_head(double, &next, &solid);
        }
        show(&doubles[0], FIRST + 3, &next);
        lacks(&doubles[1], FIRST + 3..=FIRST + 3);
        used(&doubles[1], "wallet", time_ms(FIRST + 2));
        assert!(calls(&chain).await.unread.is_some(), "one of three is no answer");
    })
    .await;
}

#[tokio::test]
async fn a_rival_that_could_land_for_ever_is_waited_for_no_longer_than_a_day() {
    let double = node();
    let raw = call_until(u64::MAX >> 1);
    pools(&double, &raw);
    let shows = |number: u64, time_ms: u64| {
        let (_, newest) = block(Place { number, time_ms, parent: B256::ZERO }, None);
        show(&double, number, &newest);
        at_head(&double, &newest, &newest);
        used(&double, "wallet", time_ms);
    };
    serving(&double, async |url| {
        shows(FIRST, HEAD_MS);
        let chain = connected_to(&[url]).await;
        let until = async || {
            let told = calls(&chain).await;
            assert_eq!(told.unread, None);
            told.calls.first().map(|call| call.rival_until_ms)
        };
        assert_eq!(until().await, Some(Some(HEAD_MS + DAY_MS)));
        shows(FIRST + 1, HEAD_MS + DAY_MS / 2);
        assert_eq!(until().await, Some(Some(HEAD_MS + DAY_MS)), "as it was seen first");
        shows(FIRST + 2, HEAD_MS + DAY_MS);
        assert_eq!(until().await, None);
    })
    .await;
}

/// Shows these blocks, the last of them as the newest.
fn shows(double: &Double, solid: &Value, blocks: &[(u64, &Value)]) {
    for (number, block) in blocks {
        show(double, *number, block);
    }
    at_head(double, blocks.last().unwrap().1, solid);
}

#[tokio::test]
async fn a_call_on_the_fork_that_won_is_read_though_the_block_that_lost_was_later() {
    let double = node();
    let (lost, won) = (any_call(), another_call());
    let (first, solid) = block(at(FIRST, B256::ZERO), None);
    let (second, empty) = block(at(FIRST + 1, first), None);
    let (_, loses) = block(at(FIRST + 2, second), Some((&lost, "SUCCESS")));
    serving(&double, async |url| {
        shows(&double, &solid, &[(FIRST, &solid), (FIRST + 1, &empty), (FIRST + 2, &loses)]);
        used(&double, "wallet", time_ms(FIRST + 1));
        let chain = connected_to(&[url]).await;
        assert_eq!(hashes(&calls(&chain).await), [id_of(&lost)].into());

        let (second, wins) = block(at(FIRST + 1, first), Some((&won, "SUCCESS")));
        let (_, next) = block(at(FIRST + 2, second), None);
        shows(&double, &solid, &[(FIRST + 1, &wins), (FIRST + 2, &next)]);
        used(&double, "wallet", time_ms(FIRST));
        assert_eq!(hashes(&calls(&chain).await), [id_of(&won)].into());
    })
    .await;
}

#[tokio::test]
async fn two_forks_with_different_calls_at_the_same_time_are_both_read() {
    let double = node();
    let (lost, won) = (any_call(), another_call());
    let (first, solid) = block(at(FIRST, B256::ZERO), None);
    let (second, loses) = block(at(FIRST + 1, first), Some((&lost, "SUCCESS")));
    let (_, empty) = block(at(FIRST + 2, second), None);
    serving(&double, async |url| {
        shows(&double, &solid, &[(FIRST, &solid), (FIRST + 1, &loses), (FIRST + 2, &empty)]);
        used(&double, "wallet", time_ms(FIRST));
        let chain = connected_to(&[url]).await;
        assert_eq!(hashes(&calls(&chain).await), [id_of(&lost)].into());

        let (second, wins) = block(at(FIRST + 1, first), Some((&won, "SUCCESS")));
        let (third, next) = block(at(FIRST + 2, second), None);
        let (_, newest) = block(at(FIRST + 3, third), None);
        shows(&double, &next, &[(FIRST + 1, &wins), (FIRST + 2, &next), (FIRST + 3, &newest)]);
        assert_eq!(hashes(&calls(&chain).await), [id_of(&won)].into());
        assert_eq!(hashes(&calls(&chain).await), BTreeSet::new(), "told once");
    })
    .await;
}

#[tokio::test]
async fn a_block_that_no_node_can_prove_stops_the_reading_only_until_it_is_irrevocable() {
    let double = node();
    let raw = any_call();
    let (first, solid) = block(at(FIRST, B256::ZERO), None);
    let (second, mut unproven) = block(at(FIRST + 1, first), Some((&another_call(), "SUCCESS")));
    unproven["transactions"][0]["ret"][0]["contractRet"] = "A_LATER_WORD".into();
    let (third, next) = block(at(FIRST + 2, second), None);
    let (_, newest) = block(at(FIRST + 3, third), Some((&raw, "SUCCESS")));
    serving(&double, async |url| {
        shows(&double, &solid, &[(FIRST, &solid), (FIRST + 1, &unproven), (FIRST + 2, &next)]);
        used(&double, "wallet", time_ms(FIRST));
        let chain = connected_to(&[url]).await;
        for _ in 0..2 {
            assert!(calls(&chain).await.unread.is_some(), "it may be given later");
        }
        shows(&double, &next, &[(FIRST + 3, &newest)]);
        used(&double, "wallet", time_ms(FIRST + 2));
        let told = calls(&chain).await;
        assert_eq!((told.unread.is_none(), hashes(&told)), (true, [id_of(&raw)].into()));
    })
    .await;
}

/// A node that is slow for a minute has its blocks all the same.
#[tokio::test]
async fn a_block_that_a_node_does_not_give_is_read_later_also_if_it_is_irrevocable_by_then() {
    let double = node();
    let raw = any_call();
    let (first, solid) = block(at(FIRST, B256::ZERO), None);
    let (second, missing) = block(at(FIRST + 1, first), Some((&raw, "SUCCESS")));
    let (third, next) = block(at(FIRST + 2, second), None);
    let (_, newest) = block(at(FIRST + 3, third), None);
    serving(&double, async |url| {
        shows(&double, &solid, &[(FIRST, &solid), (FIRST + 2, &next)]);
        lacks(&double, FIRST + 1..=FIRST + 1);
        used(&double, "wallet", time_ms(FIRST));
        let chain = connected_to(&[url]).await;
        assert!(calls(&chain).await.unread.is_some());
        shows(&double, &next, &[(FIRST + 3, &newest)]);
        assert!(calls(&chain).await.unread.is_some());
        show(&double, FIRST + 1, &missing);
        let told = calls(&chain).await;
        assert_eq!((told.unread.is_none(), hashes(&told)), (true, [id_of(&raw)].into()));
    })
    .await;
}
