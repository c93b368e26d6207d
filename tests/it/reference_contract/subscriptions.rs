//! Subscribing and leaving: who may claim a user hash, and what an incarnation is.

use alloy::primitives::{Address, U256};

use super::{ALREADY_CHARGED, CANCELLED, CHARGED, ENDED, MONTH, NOT_DUE_YET, NOT_FOUND, Shop};
use crate::world::contracts::{Billing, Merchant, Subscriber, somebody};

#[tokio::test]
async fn a_user_hash_is_claimed_only_with_the_merchants_signature() {
    let shop = Shop::open().await;
    let plan = shop.monthly(1).await;
    let chain_id = shop.chain.chain_id().await;
    let user = Merchant::subscriber(&plan, 1);
    let good = shop.merchant.signed(shop.merchant.offer(&user), chain_id);
    let squatter = somebody("squatter");

    shop.refuses(squatter, &good, Billing::NotYourOffer {}).await;
    let mut stolen = good.clone();
    stolen.offer.wallet = squatter;
    shop.refuses(squatter, &stolen, Billing::OfferNotSigned {}).await;

    let mut unsigned = good.clone();
    unsigned.signature = vec![].into();
    shop.refuses(user.wallet, &unsigned, Billing::OfferNotSigned {}).await;

    let elsewhere = shop.merchant.signed(shop.merchant.offer(&user), chain_id + 1);
    shop.refuses(user.wallet, &elsewhere, Billing::OfferNotSigned {}).await;

    let mut late = shop.merchant.offer(&user);
    late.expiry = U256::from(1);
    let late = shop.merchant.signed(late, chain_id);
    shop.refuses(user.wallet, &late, Billing::OfferExpired {}).await;

    shop.chain.fund(&[user.wallet]).await;
    shop.merchant.execute(user.wallet, &good).await;
    assert_eq!(shop.merchant.subscribe_of(&user).await.userWallet, user.wallet);
}

#[tokio::test]
async fn a_malleated_signature_is_refused() {
    let shop = Shop::open().await;
    let user = Merchant::subscriber(&shop.monthly(1).await, 1);
    let mut call = shop.merchant.signed(shop.merchant.offer(&user), shop.chain.chain_id().await);
    let order: U256 =
        "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141".parse().unwrap();
    let mut bytes = call.signature.to_vec();
    let s = U256::from_be_slice(&bytes[32..64]);
    bytes[32..64].copy_from_slice(&(order - s).to_be_bytes::<32>());
    bytes[64] = 55 - bytes[64];
    call.signature = bytes.into();
    shop.refuses(user.wallet, &call, Billing::OfferNotSigned {}).await;
}

#[tokio::test]
async fn an_issuer_without_the_role_signs_nothing() {
    let shop = Shop::open().await;
    let user = Merchant::subscriber(&shop.monthly(1).await, 1);
    let Merchant { mer_key, owner, issuer, .. } = shop.merchant.clone();
    let call = Billing::setIssuerCall { merKey: mer_key, who: issuer.address(), allowed: false };
    shop.merchant.execute(owner, &call).await;
    let call = shop.merchant.signed(shop.merchant.offer(&user), shop.chain.chain_id().await);
    shop.refuses(user.wallet, &call, Billing::OfferNotSigned {}).await;
}

#[tokio::test]
async fn an_unknown_subscription_is_all_zeros() {
    let shop = Shop::open().await;
    let nobody = Merchant::subscriber(&shop.monthly(1).await, 9);
    let found = shop.merchant.subscribe_of(&nobody).await;
    assert_eq!((found.userWallet, found.tokenAddress), (Address::ZERO, Address::ZERO));
    assert_eq!((found.amount, found.planVersion, found.period), (0, 0, 0));
    assert_eq!(shop.merchant.bill(&[nobody.item(1)]).await, [NOT_FOUND]);
}

#[tokio::test]
async fn a_subscription_is_cancelled_by_its_wallet_alone() {
    let shop = Shop::open().await;
    let user = shop.crowd(1).await.remove(0);
    let call =
        Billing::cancelCall { merKey: shop.merchant.mer_key, planId: 1, userHash: user.user_hash };
    for who in [somebody("thief"), shop.merchant.biller, shop.merchant.owner] {
        shop.refuses(who, &call, Billing::NotYourSubscription {}).await;
    }
    shop.merchant.cancel(&user).await;
    shop.refuses(user.wallet, &call, Billing::NotYourSubscription {}).await;
    assert_eq!(shop.merchant.bill(&[user.item(1)]).await, [CANCELLED]);
    assert_eq!(shop.earned().await, U256::ZERO);
}

#[tokio::test]
async fn a_resubscription_does_not_inherit_a_charge_in_flight() {
    let shop = Shop::open().await;
    let first = shop.crowd(1).await.remove(0);
    shop.chain.pass(MONTH).await;
    let in_flight = first.item(2);
    shop.merchant.cancel(&first).await;
    let second = Subscriber { subscribe_id: 77, ..first.clone() };
    shop.merchant.enrol(std::slice::from_ref(&second)).await;

    // Periods go on from where the first left off, so no number ever means two charges.
    assert_eq!(shop.merchant.subscribe_of(&second).await.period, 3);
    assert_eq!(shop.merchant.bill(&[in_flight, first.item(3)]).await, [CANCELLED, CANCELLED]);
    assert_eq!(shop.merchant.bill(&[second.item(3)]).await, [CHARGED]);
    assert_eq!(shop.merchant.bill(&[second.item(3)]).await, [ALREADY_CHARGED]);
    let stranger = Subscriber { subscribe_id: 78, ..first };
    assert_eq!(shop.merchant.bill(&[stranger.item(3)]).await, [NOT_FOUND]);
}

#[tokio::test]
async fn an_offer_is_taken_up_once() {
    let shop = Shop::open().await;
    let user = shop.crowd(1).await.remove(0);
    let chain_id = shop.chain.chain_id().await;
    let same = shop.merchant.signed(shop.merchant.offer(&user), chain_id);
    shop.refuses(user.wallet, &same, Billing::SubscribeIdUsed {}).await;
    let twin = Subscriber { subscribe_id: 78, wallet: somebody("twin"), ..user.clone() };
    let twice = shop.merchant.signed(shop.merchant.offer(&twin), chain_id);
    shop.refuses(twin.wallet, &twice, Billing::AlreadySubscribed {}).await;
    shop.merchant.cancel(&user).await;
    shop.refuses(user.wallet, &same, Billing::SubscribeIdUsed {}).await;
}

#[tokio::test]
async fn a_subscription_ends_after_its_periods_and_can_be_taken_again() {
    let shop = Shop::open().await;
    let mut terms = shop.merchant.monthly(&shop.token, super::PRICE);
    terms.periods = 2;
    let plan = shop.merchant.agree(1, terms).await;
    let user = shop.merchant.crowd(&plan, 1).await.remove(0);
    assert_eq!(shop.merchant.bill(&[user.item(1), user.item(3)]).await, [CHARGED, ENDED]);
    shop.chain.pass(MONTH).await;
    assert_eq!(shop.merchant.bill(&[user.item(2)]).await, [CHARGED]);
    shop.chain.pass(MONTH).await;
    let reasons = shop.merchant.bill(&[user.item(2), user.item(3), user.item(0)]).await;
    assert_eq!(reasons, [ALREADY_CHARGED, ENDED, ENDED]);

    let again = Subscriber { subscribe_id: 77, ..user };
    shop.merchant.enrol(std::slice::from_ref(&again)).await;
    assert_eq!(shop.merchant.bill(&[again.item(4)]).await, [CHARGED]);
}

#[tokio::test]
async fn a_delayed_plan_is_not_due_before_its_first_period() {
    let shop = Shop::open().await;
    let mut terms = shop.merchant.monthly(&shop.token, super::PRICE);
    terms.delay = 7 * 24 * 60 * 60;
    let plan = shop.merchant.agree(1, terms).await;
    let user = shop.merchant.crowd(&plan, 1).await.remove(0);
    assert_eq!(shop.merchant.subscribe_of(&user).await.period, 1);
    assert_eq!(shop.merchant.bill(&[user.item(1)]).await, [NOT_DUE_YET]);
    shop.chain.pass(7 * 24 * 60 * 60).await;
    assert_eq!(shop.merchant.bill(&[user.item(1)]).await, [CHARGED]);
}
