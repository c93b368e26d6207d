//! What is signed, by which head, and when not.

use super::node::*;
use super::vectors::sign;
use super::*;
use crate::{SealError, Unready};
use alloy::primitives::U256;
use billing::{Attempts, BatchId, Item, Signed};
use contract::Computed;
use host::clock::Clock;
use policy::Intent;
use serde_json::json;
use std::sync::atomic::{AtomicI64, Ordering};
use tron_primitives::transaction::{RefBlock, SignedBytes, Unsigned};

fn unready(chain: &dyn Chain) -> Option<ChainError> {
    chain.unready()
}

#[tokio::test]
async fn a_draft_builds_on_the_solid_head_and_expires_by_block_time() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        let estimate = Estimate { used: 100_000, charges: 2 };
        let draft = chain.drafting.bill(&[charge(1), charge(2)], &estimate).await.unwrap();
        assert_eq!(draft.gas_required(), 13_200_000);
        let items = [charge(1).item(), charge(2).item()];
        let tokens = [charge(1).token, charge(2).token];
        let cost = draft.cost();
        let (kind, tokens) = (AttemptKind::Bill, Some(&tokens[..]));
        let (contract, function) =
            (chain.access.contract(), chain.access.account.profile.selector());
        let intent =
            Intent { kind, contract, function, items: &items, tokens, earlier: None, cost };
        let sign = |position| draft.signed(position, &intent);
        let (first, second) = (sign(0).await.unwrap(), sign(1).await.unwrap());
        assert_ne!(first.hash, second.hash, "equal calls at two places");
        assert_eq!(sign(0).await.unwrap(), first, "the same bytes for the same place");
        let read = SignedBytes::read(&second.raw).unwrap();
        assert_eq!(read.txid, second.hash);
        assert_eq!(read.unsigned.ref_block, RefBlock::to(SOLID_ID.parse().unwrap()));
        assert_eq!(read.unsigned.expiration_ms, HEAD_MS + 120_000);
        assert_eq!(read.unsigned.timestamp_ms, HEAD_MS + 1);
        assert_eq!(read.unsigned.fee_limit, 13_200_000);
        assert_eq!(read.unsigned.contract, Address::repeat_byte(5));
        assert_eq!(read.signer(), Some(chain.access.signer()));
        let deadline = U256::from(HEAD_MS / 1000 + 600).to_be_bytes::<32>();
        assert!(read.unsigned.data.windows(32).any(|word| word == deadline));
        assert_eq!(double.asked("/wallet/broadcasthex"), 0);
        assert!(cost > U256::from(draft.gas_required()), "bandwidth costs as well");
        let other = Intent { items: &items[..1], tokens: None, ..intent };
        let dear = Intent { cost: U256::from(13_199_999), ..intent };
        let cancel = Intent { kind: AttemptKind::Cancel, ..intent };
        for (wrong, rule) in [(other, "charges"), (dear, "cost"), (cancel, "cancel")] {
            match draft.signed(0, &wrong).await {
                Err(SealError::Refused(refusal)) => assert_eq!(refusal.rule, rule),
                signed => panic!("{signed:?}"),
            }
        }
    })
    .await;
}

#[tokio::test]
async fn what_the_account_cannot_pay_is_not_drafted() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        let estimate = Estimate { used: 100_000, charges: 1 };
        double.says("/wallet/getaccount", 200, "{}");
        double.says("/wallet/getaccountresource", 200, "{}");
        let poor = chain.draft(&[charge(1)], &estimate).await.unwrap_err();
        assert!(matches!(&poor, ChainError::GasFunds { have, .. } if have.is_zero()), "{poor}");
        assert!(matches!(unready(&chain), Some(ChainError::Unready(Unready::GasMoney(_)))));
        let dear = Estimate { used: 10_000_000, charges: 1 };
        let dear = chain.draft(&[charge(1)], &dear).await.unwrap_err();
        assert!(matches!(dear, ChainError::FeeTooHigh(_)), "{dear}");
    })
    .await;
}

#[tokio::test]
async fn readiness_says_of_a_fee_limit_above_the_ceiling_what_a_request_hears() {
    let double = node();
    serving(&double, async |url| {
        let estimate = Estimate { used: 100_000, charges: 1 };
        for (ceiling, good) in [(13_199_999, false), (13_200_000, true)] {
            let (account, mut parts) = parts(url);
            Arc::make_mut(&mut parts.config).fees.max_fee_limit.0 = ceiling;
            let chain = TronChain::connect(account, parts).await.unwrap();
            chain.poll_head(HeadExtent::Whole).await.unwrap();
            let ready = unready(&chain);
            let heard = chain.draft(&[charge(1)], &estimate).await.err();
            assert_eq!(ready, heard);
            assert_eq!(ready.is_none(), good, "{ready:?}");
            let said = ready.map_or_else(String::new, |why| why.to_string());
            assert!(good || said.contains("above the ceiling fees.max_fee_limit"), "{said}");
            let vitals = chain.vitals().unwrap();
            assert_eq!(vitals.headrooms[0].taken, U256::from(ceiling), "it waits for as much");
            assert!(vitals.ordinary > U256::from(ceiling), "bandwidth costs as well");
        }
    })
    .await;
}

#[tokio::test]
async fn nothing_is_signed_by_a_head_that_is_out_of_time() {
    static NOW: AtomicI64 = AtomicI64::new(0);
    let double = node();
    serving(&double, async |url| {
        let (mut account, parts) = parts(url);
        account.clock = Clock::telling(|| NOW.load(Ordering::Relaxed));
        let chain = TronChain::connect(account, parts).await.unwrap();
        let estimate = Estimate { used: 100_000, charges: 1 };
        for (off, good) in [(-60_001, false), (-60_000, true), (60_000, true), (60_001, false)] {
            NOW.store(i64::try_from(HEAD_MS).unwrap() + off, Ordering::Relaxed);
            let drafted = chain.draft(&[charge(1)], &estimate).await;
            assert_eq!(drafted.is_ok(), good, "{off}");
            assert!(good || matches!(drafted, Err(ChainError::Unready(Unready::Clock(_)))));
            let ready = unready(&chain);
            assert_eq!(ready.is_none(), good, "{ready:?}");
            assert!(
                chain.poll_head(HeadExtent::Whole).await.is_ok(),
                "open transactions are followed all the same"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn nothing_is_signed_while_finality_stands_still() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        let path = "/walletsolidity/getblock";
        let newest = recorded_answer("01", path, &json!({ "detail": false }));
        let solid_ms = 1_795_253_439_000_u64;
        for (lag, good) in [(600_000, true), (600_001, false)] {
            let moved = newest.replace(&solid_ms.to_string(), &(HEAD_MS - lag).to_string());
            assert_ne!(moved, newest);
            double.says(path, 200, &moved);
            chain.head.forget();
            let drafted = chain.draft(&[charge(1)], &Estimate { used: 1_000, charges: 1 }).await;
            assert_eq!(drafted.is_ok(), good, "{lag}");
            let stalled = matches!(unready(&chain), Some(ChainError::Unready(Unready::Stalled(_))));
            assert_eq!(stalled, !good, "{lag}");
        }
    })
    .await;
}

/// The billing of one charge until a deadline, Unix seconds.
fn call(chain: &TronChain, deadline: u64) -> Vec<u8> {
    let computed = Computed { deadline, signer: chain.access.signer() };
    chain.access.account.profile.encode(&[charge(1)], &computed).unwrap()
}

/// A slot whose attempt expired `expired_ms` before the newest irrevocable block.
fn slot(chain: &TronChain, expired_ms: i64) -> Slot<Attempt> {
    let unsigned = Unsigned {
        owner: chain.access.signer(),
        contract: chain.access.contract(),
        data: call(chain, 5),
        ref_block: RefBlock { low: 7, hash: [7; 8] },
        expiration_ms: (1_795_253_439_000 - expired_ms).try_into().unwrap(),
        timestamp_ms: 5,
        fee_limit: 5,
    };
    let signed: Signed = sign(&unsigned, &key(&"07".repeat(32))).unwrap();
    let kind = AttemptKind::Bill;
    let items: Vec<Item> = vec![charge(1).item()];
    let attempts = Attempts::new(Attempt { batch: BatchId(1), seq: 0, kind, signed });
    let contract = chain.access.contract();
    let profile = Arc::clone(chain.access.account.profile.written());
    Slot { batch: BatchId(1), position: 3, contract, profile, accepted_ms: 0, items, attempts }
}

fn passing() -> String {
    let ran = exchanges().iter().find(|exchange| {
        exchange.path == "/wallet/triggerconstantcontract" && exchange.sent.contains("energy_used")
    });
    ran.unwrap().sent.clone()
}

#[tokio::test]
async fn the_same_charges_are_drafted_again_for_a_new_life_and_a_new_deadline() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        double.says("/wallet/triggerconstantcontract", 200, &passing());
        let slot = slot(&chain, 0);
        let draft = chain.drafting.again(&slot, AttemptKind::Bill).await.unwrap();
        let (kind, items) = (AttemptKind::Bill, slot.items.as_slice());
        let (contract, cost) = (slot.contract, draft.cost());
        let function = chain.access.account.profile.selector();
        let intent = Intent { kind, contract, function, items, tokens: None, earlier: None, cost };
        let again = draft.signed(slot.position, &intent).await.unwrap();
        assert_ne!(again.hash, slot.attempts.first().signed.hash);
        let read = SignedBytes::read(&again.raw).unwrap().unsigned;
        let renewed = call(&chain, HEAD_MS / 1000 + 600);
        assert_eq!(read.data, renewed);
        assert_eq!(read.ref_block, RefBlock::to(SOLID_ID.parse().unwrap()));
        assert_eq!(read.expiration_ms, HEAD_MS + 120_000);
        let asked = double.asked.lock().iter().rev().find_map(|(path, body)| {
            path.ends_with("triggerconstantcontract").then(|| body["data"].clone())
        });
        assert_eq!(asked.unwrap(), hex::encode(renewed), "what is signed is what was tried");
    })
    .await;
}

#[tokio::test]
async fn what_can_still_land_or_would_not_is_not_signed_again() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        let why = async |slot: &Slot<Attempt>, kind| {
            chain.drafting.again(slot, kind).await.unwrap_err().to_string()
        };
        double.says("/wallet/triggerconstantcontract", 200, &passing());
        let alive = why(&slot(&chain, -1), AttemptKind::Bill).await;
        assert!(alive.contains("can still land"), "{alive}");
        let mut later = slot(&chain, 0);
        later.attempts = later.attempts.followed_by(slot(&chain, -1).attempts.first().clone());
        let alive = why(&later, AttemptKind::Bill).await;
        assert!(alive.contains("can still land"), "any of them: {alive}");
        let cancel = why(&slot(&chain, 0), AttemptKind::Cancel).await;
        assert!(cancel.contains("nothing to cancel"), "{cancel}");
        let mut garbage = slot(&chain, 0);
        let torn = Signed { raw: vec![1], ..garbage.attempts.first().signed.clone() };
        let first = Attempt { signed: torn, ..garbage.attempts.first().clone() };
        garbage.attempts = Attempts::new(first);
        assert!(why(&garbage, AttemptKind::Bill).await.contains("not a TRON transaction"));
        let reverted = exchanges().iter().find(|exchange| {
            exchange.sent.contains("FAILED") && exchange.path == "/wallet/triggerconstantcontract"
        });
        double.says("/wallet/triggerconstantcontract", 200, &reverted.unwrap().sent);
        assert!(chain.drafting.again(&slot(&chain, 0), AttemptKind::Bill).await.is_err());
        double.says("/wallet/triggerconstantcontract", 503, "");
        assert!(chain.drafting.again(&slot(&chain, 0), AttemptKind::Bill).await.is_err());
    })
    .await;
}
