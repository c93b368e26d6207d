//! Awkward tokens: each has one bad item between two good ones, and the good ones are charged.

use alloy::{primitives::U256, sol_types::SolCall as _};

use super::{
    BALANCE_INSUFFICIENT, CHARGED, HOLDER_BLOCKED, PAYEE_BLOCKED, PRICE, Shop, TOKEN_PAUSED,
    TRANSFER_FAILED,
};
use crate::world::contracts::{AnyToken, Billing, Kind, Merchant, Subscriber, Token};

impl Shop {
    /// Bills a subscriber whose plan uses this token, between two who pay in the shop's own.
    async fn between_good_ones(&self, token: &Token) -> (Subscriber, u8) {
        let good = self.crowd(2).await;
        let plan = self.merchant.agree(2, self.merchant.monthly(token, PRICE)).await;
        let odd = self.merchant.crowd(&plan, 1).await.remove(0);
        let items = [good[0].item(1), odd.item(1), good[1].item(1)];
        let reasons = self.merchant.bill(&items).await;
        assert_eq!([reasons[0], reasons[2]], [CHARGED, CHARGED]);
        assert_eq!(self.earned().await.to::<u64>(), 2);
        (odd, reasons[1])
    }

    /// Nothing moved and nothing is marked.
    async fn is_untouched(&self, token: &Token, who: &Subscriber) {
        assert_eq!(token.balance(who.wallet).await, U256::from(100 * PRICE));
        assert!(!self.merchant.was_charged(who, 1).await);
    }
}

#[tokio::test]
async fn a_token_that_returns_nothing_is_charged() {
    let shop = Shop::open().await;
    let token = Token::deploy(&shop.chain, Kind::NoReturn, 6).await;
    let (_, reason) = shop.between_good_ones(&token).await;
    assert_eq!(reason, CHARGED);
    assert_eq!(token.balance(shop.merchant.payee).await, U256::from(PRICE));
}

#[tokio::test]
async fn a_token_that_returns_false_and_moves_nothing_is_not_charged() {
    let shop = Shop::open().await;
    let token = Token::deploy(&shop.chain, Kind::False, 6).await;
    token.tell(&AnyToken::setStuckCall { stuck: true }).await;
    let (user, reason) = shop.between_good_ones(&token).await;
    assert_eq!(reason, TRANSFER_FAILED);
    shop.is_untouched(&token, &user).await;
    token.tell(&AnyToken::setStuckCall { stuck: false }).await;
    assert_eq!(shop.merchant.bill(&[user.item(1)]).await, [CHARGED]);
}

#[tokio::test]
async fn a_token_that_returns_false_but_moves_the_money_is_charged() {
    let shop = Shop::open().await;
    let token = Token::deploy(&shop.chain, Kind::False, 6).await;
    token.tell(&AnyToken::setLiarCall { liar: true }).await;
    let (user, reason) = shop.between_good_ones(&token).await;
    assert_eq!(reason, CHARGED);
    assert!(shop.merchant.was_charged(&user, 1).await);
}

#[tokio::test]
async fn what_the_payee_got_from_one_charge_never_stands_for_the_next() {
    let shop = Shop::selling_for(Kind::False, 6).await;
    let crowd = shop.crowd(4).await;
    for poor in [1, 2] {
        shop.token.set_balance(crowd[poor].wallet, 5).await;
    }
    let items: Vec<_> = crowd.iter().map(|who| who.item(1)).collect();
    let expected = [CHARGED, BALANCE_INSUFFICIENT, BALANCE_INSUFFICIENT, CHARGED];
    assert_eq!(shop.merchant.bill(&items).await, expected);
    assert_eq!(shop.earned().await.to::<u64>(), 2);
}

#[tokio::test]
async fn a_transfer_that_costs_a_fee_is_undone() {
    for on_top in [false, true] {
        let shop = Shop::open().await;
        let token = Token::deploy(&shop.chain, Kind::Fee, 6).await;
        token.tell(&AnyToken::setOnTopCall { onTop: on_top }).await;
        let (user, reason) = shop.between_good_ones(&token).await;
        assert_eq!(reason, TRANSFER_FAILED);
        shop.is_untouched(&token, &user).await;
        assert_eq!(token.balance(shop.merchant.payee).await, U256::ZERO);
    }
}

#[tokio::test]
async fn a_blocked_holder_is_named_even_when_also_poor() {
    let shop = Shop::open().await;
    let token = Token::deploy(&shop.chain, Kind::NoReturn, 6).await;
    let (user, _) = shop.between_good_ones(&token).await;
    let next = Merchant::subscriber(&user.plan, 2);
    shop.merchant.enrol(std::slice::from_ref(&next)).await;
    token.block(next.wallet).await;
    assert_eq!(shop.merchant.bill(&[next.item(1)]).await, [HOLDER_BLOCKED]);
    token.set_balance(next.wallet, 1).await;
    assert_eq!(shop.merchant.bill(&[next.item(1)]).await, [HOLDER_BLOCKED]);
    token.unblock(next.wallet).await;
    assert_eq!(shop.merchant.bill(&[next.item(1)]).await, [BALANCE_INSUFFICIENT]);
    token.block(shop.merchant.payee).await;
    assert_eq!(shop.merchant.bill(&[next.item(1)]).await, [PAYEE_BLOCKED]);
    token.set_paused(true).await;
    assert_eq!(shop.merchant.bill(&[next.item(1)]).await, [TOKEN_PAUSED]);
}

#[tokio::test]
async fn a_blocked_holder_is_isolated() {
    let shop = Shop::selling_for(Kind::NoReturn, 6).await;
    let crowd = shop.crowd(3).await;
    shop.token.block(crowd[1].wallet).await;
    let items: Vec<_> = crowd.iter().map(|who| who.item(1)).collect();
    assert_eq!(shop.merchant.bill(&items).await, [CHARGED, HOLDER_BLOCKED, CHARGED]);
    shop.is_untouched(&shop.token, &crowd[1]).await;
}

#[tokio::test]
async fn a_hostile_token_harms_only_its_own_item() {
    for (mode, expected) in [(0, CHARGED), (1, TRANSFER_FAILED), (2, TRANSFER_FAILED)] {
        let shop = Shop::open().await;
        let token = Token::deploy(&shop.chain, Kind::Bomb, 18).await;
        token.tell(&AnyToken::setModeCall { mode }).await;
        let (user, reason) = shop.between_good_ones(&token).await;
        assert_eq!(reason, expected, "mode {mode}");
        assert_eq!(shop.merchant.was_charged(&user, 1).await, expected == CHARGED);
    }
}

#[tokio::test]
async fn a_hostile_token_cannot_bomb_the_questions_either() {
    let shop = Shop::open().await;
    let token = Token::deploy(&shop.chain, Kind::Bomb, 18).await;
    token.tell(&AnyToken::setModeCall { mode: 4 }).await;
    let (_, reason) = shop.between_good_ones(&token).await;
    assert_eq!(reason, TRANSFER_FAILED);
}

#[tokio::test]
async fn a_token_that_answers_nothing_is_not_charged() {
    let shop = Shop::open().await;
    let token = Token::deploy(&shop.chain, Kind::Silent, 18).await;
    let (_, reason) = shop.between_good_ones(&token).await;
    assert_eq!(reason, TRANSFER_FAILED);
}

#[tokio::test]
async fn a_token_that_calls_back_finds_the_period_charged_and_the_door_shut() {
    let shop = Shop::open().await;
    let token = Token::deploy(&shop.chain, Kind::Bomb, 18).await;
    let plan = shop.merchant.agree(2, shop.merchant.monthly(&token, PRICE)).await;
    let user = shop.merchant.crowd(&plan, 1).await.remove(0);
    // The token itself may bill: nothing but the guard is in its way.
    let allow =
        Billing::setBillerCall { merKey: shop.merchant.mer_key, who: token.address, allowed: true };
    shop.merchant.execute(shop.merchant.owner, &allow).await;
    let again = shop.merchant.order(&[user.item(1)]).await.abi_encode();
    let message = AnyToken::setMessageCall { target: shop.merchant.billing, message: again.into() };
    token.tell(&message).await;
    token.tell(&AnyToken::setModeCall { mode: 3 }).await;
    assert_eq!(shop.merchant.bill(&[user.item(1)]).await, [CHARGED]);
    assert_eq!(shop.chain.view(token.address, &AnyToken::outcomeCall {}).await, 1, "refused");
    assert_eq!(token.balance(shop.merchant.payee).await, U256::from(PRICE));
}

#[tokio::test]
async fn amounts_are_base_units_whatever_the_decimals() {
    for (decimals, amount) in [(0, 3), (6, 9_990_000), (18, 10_000_000_000_000_000_000)] {
        let shop = Shop::selling_for(Kind::Plain, decimals).await;
        let plan = shop.merchant.agree(1, shop.merchant.monthly(&shop.token, amount)).await;
        let user = shop.merchant.crowd(&plan, 1).await.remove(0);
        assert_eq!(shop.merchant.bill(&[user.item(1)]).await, [CHARGED]);
        assert_eq!(shop.token.balance(shop.merchant.payee).await, U256::from(amount));
    }
}
