//! Plans: two admins, versions, a pause.

use alloy::primitives::Address;

use super::{CHARGED, PLAN_INACTIVE, PRICE, Shop, TERMS_MISMATCH};
use crate::world::anvil::Family;
use crate::world::contracts::{Billing, Merchant, Plan, somebody};

#[tokio::test]
async fn a_plan_needs_a_second_admin() {
    let shop = Shop::open().await;
    let Merchant { mer_key, admins, owner, .. } = shop.merchant.clone();
    let terms = shop.merchant.monthly(&shop.token, PRICE);
    let version = shop.merchant.propose(1, terms.clone()).await;
    let approve = |version| Billing::approvePlanCall { merKey: mer_key, planId: 1, version };

    shop.refuses(admins[0], &approve(version), Billing::NeedsSecondAdmin {}).await;
    shop.refuses(owner, &approve(version), Billing::NotAdmin {}).await;
    shop.refuses(admins[1], &approve(version + 1), Billing::NoSuchVersion {}).await;

    let pending = Merchant::subscriber(&Plan { id: 1, version, terms, family: Family::Evm }, 1);
    let chain_id = shop.chain.chain_id().await;
    let subscribe = shop.merchant.signed(shop.merchant.offer(&pending), chain_id);
    shop.refuses(pending.wallet, &subscribe, Billing::PlanNotActive {}).await;

    shop.merchant.execute(admins[1], &approve(version)).await;
    shop.merchant.enrol(&[pending]).await;
}

#[tokio::test]
async fn a_proposal_dies_with_its_proposers_role() {
    let shop = Shop::open().await;
    let Merchant { mer_key, admins, owner, .. } = shop.merchant.clone();
    let version = shop.merchant.propose(1, shop.merchant.monthly(&shop.token, PRICE)).await;
    let call = Billing::setAdminCall { merKey: mer_key, who: admins[0], allowed: false };
    shop.merchant.execute(owner, &call).await;
    let approve = Billing::approvePlanCall { merKey: mer_key, planId: 1, version };
    shop.refuses(admins[1], &approve, Billing::NeedsSecondAdmin {}).await;
}

#[tokio::test]
async fn a_new_version_leaves_subscribers_on_their_old_terms() {
    let shop = Shop::open().await;
    let cheap = shop.monthly(1).await;
    let dear = shop.merchant.agree(1, shop.merchant.monthly(&shop.token, 3 * PRICE)).await;
    assert_eq!((cheap.version, dear.version), (1, 2));
    let early = Merchant::subscriber(&cheap, 1);
    let late = Merchant::subscriber(&dear, 2);
    shop.merchant.enrol(&[early.clone(), late.clone()]).await;

    assert_eq!(shop.merchant.subscribe_of(&early).await.amount, PRICE);
    let dearer = Billing::Item { amount: 3 * PRICE, ..early.item(1) };
    let newer = Billing::Item { planVersion: 2, ..early.item(1) };
    let reasons = shop.merchant.bill(&[dearer, newer, early.item(1), late.item(1)]).await;
    assert_eq!(reasons, [TERMS_MISMATCH, TERMS_MISMATCH, CHARGED, CHARGED]);
    assert_eq!(shop.earned().await.to::<u64>(), 4);
}

#[tokio::test]
async fn a_plan_that_could_never_be_charged_is_not_proposed() {
    let shop = Shop::open().await;
    let good = shop.merchant.monthly(&shop.token, PRICE);
    for terms in [
        Billing::Terms { amount: 0, ..good.clone() },
        Billing::Terms { interval: 0, ..good.clone() },
        Billing::Terms { payee: Address::ZERO, ..good.clone() },
        Billing::Terms { token: somebody("not a token"), ..good.clone() },
    ] {
        let call = Billing::proposePlanCall { merKey: shop.merchant.mer_key, planId: 1, terms };
        shop.refuses(shop.merchant.admins[0], &call, Billing::BadTerms {}).await;
    }

    // A payee that pays itself would count as paid without a coin moving.
    let plan = shop.monthly(1).await;
    let mut payee = Merchant::subscriber(&plan, 1);
    payee.wallet = shop.merchant.payee;
    let subscribe = shop.merchant.signed(shop.merchant.offer(&payee), shop.chain.chain_id().await);
    shop.refuses(payee.wallet, &subscribe, Billing::BadTerms {}).await;
}

#[tokio::test]
async fn a_paused_plan_charges_nobody() {
    let shop = Shop::open().await;
    let user = shop.crowd(1).await.remove(0);
    let pause =
        |paused| Billing::pausePlanCall { merKey: shop.merchant.mer_key, planId: 1, paused };
    shop.merchant.execute(shop.merchant.admins[0], &pause(true)).await;
    assert_eq!(shop.merchant.bill(&[user.item(1)]).await, [PLAN_INACTIVE]);
    let late = Merchant::subscriber(&user.plan, 2);
    let subscribe = shop.merchant.signed(shop.merchant.offer(&late), shop.chain.chain_id().await);
    shop.refuses(late.wallet, &subscribe, Billing::PlanNotActive {}).await;
    shop.merchant.execute(shop.merchant.admins[0], &pause(false)).await;
    assert_eq!(shop.merchant.bill(&[user.item(1)]).await, [CHARGED]);
}

#[tokio::test]
async fn only_the_owner_gives_roles() {
    let shop = Shop::open().await;
    let Merchant { mer_key, admins, .. } = shop.merchant.clone();
    let thief = somebody("thief");
    let call = Billing::setBillerCall { merKey: mer_key, who: thief, allowed: true };
    for who in [thief, mer_key, admins[0], shop.merchant.biller] {
        shop.refuses(who, &call, Billing::NotOwner {}).await;
    }
    let again = Billing::registerMerchantCall { owner: thief };
    shop.refuses(mer_key, &again, Billing::AlreadyRegistered {}).await;
}
