//! The look at the head, and the drafts that are made by it, against a node that plays recordings.

use super::super::api::Side;
use super::super::transaction::{RefBlock, SignedBytes};
use super::*;
use crate::billing::{Charge, Family, Period, PlatformChainId, Scalar};
use crate::config::BillingConfig;
use alloy::primitives::U256;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

/// The head in the recording of node and blocks (01), Unix ms.
const HEAD_MS: u64 = 1_795_253_454_000;
const SOLID_ID: &str = "000000000000003d53c7513db7aa4f7d41835e9832b882fd9b521d4405c36364";
const GENESIS_ID: &str = "0000000000000000d7cf487df380a00bf740b3c1e5c11e0cac48146729d6a48c";
const CHAIN_ID: u32 = 0x29d6_a48c;

fn now() -> i64 {
    i64::try_from(HEAD_MS).unwrap() + 2_000
}

fn recorded_answer(file: &str, path: &str, asked: &Value) -> String {
    let found = exchanges().into_iter().find(|exchange| {
        exchange.place.starts_with(file) && exchange.path == path && exchange.asked == *asked
    });
    found.unwrap_or_else(|| panic!("{file} {path} {asked}")).sent
}

/// A node at the head of 01, with the signer's account of 03.
fn node() -> Arc<Double> {
    let double = Arc::new(Double::default());
    let newest = json!({ "detail": false });
    let genesis = json!({ "detail": false, "id_or_num": "0" });
    let first = recorded_answer("01", "/wallet/getblock", &genesis);
    for service in ["wallet", "walletsolidity"] {
        let path = format!("/{service}/getblock");
        double.says(&path, 200, &recorded_answer("01", &path, &newest));
        double.says(&format!("{path} {genesis}"), 200, &first);
    }
    let stake = "4164275ba38bf14de95af49894e06276ec189753b1";
    let signer = address::to_hex(key(&"07".repeat(32)).address());
    let rename = |answer: String| answer.replace(stake, &signer);
    for question in ["getaccount", "getaccountresource"] {
        let path = format!("/wallet/{question}");
        let answer = recorded_answer("03", &path, &json!({ "address": stake }));
        double.says(&path, 200, &rename(answer));
    }
    for question in ["getchainparameters", "getnextmaintenancetime"] {
        let path = format!("/wallet/{question}");
        let answer = exchanges().into_iter().find(|exchange| exchange.path == path).unwrap();
        double.says(&path, 200, &answer.sent);
    }
    let contract = exchanges().into_iter().find(|exchange| {
        exchange.path == "/wallet/getcontractinfo" && exchange.sent.contains("runtimecode")
    });
    double.says("/wallet/getcontractinfo", 200, &contract.unwrap().sent);
    double
}

fn profile() -> Profile {
    let config = BillingConfig {
        call: "charge(bytes32[] userHash, uint256[] amount, uint256 deadline)".to_owned(),
        lookup: None,
        charged: None,
        skipped: None,
        constants: BTreeMap::new(),
        reasons: BTreeMap::new(),
        period: None,
        deadline: Duration::from_mins(10),
        guard: Duration::from_hours(1),
    };
    Profile::parse(&config, Family::Tvm).unwrap()
}

fn parts(url: &str) -> TronParts {
    let key = key(&"07".repeat(32));
    TronParts {
        facts: Facts {
            id: PlatformChainId(195),
            name: "tron".to_owned(),
            family: Family::Tvm,
            contract: Address::repeat_byte(5),
            signer: key.address(),
            max_in_flight: 16,
        },
        profile: profile(),
        key,
        api: client(url),
        rpc: None,
        settings: TronSettings {
            chain_id: Some(CHAIN_ID),
            ttl: Duration::from_mins(2),
            deadline: Duration::from_mins(10),
            fee_limit_ceiling: 500_000_000,
            energy_factor_percent: 20,
            energy_drift_percent: 10,
            poll_interval: Duration::from_hours(1),
            multicall: Some(Address::repeat_byte(6)),
        },
        now_ms: now,
    }
}

fn charge(n: u8) -> Charge {
    let fields = [
        ("subscribeId", Scalar::Number(n.to_string())),
        ("planId", Scalar::Number("7".to_owned())),
        ("userHash", Scalar::Text(hex::encode([n; 32]))),
        ("amount", Scalar::Number("100".to_owned())),
    ];
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
    Charge {
        entry: Entry::parse(fields.collect()).unwrap(),
        period: Period::Guarded,
        amount: U256::from(100),
        wallet: Address::repeat_byte(n),
        token: Address::repeat_byte(9),
    }
}

async fn connected(url: &str) -> TronChain {
    TronChain::connect(parts(url)).await.unwrap()
}

#[tokio::test]
async fn a_beat_tells_the_time_of_the_chain_and_asks_for_prices_once() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        let pulse = chain.beat().await.unwrap();
        assert_eq!((pulse.head, pulse.head_time), (66, HEAD_MS / 1000));
        assert_eq!(*chain.pulse().borrow(), Some(pulse));
        let head = chain.current().await.unwrap();
        assert_eq!((head.solid.number, hex::encode(head.solid.id)), (61, SOLID_ID.to_owned()));
        assert_eq!((head.prices.energy, head.prices.bandwidth), (100, 10));
        assert!(head.means.resources.energy > 0);
        assert!(chain.ready().await.unwrap().multicall);
        chain.beat().await.unwrap();
        assert_eq!(double.asked("/wallet/getchainparameters"), 1);
        assert_eq!(double.asked("/wallet/getaccount"), 2);
    })
    .await;
}

#[tokio::test]
async fn prices_are_asked_again_after_maintenance_and_after_a_broken_exchange() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        let maintenance = json!({ "num": HEAD_MS }).to_string();
        double.says("/wallet/getnextmaintenancetime", 200, &maintenance);
        chain.beat().await.unwrap();
        chain.beat().await.unwrap();
        assert_eq!(double.asked("/wallet/getchainparameters"), 2, "the head has passed it");
        double.says("/wallet/getnextmaintenancetime", 200, &json!({ "num": u64::MAX }).to_string());
        chain.beat().await.unwrap();
        chain.beat().await.unwrap();
        assert_eq!(double.asked("/wallet/getchainparameters"), 3);
        assert!(chain.parts.api.next_maintenance_ms().await.is_ok());
        double.says("/wallet/gettransactionbyid", 502, "");
        assert!(chain.parts.api.knows(Side::Full, SOLID_ID.parse().unwrap()).await.is_err());
        chain.beat().await.unwrap();
        assert_eq!(double.asked("/wallet/getchainparameters"), 4, "it may be another node now");
    })
    .await;
}

#[tokio::test]
async fn a_node_on_another_chain_is_not_used() {
    let double = node();
    serving(&double, async |url| {
        let mut wrong = parts(url);
        wrong.settings.chain_id = Some(1);
        let refused = TronChain::connect(wrong).await.unwrap_err();
        assert_eq!(refused, NotConnected::WrongChain { configured: 1, answered: CHAIN_ID });

        let chain = connected(url).await;
        chain.beat().await.unwrap();
        let genesis = json!({ "detail": false, "id_or_num": "0" });
        let sent = recorded_answer("01", "/wallet/getblock", &genesis);
        let other = sent.replace(GENESIS_ID, &GENESIS_ID.replace("29d6a48c", "00000001"));
        double.says(&format!("/walletsolidity/getblock {genesis}"), 200, &other);
        let split = TronChain::connect(parts(url)).await.unwrap_err();
        assert_eq!(split, NotConnected::TwoChains);
        double.says("/wallet/getnextmaintenancetime", 502, "");
        assert!(chain.parts.api.next_maintenance_ms().await.is_err());
        double.says("/wallet/getnextmaintenancetime", 200, r#"{"num":1}"#);
        let moved = chain.beat().await.unwrap_err();
        assert!(moved.to_string().contains("different chains"), "{moved}");
        assert!(chain.known.read().is_none() && chain.head.read().is_none());
    })
    .await;
}

#[tokio::test]
async fn a_key_of_another_account_is_not_used() {
    let double = node();
    serving(&double, async |url| {
        let mut wrong = parts(url);
        wrong.facts.signer = Address::ZERO;
        let refused = TronChain::connect(wrong).await.unwrap_err();
        assert!(matches!(refused, NotConnected::WrongKey { .. }));
    })
    .await;
}

#[tokio::test]
async fn a_solidity_node_that_falls_back_changes_nothing() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        chain.beat().await.unwrap();
        let third = json!({ "detail": false, "id_or_num": "3" });
        let old = recorded_answer("01", "/walletsolidity/getblock", &third);
        double.says("/walletsolidity/getblock", 200, &old);
        chain.beat().await.unwrap();
        assert_eq!(chain.current().await.unwrap().solid.number, 61);
    })
    .await;
}

#[tokio::test]
async fn a_draft_builds_on_the_solid_head_and_expires_by_block_time() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        let estimate = Estimate { used: 100_000, charges: 2 };
        let draft = chain.draft(&[charge(1), charge(2)], &estimate).await.unwrap();
        assert_eq!(draft.gas_required(), 13_200_000);
        let (first, second) = (draft.seal(0).unwrap(), draft.seal(1).unwrap());
        assert_ne!(first.hash, second.hash, "equal calls at two places");
        assert_eq!(draft.seal(0).unwrap(), first, "the same bytes for the same place");
        let read = SignedBytes::read(&second.raw).unwrap();
        assert_eq!(read.txid, second.hash);
        assert_eq!(read.unsigned.ref_block, RefBlock::to(SOLID_ID.parse().unwrap()));
        assert_eq!(read.unsigned.expiration_ms, HEAD_MS + 120_000);
        assert_eq!(read.unsigned.timestamp_ms, HEAD_MS + 1);
        assert_eq!(read.unsigned.fee_limit, 13_200_000);
        assert_eq!(read.unsigned.contract, Address::repeat_byte(5));
        assert_eq!(read.signer(), Some(chain.facts().signer));
        let deadline = U256::from(HEAD_MS / 1000 + 600).to_be_bytes::<32>();
        assert!(read.unsigned.data.windows(32).any(|word| word == deadline));
        assert_eq!(double.asked("/wallet/broadcasthex"), 0);
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
        assert!(matches!(&poor, ChainError::GasFunds { have, .. } if have == "0"), "{poor}");
        let dear = Estimate { used: 10_000_000, charges: 1 };
        let dear = chain.draft(&[charge(1)], &dear).await.unwrap_err();
        assert!(matches!(dear, ChainError::FeeTooHigh(_)), "{dear}");
    })
    .await;
}

#[tokio::test]
async fn nothing_is_signed_by_a_head_that_is_out_of_time() {
    static NOW: AtomicI64 = AtomicI64::new(0);
    let double = node();
    serving(&double, async |url| {
        let mut parts = parts(url);
        parts.now_ms = || NOW.load(Ordering::Relaxed);
        let chain = TronChain::connect(parts).await.unwrap();
        let estimate = Estimate { used: 100_000, charges: 1 };
        for (off, good) in [(-60_001, false), (-60_000, true), (60_000, true), (60_001, false)] {
            NOW.store(i64::try_from(HEAD_MS).unwrap() + off, Ordering::Relaxed);
            let drafted = chain.draft(&[charge(1)], &estimate).await;
            assert_eq!(drafted.is_ok(), good, "{off}");
            assert!(good || matches!(drafted, Err(ChainError::Unavailable(_))));
            assert!(chain.beat().await.is_ok(), "open transactions are followed all the same");
        }
    })
    .await;
}

#[tokio::test]
async fn where_there_is_no_contract_nothing_is_billed() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        double.says("/wallet/getcontractinfo", 200, "{}");
        let missing = chain.ready().await.unwrap_err();
        assert!(matches!(&missing, ChainError::CallFails(why) if why.contains(" T")), "{missing}");
    })
    .await;
}
