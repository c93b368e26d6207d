//! Reads and simulated billings, by what recorded nodes answered.

use super::super::head::TronHead;
use super::golden_billing::{self, BILLER, REASONS, WORDS, step};
use super::node::{HEAD_MS, charge, node, parts};
use super::*;
use crate::reads::{FundsReads, LookupReads, READER, aggregated, pack};
use alloy::primitives::U256;
use billing::{Charge, FailCode, Funds, Opinion};
use serde_json::json;
use std::sync::Arc;
use tron_primitives::address::to_hex;

const CALL: &str = "/wallet/triggerconstantcontract";
const FAILURES: &str = "06_constant_call_failures.json";
const MULTICALLS: &str = "05_multicall.json";

/// What a recorded node says when a call takes too long, and when one reverts.
fn stopped() -> String {
    step(FAILURES, 22)["response"]["body"].to_string()
}

fn reverted() -> String {
    step(FAILURES, 8)["response"]["body"].to_string()
}

fn passed(energy: u64, answer: &str) -> String {
    json!({
        "result": { "result": true }, "energy_used": energy, "constant_result": [answer],
        "transaction": { "ret": [{}] },
    })
    .to_string()
}

fn word(n: u64) -> String {
    hex::encode(U256::from(n).to_be_bytes::<32>())
}

fn rich() -> String {
    passed(524, &word(u64::MAX))
}

/// The answer to one constant call of the signer.
fn answers(double: &Double, chain: &TronChain, contract: Address, data: &[u8], answer: &str) {
    let asked = json!({
        "contract_address": to_hex(contract), "data": hex::encode(data),
        "owner_address": to_hex(chain.access.signer()),
    });
    double.says(&format!("{CALL} {asked}"), 200, answer);
}

async fn connected(url: &str, change: impl FnOnce(&mut TronParts)) -> TronChain {
    let (account, mut parts) = parts(url);
    change(&mut parts);
    TronChain::connect(account, parts).await.unwrap()
}

/// The chain as the recorded biller sees it.
async fn connected_as_biller(url: &str) -> TronChain {
    let (_, mut parts) = parts(url);
    let config = Arc::make_mut(&mut parts.config);
    config.contract = golden_billing::contract();
    config.billing.deadline = golden_billing::deadline(HEAD_MS / 1000);
    config.multicall = None;
    let account = account(key(BILLER), golden_billing::profile(), &parts.config);
    TronChain::connect(account, parts).await.unwrap()
}

/// A node for the account of the recorded biller.
fn node_of_the_biller() -> Arc<Double> {
    let double = node();
    double.says("/wallet/getaccount", 200, "{}");
    double
}

#[tokio::test]
async fn the_recorded_batch_is_judged_item_by_item_as_it_was() {
    let double = node_of_the_biller();
    serving(&double, async |url| {
        let chain = connected_as_biller(url).await;
        let run = step(golden_billing::FILE, 5);
        double.says(CALL, 200, &rich());
        let asked = &run["request"]["body"];
        double.says(&format!("{CALL} {asked}"), 200, &run["response"]["body"].to_string());
        let preflight = chain.simulation.check(golden_billing::charges()).await.unwrap();
        assert_eq!(preflight.estimate, Estimate { used: 240_034, charges: 13 });
        let words: HashMap<u8, &str> = WORDS.into_iter().collect();
        for (checked, reason) in preflight.checked.iter().zip(REASONS) {
            match &checked.opinion {
                Opinion::Passes => assert_eq!(reason, 0),
                Opinion::Refuses { code, .. } => assert_eq!(code.token(), words[&reason]),
            }
            let all = U256::from(u64::MAX);
            assert_eq!(checked.funds, Some(Funds { balance: all, allowance: all }));
        }
    })
    .await;
}

/// What one run of the billing call says, by how many charges are in it and whether `bad` is.
fn runs(
    double: &Double,
    chain: &TronChain,
    head: &Arc<TronHead>,
    n: u8,
    say: impl Fn(&[u8]) -> String,
) {
    for first in 1..=n {
        for last in first..=n {
            let group: Vec<u8> = (first..=last).collect();
            let charges: Vec<Charge> = group.iter().map(|n| charge(*n)).collect();
            let data = chain.access.calldata(head.view.head_time, &charges).unwrap();
            answers(double, chain, chain.access.contract(), &data, &say(&group));
        }
    }
}

#[tokio::test]
async fn the_culprit_of_a_call_that_fails_as_a_whole_is_named() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url, |parts| Arc::make_mut(&mut parts.config).multicall = None).await;
        let head = chain.head.current().await.unwrap();
        double.says(CALL, 200, &rich());
        let say = |group: &[u8]| if group.contains(&3) { reverted() } else { passed(9_000, "") };
        runs(&double, &chain, &head, 4, say);
        let preflight = chain.simulation.check((1..=4).map(charge).collect()).await.unwrap();
        let refused: Vec<usize> =
            (0..4).filter(|at| preflight.checked[*at].opinion != Opinion::Passes).collect();
        assert_eq!(refused, [2]);
        let Opinion::Refuses { code, detail } = &preflight.checked[2].opinion else { panic!() };
        assert_eq!(*code, FailCode::CallReverted);
        assert!(detail.as_ref().is_some_and(|words| words.contains("a reason")), "{detail:?}");
        assert_eq!(preflight.estimate.used, 0, "the rest was not run together");
        let good = [charge(1), charge(2)];
        assert_eq!(
            chain.simulation.measure(&good).await.unwrap(),
            Estimate { used: 9_000, charges: 2 }
        );
        assert!(matches!(
            chain.simulation.measure(&[charge(3)]).await,
            Err(ChainError::CallFails(_))
        ));
    })
    .await;
}

#[tokio::test]
async fn a_batch_that_the_node_keeps_stopping_is_too_large_and_nobody_is_to_blame() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url, |parts| Arc::make_mut(&mut parts.config).multicall = None).await;
        let head = chain.head.current().await.unwrap();
        double.says(CALL, 200, &rich());
        let say = |group: &[u8]| if group.len() > 2 { stopped() } else { passed(9_000, "") };
        runs(&double, &chain, &head, 8, say);
        let refused = chain.simulation.check((1..=8).map(charge).collect()).await.unwrap_err();
        assert_eq!(refused, ChainError::BatchTooSlow { charges: 8, max: 2, again_s: 10 });
        runs(&double, &chain, &head, 1, |_| stopped());
        let busy = chain.simulation.check(vec![charge(1)]).await.unwrap_err();
        assert!(matches!(busy, ChainError::ChargeTooSlow(_)), "{busy}");
    })
    .await;
}

/// The answer to one read that deploys nothing.
fn answers_deployless(double: &Double, chain: &TronChain, charges: &[Charge], words: &[u8]) {
    let contract = chain.access.contract();
    let asked = FundsReads::of(charges, contract);
    let input = pack(contract, None, &LookupReads::none(contract), &asked);
    let asked = json!({
        "data": hex::encode([READER.to_vec(), input].concat()),
        "owner_address": to_hex(chain.access.signer()),
    });
    let packed: Vec<u8> = words.iter().flat_map(|word| [1, *word]).collect();
    double.says(&format!("{CALL} {asked}"), 200, &passed(1, &hex::encode(packed)));
}

#[tokio::test]
async fn all_funds_are_one_question_and_halves_where_the_node_stops_it() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url, |_| ()).await;
        let charges: Vec<Charge> = (1..=4).map(charge).collect();
        let known = chain.head.ready().await.unwrap();
        let funds = |n: u8| Some(Funds { balance: U256::from(n), allowance: U256::from(n + 100) });
        let words = |n: &[u8]| n.iter().flat_map(|n| [*n, *n + 100]).collect::<Vec<u8>>();
        double.says(CALL, 200, &stopped());
        answers_deployless(&double, &chain, &charges[..2], &words(&[1, 2]));
        answers_deployless(&double, &chain, &charges[2..], &words(&[3, 4]));
        let read = chain.reads.funds(chain.access.api(), known, &charges).await.unwrap();
        assert_eq!(read, [1, 2, 3, 4].map(funds));
        assert_eq!(double.asked(CALL), 3, "all at once, and each half");
        answers_deployless(&double, &chain, &charges, &words(&[5, 6, 7, 8]));
        let read = chain.reads.funds(chain.access.api(), known, &charges).await.unwrap();
        assert_eq!(read, [5, 6, 7, 8].map(funds));
        assert_eq!(double.asked(CALL), 4);
    })
    .await;
}

#[tokio::test]
async fn a_node_that_runs_no_creation_code_is_asked_in_halves_through_the_aggregator() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url, |_| ()).await;
        let at = chain.access.config.multicall.unwrap();
        let charges: Vec<Charge> = (1..=4).map(charge).collect();
        let asked = FundsReads::of(&charges, chain.access.contract()).reads();
        let nothing_there = step(FAILURES, 4)["response"]["body"].to_string();
        double.says(CALL, 200, &nothing_there);
        let funds = |n: u64| Funds { balance: U256::from(n), allowance: U256::from(n + 100) };
        answers(&double, &chain, at, &aggregated(&asked), &stopped());
        for (part, half) in asked.chunks(4).enumerate() {
            let first = u64::try_from(part).unwrap() * 2 + 1;
            let words = [first, first + 100, first + 1, first + 101];
            answers(&double, &chain, at, &aggregated(half), &passed(1, &together(&words)));
        }
        let known = chain.head.ready().await.unwrap();
        for (asks, round) in [(4, 1), (3, 2)] {
            let before = double.asked(CALL);
            let read = chain.reads.funds(chain.access.api(), known, &charges).await.unwrap();
            assert_eq!(read, (1..=4).map(|n| Some(funds(n))).collect::<Vec<_>>());
            assert_eq!(double.asked(CALL) - before, asks, "round {round}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_fails_among_others_is_read_once_more_alone() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url, |_| ()).await;
        let at = chain.access.config.multicall.unwrap();
        let charges: Vec<Charge> = (1..=3).map(charge).collect();
        let asked = FundsReads::of(&charges, chain.access.contract()).reads();
        let nothing_there = step(FAILURES, 4)["response"]["body"].to_string();
        let answer = answered(&[Some(1), Some(2), None, None, None, Some(6)]);
        double.says(CALL, 200, &nothing_there);
        answers(&double, &chain, at, &aggregated(&asked), &passed(1, &answer));
        for (read, word_or_not) in asked[2..].iter().zip([None, None, Some(5)]) {
            let alone = word_or_not.map_or(nothing_there.clone(), |n| passed(1, &word(n)));
            answers(&double, &chain, read.target, &read.data, &alone);
        }
        let known = chain.head.ready().await.unwrap();
        let read = chain.reads.funds(chain.access.api(), known, &charges).await.unwrap();
        let funds = |balance, allowance| {
            Some(Funds { balance: U256::from(balance), allowance: U256::from(allowance) })
        };
        assert_eq!(read, [funds(1, 2), None, funds(5, 6)]);
    })
    .await;
}

/// The answer of the aggregator to reads that return these words.
fn together(words: &[u64]) -> String {
    answered(&words.iter().copied().map(Some).collect::<Vec<_>>())
}

/// The same where some of the reads fail.
fn answered(words: &[Option<u64>]) -> String {
    use crate::reads::{Answer3, aggregate3Call};
    use alloy::sol_types::SolCall;
    let one = |n: &Option<u64>| Answer3 {
        success: n.is_some(),
        returnData: n.map(|n| U256::from(n).to_be_bytes_vec()).unwrap_or_default().into(),
    };
    hex::encode(aggregate3Call::abi_encode_returns(&words.iter().map(one).collect()))
}

#[tokio::test]
async fn without_an_aggregator_a_token_that_is_none_spoils_nothing_else() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url, |parts| Arc::make_mut(&mut parts.config).multicall = None).await;
        let nothing_there = step(FAILURES, 4)["response"]["body"].to_string();
        assert!(nothing_there.contains("CONTRACT_VALIDATE_ERROR"));
        let charges = [charge(1), Charge { token: Address::repeat_byte(8), ..charge(2) }];
        double.says(CALL, 200, &rich());
        for read in FundsReads::of(&charges[1..], chain.access.contract()).reads() {
            answers(&double, &chain, read.target, &read.data, &nothing_there);
        }
        let known = chain.head.ready().await.unwrap();
        let read = chain.reads.funds(chain.access.api(), known, &charges).await.unwrap();
        assert!(read[0].is_some() && read[1].is_none(), "{read:?}");
        double.says(CALL, 200, &stopped());
        let busy = chain.reads.funds(chain.access.api(), known, &charges[..1]).await.unwrap_err();
        assert!(matches!(busy, ChainError::Unavailable(_)), "{busy}");
    })
    .await;
}

/// Every recorded multicall that went through: our bytes are those that were sent, and what was
/// returned is read as one answer for each call.
#[test]
fn recorded_multicalls_are_written_and_read_like_ours() {
    use crate::reads::{Read, aggregate3Call, answers};
    use alloy::sol_types::SolCall;
    let (mut seen, mut silent) = (0, 0);
    for step in recorded(MULTICALLS)["steps"].as_array().unwrap() {
        let data = step["request"]["body"]["data"].as_str().unwrap_or_default();
        let answer = step["response"]["body"]["constant_result"][0].as_str().unwrap_or_default();
        let failed = step["response"]["body"]["transaction"]["ret"][0]["ret"] == "FAILED";
        let (Ok(data), Ok(answer)) = (hex::decode(data), hex::decode(answer)) else { continue };
        let Ok(call) = aggregate3Call::abi_decode(&data) else { continue };
        if answer.is_empty() || failed {
            continue;
        }
        let read = |call: &crate::reads::Call3| Read {
            target: call.target,
            data: call.callData.to_vec(),
            answer: 32,
        };
        let reads: Vec<Read> = call.calls.iter().map(read).collect();
        if call.calls.iter().all(|call| call.allowFailure) {
            assert_eq!(aggregated(&reads), data);
        }
        let said = answers(&answer, reads.len()).unwrap();
        silent += said.iter().filter(|answer| answer.is_none()).count();
        seen += 1;
    }
    assert!(seen > 4 && silent > 1, "{seen} {silent}");
}

#[tokio::test]
async fn check_names_what_keeps_a_chain_from_billing() {
    use crate::{Finding, Weight};
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url, |_| ()).await;
        let head = chain.head.current().await.unwrap();
        let contract = chain.access.contract();
        double.says(CALL, 200, &reverted());
        let faults = |found: &[Finding]| -> Vec<&str> {
            found.iter().filter(|one| one.weight == Weight::Fault).map(|one| one.what).collect()
        };
        let found = chain.inspect().await;
        assert_eq!(faults(&found), ["multicall", "permission to bill"], "{found:?}");

        let at = chain.access.config.multicall.unwrap();
        let itself = crate::reads::Read { target: at, data: aggregated(&[]), answer: 0 };
        answers(&double, &chain, at, &aggregated(&[itself]), &passed(1, &together(&[7])));
        let nobody = chain.access.calldata(head.view.head_time, &[]).unwrap();
        answers(&double, &chain, contract, &nobody, &passed(1_000, ""));
        let found = chain.inspect().await;
        assert_eq!(faults(&found), [""; 0], "{found:?}");
        let node = found.iter().find(|one| one.what == "head").unwrap();
        assert_eq!(node.message, "chain 0x29d6a48c, block 66");

        double.says("/wallet/getaccount", 200, "{}");
        double.says("/wallet/getcontractinfo", 200, "{}");
        let chain = connected(url, |_| ()).await;
        let found = chain.inspect().await;
        assert!(faults(&found).contains(&"contract") && faults(&found).contains(&"gas money"));
        let account = found.iter().find(|one| one.what == "gas money").unwrap();
        assert!(account.message.contains("not activated") && account.message.starts_with('T'));
    })
    .await;
}
