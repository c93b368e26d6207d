//! Charges: who may make them, for which period, and what a batch does with a bad item.

use alloy::primitives::{B256, U256};

use super::{
    ALLOWANCE_INSUFFICIENT, ALREADY_CHARGED, BALANCE_INSUFFICIENT, CANCELLED, CHARGED, MONTH,
    NOT_DUE_YET, NOT_FOUND, PERIOD_PASSED, Shop, TERMS_MISMATCH,
};
use crate::world::contracts::{Billing, Merchant, somebody};

#[tokio::test]
async fn a_period_is_charged_once_however_often_it_is_asked_for() {
    let shop = Shop::open().await;
    let user = shop.crowd(1).await.remove(0);
    let reasons = shop.merchant.bill(&[user.item(1), user.item(1)]).await;
    assert_eq!(reasons, [CHARGED, ALREADY_CHARGED]);
    assert_eq!(shop.merchant.bill(&[user.item(1)]).await, [ALREADY_CHARGED]);
    assert!(shop.merchant.was_charged(&user, 1).await);
    assert_eq!(shop.earned().await.to::<u64>(), 1);
}

#[tokio::test]
async fn a_charge_that_lands_late_never_takes_the_next_period() {
    let shop = Shop::open().await;
    let user = shop.crowd(1).await.remove(0);
    assert_eq!(shop.merchant.bill(&[user.item(2)]).await, [NOT_DUE_YET]);
    shop.chain.pass(MONTH).await;
    assert_eq!(shop.merchant.bill(&[user.item(1)]).await, [PERIOD_PASSED]);
    assert_eq!(shop.earned().await, U256::ZERO);
    assert_eq!(shop.merchant.subscribe_of(&user).await.period, 2);
    assert_eq!(shop.merchant.bill(&[user.item(2)]).await, [CHARGED]);
    assert!(!shop.merchant.was_charged(&user, 1).await);
}

#[tokio::test]
async fn a_charged_period_is_remembered_when_it_has_passed() {
    let shop = Shop::open().await;
    let user = shop.crowd(1).await.remove(0);
    let mut charged = vec![];
    for period in 1..=6 {
        if period != 3 {
            assert_eq!(shop.merchant.bill(&[user.item(period)]).await, [CHARGED]);
            charged.push(period);
        }
        shop.chain.pass(MONTH).await;
    }
    let past: Vec<_> = (0..=6).map(|period| user.item(period)).collect();
    let (seen, missed) = (ALREADY_CHARGED, PERIOD_PASSED);
    assert_eq!(shop.merchant.bill(&past).await, [missed, seen, seen, missed, seen, seen, seen]);

    shop.chain.pass(200 * MONTH).await;
    let now = shop.merchant.subscribe_of(&user).await.period;
    assert_eq!(shop.merchant.bill(&[user.item(now)]).await, [CHARGED]);
    assert_eq!(shop.merchant.bill(&[user.item(now), user.item(1)]).await, [seen, missed]);
}

#[tokio::test]
async fn the_period_asked_for_stays_the_current_one_when_it_is_charged() {
    let shop = Shop::open().await;
    let user = shop.crowd(1).await.remove(0);
    let before = shop.merchant.subscribe_of(&user).await;
    shop.merchant.bill(&[user.item(1)]).await;
    let after = shop.merchant.subscribe_of(&user).await;
    assert_eq!((before.period, after.period), (1, 1));
    assert_eq!((after.tokenAddress, after.planVersion), (shop.token.address, 1));
}

#[tokio::test]
async fn nothing_is_charged_after_the_deadline() {
    let shop = Shop::open().await;
    let user = shop.crowd(1).await.remove(0);
    let call = shop.merchant.order(&[user.item(1)]).await;
    shop.chain.pass(3601).await;
    let late = Billing::DeadlinePassed { deadline: call.deadline };
    shop.refuses(shop.merchant.biller, &call, late).await;
}

#[tokio::test]
async fn only_a_biller_charges() {
    let shop = Shop::open().await;
    let user = shop.crowd(1).await.remove(0);
    let Merchant { mer_key, owner, admins, biller, .. } = shop.merchant.clone();
    let call = shop.merchant.order(&[user.item(1)]).await;
    for caller in [somebody("thief"), owner, admins[0], user.wallet, mer_key] {
        let error = Billing::NotBiller { merKey: mer_key, caller };
        shop.refuses(caller, &call, error).await;
    }
    let Billing::Terms { token, amount, payee, .. } = user.plan.terms;
    let collect = Billing::markAndCollectCall {
        record: B256::ZERO,
        period: 1,
        token,
        wallet: user.wallet,
        payee,
        amount: U256::from(amount),
        had: U256::ZERO,
    };
    shop.refuses(biller, &collect, Billing::OnlySelf {}).await;

    let revoke = Billing::setBillerCall { merKey: mer_key, who: biller, allowed: false };
    shop.merchant.execute(owner, &revoke).await;
    let error = Billing::NotBiller { merKey: mer_key, caller: biller };
    shop.refuses(biller, &call, error).await;
    let asked = Billing::isBillerCall { merKey: mer_key, who: biller };
    assert!(!shop.chain.view(shop.merchant.billing, &asked).await);
}

#[tokio::test]
async fn one_bad_item_leaves_the_others_charged() {
    let shop = Shop::open().await;
    let crowd = shop.crowd(6).await;
    let stranger = Merchant::subscriber(&crowd[0].plan, 99);
    shop.merchant.cancel(&crowd[1]).await;
    shop.token.approve(crowd[2].wallet, shop.merchant.billing, U256::ZERO).await;
    shop.token.set_balance(crowd[3].wallet, 5).await;
    let cheaper = Billing::Item { amount: 1, ..crowd[4].item(1) };
    let reasons = shop
        .merchant
        .bill(&[
            crowd[0].item(1),
            crowd[1].item(1),
            crowd[2].item(1),
            crowd[3].item(1),
            cheaper,
            stranger.item(1),
            crowd[5].item(1),
        ])
        .await;
    assert_eq!(
        reasons,
        [
            CHARGED,
            CANCELLED,
            ALLOWANCE_INSUFFICIENT,
            BALANCE_INSUFFICIENT,
            TERMS_MISMATCH,
            NOT_FOUND,
            CHARGED,
        ]
    );
    assert_eq!(shop.earned().await.to::<u64>(), 2);
}

#[tokio::test]
async fn the_reason_that_comes_first_wins() {
    let shop = Shop::open().await;
    let crowd = shop.crowd(2).await;
    shop.merchant.bill(&[crowd[0].item(1)]).await;
    // Nothing left to pay with, but what is paid is paid and what is not due is not due.
    for who in &crowd {
        shop.token.set_balance(who.wallet, 0).await;
        shop.token.approve(who.wallet, shop.merchant.billing, U256::ZERO).await;
    }
    let items = [crowd[0].item(1), crowd[1].item(2), crowd[1].item(1)];
    let reasons = [ALREADY_CHARGED, NOT_DUE_YET, ALLOWANCE_INSUFFICIENT];
    assert_eq!(shop.merchant.bill(&items).await, reasons);
    shop.merchant.cancel(&crowd[0]).await;
    assert_eq!(shop.merchant.bill(&[crowd[0].item(1)]).await, [CANCELLED]);
}

#[tokio::test]
async fn a_wallet_with_two_subscriptions_pays_for_as_many_as_it_can() {
    let shop = Shop::open().await;
    let user = shop.crowd(1).await.remove(0);
    let mut second = Merchant::subscriber(&shop.monthly(2).await, 1);
    second.wallet = user.wallet;
    shop.merchant.enrol(std::slice::from_ref(&second)).await;
    shop.token.set_balance(user.wallet, super::PRICE).await;
    let reasons = shop.merchant.bill(&[user.item(1), second.item(1)]).await;
    assert_eq!(reasons, [CHARGED, BALANCE_INSUFFICIENT]);
}

#[tokio::test]
async fn money_goes_to_the_payee_of_the_plan() {
    let shop = Shop::open().await;
    let user = shop.crowd(1).await.remove(0);
    let mut terms = shop.merchant.monthly(&shop.token, super::PRICE);
    terms.payee = somebody("new payee");
    let moved = shop.merchant.agree(1, terms).await;
    let other = Merchant::subscriber(&moved, 2);
    shop.merchant.enrol(std::slice::from_ref(&other)).await;
    assert_eq!(shop.merchant.bill(&[user.item(1), other.item(1)]).await, [CHARGED, CHARGED]);
    assert_eq!(shop.earned().await.to::<u64>(), 1);
    assert_eq!(shop.token.balance(somebody("new payee")).await, U256::from(super::PRICE));
    assert_eq!(shop.token.balance(shop.merchant.biller).await, U256::ZERO);
    assert_eq!(shop.token.balance(shop.merchant.billing).await, U256::ZERO);
}
