//! The look at the head, against a node that plays recordings.

use super::super::head::TronHead;
use super::node::*;
use super::recorded::CHAIN_ID;
use super::*;
use crate::{CallFault, Signatory, Unready};
use config::FamilyConfig;
use serde_json::json;
use std::sync::Arc;
use tron_node::Side;
use tron_primitives::address::to_base58;

#[tokio::test]
async fn a_beat_tells_the_time_of_the_chain_and_asks_for_prices_once() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        let view = chain.poll_head(HeadExtent::Whole).await.unwrap();
        assert_eq!((view.head, view.head_time), (66, HEAD_MS / 1000));
        assert_eq!(*chain.base.heads.borrow(), Some(view));
        let head = chain.head.current().await.unwrap();
        assert_eq!((head.solid.number, hex::encode(head.solid.id)), (61, SOLID_ID.to_owned()));
        assert_eq!((head.prices.energy, head.prices.bandwidth), (100, 10));
        assert!(head.funds.iter().all(|held| held.resources.energy > 0 && held.block == 66));
        assert!(chain.head.ready().await.unwrap().multicall);
        chain.poll_head(HeadExtent::Whole).await.unwrap();
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
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        assert_eq!(double.asked("/wallet/getchainparameters"), 2, "the head has passed it");
        double.says("/wallet/getnextmaintenancetime", 200, &json!({ "num": u64::MAX }).to_string());
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        assert_eq!(double.asked("/wallet/getchainparameters"), 3);
        assert!(chain.access.api().next_maintenance_ms().await.is_ok());
        double.says("/wallet/gettransactionbyid", 502, "");
        assert!(
            chain.access.api().call_result(Side::Full, SOLID_ID.parse().unwrap()).await.is_err()
        );
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        assert_eq!(double.asked("/wallet/getchainparameters"), 4, "it may be another node now");
    })
    .await;
}

#[tokio::test]
async fn providers_that_have_parted_are_named_when_nothing_was_irrevocable_for_a_while() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        let seen = chain.head.current().await.unwrap();
        let timely = |parted, lag_ms: u64| {
            let mut head = TronHead::clone(&seen);
            (head.parted, head.newest.time_ms) = (parted, head.solid.time_ms + lag_ms);
            head.timely(head.newest.time_ms.try_into().unwrap())
        };
        assert_eq!(timely(Some(61), 60_000), Ok(()), "one that is behind, or lies for once");
        assert_eq!(timely(Some(61), 200_000), Err(Unready::Parted(61)));
        assert_eq!(timely(None, 200_000), Ok(()), "blocks may stand still");
    })
    .await;
}

#[tokio::test]
async fn a_node_on_another_chain_is_not_used() {
    let double = node();
    serving(&double, async |url| {
        let (account, mut wrong) = parts(url);
        Arc::make_mut(&mut wrong.config).chain_id = 1;
        wrong.fleet = client_of(&wrong.config).unwrap().0;
        let refused = TronChain::connect(account, wrong).await.unwrap_err();
        let (configured, answered) = (RealChain::Genesis(1), RealChain::Genesis(CHAIN_ID));
        assert_eq!(refused, NotConnected::WrongChain { configured, answered });

        let chain = connected(url).await;
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        let genesis = json!({ "detail": false, "id_or_num": "0" });
        let sent = recorded_answer("01", "/wallet/getblock", &genesis);
        let other = sent.replace(GENESIS_ID, &GENESIS_ID.replace("29d6a48c", "00000001"));
        double.says(&format!("/walletsolidity/getblock {genesis}"), 200, &other);
        let (account, parts) = parts(url);
        let split = TronChain::connect(account, parts).await.unwrap_err();
        assert_eq!(
            split.to_string(),
            "the node is on chain 0x00000001, but this chain is 0x29d6a48c"
        );
        double.says("/wallet/getnextmaintenancetime", 502, "");
        assert!(chain.access.api().next_maintenance_ms().await.is_err());
        double.says("/wallet/getnextmaintenancetime", 200, r#"{"num":1}"#);
        let moved = chain.poll_head(HeadExtent::Whole).await.unwrap_err();
        assert!(moved.to_string().contains("0x00000001, but this chain is"), "{moved}");
        assert!(chain.head.knows_nothing());
        double.says(&format!("/walletsolidity/getblock {genesis}"), 200, &sent);
        for minute in 1..=10 {
            assert!(chain.poll_head(HeadExtent::Whole).await.is_err(), "minute {minute}");
            tokio::time::pause();
            tokio::time::advance(Duration::from_mins(1)).await;
            tokio::time::resume();
            assert_eq!(
                chain.poll_head(HeadExtent::Whole).await.is_ok(),
                minute == 10,
                "minute {minute}"
            );
        }
        assert!(chain.head.ready().await.unwrap().multicall);
    })
    .await;
}

#[tokio::test]
async fn without_its_key_an_account_is_looked_at_and_nothing_is_drafted() {
    let double = node();
    serving(&double, async |url| {
        let (account, parts) = parts(url);
        let signer = account.facts.signer;
        let chain = FamilyConfig::Tvm(Arc::clone(&parts.config));
        let account = account_of(&Signatory::Keyless(signer), profile(), &chain);
        let chain = TronChain::connect(account, parts).await.unwrap();
        assert_eq!(chain.poll_head(HeadExtent::Whole).await.unwrap().head, 66);
        let estimate = Estimate { used: 100_000, charges: 1 };
        let refused = chain.draft(&[charge(1)], &estimate).await.unwrap_err();
        assert_eq!(refused, ChainError::NoKey { signer: to_base58(signer) });
    })
    .await;
}

#[tokio::test]
async fn a_solidity_node_that_falls_back_changes_nothing() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        let third = json!({ "detail": false, "id_or_num": "3" });
        let old = recorded_answer("01", "/walletsolidity/getblock", &third);
        double.says("/walletsolidity/getblock", 200, &old);
        chain.poll_head(HeadExtent::Whole).await.unwrap();
        assert_eq!(chain.head.current().await.unwrap().solid.number, 61);
    })
    .await;
}

#[tokio::test]
async fn where_there_is_no_contract_nothing_is_billed() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        double.says("/wallet/getcontractinfo", 200, "{}");
        let missing = chain.head.ready().await.unwrap_err();
        assert!(matches!(&missing, ChainError::CallFails(CallFault::NoContract(at)) if at.starts_with('T')), "{missing}");
    })
    .await;
}
