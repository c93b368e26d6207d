//! What becomes of what the adapter drafted, and of chains that it cannot work on.

use super::*;

#[tokio::test]
async fn nobody_is_asked_to_pay_for_a_batch_that_cannot_be_sent() {
    let shop = Shop::open(12).await;
    let all = charges(&shop.crowd);
    // Twelve use about 460,000 gas: under the first cap they run, under the second not even that.
    for cap in [600_000, 330_000] {
        let change = |config: &mut EvmConfig| (config.gas_limit_cap, config.gas_reserve) = (cap, 0);
        let small = shop.adapter(change).await;
        let refused = match small.preflight(all.clone()).await {
            Ok(preflight) => small.draft(&all, &preflight.estimate).await.unwrap_err(),
            Err(refused) => refused,
        };
        let ChainError::BatchTooLarge { max } = refused else { panic!("{refused}") };
        assert!((1..12).contains(&max), "{max} under {cap}");
        let preflight = small.preflight(all[..max].to_vec()).await.unwrap();
        small.draft(&all[..max], &preflight.estimate).await.unwrap();
    }

    let chain = shop.adapter(|_| {}).await;
    let estimate = chain.preflight(all.clone()).await.unwrap().estimate;
    let poor = json!([key().address(), U256::ONE]);
    shop.chain.call::<serde_json::Value>("anvil_setBalance", poor).await;
    chain.poll_head(HeadExtent::Whole).await.unwrap();
    assert!(matches!(chain.draft(&all, &estimate).await, Err(ChainError::GasFunds { .. })));
    let dear = shop.adapter(|config| config.fees.max_fee_per_gas = Wei(1)).await;
    let refused = dear.draft(&all, &estimate).await.unwrap_err();
    assert!(
        matches!(&refused, ChainError::FeeTooHigh(why) if why.to_string().contains("max_fee_per_gas"))
    );
}

#[tokio::test]
async fn who_fails_after_the_preflight_does_not_take_the_others_along() {
    let shop = Shop::open(4).await;
    let chain = shop.adapter(|_| {}).await;
    let all = charges(&shop.crowd);
    let estimate = chain.preflight(all.clone()).await.unwrap().estimate;
    shop.token.block(shop.crowd[3].wallet).await;
    let receipt = bill(&shop.chain, &*chain, &all, &estimate).await;
    assert_eq!(outcomes(&receipt), [0, 0, 0, 10]);
}

#[tokio::test]
async fn legacy_transactions_land_too() {
    let shop = Shop::open(1).await;
    let chain = shop.adapter(|config| config.fees.legacy = true).await;
    let all = charges(&shop.crowd);
    let estimate = chain.preflight(all.clone()).await.unwrap().estimate;
    let receipt = bill(&shop.chain, &*chain, &all, &estimate).await;
    assert_eq!(outcomes(&receipt), [0]);
    assert_eq!(receipt.transaction_type(), alloy::consensus::TxType::Legacy);
}

#[tokio::test]
async fn a_key_that_may_not_bill_is_told_so_and_no_entry_is_refused_for_it() {
    let shop = Shop::open(3).await;
    let elsewhere = Merchant::open(&shop.chain, somebody("another biller")).await;
    let config = config(&shop.chain.url, elsewhere.billing, &rows(shop.merchant.mer_key));
    let chain = connected(config).await.unwrap();
    let refused = chain.preflight(charges(&shop.crowd)).await.unwrap_err();
    assert!(matches!(refused, ChainError::Unready(Unready::Permission { .. })), "{refused}");
    assert_eq!(chain.unready(), Some(refused));
}

#[tokio::test]
async fn another_chain_is_refused_and_a_dead_node_is_waited_for() {
    let shop = Shop::open(1).await;
    let at = |url, contract| config(url, contract, &rows(shop.merchant.mer_key));
    let mut wrong = at(&shop.chain.url, shop.merchant.billing);
    wrong.eip155_id = 56;
    let refused = connected(wrong).await.unwrap_err();
    assert_eq!(
        refused,
        NotConnected::WrongChain {
            configured: RealChain::Eip155(56),
            answered: RealChain::Eip155(31337),
        }
    );

    let dead = at("http://127.0.0.1:9", shop.merchant.billing);
    let chain = connected(dead).await.unwrap();
    assert!(chain.heads().borrow().is_none());
    let error = chain.preflight(charges(&shop.crowd)).await.unwrap_err();
    assert!(
        matches!(&error, ChainError::Unavailable(why) if why.to_string().contains("connection refused"))
    );

    let empty = at(&shop.chain.url, NOWHERE);
    let chain = connected(empty).await.unwrap();
    let error = chain.preflight(charges(&shop.crowd)).await.unwrap_err();
    assert!(
        matches!(&error, ChainError::CallFails(why) if why.to_string().contains("no contract")),
        "{error}"
    );
}
