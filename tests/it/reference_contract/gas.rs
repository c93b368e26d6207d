//! Gas: whoever picks the limit can't fake a failure, and a batch of a hundred fits.

use alloy::primitives::U256;
use alloy::sol_types::{SolCall as _, SolError as _};

use super::{BALANCE_INSUFFICIENT, CHARGED, HOLDER_BLOCKED, Shop, TRANSFER_FAILED};
use crate::world::contracts::{AnyToken, Billing, Kind, Merchant, Subscriber, Token, outcomes};

/// EIP-7825.
const TRANSACTION_CAP: u64 = 16_777_216;

impl Shop {
    /// What a batch answers at this gas limit: its reasons, or nothing when it reverts whole.
    async fn at_limit(&self, crowd: &[Subscriber], gas: u64) -> Option<Vec<u8>> {
        let items: Vec<_> = crowd.iter().map(|who| who.item(1)).collect();
        let data = self.merchant.order(&items).await.abi_encode().into();
        let Merchant { biller, billing, .. } = self.merchant;
        let answer = self.chain.simulate(biller, billing, data, gas).await;
        answer
            .map(|answer| Billing::processSubscribePlanCall::abi_decode_returns(&answer).unwrap())
            .ok()
    }
}

#[tokio::test]
async fn at_every_gas_limit_a_batch_tells_the_truth_or_reverts_whole() {
    let shop = Shop::selling_for(Kind::NoReturn, 6).await;
    let crowd = shop.crowd(4).await;
    shop.token.block(crowd[2].wallet).await;
    let truth = vec![CHARGED, CHARGED, HOLDER_BLOCKED, CHARGED];
    let mut answered = 0;
    for gas in (30_000..1_000_000).step_by(5_000) {
        if let Some(reasons) = shop.at_limit(&crowd, gas).await {
            assert_eq!(reasons, truth, "at {gas}");
            answered += 1;
        }
    }
    assert!(answered > 0, "the sweep never got to enough gas");
    assert_eq!(shop.at_limit(&crowd, 450_000).await, None);
}

#[tokio::test]
async fn a_starved_transfer_is_called_low_gas() {
    let shop = Shop::selling_for(Kind::NoReturn, 6).await;
    let crowd = shop.crowd(1).await;
    shop.token.block(crowd[0].wallet).await;
    let call = shop.merchant.order(&[crowd[0].item(1)]).await.abi_encode();
    let Merchant { biller, billing, .. } = shop.merchant;
    let starved = shop.chain.simulate(biller, billing, call.into(), 300_000).await;
    let refusal = starved.unwrap_err();
    assert_eq!(refusal.code, 3, "{}", refusal.message);
    assert_eq!(refusal.data, Billing::LowGas {}.abi_encode());
}

#[tokio::test]
async fn a_token_that_burns_gas_does_not_burn_its_neighbours() {
    for mode in [2, 5] {
        let shop = Shop::open().await;
        let token = Token::deploy(&shop.chain, Kind::Bomb, 18).await;
        let plan = shop.merchant.agree(2, shop.merchant.monthly(&token, super::PRICE)).await;
        let mut items = shop.merchant.crowd(&plan, 1).await;
        items.extend(shop.crowd(1).await);
        token.tell(&AnyToken::setModeCall { mode }).await;
        let reasons = shop.at_limit(&items, 1_500_000).await;
        assert_eq!(reasons, Some(vec![TRANSFER_FAILED, CHARGED]), "mode {mode}");
    }
}

#[tokio::test]
async fn the_nodes_estimate_is_enough_for_a_good_batch() {
    let shop = Shop::open().await;
    let crowd = shop.crowd(20).await;
    let items: Vec<_> = crowd.iter().map(|who| who.item(1)).collect();
    let Merchant { biller, billing, .. } = shop.merchant;
    let data = shop.merchant.order(&items).await.abi_encode();
    let gas = shop.chain.estimate(biller, billing, data.into()).await;
    assert_eq!(shop.at_limit(&crowd, gas).await, Some(vec![CHARGED; 20]));
}

#[tokio::test]
async fn subscribers_who_fail_after_the_estimate_do_not_take_the_others_along() {
    let shop = Shop::selling_for(Kind::NoReturn, 6).await;
    let crowd = shop.crowd(12).await;
    let items: Vec<_> = crowd.iter().map(|who| who.item(1)).collect();
    let Merchant { biller, billing, .. } = shop.merchant;
    let data = shop.merchant.order(&items).await.abi_encode();
    let estimate = shop.chain.estimate(biller, billing, data.into()).await;
    let mut expected = vec![CHARGED; 12];
    for (turn, who) in crowd.iter().enumerate().skip(3) {
        if turn % 2 == 0 {
            shop.token.set_balance(who.wallet, 0).await;
            expected[turn] = BALANCE_INSUFFICIENT;
        } else {
            shop.token.block(who.wallet).await;
            expected[turn] = HOLDER_BLOCKED;
        }
    }
    // What docs/contract-profile.md advises.
    assert_eq!(shop.at_limit(&crowd, estimate + 420_000).await, Some(expected));
    assert_eq!(shop.at_limit(&crowd, estimate).await, None);
}

#[tokio::test]
async fn a_hundred_charges_fit_into_one_transaction() {
    let shop = Shop::selling_for(Kind::NoReturn, 6).await;
    let crowd = shop.crowd(312).await;
    let mut rest = crowd.as_slice();
    // The first charge pays for the payee's first balance; it is not what a batch costs.
    for size in [1, 1, 10, 100, 200] {
        let (batch, later) = rest.split_at(size);
        rest = later;
        shop.cost_of(batch, 1).await;
    }
    shop.chain.pass(super::MONTH).await;
    let (mut paid, mut hundred) = (crowd.as_slice(), 0);
    for size in [1, 10, 100, 200] {
        let (batch, later) = paid.split_at(size);
        paid = later;
        let gas = shop.cost_of(batch, 2).await;
        assert!(gas < TRANSACTION_CAP / 2, "{gas}");
        if size == 100 {
            hundred = gas;
        }
    }
    // What a merchant would pay without any contract: one transfer in a transaction of its own.
    let (who, payee) = (&crowd[0], shop.merchant.monthly(&shop.token, super::PRICE).payee);
    let Merchant { biller, .. } = shop.merchant;
    shop.token.approve(who.wallet, biller, U256::MAX).await;
    let bare = AnyToken::transferFromCall { from: who.wallet, to: payee, value: U256::from(1) };
    let receipt = shop.chain.execute(biller, shop.token.address, &bare).await;
    println!("a bare transferFrom: {:>8} gas", receipt.gas_used);
    assert!(
        hundred / 100 < receipt.gas_used,
        "docs/contract-profile.md says that a batch is cheaper"
    );
}

impl Shop {
    /// Charges all of `batch` for `period`; gas.
    async fn cost_of(&self, batch: &[Subscriber], period: u32) -> u64 {
        let items: Vec<_> = batch.iter().map(|who| who.item(period)).collect();
        let order = self.merchant.order(&items).await;
        let receipt = self.merchant.execute(self.merchant.biller, &order).await;
        assert_eq!(outcomes(&receipt), vec![CHARGED; batch.len()]);
        let (size, gas) = (u64::try_from(items.len()).unwrap(), receipt.gas_used);
        println!("period {period}, {size:>3} charges: {gas:>8} gas, {:>6} each", gas / size);
        gas
    }
}
