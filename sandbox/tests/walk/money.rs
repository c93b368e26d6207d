//! Recharges (2.6, 2.7, 3.3, 4.7 to 4.9, 6.2) and withdrawals (2.8, 3.4, 4.10, 4.11, 6.3).

use crate::world::{CHAINS, World};
use merchant::amount::Decimal;
use merchant::callback::Event;
use merchant::client::{WithdrawError, WithdrawName, WithdrawRequest};
use merchant::types::{ChainId, CurrencyId, RechargeId, RechargeStatus, UserType, WithdrawStatus};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_is_told_once_it_is_final() {
    let world = World::new().await;
    let hook = json!({"rechargeCallbackUrl": world.notify});
    world.control("organisation", hook).await.unwrap();
    let id = world.client.create_user("u-1").await.unwrap();
    assert!(world.client.user("nobody").await.unwrap().is_none());
    let user = world.client.user("u-1").await.unwrap().unwrap();
    assert_eq!((user.user_id, user.user_type), (id, Some(UserType::Recharge)));
    assert_eq!((user.user_wallet.len(), user.uuid.as_str()), (CHAINS.len(), "u-1"));
    assert!(user.create_time.as_ref().unwrap().parse().is_some());
    for (chain, _) in CHAINS {
        let wallet = user.user_wallet.iter().find(|one| one.chain_id == chain).unwrap();
        let to = &wallet.wallet_address;
        let deposit = json!({"chainId": chain, "from": "dan", "to": to, "amount": "12.5"});
        let hash = world.control("transfer", deposit).await.unwrap()["txHash"].clone();
        world.running.platform.blocks(1).await.unwrap();
        assert!(world.heard().is_empty(), "not final, not told");
        world.finalise().await;
        let heard = world.heard();
        assert_eq!(heard.len(), 1);
        let Event::Recharge(told) = &heard[0].event else { panic!("{heard:?}") };
        let detail = world.client.recharge(told.recharge_id).await.unwrap().unwrap();
        for record in [told, &detail] {
            assert_eq!(record.recharge_status, RechargeStatus::Success);
            assert_eq!((record.user_id, record.wallet_id), (Some(id), Some(wallet.wallet_id)));
            assert_eq!(record.transfer_hash.as_deref(), hash.as_str());
            assert_eq!(record.wallet_address.as_ref(), Some(to));
            let amount: Decimal = "12.5".parse().unwrap();
            let wanted = amount.to_base_units(world.side(chain).decimals).unwrap();
            assert_eq!(record.recharge_amount, wanted);
        }
        assert!(world.client.recharge(RechargeId(4711)).await.unwrap().is_none());
    }
}

async fn request(world: &World, chain: ChainId, number: &str) -> WithdrawRequest {
    let currency: CurrencyId = world.client.currencies(chain).await.unwrap()[0].currency_id;
    WithdrawRequest {
        chain_id: chain,
        currency_id: currency,
        withdraw_address: world.tester(chain, "eve").await,
        withdraw_amount: "3.25".parse().unwrap(),
        out_trade_no: format!("{number}-{chain}"),
        notify_url: Some(world.notify.clone()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawal_is_approved_paid_and_told() {
    let world = World::new().await;
    let admins = world.admins().await;
    for (chain, _) in CHAINS {
        let (request, side) = (request(&world, chain, "pay").await, world.side(chain));
        let payee = side.spell(side.town.payee);
        let income = json!({"chainId": chain, "from": "dan", "to": payee, "amount": "10"});
        world.control("transfer", income).await.unwrap();
        world.finalise().await;
        let applied = world.client.withdraw_apply(&request).await.unwrap();
        let again = world.client.withdraw_apply(&request).await.unwrap();
        assert_eq!((applied.withdraw_id, again.found), (again.withdraw_id, true));
        let mut other = request.clone();
        other.withdraw_amount = "3.26".parse().unwrap();
        let conflict = world.client.withdraw_apply(&other).await.unwrap_err();
        assert!(matches!(conflict, WithdrawError::Conflict { difference: "withdrawAmount", .. }));
        let name = WithdrawName::Id(applied.withdraw_id);
        let waiting = world.client.withdrawal(name).await.unwrap().unwrap();
        assert_eq!(waiting.withdraw_status, WithdrawStatus::PendingApproval);
        let before =
            world.control("balance", json!({"chainId": chain, "of": "eve"})).await.unwrap();
        let yes = json!({"withdrawId": applied.withdraw_id, "approve": true, "admin": admins[1]});
        world.control("decide-withdrawal", yes.clone()).await.unwrap();
        assert!(world.control("decide-withdrawal", yes).await.is_err(), "decided once");
        world.finalise().await;
        world.finalise().await;
        let heard = world.heard();
        assert_eq!(heard.len(), 1);
        let Event::Withdrawal(told) = &heard[0].event else { panic!("{heard:?}") };
        let detail = world.client.withdrawal(name).await.unwrap().unwrap();
        for record in [told, &detail] {
            assert_eq!(record.withdraw_status, WithdrawStatus::Success);
            assert_eq!(record.withdraw_address, request.withdraw_address);
            assert_eq!(record.out_trade_no.as_ref(), Some(&request.out_trade_no));
            assert!(!record.transfer_hash.as_deref().unwrap_or_default().is_empty());
            let wanted = request.withdraw_amount.to_base_units(side.decimals).unwrap();
            assert_eq!(record.withdraw_amount, wanted);
        }
        assert!(detail.withdraw_time.as_ref().unwrap().parse().is_some());
        let after = world.control("balance", json!({"chainId": chain, "of": "eve"})).await.unwrap();
        assert_ne!(before["baseUnits"], after["baseUnits"], "the money is there");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawal_that_is_rejected_pays_nobody() {
    let world = World::new().await;
    let admins = world.admins().await;
    for (chain, _) in CHAINS {
        let request = request(&world, chain, "no").await;
        let applied = world.client.withdraw_apply(&request).await.unwrap();
        let no = json!({"withdrawId": applied.withdraw_id, "approve": false, "admin": admins[0]});
        world.control("decide-withdrawal", no).await.unwrap();
        world.finalise().await;
        let name = WithdrawName::OutTradeNo(&request.out_trade_no);
        let detail = world.client.withdrawal(name).await.unwrap().unwrap();
        assert_eq!(detail.withdraw_status, WithdrawStatus::Rejected);
        assert_eq!(detail.transfer_hash.as_deref(), Some(""));
        let again = world.client.withdraw_apply(&request).await.unwrap();
        assert!(again.found, "a number is never paid again, whatever became of it");
    }
}
